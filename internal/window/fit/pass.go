package fit

import (
	"context"
	"errors"

	"github.com/plimsoll/plimsoll/internal/window/breaker"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/overflow"
	"github.com/plimsoll/plimsoll/internal/window/reasoning"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A Model is the receiver of requests, with what is known of its window and of how it counts. Passes share it.
type Model struct {
	Provider       string // as package reasoning knows it
	Upstream, Name string // as package models knows them
	Betas          []string
	Family         tokens.Family
	Ledger         string // in Usage: the key of what the provider counted
	Counter        *tokens.Counter
	Usage          *tokens.Usage
	Windows        *models.Resolver
	Breaker        *breaker.Breaker // nil never lowers a window
}

// Refused records the window in tokens that a refusal named, and reports whether that was accepted as the model's window.
func (m *Model) Refused(window int) bool {
	ok, _ := m.Windows.Learn(m.Upstream, m.Name, m.Betas, window, true)
	return ok
}

// BindsReasoning reports whether the model's reasoning is known to become invalid when messages before it change.
func (m *Model) BindsReasoning() bool {
	return reasoning.RuleFor(m.Provider, m.Name).Binding == reasoning.Prefix
}

// A Pass is one request on its way into the window of its model: it is measured, limited, and room is made in it.
type Pass struct {
	Model
	View *compact.View // the request as it came, with what was decided about its conversation before

	Tally tokens.Tally    // of what would be sent now
	In    tokens.Estimate // of it, in the provider's tokens
	How   tokens.Counted

	Window models.Window // in force
	Whole  models.Window // before the breaker lowered it
	Strict bool          // the breaker has lowered it
	Cuts   bool          // the server cuts input that is too long without a word
	Lines
}

// Replay returns the view of a request with the stored log of its conversation applied. A log that does not fit the request is damaged, and
// left out. The error is an edit that cannot be made.
func Replay(client *wire.Request, log ...*checkpoint.Checkpoint) (*compact.View, error) {
	view, err := compact.Replay(client, log...)
	if err != nil {
		view, err = compact.Replay(client)
	}
	return view, err
}

// Limit looks up the model's window, lowers it if the breaker says so, and returns the breaker's changes for the journal.
func (p *Pass) Limit() []breaker.Change {
	p.Whole = p.Windows.Window(p.Upstream, p.Name, p.Betas)
	p.Window, p.Strict = p.Whole, false
	p.Cuts = models.CutsSilently(p.Upstream, p.Name)
	if p.Breaker == nil {
		return nil
	}
	state, moves := p.Breaker.State(p.Upstream, p.Name)
	p.Strict = state.Strict
	if state.Factor < 1 {
		p.Window.Context = int(float64(p.Window.Context) * state.Factor)
		p.Window.Input = int(float64(p.Window.Input) * state.Factor)
		p.Window.Source = "breaker"
	}
	return moves
}

// Reserve sets Room, the room for input: the window in force less what is kept free of the requested output, asked, at most most.
func (p *Pass) Reserve(asked, most int) { p.Room = p.Window.ForInput(Reserve(asked, most, p.Window)) }

// Enforced reports whether the request is made to fit the window in force before it is sent, see [Enforced].
func (p *Pass) Enforced() bool { return Enforced(p.Window, p.Cuts) }

// Measure sets In and How from the tally, and from the provider's earlier counts.
func (p *Pass) Measure() {
	in := p.Usage.Input(p.Ledger, p.Tally)
	p.In, p.How = in.Estimate, in.Counted
}

// Recount sets the tally of a request that was changed, and measures it. If only an estimate is known, it scales the earlier measure by the
// change of the tally, so that an exact count is not lost to a wide band.
func (p *Pass) Recount(tally tokens.Tally) {
	before, total := p.In, p.Tally.Total.Best
	p.Tally = tally
	p.Measure()
	if p.How == tokens.CountedEstimate && total > 0 {
		part := float64(tally.Total.Best) / float64(total)
		scaled := func(n int) int { return int(float64(n)*part + 0.5) }
		p.In = tokens.Estimate{Low: scaled(before.Low), Best: scaled(before.Best), High: scaled(before.High)}
	}
}

// Goal returns the sizes that a compaction of the request is to reach.
func (p *Pass) Goal() compact.Goal {
	goal := p.Lines.Goal(p.In)
	goal.Strict, goal.DropReasoning = p.Strict, p.BindsReasoning()
	return goal
}

// Compact compacts the view once, by sizes in the provider's tokens.
func (p *Pass) Compact(ctx context.Context, c *compact.Compactor, goal compact.Goal) (compact.Result, error) {
	return c.Compact(ctx, p.View, Sizes(p.Counter, p.Family, p.In, p.Tally), goal)
}

// TooLarge means that what must stay of a request is over its limit, whatever is left out.
type TooLarge struct {
	*compact.DoesNotFit
	// Sure is true for a request that nobody can take. Else the limit is over the upper estimate only, or a guess, and still nothing could be
	// made smaller.
	Sure bool
}

// MakeRoom calls compacts with the goal. If what must stay is over the goal's limit but might be accepted, it calls compacts once more with
// that size as the limit, and the provider decides. firm means that the limit comes from a refusal and is certain. The error is a
// *[TooLarge], or that of compacts.
func (p *Pass) MakeRoom(goal compact.Goal, firm bool, compacts func(compact.Goal) error) error {
	err := compacts(goal)
	large, ok := errors.AsType[*compact.DoesNotFit](err)
	if !ok {
		return err
	}
	if MustRefuse(large, p.In, p.Whole) || firm && large.Total > p.Room {
		return &TooLarge{large, true}
	}
	goal = p.Goal()
	goal.Limit, goal.NoModel = large.Total, true
	err = compacts(goal)
	if again, ok := errors.AsType[*compact.DoesNotFit](err); ok {
		return &TooLarge{again, false}
	}
	return err
}

// Counted learns from input, the provider's count of the input tokens: how it counts, and that the window is at least as large. silent
// means that the server has cut the input without saying so; then that count is taken for the window, and learned reports whether that is
// new.
func (p *Pass) Counted(input int) (silent, learned bool) {
	if models.MayTruncate(p.Upstream, p.Name) && overflow.SilentTruncation(p.In.Low, input) {
		learned, _ = p.Windows.Learn(p.Upstream, p.Name, p.Betas, input, false)
		return true, learned
	}
	p.Usage.Report(p.Ledger, p.Tally, input)
	p.Windows.Accepted(p.Upstream, p.Name, p.Betas, input)
	return false, false
}

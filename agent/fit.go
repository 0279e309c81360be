package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/window/compact"
	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/fit"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/overflow"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

const (
	// defaultTrigger and defaultTarget stand in for a share of the window that makes no sense.
	defaultTrigger = 0.8
	defaultTarget  = 0.5
	// defaultReserve is what is kept free for an answer that nobody bounded, in tokens; the
	// same as in front of the agents of others (window/proxy).
	defaultReserve = 20_000
	// shrink is what is left of the room when a request was refused as too long though it
	// should have fitted: our count was too low then.
	shrink = 0.8
	// fitTries bounds how often one request is made smaller because a count was wrong.
	fitTries = 3
)

// fitted says what fit did.
type fitted struct {
	Tokens int // of the input as it is now, by our best count
	Limit  int // of the input
	Before int // tokens, before room was made
	// Actions says what was done, for people; "" when nothing was.
	Actions string
	Changed bool // the messages are others than those that were given
	Room    bool // room was made, now
	// MaxOutput is how much output may be asked for beside this input; 0 leaves it to the adapter.
	MaxOutput int
	Summary   Usage // what summaries by the model cost
	// Encoded is the body to send, of a model that is an Encoder.
	Encoded *wire.Request
}

// fitter makes every request fit the window of its model: calls and results are paired, the
// tokens counted, and room is made when there are too many. One fitter serves one query, by
// one goroutine at a time; query makes another one that shares what was learned.
type fitter struct {
	*core
	summarize summarizer
	compactor *compact.Compactor

	specs   []ToolSpec // that were declared last
	chat    chatEncoder
	most    int          // tokens of input, after a refusal; 0 goes by the window
	refused bool         // since the last fit
	settled int          // tokens that were left when no more room could be made; 0 is none
	mended  int          // places of the history that were mended last time
	tally   tokens.Tally // of what fit returned last
	in      tokens.Input
}

// newFitter makes a fitter for a model. summarize may be nil: old turns are then summarised by
// choosing lines of them.
func newFitter(info ModelInfo, l Limits, summarize summarizer) *fitter {
	return newCore(info, l).query(summarize)
}

// query makes a fitter for another query to the same model. It may be called from any
// goroutine.
func (c *core) query(summarize summarizer) *fitter {
	f := &fitter{core: c, summarize: summarize, chat: chatEncoder{model: c.info.Name}}
	o := compact.Options{SummaryBudget: summaryBudget, SummaryTimeout: summaryTimeout}
	switch {
	case c.noSummary:
		o.Style = compact.Off
	case summarize != nil:
		o.Style, o.Summarizer = compact.Model, writer{f}
	}
	f.compactor = compact.New(o)
	return f
}

// fit makes messages that a strict provider accepts and that fit the window, out of those of a
// conversation. What it need not change comes back as it was given. maxOutput is how much
// output will be asked for; 0 when none is named.
//
// The error is ctx's, or a *[TooLargeError] when even what must stay does not fit: the system
// prompt, the tools, the first and the newest message of the user and the step under way.
func (f *fitter) fit(ctx context.Context, system string, ms []Message, specs []ToolSpec, maxOutput int) ([]Message, fitted, error) {
	if err := ctx.Err(); err != nil {
		return nil, fitted{}, err
	}
	if len(specs) > 0 {
		f.specs = specs
	}
	p := &fitting{fitter: f, ctx: ctx, given: ms, system: system, tools: specs}
	if err := p.pair(); err != nil {
		return nil, fitted{}, err
	}
	if err := p.replay(); err != nil {
		return nil, fitted{}, err
	}
	p.count()
	p.limits(maxOutput)
	p.did.Before = p.in.Best
	if err := p.shrink(); err != nil {
		p.finish(maxOutput)
		return nil, p.did, err
	}
	p.finish(maxOutput)
	f.tally, f.in, f.refused = p.tally, p.in, false
	out, err := p.messages()
	return out, p.did, err
}

// learned takes in that a request that fit returned was refused as too long. limit is the
// window that the refusal named, in tokens; 0 when it named none.
func (f *fitter) learned(limit int) {
	sent := f.in.Best
	if limit > 0 {
		f.windows.Learn(f.upstream, f.info.Name, nil, limit, true)
	}
	f.refused, f.settled = true, 0
	// Whatever is believed of the limit, the same request must not go out again.
	if sent > 0 {
		f.most = max(1, int(shrink*float64(sent)))
	}
}

// report takes in what the provider counted for the request that fit returned last.
func (f *fitter) report(u Usage) {
	if u.Input <= 0 || len(f.tally.Messages) == 0 {
		return
	}
	if models.MayTruncate(f.upstream, f.info.Name) && overflow.SilentTruncation(f.in.Low, u.Input) {
		// The server threw away what did not fit and said nothing: what it read is its window.
		f.windows.Learn(f.upstream, f.info.Name, nil, u.Input, false)
		return
	}
	f.usage.Report(ledger, f.tally, u.Input)
	f.windows.Accepted(f.upstream, f.info.Name, nil, u.Input)
}

// A fitting is one call of fit.
type fitting struct {
	*fitter
	ctx    context.Context
	system string
	tools  []ToolSpec
	given  []Message // as they came
	// encoded are the messages with calls and results paired, and the request that they were encoded as: the view's client's.
	encoded *encoding
	view    *compact.View
	now     *wire.Request   // as it would be sent
	patches []compact.Patch // that make it of the encoded one
	tally   tokens.Tally
	in      tokens.Input
	chain   []tokens.Digest // of the view's client request
	window  models.Window
	room    int // tokens for the input
	did     fitted
	notes   []string
}

func (p *fitting) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// pair gives every call its result and every result its call, always, and encodes what comes of it.
func (p *fitting) pair() error {
	ms, done := tidy(p.given)
	if !orderly(ms, p.maxID) {
		mended, n, err := p.mend(ms)
		if err != nil {
			return err
		}
		ms, done = mended, done+n
	}
	ms, added := complete(ms, p.strictIDs)
	ms, named := callable(ms, p.knows)
	done += added + named
	if done > 0 {
		p.did.Changed = true
		if done != p.mended { // once, not with every step
			p.note("mended the history (%d)", done)
		}
	}
	p.mended = done
	return p.encode(ms)
}

// encode has the request written: by the model's own adapter, when that is an Encoder.
func (p *fitting) encode(ms []Message) error {
	encode := p.chat.encode
	if p.encoder != nil {
		encode = p.encoder.Encode
	}
	r, err := encode(&Request{System: p.system, Messages: ms, Tools: p.tools})
	if err != nil {
		return uncountable(ms, err)
	}
	if p.encoded, err = newEncoding(ms, r); err != nil {
		return uncountable(ms, err)
	}
	p.now = r
	return nil
}

// knows tells whether there is, or was with the last tools, a tool of that name.
func (f *fitter) knows(name string) bool {
	return slices.ContainsFunc(f.specs, func(s ToolSpec) bool { return s.Name == name })
}

// replay makes the room again that was made in this conversation before, in the same way: what
// the provider has in its cache stays good, and no summary is written twice.
func (p *fitting) replay() error {
	p.tally = p.counter.Tally(p.now, p.family)
	p.chain = p.tally.Chain
	c := checkpoint.Lookup(p.made, checkpoint.Scope{}, p.chain)
	view, err := compact.Replay(p.now, c)
	if err != nil { // it does not fit its own chain
		if view, err = compact.Replay(p.now, nil); err != nil {
			return fmt.Errorf("agent: %w", err)
		}
	}
	p.view, p.now = view, view.Request
	if view.Replayed() {
		p.did.Changed, p.patches = true, c.Patches
	}
	return nil
}

// count measures what would be sent.
func (p *fitting) count() {
	p.tally = p.counter.Tally(p.now, p.family)
	p.in = p.usage.Input(ledger, p.tally)
}

// limits finds out how much input there may be beside the output.
func (p *fitting) limits(maxOutput int) {
	p.window = p.windows.Window(p.upstream, p.info.Name, nil)
	if p.info.MaxOutput > 0 {
		p.window.Output = p.info.MaxOutput
	}
	p.room = max(1, p.window.ForInput(p.reserve(maxOutput)))
	if p.most > 0 {
		p.room = min(p.room, p.most)
	}
}

// reserve is what is kept free for the answer, in tokens. Providers that add what is asked for
// to the input refuse the sum, so all of it counts; but an answer never has more than half the
// window, and one that nobody bounded a quarter.
func (p *fitting) reserve(asked int) int {
	if p.window.Output > 0 {
		asked = min(asked, p.window.Output)
	}
	if asked > 0 {
		return min(asked, p.window.Context/2)
	}
	most := defaultReserve
	if p.window.Output > 0 {
		most = min(most, p.window.Output)
	}
	return min(most, p.window.Context/4)
}

// shrink makes room when it is needed.
func (p *fitting) shrink() error {
	trigger := p.lines().TriggerTokens()
	if over, _ := p.in.Over(trigger, p.room); !over {
		return nil
	}
	// Where the last try left more than the trigger, another one is of use only when there is
	// something new.
	if p.settled > 0 && p.in.High <= p.room && p.in.Best < p.settled+p.room/20 {
		return nil
	}
	for range fitTries {
		err := p.compact(p.goal())
		if large, ok := errors.AsType[*compact.DoesNotFit](err); ok {
			err = p.bestEffort(large)
		}
		if err != nil {
			return err
		}
		if p.in.Best <= p.room {
			break
		}
	}
	p.settled = 0
	if p.in.Best > trigger {
		p.settled = p.in.Best
	}
	return nil
}

func (p *fitting) lines() fit.Lines {
	return fit.Lines{Room: p.room, Trigger: p.trigger, Target: p.target}
}

// goal is where to go.
func (p *fitting) goal() compact.Goal {
	goal := p.lines().Goal(p.in.Estimate)
	goal.NoModel = p.refused
	return goal
}

// bestEffort decides about a request whose part that has to stay is over the limit by the upper estimate. When it is not over
// the window by every estimate it goes out as small as it gets, and the provider decides; after a refusal it is not sent again.
func (p *fitting) bestEffort(large *compact.DoesNotFit) error {
	if fit.MustRefuse(large, p.in.Estimate, p.window) || p.most > 0 && large.Total > p.room {
		return p.tooLarge(large)
	}
	goal := p.goal()
	goal.Limit, goal.NoModel = large.Total, true
	err := p.compact(goal)
	if again, ok := errors.AsType[*compact.DoesNotFit](err); ok {
		return p.tooLarge(again)
	}
	return err
}

// compact makes room once.
func (p *fitting) compact(goal compact.Goal) error {
	res, err := p.compactor.Compact(p.ctx, p.view, fit.Sizes(p.counter, p.family, p.in.Estimate, p.tally), goal)
	p.did.Summary.Input += res.SummaryIn
	p.did.Summary.Output += res.SummaryOut
	if res.SummaryError != nil {
		p.note("the model wrote no summary (%s)", clipText(res.SummaryError.Error(), 120))
	}
	if err != nil {
		if _, ok := errors.AsType[*compact.DoesNotFit](err); ok || p.ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("agent: make room in the conversation: %w", err)
	}
	if !res.Changed() {
		return nil
	}
	if err := wire.ValidateEdit(p.now.Dialect, p.view.Client.Body, res.Request.Body); err != nil {
		return fmt.Errorf("agent: make room in the conversation: %w", err)
	}
	p.now, p.patches = res.Request, res.Patches
	p.did.Changed, p.did.Room = true, true
	if c := compact.Checkpoint(p.view, &res, p.chain); c != nil {
		// In memory there is nothing that can fail. Another query of this conversation may have
		// been first; what is sent now is good all the same.
		_, _ = p.made.Put(checkpoint.Scope{}, c, checkpoint.Cut{})
	}
	p.count()
	p.note("made room (%s): %d tokens became %d", strings.Join(res.Rungs, ", "), res.Before, res.After)
	return nil
}

// finish writes down what came of it.
func (p *fitting) finish(maxOutput int) {
	p.did.Tokens, p.did.Limit = p.in.Best, p.room
	p.did.Actions = strings.Join(p.notes, "; ")
	p.did.MaxOutput = p.output(maxOutput)
	if p.encoder != nil {
		p.did.Encoded = p.now
	}
}

// output is how much may be asked for: what was, as far as it fits beside the input. Of one that
// was not named it is 0, unless so little is left that an adapter's own default might not fit.
func (p *fitting) output(asked int) int {
	free := max(p.window.Context-p.in.High, p.reserve(asked), 1)
	most := p.window.Output
	if asked > 0 {
		if most > 0 {
			asked = min(asked, most)
		}
		return min(asked, free)
	}
	if most == 0 {
		most = defaultReserve
	}
	if p.window.Source == models.SourceDefault || free >= min(most, defaultReserve) {
		return 0
	}
	return free
}

// messages are what is to be sent.
func (p *fitting) messages() ([]Message, error) {
	switch {
	case !p.did.Changed:
		return p.given, nil
	case p.now == p.view.Client:
		return p.encoded.ms, nil
	}
	return p.encoded.history(p.now, p.patches)
}

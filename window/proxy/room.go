package proxy

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/compact"
	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/fit"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/wire"
)

// reserveOf is what is kept free for the answer, in tokens: what was asked for up to
// Reserve (clients ask for 64,000 and get 2,000), never more than a quarter of the window.
func (t *turn) reserveOf(w models.Window) int {
	asked := t.received.MaxOutput
	if asked <= 0 {
		asked = t.p.o.Reserve
		if w.Output > 0 {
			asked = min(asked, w.Output)
		}
	}
	return min(asked, t.p.o.Reserve, w.Context/4)
}

// room is how many tokens of input fit beside the reserve.
func (t *turn) room() int { return t.window.ForInput(t.reserveOf(t.window)) }

// fit brings a request that is over the trigger to the target. Where it is only the
// requested output that does not fit, that is lowered.
func (t *turn) fit() error {
	room := t.room()
	if room <= 0 {
		return nil
	}
	trigger := t.lines().TriggerTokens()
	// Under the trigger nothing is touched, over the room nothing is sent. Only a band that
	// spans both lines leaves no answer that keeps both.
	over, sure := t.in.Over(trigger, room)
	if over && !sure {
		t.ask()
		over, _ = t.in.Over(trigger, room)
	}
	if !over || t.p.o.NoPreflight {
		t.fitOutput()
		return nil
	}
	err := t.compact(t.goal(), t.reasonFor(room))
	if tooLarge, ok := errors.AsType[*compact.DoesNotFit](err); ok {
		err = t.bestEffort(tooLarge)
	}
	if err != nil && !errors.Is(err, errNoGain) {
		return err
	}
	t.fitOutput()
	return nil
}

func (t *turn) reasonFor(room int) string {
	if t.in.High > room {
		return "limit"
	}
	return "trigger"
}

// lines are those of the request in hand.
func (t *turn) lines() fit.Lines {
	return fit.Lines{Room: t.room(), Trigger: t.p.o.Trigger, Target: t.p.o.Target}
}

// goal is where a compaction goes.
func (t *turn) goal() compact.Goal {
	goal := t.lines().Goal(t.in)
	goal.Strict = t.strict
	return goal
}

// bestEffort decides about a request whose sacred part is over the limit. When even the
// lower estimate is over the whole window, it is answered here; else it goes out as small
// as it gets, and the provider decides. A window that is only a default, or that the
// breaker has made smaller, is no reason to refuse.
func (t *turn) bestEffort(e *compact.DoesNotFit) error {
	if fit.MustRefuse(e, t.in, t.whole) {
		return tooLong(t.rt.dialect, e.Total, t.whole.Context, e.Error())
	}
	goal := t.goal()
	goal.Limit = e.Total
	err := t.compact(goal, "limit")
	if _, again := errors.AsType[*compact.DoesNotFit](err); again {
		return errNoGain
	}
	return err
}

// compact makes room, one request of a conversation at a time: a second one of the same
// conversation waits and finds what the first has stored.
func (t *turn) compact(goal compact.Goal, reason string) error {
	ctx := t.r.Context()
	t.body.room.endTurn() // others look while this one waits for its conversation, or a model's summary
	unlock, err := t.p.o.Store.Lock(ctx, t.scope, t.talk)
	if err != nil {
		return err
	}
	defer unlock()
	if reason != "overflow" && t.adopt(goal) {
		return nil
	}
	room := &t.body.room
	size := giantSize(int64(len(t.request.Body)), lookCost(t.request.Body))
	alone := goal.NoModel || !t.p.o.Compactor.AsksModel()
	if !room.grow(ctx, room.n+2*int64(len(t.request.Body))) || alone && !room.takeTurn(ctx, size) {
		err := t.p.noRoom(ctx, size)
		if errors.Is(err, errGiants) { // it goes on as large as it is
			t.p.passed(t.rt, "giants", "no memory to make room in it")
			return errNoGain
		}
		return err
	}
	defer room.endTurn()
	began := time.Now()
	res, err := t.p.o.Compactor.Compact(ctx, t.view, fit.Sizes(t.p.o.Counter, t.family, t.in, t.tally), goal)
	gained := err == nil && res.Changed() && len(res.Request.Body) < len(t.request.Body)
	if !gained {
		t.unused(&res)
	}
	switch _, tooLarge := errors.AsType[*compact.DoesNotFit](err); {
	case tooLarge || ctx.Err() != nil:
		return err
	case err != nil: // an edit that cannot be made is our fault: the request goes on without it
		t.p.passed(t.rt, "invalid", "an edit could not be made")
		return errNoGain
	case !gained:
		return errNoGain
	}
	t.result = &res
	c := compact.Checkpoint(t.view, &res, t.chain)
	t.use(t.view, res.Request)
	if err := t.pack(); err != nil {
		return err
	}
	if t.result == nil { // taken back: what breaks a rule must not come again with every turn
		return errNoGain
	}
	if c != nil && reason != "overflow" && t.keep(c) {
		if err := t.pack(); err != nil {
			return err
		}
	}
	t.recount()
	t.actions = append(t.actions, "compacted:"+strings.Join(res.Rungs, "+"))
	id := ""
	if c != nil {
		id = checkpoint.EntryID(c)
	}
	t.p.event(journal.WindowCompacted{
		Upstream: t.rt.up.Name, Model: t.model, Conversation: t.talk, Checkpoint: id, Reason: reason, Rungs: res.Rungs,
		Before: int64(res.Before), After: int64(res.After), Messages: res.Messages, CutBytes: res.CutBytes, Took: time.Since(began),
		SummaryIn: int64(res.SummaryIn), SummaryOut: int64(res.SummaryOut), SummaryError: errorText(res.SummaryError),
	})
	return nil
}

// errorText is why a summary was not used, bounded, "" when it was.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return clip(err.Error(), 256)
}

// unused journals what a model summary cost when the compaction came to nothing.
func (t *turn) unused(res *compact.Result) {
	if res.SummaryError == nil && res.SummaryIn+res.SummaryOut == 0 {
		return
	}
	t.p.event(journal.WindowSummaryUnused{
		Upstream: t.rt.up.Name, Model: t.model, Conversation: t.talk, Error: errorText(res.SummaryError),
		SummaryIn: int64(res.SummaryIn), SummaryOut: int64(res.SummaryOut),
	})
}

// adopt uses a checkpoint that somebody else stored while this request waited.
func (t *turn) adopt(goal compact.Goal) bool {
	c := checkpoint.Lookup(t.p.o.Store, t.scope, t.chain)
	if c == nil || t.view.Replayed() && c.Generation <= t.generation {
		return false
	}
	view, err := compact.Replay(t.view.Client, c)
	if err != nil {
		return false
	}
	t.generation = c.Generation
	t.use(view, view.Request)
	t.recount()
	if t.in.High > goal.Trigger {
		return false
	}
	t.actions = append(t.actions, "replayed")
	return true
}

// keep stores what was made, and uses what is in force: another replica may have been first
// with the same step. It tells whether that is another.
func (t *turn) keep(c *checkpoint.Checkpoint) bool {
	res := t.result
	cut := checkpoint.Cut{Text: res.Cut, Entry: checkpoint.Entry{
		Conversation: t.talk, Upstream: t.rt.up.Name, Dialect: t.rt.dialect.String(), Model: t.model, Rungs: res.Rungs,
		Before: res.Before, After: res.After, Messages: res.Messages, CutBytes: res.CutBytes,
	}}
	got, _ := t.p.o.Store.Put(t.scope, c, cut) // the store journals what went wrong
	if got == c || got == nil {
		return false
	}
	view, err := compact.Replay(t.view.Client, got)
	if err != nil {
		return false
	}
	t.use(view, view.Request)
	return true
}

// recovered stores what a provider took after it had refused more.
func (t *turn) recovered() {
	if t.result == nil {
		return
	}
	if c := compact.Checkpoint(t.view, t.result, t.chain); c != nil {
		ctx := context.WithoutCancel(t.r.Context())
		if unlock, err := t.p.o.Store.Lock(ctx, t.scope, t.talk); err == nil {
			sent := t.request
			t.keep(c)
			t.request = sent // it is on its way already
			unlock()
		}
	}
}

// fitOutput lowers the requested output when it does not fit beside the input, at providers
// that add the two up and refuse.
func (t *turn) fitOutput() {
	if t.rt.dialect != wire.Chat && t.rt.dialect != wire.Messages || t.whole.Source == models.SourceDefault {
		return
	}
	free := t.whole.Context - t.in.High
	if asked := t.request.MaxOutput; asked > 0 && asked > free && free > 0 {
		_ = t.lowerOutput(free)
	}
}

// lowerOutput asks for at most n tokens of output, less a margin. It is refused where
// thinking was given a budget that would no longer fit.
func (t *turn) lowerOutput(n int) error {
	n -= n / 50
	if n < minOutput || t.request.MaxOutput <= n || n <= thinkingBudget(t.request) {
		return errNoGain
	}
	d := t.request.Draft()
	d.SetMaxOutput(n)
	next, err := d.Build()
	if err != nil {
		return err
	}
	t.edited = true
	t.request = next
	t.body.pooled = false
	t.actions = append(t.actions, "output-lowered")
	return t.pack()
}

// minOutput is the least output worth asking for, in tokens: less cuts a tool call in two.
const minOutput = 1024

var budgetName = []byte(`"budget_tokens"`)

// thinkingBudget is thinking.budget_tokens of a Messages request, which max_tokens must
// exceed; 0 when there is none. It is looked for outside the messages.
func thinkingBudget(r *wire.Request) int {
	for _, part := range [][]byte{r.Body[:r.List.Start], r.Body[r.List.End:]} {
		_, after, ok := bytes.Cut(part, budgetName)
		if !ok {
			continue
		}
		rest := bytes.TrimLeft(after, " \t\r\n:")
		end := 0
		for end < len(rest) && end < 9 && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if n, err := strconv.Atoi(string(rest[:end])); err == nil {
			return n
		}
	}
	return 0
}

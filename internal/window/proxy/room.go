package proxy

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/fit"
	"github.com/plimsoll/plimsoll/internal/window/topic"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// fit brings a request that is over the trigger to the target, and lowers the requested output if only that does not fit. The error is a
// *refusal for a request that cannot be made to fit or found no memory, or the context's.
func (t *conversation) fit() error {
	room := t.room()
	if room <= 0 || !t.enforced() {
		return nil
	}
	trigger, late := t.lines().TriggerTokens(), t.received.Bypass.Room() == wire.RoomAtLimit
	if late {
		trigger = room
	}
	// Under the trigger nothing is touched, over the room nothing is sent. Only a band that
	// spans both lines leaves no answer that keeps both.
	over, sure := t.in.Over(trigger, room)
	if over && (!sure || t.cleared()) {
		t.ask()
		over, _ = t.in.Over(trigger, room)
	}
	if late && t.in.Best <= room { // where that is wrong, the refusal is recovered from
		t.fitOutput()
		return nil
	}
	verdict := fit.NotDue
	if over || t.lines().Close(t.in) {
		verdict = t.lines().Judge(t.in, over, t.moment())
	}
	// A boundary never adds a cut: it says where one begins that is due, and ends the wait for a better moment.
	var boundary topic.Boundary
	found := false
	if verdict != fit.NotDue {
		boundary, found = t.boundary()
	}
	if verdict == fit.Due && !found && !t.lines().Full(t.in) && t.summaryComing() {
		verdict = fit.Waits
	}
	if verdict < fit.Due && !found || t.p.o.NoPreflight {
		if verdict == fit.Waits {
			t.actions = append(t.actions, "waits")
		}
		t.fitOutput()
		return nil
	}
	goal, reason := t.goal(), t.reasonFor(room)
	if verdict == fit.DueCold {
		reason = reasonCold
	}
	if found {
		goal.Since, reason = boundary.At, reasonTopic
	}
	err := t.compact(goal, reason)
	if tooLarge, ok := errors.AsType[*compact.DoesNotFit](err); ok {
		err = t.bestEffort(tooLarge)
	}
	if err != nil && !errors.Is(err, errNoGain) {
		return err
	}
	t.fitOutput()
	return nil
}

// reasonCold is the reason of a cut that was nearly due when the provider's cache had expired.
const reasonCold = "cold"

// enforced reports whether the window is more than a guess, or the provider has refused something lately.
func (t *conversation) enforced() bool {
	return fit.Enforced(t.window, t.silent)
}

func (t *conversation) reasonFor(room int) string {
	if t.in.High > room {
		return "limit"
	}
	return "trigger"
}

// lines returns the thresholds for this request: the room for input, and the parts of it at which to act and to stop.
func (t *conversation) lines() fit.Lines {
	l := fit.Lines{Room: t.room(), Trigger: t.p.o.Trigger, Target: t.p.o.Target}
	if t.p.ownLine && t.compactsItself() {
		l.Trigger, l.Late = OwnTrigger, true
	}
	return l
}

// goal returns the sizes that a compaction of this request is to reach.
func (t *conversation) goal() compact.Goal {
	goal := t.lines().Goal(t.in)
	goal.Strict = t.strict
	return goal
}

// bestEffort handles a request of which the part that must stay is over the limit. If even the lower estimate is over the whole window, it
// returns a *refusal; else the request is made as small as it gets, and the provider decides. A window that is only a default, or that the
// breaker has made smaller, is no reason to refuse. errNoGain means that nothing could be made smaller.
func (t *conversation) bestEffort(e *compact.DoesNotFit) error {
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

// compact makes room, one request of a conversation at a time: a second one of the same conversation waits and uses what the first has
// stored. It returns nil if the request is smaller now, errNoGain if it stays as it is, else a *compact.DoesNotFit, a *refusal without
// memory, or the context's error.
func (t *conversation) compact(goal compact.Goal, reason string) error {
	ctx := t.r.Context()
	t.body.room.endTurn() // others look while this one waits for its conversation, or a model's summary
	unlock, err := t.p.o.Store.Lock(ctx, t.scope, t.name)
	if err != nil {
		return err
	}
	defer unlock()
	if reason != "overflow" && t.adopt(goal) {
		return nil
	}
	room := &t.body.room
	size := giantSize(int64(len(t.request.Body)), lookCost(len(t.request.Body), bytes.Count(t.request.Body, []byte{'{'})))
	if !room.grow(ctx, room.n+2*int64(len(t.request.Body))) || !room.takeTurn(ctx, size) {
		err := t.p.noRoom(ctx, size)
		if errors.Is(err, errGiants) { // it goes on as large as it is
			t.p.passed(t.rt, "giants", "no memory to make room in it")
			return errNoGain
		}
		return err
	}
	defer room.endTurn()
	began := time.Now()
	goal.DropReasoning = t.boundReasoning()
	if summary, ready := t.summaryReady(); ready && summary.Text != "" && !goal.NoModel {
		goal.Summary = summary.Text
		t.p.summaries.Take(t.key())
	}
	goal.NoModel = true // nobody waits for a model: what it wrote is there, or not
	res, written := compact.Result{}, false
	if reason != "overflow" {
		res, written = t.useNative(goal)
	}
	if !written {
		res, err = t.p.o.Compactor.Compact(ctx, t.view, fit.Sizes(t.p.o.Counter, t.family, t.in, t.tally), goal)
	}
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
	if c != nil && reason != "overflow" && t.keep(c, false) {
		if err := t.pack(); err != nil {
			return err
		}
	}
	t.keepCut(&res)
	t.recount()
	if t.sentBefore > 0 && !t.guessed {
		t.broke(reason, res.Patches[0].From, res.Thoughts)
	}
	t.actions = append(t.actions, "compacted:"+strings.Join(res.Rungs, "+"))
	id := ""
	if c != nil {
		id = checkpoint.EntryID(c)
	}
	t.p.event(journal.WindowCompacted{
		Upstream: t.rt.up.Name, Model: t.model, Request: t.rt.request, Conversation: t.name, Checkpoint: id, Reason: reason, Boundary: t.sign(reason), Rungs: res.Rungs,
		Before: int64(res.Before), After: int64(res.After), Messages: res.Messages, CutBytes: res.CutBytes, Took: time.Since(began),
		SummaryIn: int64(res.SummaryIn), SummaryOut: int64(res.SummaryOut), SummaryError: errorText(res.SummaryError),
	})
	return nil
}

package proxy

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/fit"
	"github.com/plimsoll/plimsoll/internal/window/topic"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// fitIntoWindow brings a request that is over the trigger to the target, and lowers the requested output if only that does not fit. The error is a
// *refusal for a request that cannot be made to fit or found no memory, or the context's.
func (t *conversation) fitIntoWindow() error {
	room := t.Room
	if room <= 0 || !t.Enforced() {
		return nil
	}
	trigger, late := t.TriggerTokens(), t.received.Bypass.Room() == wire.RoomAtLimit
	if late {
		trigger = room
	}
	// Under the trigger nothing is touched, over the room nothing is sent. Only a band that
	// spans both lines leaves no answer that keeps both.
	over, sure := t.In.Over(trigger, room)
	if over && (!sure || t.estimateIncludesCleared()) {
		t.askCount()
		over, _ = t.In.Over(trigger, room)
	}
	if late && t.In.Best <= room { // where that is wrong, the refusal is recovered from
		t.fitOutput()
		return nil
	}
	verdict := fit.NotDue
	if over || t.Close(t.In) {
		verdict = t.Judge(t.In, over, t.moment())
	}
	// A boundary never adds a cut: it says where one begins that is due, and ends the wait for a better moment.
	var boundary topic.Boundary
	found := false
	if verdict != fit.NotDue {
		boundary, found = t.boundary()
	}
	if verdict == fit.Due && !found && !t.Full(t.In) && t.summaryComing() {
		verdict = fit.Waits
	}
	if verdict < fit.Due && !found || t.p.o.NoPreflight {
		if verdict == fit.Waits {
			t.actions = append(t.actions, "waits")
		}
		t.fitOutput()
		return nil
	}
	goal, reason := t.Goal(), t.reasonFor(room)
	if verdict == fit.DueCold {
		reason = reasonCold
	}
	if found {
		goal.Since, reason = boundary.At, reasonTopic
	}
	err := t.MakeRoom(goal, false, func(g compact.Goal) error { return t.compact(g, reason) })
	if large, ok := errors.AsType[*fit.TooLarge](err); ok && large.Sure {
		return tooLong(t.rt.dialect, large.Total, t.Whole.Context, large.Error())
	} else if ok {
		err = errNoGain
	}
	if err != nil && !errors.Is(err, errNoGain) {
		return err
	}
	t.fitOutput()
	return nil
}

// reasonCold is the reason of a cut that was nearly due when the provider's cache had expired.
const reasonCold = "cold"

// reasonFor returns the reason to journal for a compaction: "limit" if the request is over room tokens, else "trigger".
func (t *conversation) reasonFor(room int) string {
	if t.In.High > room {
		return "limit"
	}
	return "trigger"
}

// compact makes the request smaller, one request of a conversation at a time: a second one waits and uses what the first has stored. It
// returns nil if the request is smaller now, errNoGain if it stays as it is, else a *compact.DoesNotFit, a *refusal if there was no memory,
// or the context's error.
func (t *conversation) compact(goal compact.Goal, reason string) error {
	ctx := t.r.Context()
	t.body.room.endTurn() // others look while this one waits for its conversation, or a model's summary
	unlock, err := t.p.o.Store.Lock(ctx, t.scope, t.name)
	if err != nil {
		return err
	}
	defer unlock()
	if reason != "overflow" && t.useNewerCut(goal) {
		return nil
	}
	room := &t.body.room
	size := giantSize(int64(len(t.request.Body)), lookCost(len(t.request.Body), bytes.Count(t.request.Body, []byte{'{'})))
	if !room.growTo(ctx, room.n+2*int64(len(t.request.Body))) || !room.takeTurn(ctx, size) {
		err := t.p.noRoomError(ctx, size)
		if errors.Is(err, errGiants) { // it goes on as large as it is
			t.p.journalPassed(t.rt, "giants", "no memory to make room in it")
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
		res, err = t.Compact(ctx, t.p.o.Compactor, goal)
	}
	gained := err == nil && res.Changed() && len(res.Request.Body) < len(t.request.Body)
	if !gained {
		t.journalUnused(&res)
	}
	switch _, tooLarge := errors.AsType[*compact.DoesNotFit](err); {
	case tooLarge || ctx.Err() != nil:
		return err
	case err != nil: // an edit that cannot be made is our fault: the request goes on without it
		t.p.journalPassed(t.rt, "invalid", "an edit could not be made")
		return errNoGain
	case !gained:
		return errNoGain
	}
	t.result = &res
	c := compact.Checkpoint(t.View, &res, t.chain)
	t.setRequest(t.View, res.Request)
	t.packContent()
	if t.result == nil { // taken back: what breaks a rule must not come again with every turn
		return errNoGain
	}
	if c != nil && reason != "overflow" && t.storeResult(c, false) {
		t.packContent()
	}
	t.keepLost(&res)
	t.recountTokens()
	if t.sentBefore > 0 && !t.guessed {
		t.journalBreak(reason, res.Patches[0].From, res.Thoughts)
	}
	t.actions = append(t.actions, "compacted:"+strings.Join(res.Rungs, "+"))
	id := ""
	if c != nil {
		id = checkpoint.EntryID(c)
	}
	t.p.journalEvent(journal.WindowCompacted{
		Upstream: t.rt.up.Name, Model: t.model, Request: t.rt.request, Conversation: t.name, Checkpoint: id, Reason: reason, Boundary: t.topicSign(reason), Rungs: res.Rungs,
		Before: int64(res.Before), After: int64(res.After), Messages: res.Messages, CutBytes: res.CutBytes, Took: time.Since(began),
		SummaryIn: int64(res.SummaryIn), SummaryOut: int64(res.SummaryOut), SummaryError: errorText(res.SummaryError),
	})
	return nil
}

// reasonTopic is the reason of a compaction between two tasks.
const reasonTopic = "topic"

// boundary returns the boundary between two tasks at which the request stands; false if it stands at none, or is a side request of the
// client. It looks at the client's messages, because edits could hide a boundary.
func (t *conversation) boundary() (topic.Boundary, bool) {
	if t.speakerOf().Side {
		return topic.Boundary{}, false
	}
	o := topic.Options{Idle: t.idle}
	if s := t.speakerOf(); s.Person {
		o.Typed = func(r *wire.Request, message int) bool { return len(s.Typed(r, message)) > 0 }
	}
	b, ok := topic.Newest(t.received, o)
	t.standing = b.Sign
	return b, ok
}

// topicSign returns what the boundary between two tasks was recognised by, for a compaction with reasonTopic; "" for any other reason.
func (t *conversation) topicSign(reason string) string {
	if reason != reasonTopic {
		return ""
	}
	return string(t.standing)
}

// fitOutput lowers the requested output if it does not fit beside the input, for providers that add up the two and refuse.
func (t *conversation) fitOutput() {
	if !t.rt.dialect.Rules().SharedWindow || t.Whole.Guessed() {
		return
	}
	free := t.Whole.Context - t.In.High
	if asked := t.request.MaxOutput; asked > 0 && asked > free && free > 0 {
		_ = t.lowerOutput(free)
	}
}

// lowerOutput makes the request ask for n tokens of output, less a margin of 2 %. It returns errNoGain, and changes nothing, if that is not
// less than now, is below minOutput, or leaves no room for the thinking budget.
func (t *conversation) lowerOutput(n int) error {
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
	t.packContent()
	return nil
}

// minOutput is the least output worth asking for, in tokens: less cuts a tool call in two.
const minOutput = 1024

var budgetName = []byte(`"budget_tokens"`)

// thinkingBudget returns thinking.budget_tokens of a Messages request, which max_tokens must exceed; 0 when there is none. It is searched
// for outside the messages.
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

package proxy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/internal/window/reasoning"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// The causes of a [journal.WindowBreak] that are not the reason of a compaction.
const (
	causeClient  = "client"  // the client sends other messages than it did
	causeLog     = "log"     // what was decided about the conversation is gone
	causeBinding = "binding" // the provider refused reasoning that was made behind another beginning
	causeLimit   = "limit"   // results that may have been sent whole are over the user's bound
	causeContent = "content" // an image or a text that was sent before dooms the session now
	causeRepair  = "repair"  // calls and results could not be paired otherwise
)

// decideNewMessages decides about the messages that are sent for the first time: calls and results are paired, contents that would doom the
// session are mended, results are held to the user's bound, a loop is told behind the newest result, the newest prompt gets what is
// recalled. Each decision is stored and journalled. What was sent before stays as it was; if it cannot, because the log is gone or a repair
// needs it, the decisions are stored as a cut.
func (t *conversation) decideNewMessages() {
	d := decision{conversation: t, next: t.View.Request}
	switch {
	case t.lost:
		d.allowChange(causeLog)
	case t.rehead:
		d.allowChange(causeClient)
	case t.strange > 0:
		// Reasoning behind what the client changed was made behind something else.
		d.dropReasoning(t.strange - t.sentBefore + t.frozen)
		t.journalBreak(causeClient, t.sentBefore, d.thoughts)
	}
	d.repairPairs()
	d.mendContents()
	d.boundResults()
	d.addHint()
	next, at, text := t.addRecalled(d.next)
	d.next = next
	if d.next == t.View.Request {
		return
	}
	for !d.cuts {
		view, patches, err := t.View.Amend(d.next, t.sentBefore, t.frozen)
		if err == nil {
			d.freezeDecisions(view, patches, at, text)
			return
		}
		d.allowChange(causeRepair)
	}
	d.storeCut(text)
}

// A decision is the state of [conversation.decideNewMessages] while it works.
type decision struct {
	*conversation
	next     *wire.Request
	cuts     bool   // what was sent before may change
	shown    []byte // results as they were before they were cut
	thoughts int    // parts of reasoning that were taken out
}

// allowChange lets messages that were sent before change, drops the reasoning that is bound to them, and journals the cause. A second call
// does nothing. If it was only guessed that they were sent before, it withdraws that guess instead.
func (d *decision) allowChange(cause string) {
	switch {
	case d.cuts:
		return
	case d.guessed:
		d.guessed, d.sentBefore, d.frozen = false, 0, 0
		return
	}
	d.cuts = true
	if d.boundReasoning() {
		d.dropReasoning(0)
	}
	d.journalBreak(cause, 0, d.thoughts)
}

// dropReasoning removes the reasoning from the messages at the index from and after it. On an error it does nothing.
func (d *decision) dropReasoning(from int) {
	next, n, err := reasoning.Without(d.next, from)
	if err == nil && n > 0 {
		d.next, d.thoughts = next, d.thoughts+n
	}
}

// frozenMessages returns the number of leading messages that must stay as they were sent; 0 once allowChange has let them change.
func (d *decision) frozenMessages() int {
	if d.cuts {
		return 0
	}
	return d.frozen
}

// repairPairs pairs calls and results in d.next. If messages that were sent before have to change for that, it allows it (see allowChange).
// On an error the request stays as it is.
func (d *decision) repairPairs() {
	if d.p.o.NoRepair {
		return
	}
	o := d.repairOptions(d.mendOptions())
	o.Frozen = d.frozenMessages()
	if d.rt.up.Provider == Bedrock {
		o.MaxID = repair.BedrockMaxID
	}
	next, done, err := repair.Repair(d.next, o)
	if errors.Is(err, repair.ErrFrozen) {
		d.allowChange(causeRepair)
		o.Frozen = 0
		next, done, err = repair.Repair(d.next, o)
	}
	if err != nil || next == d.next {
		return
	}
	d.next, d.repairs = next, done
	d.actions = append(d.actions, fmt.Sprintf("repaired:%d", len(done)))
}

// mendContents changes contents in d.next that the provider would refuse, and journals each kind of change. If a message that was sent
// before has to change, it allows that (see allowChange). On an error the request stays as it is.
func (d *decision) mendContents() {
	if d.p.o.NoRepair {
		return
	}
	o := d.mendOptions()
	o.From = d.frozenMessages()
	next, done, err := mend.Mend(d.next, o)
	if _, before := mend.First(done); before && err == nil {
		d.allowChange(causeContent)
		o.From = 0
		next, done, err = mend.Mend(d.next, o)
	}
	if err != nil || next == d.next {
		return
	}
	d.next = next
	d.actions = append(d.actions, fmt.Sprintf("mended:%d", len(done)))
	for i, a := range done {
		same := func(b mend.Action) bool { return b.Kind == a.Kind }
		if slices.ContainsFunc(done[:i], same) {
			continue
		}
		count := 0
		for _, b := range done[i:] {
			if same(b) {
				count++
			}
		}
		d.p.journalEvent(journal.WindowRepaired{
			Upstream: d.rt.up.Name, Model: d.model, Conversation: d.name, What: a.Kind, Count: count, CallID: clip(a.CallID, 64),
		})
	}
}

// mendOptions returns the rules by which contents are mended for this provider and model, with those learned in the conversation.
func (t *conversation) mendOptions() mend.Options {
	o, _ := t.p.lessons.Get(t.lessonKey())
	o.Provider, o.Model, o.Betas = t.upstream, t.model, t.betas
	return o
}

// repairOptions returns what the ids of calls are held to, by the model and by what refusals have taught.
func (t *conversation) repairOptions(o mend.Options) repair.Options {
	return repair.Options{
		MaxID: o.MaxID, NineIDs: o.NineIDs, PlainIDs: o.PlainIDs, UniqueIDs: o.UniqueIDs, AnyID: !tokens.MayBeClaude(t.Provider, t.model),
	}
}

// lessonKey returns the key of the rules learned from refusals: conversation and model, because models differ.
func (t *conversation) lessonKey() string { return t.key() + "\x00" + t.model }

// mendParameters changes fields outside the messages that the provider would refuse: too many cache marks, a thinking budget that does not
// fit. It is not stored as a decision, because it follows from each request alone.
func (t *conversation) mendParameters() {
	if t.p.o.Mode != Enforce || t.p.o.NoRepair || t.packed == t.request && t.packed != nil {
		return
	}
	o := t.mendOptions()
	o.From = len(t.request.Messages)
	next, _, err := mend.Mend(t.request, o)
	if err == nil && next != t.request {
		t.request, t.edited, t.body.pooled = next, true, false
	}
}

// boundResults cuts new tool results that are larger than the user's limit, and journals that.
func (d *decision) boundResults() {
	if d.received.Bypass.Room() == wire.RoomNever {
		return
	}
	next, shown := d.p.o.Compactor.Bound(d.next, d.frozenMessages())
	if d.guessed && d.frozenMessages() > 0 {
		// Nothing says that older results were sent whole but the answers behind them: the user's bound counts for more, and is a cut.
		if _, all := d.p.o.Compactor.Bound(d.next, 0); len(all) > len(shown) {
			d.guessed = false
			d.allowChange(causeLimit)
			next, shown = d.p.o.Compactor.Bound(d.next, 0)
		}
	}
	if next == d.next {
		return
	}
	before, after := d.p.o.Counter.Tally(d.next, d.Family).Total.Best, d.p.o.Counter.Tally(next, d.Family).Total.Best
	d.actions = append(d.actions, "compacted:"+compact.RungCut)
	d.p.journalEvent(journal.WindowCompacted{
		Upstream: d.rt.up.Name, Model: d.model, Request: d.rt.request, Conversation: d.name, Reason: reasonSize, Rungs: []string{compact.RungCut},
		Before: int64(before), After: int64(after), Messages: 1, CutBytes: int64(len(d.next.Body) - len(next.Body)),
	})
	d.next, d.shown = next, shown
}

// reasonSize is the reason for cutting a result that is larger than the user allows.
const reasonSize = "result_size"

// freezeDecisions stores patches, the decisions about messages that are sent for the first time, so that later requests send them alike,
// and makes view the one to send. recalled is the text that was added to the client's message of that index, "" for none. If another
// process or replica has stored other decisions first, those are sent.
func (d *decision) freezeDecisions(view *compact.View, patches []compact.Patch, message int, recalled string) {
	var cut *checkpoint.Cut
	other := false
	list := compact.Decisions(patches, d.chain)
	for i, c := range list {
		if recalled != "" && c.Patches[0].From <= message && message < c.Patches[0].To {
			c.Recalled = []string{recalled}
		}
		cut = nil
		if i == len(list)-1 && len(d.shown) > 0 { // what was cut is shown by its newest decision
			cut = &checkpoint.Cut{Text: d.shown, Entry: checkpoint.Entry{
				Conversation: d.name, Upstream: d.rt.up.Name, Dialect: d.rt.dialect.String(), Model: d.model, Rungs: []string{compact.RungCut},
				Messages: 1, CutBytes: int64(len(d.shown)),
			}}
		}
		got, _ := d.p.o.Store.Freeze(d.log, c, cut) // the store journals what went wrong
		other = other || got != c
	}
	if d.publishLog(nil) || other { // somebody else decided first: the same bytes for all
		if theirs, err := compact.Replay(d.received, checkpoint.Log(d.p.o.Store, d.log, d.chain, 0)...); err == nil {
			view = theirs
		}
	} else if recalled != "" {
		view.Recalled = append(view.Recalled[:len(view.Recalled):len(view.Recalled)], recalled)
	}
	d.setRequest(view, view.Request)
	d.fresh = true
}

// storeCut stores decisions that change what was sent before as one cut, and makes it what is sent. recalled is a text that was added to a
// prompt, "" for none. If another replica decided first, its decisions are sent.
func (d *decision) storeCut(recalled string) {
	view := d.View.Cut(d.next)
	if recalled != "" {
		view.Recalled = append(view.Recalled[:len(view.Recalled):len(view.Recalled)], recalled)
	}
	res := view.Result(0, 0)
	res.Cut, res.Rungs = d.shown, []string{compact.RungThinking}
	if c := compact.Checkpoint(view, &res, d.chain); c != nil {
		cut := checkpoint.Cut{Text: d.shown, Entry: checkpoint.Entry{
			Conversation: d.name, Upstream: d.rt.up.Name, Dialect: d.rt.dialect.String(), Model: d.model, Rungs: res.Rungs, CutBytes: int64(len(d.shown)),
		}}
		_, _ = d.p.o.Store.Put(d.log, c, cut)
		view = d.publishView(view)
	}
	d.setRequest(view, view.Request)
	d.fresh = true
}

// journalBreak records and journals that the request no longer begins with what was sent before: the cause, the index of the first message
// that differs, and how many parts of reasoning were removed.
func (t *conversation) journalBreak(cause string, message, thoughts int) {
	t.cut = true
	t.p.journalEvent(journal.WindowBreak{
		Upstream: t.rt.up.Name, Dialect: t.rt.dialect.String(), Model: t.model, Request: t.rt.request, Conversation: t.name,
		Cause: cause, Message: message, ThinkingOut: thoughts,
	})
}

// maxBound bounds the number of models that are remembered for having refused reasoning, and of conversations with lessons or refusals.
const maxBound = 256

// boundReasoning reports whether the model's reasoning becomes invalid when messages before it change: by the table of rules, or because
// the provider has refused it for that.
func (t *conversation) boundReasoning() bool {
	if t.BindsReasoning() {
		return true
	}
	_, said := t.p.bound.Get(t.upstream + "\x00" + t.model)
	return said
}

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
		t.broke(causeClient, t.sentBefore, d.thoughts)
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

// A decision is the state of [conversation.decideNewMessages].
type decision struct {
	*conversation
	next     *wire.Request
	cuts     bool   // what was sent before may change
	shown    []byte // results as they were before they were cut
	thoughts int    // parts of reasoning that were taken out
}

// allowChange allows messages that were sent before to change, and journals the cause. Reasoning that is bound to them is dropped. A second
// call does nothing. If it was only guessed that messages were sent before, it drops that guess instead.
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
	d.broke(cause, 0, d.thoughts)
}

// dropReasoning takes the reasoning out of the messages from an index on. On an error it does nothing.
func (d *decision) dropReasoning(from int) {
	next, n, err := reasoning.Without(d.next, from)
	if err == nil && n > 0 {
		d.next, d.thoughts = next, d.thoughts+n
	}
}

// keptMessages returns the number of leading messages that must stay as they are.
func (d *decision) keptMessages() int {
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
	taught := d.mendOptions()
	o := repair.Options{Frozen: d.keptMessages(), MaxID: taught.MaxID, NineIDs: taught.NineIDs}
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
	o.From = d.keptMessages()
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

// mendOptions returns what the provider accepts, with what its refusals have taught in this conversation.
func (t *conversation) mendOptions() mend.Options {
	o, _ := t.p.lessons.Get(t.lessonKey())
	o.Provider, o.Model, o.Betas = t.upstream, t.model, t.betas
	return o
}

// lessonKey is the key of what refusals have taught: the next model of the conversation may take what this one does not.
func (t *conversation) lessonKey() string { return t.key() + "\x00" + t.model }

// mendParameters changes what would be refused outside the messages: too many cache marks, a budget that does not fit. It is not stored as
// a decision: it follows from what the client asks for in each request.
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

// boundResults cuts new results that are larger than the user allows, and journals that.
func (d *decision) boundResults() {
	if d.received.Bypass.Room() == wire.RoomNever {
		return
	}
	next, shown := d.p.o.Compactor.Bound(d.next, d.keptMessages())
	if d.guessed && d.keptMessages() > 0 {
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

// freezeDecisions stores patches, the decisions about messages that are sent for the first time, so that they are sent like that from now on, and
// makes view what is sent. text was recalled for the client's message at, "" for nothing. If another process or replica stored other
// decisions first, those are sent.
func (d *decision) freezeDecisions(view *compact.View, patches []compact.Patch, at int, text string) {
	var cut *checkpoint.Cut
	other := false
	list := compact.Decisions(patches, d.chain)
	for i, c := range list {
		if text != "" && c.Patches[0].From <= at && at < c.Patches[0].To {
			c.Recalled = []string{text}
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
	} else if text != "" {
		view.Recalled = append(view.Recalled[:len(view.Recalled):len(view.Recalled)], text)
	}
	d.setRequest(view, view.Request)
	d.fresh = true
}

// storeCut stores decisions that change what was sent before, as one cut, and makes them what is sent. text was recalled, "" for nothing.
// If another replica decided first, its decisions are sent.
func (d *decision) storeCut(text string) {
	view := d.View.Cut(d.next)
	if text != "" {
		view.Recalled = append(view.Recalled[:len(view.Recalled):len(view.Recalled)], text)
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

// broke journals that the request does not begin with what was sent before: from which message on, and how many parts of reasoning went.
func (t *conversation) broke(cause string, message, thoughts int) {
	t.cut = true
	t.p.journalEvent(journal.WindowBreak{
		Upstream: t.rt.up.Name, Dialect: t.rt.dialect.String(), Model: t.model, Request: t.rt.request, Conversation: t.name,
		Cause: cause, Message: message, ThinkingOut: thoughts,
	})
}

// maxBound bounds the number of models that are remembered for having refused reasoning, and of conversations with lessons or refusals.
const maxBound = 256

// boundReasoning reports whether the model's reasoning becomes invalid when messages before it change: by the table of rules, or because
// the provider has said so.
func (t *conversation) boundReasoning() bool {
	if t.BindsReasoning() {
		return true
	}
	_, said := t.p.bound.Get(t.upstream + "\x00" + t.model)
	return said
}

package proxy

import (
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/loops"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// LoopAction names the answer to an agent that repeats itself.
type LoopAction string

// The actions. Where nothing may be changed ([Observe]) each is LoopWarn.
const (
	LoopWarn LoopAction = "warn" // it is journalled
	LoopHint LoopAction = "hint" // the model is told too, behind the newest tool result
	LoopStop LoopAction = "stop" // the request is refused; the next words of the user begin anew
)

// askedLater is the quiet time after which the same question may have the same answer: a timer asks, and nothing goes round.
const askedLater = time.Minute

// lookForLoop looks for a loop that the newest messages close, and journals it if it is new. It returns a *refusal if the loop goes on and
// the options say to stop then, else nil.
func (t *conversation) lookForLoop() error {
	l, found := loops.Find(t.received)
	if !found || len(t.chain) == 0 || l.Kind == loops.KindSaid && l.Message < 0 && t.idle >= askedLater {
		return nil
	}
	t.loop = l
	did := t.loopAction()
	newest := t.chain[len(t.chain)-1]
	if !l.Again && !t.p.looped.contains(t.log, newest) { // a client that tries again tells nothing new
		t.p.looped.add(t.log, newest)
		t.p.journalEvent(journal.WindowLoop{
			Upstream: t.rt.up.Name, Dialect: t.rt.dialect.String(), Model: t.model, Request: t.rt.request, Conversation: t.name,
			Rule: string(l.Kind), Did: loopDid[did], Text: l.Detail,
		})
	}
	if did != LoopStop {
		return nil
	}
	return overLimit(t.rt, "loop", "the agent repeats itself: "+l.Detail+". Its requests are refused until you say something new: tell it what to do "+
		`instead. on_loop = "stop" in [window] asks for this; "warn" lets it go on.`)
}

// loopDid are the words of the journal for what was done.
var loopDid = map[LoopAction]string{LoopWarn: "warned", LoopHint: "hinted", LoopStop: "stopped"}

// loopAction returns what is done about the loop of this request: what Options.OnLoop says, or LoopWarn where that is not possible. A hint
// needs a result that is sent for the first time, and a store, so that later requests have the same words there.
func (t *conversation) loopAction() LoopAction {
	switch a := t.p.o.OnLoop; {
	case t.p.o.Mode != Enforce, a == LoopStop && t.loop.Answered:
		return LoopWarn
	case a == LoopHint && (t.p.o.Store == nil || t.received.Bypass.Room() == wire.RoomNever || t.loop.Message < t.sentBefore):
		return LoopWarn
	default:
		return a
	}
}

// addHint appends a sentence to the newest tool result that tells the model that it repeats itself. It does nothing if hints are not asked
// for, the loop was told before, or the result was sent before.
func (d *decision) addHint() {
	if d.loop.Kind == "" || d.loop.Again || d.loopAction() != LoopHint {
		return
	}
	at := len(d.next.Messages) - 1
	for at >= 0 && !hasResult(&d.next.Messages[at]) {
		at--
	}
	if at < max(0, d.frozenMessages()) {
		return
	}
	draft := d.next.Draft()
	if !appendToResult(draft, d.next, at, "Note by Plimsoll: "+d.loop.Nudge) {
		return
	}
	next, err := draft.Build()
	if err != nil || next == d.next { // our fault: the request goes on without it
		d.p.journalPassed(d.rt, "invalid", "what the model was to be told of its loop could not be added")
		return
	}
	d.next = next
	d.actions = append(d.actions, "hinted")
}

// hasResult reports whether a message contains a tool result.
func hasResult(m *wire.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p wire.Part) bool { return p.Kind == wire.Result })
}

// appendToResult appends a text to the last tool result of a message: to its last text, or, where it has none, as a block behind it. It
// returns false, and changes nothing, if neither can be done.
func appendToResult(d *wire.Draft, r *wire.Request, message int, text string) bool {
	m := &r.Messages[message]
	for i, p := range slices.Backward(m.Parts) {
		if p.Kind != wire.Result {
			continue
		}
		if len(p.Texts) > 0 {
			words := len(p.Texts) - 1
			if !p.Raw.IsZero() { // values of an object: the longest is what came back
				for k, s := range p.Texts {
					if s.Len() > p.Texts[words].Len() {
						words = k
					}
				}
			}
			d.ReplaceText(message, i, words, string(wire.Unquote(nil, r.Raw(p.Texts[words])))+"\n\n"+text)
			return true
		}
		if m.Role != wire.RoleUser {
			return false
		}
		d.InsertPart(message, len(m.Parts), wire.TextElement(r.Dialect, wire.RoleUser, text))
		return true
	}
	return false
}

package proxy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/recent"
	"github.com/plimsoll/plimsoll/internal/window/client"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/topic"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A Keeper is given parts of conversations: what a compaction took out, and with Options.KeepTurns each turn. Keep is called while a
// request waits, by any goroutine: it returns at once. It may keep what it is given.
type Keeper interface {
	Keep(Excerpt)
}

// A Recaller knows other conversations. Recall returns the text to add to a prompt, or "". It is called while a request waits, by any
// goroutine, and returns before ctx ends.
type Recaller interface {
	Recall(ctx context.Context, p Prompt) string
}

// Why an [Excerpt] is given.
const (
	ExcerptCut  = "cut"  // a compaction changed these messages or took them out
	ExcerptTurn = "turn" // they are new in their conversation
)

// An Excerpt is a part of a conversation, as its client sent it.
type Excerpt struct {
	Why             string
	Upstream, Model string
	Scope           string // names the credential, in hexadecimal
	Conversation    string
	Speaker         client.Speaker
	Dialect         wire.Dialect
	Body            []byte            // a body of the dialect with these messages alone
	Places          []int             // of each message of Body, its position in the conversation from 0
	Calls           map[string]Called // see [Excerpt.Call]
	Recalled        []string          // what was added to prompts of the conversation
	SeenAt          time.Time
}

// Called is the call that a result in an [Excerpt] answers.
type Called struct {
	Tool    string
	Command string // the beginning of its arguments
}

// Call returns the call that is answered by part j of message i of Body, a result.
func (e *Excerpt) Call(r *wire.Request, i, j int) Called {
	return e.Calls[callKey(&r.Messages[i].Parts[j], e.Places[i], j)]
}

// callKey returns by what the call of a result is known: its id, or where the result stands, as Gemini's have none.
func callKey(p *wire.Part, place, j int) string {
	if p.CallID != "" {
		return p.CallID
	}
	return fmt.Sprintf("\x00%d.%d", place, j)
}

// A Prompt is a new message of a user's, which a Recaller is asked about.
type Prompt struct {
	Scope, Conversation string
	Speaker             client.Speaker
	Text                string   // the user's words; of many those at the beginning and the end, at most 12 KiB
	First               bool     // of its conversation
	Recalled            []string // what was added to earlier prompts of it
}

const (
	// excerptBytes is the approximate size of one excerpt; what is larger is given in several.
	excerptBytes = 512 << 10
	// commandBytes bounds the arguments of a call in an excerpt.
	commandBytes = 1 << 10
	// promptBytes bounds the part of a prompt that is looked at.
	promptBytes = 12 << 10
	// recallWait bounds the wait of a request for a Recaller. A search takes 3 ms of a processor where there are 100,000
	// records; a machine with more to do takes longer.
	recallWait = 50 * time.Millisecond
)

// speak returns whose words the request's messages are. It looks once.
func (t *conversation) speak() client.Speaker {
	if t.speaker == nil {
		s := client.SpeakerOf(t.r.Header, t.received)
		t.speaker = &s
	}
	return *t.speaker
}

// keepLost passes the messages that a compaction took out or changed to the Keeper, each once in a request. With KeepTurns the Keeper has
// them already.
func (t *conversation) keepLost(res *compact.Result) {
	if t.p.o.Keeper == nil || t.p.o.KeepTurns && t.turnsKept {
		return
	}
	lost := compact.Lost(t.View, res)
	lost = slices.DeleteFunc(lost, func(i int) bool { return slices.Contains(t.cutKept, i) })
	t.cutKept = append(t.cutKept, lost...)
	t.keepExcerpts(ExcerptCut, lost)
}

// keepTurn gives the Keeper, with KeepTurns, the messages that are new in the conversation, and remembers that they were given. It does
// nothing for a side conversation, or for a client's own request for a summary.
func (t *conversation) keepTurn() {
	if t.p.o.Keeper == nil || !t.p.o.KeepTurns || t.received.Bypass&wire.Summarising != 0 || t.speak().Side {
		return
	}
	t.turnsKept = true
	var fresh []int
	for i := t.p.kept.learn(t.scope, t.chain); i < len(t.received.Messages); i++ {
		fresh = append(fresh, i)
	}
	t.keepExcerpts(ExcerptTurn, fresh)
}

// keepExcerpts gives the Keeper the client's messages at the given indices, in pieces of about excerptBytes.
func (t *conversation) keepExcerpts(why string, messages []int) {
	r := t.received
	for len(messages) > 0 {
		n, size := 0, 0
		for n < len(messages) && (n == 0 || size+r.Messages[messages[n]].Span.Len() <= excerptBytes) {
			size += r.Messages[messages[n]].Span.Len()
			n++
		}
		t.p.o.Keeper.Keep(Excerpt{
			Why: why, Upstream: t.rt.up.Name, Model: t.model, Scope: t.scope.String(), Conversation: t.name, Speaker: t.speak(),
			Dialect: r.Dialect, Body: r.Excerpt(messages[:n]), Places: slices.Clone(messages[:n]), Calls: callsOf(r, messages[:n]),
			Recalled: t.View.Recalled, SeenAt: t.readAt,
		})
		messages = messages[n:]
	}
}

// callsOf returns the calls whose results are in the given messages of r, by what answered says. A result whose call r lacks has a zero Called.
func callsOf(r *wire.Request, messages []int) map[string]Called {
	wanted := map[string]Called{}
	for _, i := range messages {
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			if p.Kind != wire.Result {
				continue
			}
			called := Called{}
			if p.CallID == "" {
				called = calledBefore(r, i, j)
			}
			wanted[strings.Clone(callKey(p, i, j))] = called
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			if p := &r.Messages[i].Parts[j]; p.Kind == wire.Call && p.CallID != "" {
				if _, ok := wanted[p.CallID]; ok {
					wanted[strings.Clone(p.CallID)] = calledBy(r, p)
				}
			}
		}
	}
	return wanted
}

// calledBy returns the tool and the beginning of the arguments of a call.
func calledBy(r *wire.Request, p *wire.Part) Called {
	command := ""
	if !p.Raw.IsZero() {
		command = string(r.Raw(p.Raw)[:min(p.Raw.Len(), commandBytes)])
	} else if len(p.Texts) > 0 {
		command = limit.Clip(r.Words(p), commandBytes)
	}
	return Called{Tool: strings.Clone(p.Name), Command: command}
}

// calledBefore returns the call that a result without an id answers: of those in the last message with any, the one of the same name that has as many of
// that name before it as the result has in its message.
func calledBefore(r *wire.Request, i, j int) Called {
	name := r.Messages[i].Parts[j].Name
	nth := 0
	for k := range j {
		if p := &r.Messages[i].Parts[k]; p.Kind == wire.Result && p.CallID == "" && p.Name == name {
			nth++
		}
	}
	for i--; i >= 0; i-- {
		calls := false
		for k := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[k]
			if calls = calls || p.Kind == wire.Call; p.Kind != wire.Call || p.CallID != "" || p.Name != name {
				continue
			}
			if nth == 0 {
				return calledBy(r, p)
			}
			nth--
		}
		if calls {
			break
		}
	}
	return Called{}
}

// knownPrefixes is a bounded set of beginnings of conversations.
type knownPrefixes struct {
	*recent.Shared[prefixOf, struct{}]
}

func newKnownPrefixes() knownPrefixes {
	return knownPrefixes{recent.NewShared[prefixOf, struct{}](maxPrefixes, prefixOf.sum)}
}

// learn returns how many of the first messages of a conversation are known, and makes all of them known. chain[i] is the digest of 0..i.
func (k knownPrefixes) learn(scope checkpoint.Scope, chain []tokens.Digest) int {
	_, last := k.Last(len(chain), func(i int) prefixOf { return prefixOf{scope, chain[i]} })
	for _, d := range chain[last+1:] {
		k.add(scope, d)
	}
	return last + 1
}

func (k knownPrefixes) contains(scope checkpoint.Scope, d tokens.Digest) bool {
	_, ok := k.Get(prefixOf{scope, d})
	return ok
}

func (k knownPrefixes) add(scope checkpoint.Scope, d tokens.Digest) {
	k.Put(prefixOf{scope, d}, struct{}{})
}

// addRecalled adds to the newest prompt what the Recaller knows about it, if the prompt is sent for the first time. The text comes after
// the client's own blocks, never in the system prompt, the tools or a result. r is the request that is about to be sent. It returns the
// request with the text, the index of the client's message it was added to, and the text; r, 0 and "" if nothing was added.
func (t *conversation) addRecalled(r *wire.Request) (next *wire.Request, at int, text string) {
	if t.p.o.Recaller == nil || t.p.o.Store == nil || r.Bypass.Room() == wire.RoomNever || t.speak().Side {
		return r, 0, ""
	}
	at, here := topic.FreshPrompt(t.received), topic.FreshPrompt(r)
	if at < t.sentBefore || here < t.frozen || at < 0 || t.p.unrecalled.contains(t.log, t.chain[at]) {
		return r, 0, ""
	}
	text = t.askMemory(at)
	if text == "" {
		t.p.unrecalled.add(t.log, t.chain[at])
		return r, 0, ""
	}
	d := r.Draft()
	addText(d, r, here, text)
	next, err := d.Build()
	if err != nil || next == r { // our fault: the request goes on without it
		t.p.journalPassed(t.rt, "invalid", "what was recalled could not be added")
		return r, 0, ""
	}
	t.actions = append(t.actions, "recalled")
	return next, at, text
}

// askMemory asks the Recaller about the prompt in the client's message at, waits for at most recallWait, and returns the text to add; ""
// for nothing.
func (t *conversation) askMemory(at int) string {
	r := t.received
	ctx, cancel := context.WithTimeout(t.r.Context(), recallWait)
	defer cancel()
	first := !slices.ContainsFunc(r.Messages[:at], func(m wire.Message) bool { return m.Role == wire.RoleAssistant })
	return t.p.o.Recaller.Recall(ctx, Prompt{
		Scope: t.scope.String(), Conversation: t.name, Speaker: t.speak(), Text: bothEnds(topic.Words(r, at)),
		First: first, Recalled: t.View.Recalled,
	})
}

// bothEnds returns what is looked at of a prompt: what is asked stands at the end of a long one, behind what was pasted.
func bothEnds(prompt string) string {
	return limit.Clip(limit.Cut(prompt, promptBytes, func(int) string { return "\n" }), promptBytes)
}

// addText appends a text to a user's message in d, a draft of r. In Chat a message of one string stays one string, because not every
// service takes a list there; elsewhere the text becomes a block of its own.
func addText(d *wire.Draft, r *wire.Request, message int, text string) {
	m := &r.Messages[message]
	if m.Role != wire.RoleUser || text == "" {
		return
	}
	if r.Dialect.Rules().KeepsString && m.Plain && len(m.Parts) == 1 && len(m.Parts[0].Texts) == 1 {
		d.ReplaceText(message, 0, 0, r.Words(&m.Parts[0])+"\n\n"+text)
		return
	}
	d.InsertPart(message, len(m.Parts), wire.TextElement(r.Dialect, wire.RoleUser, text))
}

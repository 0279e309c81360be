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

// callKey returns the key in Excerpt.Calls of the call that p answers, a result: the call's id, or, as Gemini has none, the result's
// position in the conversation.
func callKey(p *wire.Part, message, part int) string {
	if p.CallID != "" {
		return p.CallID
	}
	return fmt.Sprintf("\x00%d.%d", message, part)
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

// speakerOf returns which client, person or agent wrote the request's messages, as far as headers and contents tell. It is computed once.
func (t *conversation) speakerOf() client.Speaker {
	if t.speaker == nil {
		s := client.SpeakerOf(t.r.Header, t.received)
		t.speaker = &s
	}
	return *t.speaker
}

// keepLost gives the Keeper the messages that a compaction removed or changed, each once per request. With KeepTurns it does nothing if the
// Keeper has them already.
func (t *conversation) keepLost(res *compact.Result) {
	if t.p.o.Keeper == nil || t.p.o.KeepTurns && t.turnsKept {
		return
	}
	lost := compact.Lost(t.View, res)
	lost = slices.DeleteFunc(lost, func(i int) bool { return slices.Contains(t.cutKept, i) })
	t.cutKept = append(t.cutKept, lost...)
	t.keepExcerpts(ExcerptCut, lost)
}

// keepTurn gives the Keeper, if KeepTurns is set, the messages that are new in the conversation. It does nothing for a side conversation,
// or for a client's own request for a summary.
func (t *conversation) keepTurn() {
	if t.p.o.Keeper == nil || !t.p.o.KeepTurns || t.received.Bypass&wire.Summarising != 0 || t.speakerOf().Side {
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
			Why: why, Upstream: t.rt.up.Name, Model: t.model, Scope: t.scope.String(), Conversation: t.name, Speaker: t.speakerOf(),
			Dialect: r.Dialect, Body: r.Excerpt(messages[:n]), Places: slices.Clone(messages[:n]), Calls: callsOf(r, messages[:n]),
			Recalled: t.View.Recalled, SeenAt: t.readAt,
		})
		messages = messages[n:]
	}
}

// callsOf returns the calls whose results are in the given messages of r, by [callKey]. A result whose call is not in r has a zero Called.
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
				called = callByOrder(r, i, j)
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
					wanted[strings.Clone(p.CallID)] = describeCall(r, p)
				}
			}
		}
	}
	return wanted
}

// describeCall returns the tool and the beginning of the arguments of a call.
func describeCall(r *wire.Request, p *wire.Part) Called {
	command := ""
	if !p.Raw.IsZero() {
		command = string(r.Raw(p.Raw)[:min(p.Raw.Len(), commandBytes)])
	} else if len(p.Texts) > 0 {
		command = limit.Clip(r.Words(p), commandBytes)
	}
	return Called{Tool: strings.Clone(p.Name), Command: command}
}

// callByOrder returns the call that a result without an id answers: part j of message i. Of the nearest earlier message with calls it takes
// the nth call of the same tool for the nth result of that tool; a zero Called if there is none.
func callByOrder(r *wire.Request, i, j int) Called {
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
				return describeCall(r, p)
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
	*recent.Shared[conversationPrefix, struct{}]
}

func newKnownPrefixes() knownPrefixes {
	return knownPrefixes{recent.NewShared[conversationPrefix, struct{}](maxPrefixes, conversationPrefix.sum)}
}

// learn records that all beginnings of a conversation are known, and returns how many of its messages were known before. chain[i] is the
// digest of the messages 0..i.
func (k knownPrefixes) learn(scope checkpoint.Scope, chain []tokens.Digest) int {
	_, last := k.Last(len(chain), func(i int) conversationPrefix { return conversationPrefix{scope, chain[i]} })
	for _, d := range chain[last+1:] {
		k.add(scope, d)
	}
	return last + 1
}

// contains reports whether the beginning with that digest is in the set.
func (k knownPrefixes) contains(scope checkpoint.Scope, d tokens.Digest) bool {
	_, ok := k.Get(conversationPrefix{scope, d})
	return ok
}

func (k knownPrefixes) add(scope checkpoint.Scope, d tokens.Digest) {
	k.Put(conversationPrefix{scope, d}, struct{}{})
}

// addRecalled adds to the newest prompt what the Recaller knows about it, if the prompt is sent for the first time. The text comes after
// the client's own blocks, never in the system prompt, the tools or a result. r is the request that is about to be sent. It returns the
// changed request, the index of the client's message and the text; r, 0 and "" if nothing was added.
func (t *conversation) addRecalled(r *wire.Request) (next *wire.Request, message int, text string) {
	if t.p.o.Recaller == nil || t.p.o.Store == nil || r.Bypass.Room() == wire.RoomNever || t.speakerOf().Side {
		return r, 0, ""
	}
	message, here := topic.FreshPrompt(t.received), topic.FreshPrompt(r)
	if message < t.sentBefore || here < t.frozen || message < 0 || t.p.unrecalled.contains(t.log, t.chain[message]) {
		return r, 0, ""
	}
	text = t.askMemory(message)
	if text == "" {
		t.p.unrecalled.add(t.log, t.chain[message])
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
	return next, message, text
}

// askMemory asks the Recaller about the prompt in the client's message of that index, waits for at most recallWait, and returns the text to
// add; "" for none.
func (t *conversation) askMemory(message int) string {
	r := t.received
	ctx, cancel := context.WithTimeout(t.r.Context(), recallWait)
	defer cancel()
	first := !slices.ContainsFunc(r.Messages[:message], func(m wire.Message) bool { return m.Role == wire.RoleAssistant })
	return t.p.o.Recaller.Recall(ctx, Prompt{
		Scope: t.scope.String(), Conversation: t.name, Speaker: t.speakerOf(), Text: bothEnds(topic.Words(r, message)),
		First: first, Recalled: t.View.Recalled,
	})
}

// bothEnds returns the prompt's beginning and end, together at most promptBytes: the question often stands behind what was pasted.
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

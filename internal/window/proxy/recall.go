package proxy

import (
	"context"
	"slices"

	"github.com/plimsoll/plimsoll/internal/window/topic"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/wire"
)

// recall adds to the newest prompt what the Recaller knows about it, when the prompt is sent for the first time. It stands behind the
// client's own blocks, never in the system prompt, the tools or a result. r is the request that is about to be sent. recall returns the
// request with the text, the index of the client's message it was added to, and the text; r, 0 and "" if nothing was added.
func (t *conversation) recall(r *wire.Request) (next *wire.Request, at int, text string) {
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
	add(d, r, here, text)
	next, err := d.Build()
	if err != nil || next == r { // our fault: the request goes on without it
		t.p.passed(t.rt, "invalid", "what was recalled could not be added")
		return r, 0, ""
	}
	t.actions = append(t.actions, "recalled")
	return next, at, text
}

// askMemory returns what the Recaller knows about the prompt in the client's message at; "" for nothing.
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

// add appends a text to a user's message in d, a draft of r. A Chat message of one string stays one: not every service takes a list there.
// Elsewhere the client itself sends the same message now as a string, now as a list, and one block more is one in both.
func add(d *wire.Draft, r *wire.Request, message int, text string) {
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

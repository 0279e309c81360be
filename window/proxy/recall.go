package proxy

import (
	"context"
	"slices"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/compact"
	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/topic"
	"github.com/plimsoll/plimsoll/window/wire"
)

// recall adds to the client's request what was recalled for its prompts: what was added before at the same places, to the byte,
// and for a prompt that is new what the Recaller knows. It stands behind the client's own blocks of the prompt, never in the
// system prompt, the tools or a result. What was added is kept where compactions are, under the digest of the messages up to the
// prompt, so that each request begins with the one before; compactions work on what comes of it.
func (t *conversation) recall(r *wire.Request) *wire.Request {
	if t.p.o.Recaller == nil || t.p.o.Store == nil || r.Bypass != wire.BypassNone || t.speak().Side {
		return r
	}
	client := t.p.o.Counter.Tally(r, t.family)
	t.client = &client
	chain := client.Chain
	t.name = compact.Conversation(r, chain) // of the client's own messages: a name must not change with what is recalled
	scope := t.p.scope("recall\x00" + t.p.o.RecallFor + "\x00" + t.who)
	kept := checkpoint.Each(t.p.o.Store, scope, chain)
	for _, c := range kept {
		t.recalled = append(t.recalled, addition(c))
	}
	at := topic.FreshPrompt(r)
	if at >= 0 && !slices.ContainsFunc(kept, func(c *checkpoint.Checkpoint) bool { return c.Covers == at+1 }) && !t.p.unrecalled.contains(scope, chain[at]) {
		if c := t.askMemory(r, at, scope, checkpoint.Digest(chain[at])); c != nil {
			kept = append(kept, c)
			t.recalled = append(t.recalled, addition(c))
			t.actions = append(t.actions, "recalled")
		} else {
			t.p.unrecalled.add(scope, chain[at])
		}
	}
	if len(kept) == 0 {
		return r
	}
	d := r.Draft()
	t.added = additions{chain: chain[min(kept[len(kept)-1].Covers, len(chain)-1)], count: len(kept)}
	for _, c := range kept {
		add(d, r, c.Covers-1, addition(c))
		t.addedTo = append(t.addedTo, c.Covers-1)
		t.added.bytes += len(addition(c))
	}
	next, err := d.Build()
	if err != nil { // our fault: the request goes on without it
		t.p.passed(t.rt, "invalid", "what was recalled could not be added")
		t.recalled, t.added, t.addedTo = nil, additions{}, nil
		return r
	}
	return next
}

// askMemory asks the Recaller about the prompt in message at, and keeps what it says; nil when it knows nothing.
func (t *conversation) askMemory(r *wire.Request, at int, scope checkpoint.Scope, chain checkpoint.Digest) *checkpoint.Checkpoint {
	ctx, cancel := context.WithTimeout(t.r.Context(), recallWait)
	defer cancel()
	first := !slices.ContainsFunc(r.Messages[:at], func(m wire.Message) bool { return m.Role == wire.RoleAssistant })
	text := t.p.o.Recaller.Recall(ctx, Prompt{
		Scope: t.scope.String(), Conversation: t.name, Speaker: t.speak(), Text: limit.Clip(topic.Words(r, at), promptBytes),
		First: first, Recalled: t.recalled,
	})
	if text == "" {
		return nil
	}
	c := &checkpoint.Checkpoint{Chain: chain, Covers: at + 1, Generation: 1, Patches: []checkpoint.Patch{{From: at, To: at, With: [][]byte{[]byte(text)}}}}
	c, _ = t.p.o.Store.Freeze(scope, c) // the store journals what went wrong
	if addition(c) == "" {
		return nil
	}
	return c
}

// addition is the text that a checkpoint adds to a prompt.
func addition(c *checkpoint.Checkpoint) string {
	if len(c.Patches) != 1 || len(c.Patches[0].With) != 1 {
		return ""
	}
	return string(c.Patches[0].With[0])
}

// add puts a text behind what a message says. A Chat message of one string stays one: not every service takes a list there.
// Elsewhere the client itself sends the same message now as a string, now as a list, and one block more is one in both.
func add(d *wire.Draft, r *wire.Request, message int, text string) {
	m := &r.Messages[message]
	if m.Role != wire.RoleUser || text == "" {
		return
	}
	if r.Dialect == wire.Chat && m.Plain && len(m.Parts) == 1 && len(m.Parts[0].Texts) == 1 {
		d.ReplaceText(message, 0, 0, r.Words(&m.Parts[0])+"\n\n"+text)
		return
	}
	d.InsertPart(message, len(m.Parts), wire.TextElement(r.Dialect, wire.RoleUser, text))
}

package proxy

import (
	"slices"

	"github.com/plimsoll/plimsoll/window/compact"
	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/wire"
)

// replay puts the conversation's log in, and finds out how much of it was sent before.
func (t *conversation) replay() error {
	before, known := t.p.lastSent(t.log, t.chain)
	t.before = before
	if known > 0 {
		t.idle = max(0, t.p.now().Sub(before.at))
	}
	var log []*checkpoint.Checkpoint
	if t.p.o.Mode == Enforce {
		untouched := 0
		if !before.edited {
			untouched = known
		}
		log = checkpoint.Log(t.p.o.Store, t.log, t.chain, untouched)
	}
	view, err := compact.Replay(t.received, log...)
	if err != nil { // a log that does not fit its own chain is damaged: go on without
		if view, err = compact.Replay(t.received); err != nil {
			return err
		}
	}
	t.use(view, view.Request)
	t.generation = view.Generation()
	t.recount()
	t.sentBefore = max(known, view.Covers())
	t.frozen = view.Frozen(t.sentBefore)
	if known > 0 && t.p.o.Mode == Enforce {
		n := int(before.messages)
		t.lost = n > len(t.tally.Chain) || t.tally.Chain[n-1] != before.digest
		if t.lost {
			t.sentBefore, t.frozen = 0, 0
		} else {
			t.strange = t.foreignThoughts()
			t.rehead = t.changedHead()
		}
	}
	if view.Replayed() {
		t.replayed = nameReplay(view, t.chain)
		t.actions = append(t.actions, "replayed")
	}
	return nil
}

// foreignThoughts is the first of the client's messages with reasoning that the model cannot have made here: it stands behind messages of the client
// that were not sent before, so it was made behind others. 0 stands for none, and for a model that does not mind.
func (t *conversation) foreignThoughts() int {
	answered := false // the client has spoken since what was sent before
	for i := t.sentBefore; i < len(t.received.Messages); i++ {
		m := &t.received.Messages[i]
		if m.Role != wire.RoleAssistant {
			answered = true
		} else if answered && slices.ContainsFunc(m.Parts, func(p wire.Part) bool { return p.Kind == wire.Reasoning }) {
			if i > 0 && t.boundReasoning() {
				return i
			}
			return 0
		}
	}
	return 0
}

// changedHead tells whether system prompt or tools are others than before, in a conversation in which the provider has refused reasoning: it is
// bound to them too. Before the first refusal they may change: tools that are loaded on demand count for nothing, and which they are only the
// provider knows.
func (t *conversation) changedHead() bool {
	if t.before.head == t.tally.HeadDigest || !t.boundReasoning() {
		return false
	}
	_, refused := t.p.refusing.get(t.scope.String() + t.name)
	return refused
}

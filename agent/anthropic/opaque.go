package anthropic

import (
	"encoding/json"

	"github.com/plimsoll/plimsoll/agent"
)

// opaque is kept of an answer with thinking blocks: its blocks in their order. Thinking blocks are signed, so they are kept byte for
// byte; text and calls are in the message itself.
type opaque struct {
	Model  string  `json:"model"`
	Blocks []block `json:"blocks"`
}

// block is one of three: a thinking block as JSON, a number of bytes of the message's text, or the call with that id.
type block struct {
	Raw  json.RawMessage `json:"raw,omitempty"`
	Text int             `json:"text,omitempty"`
	Call string          `json:"call,omitempty"`
}

// kept reads what this model left in a message; nil when there is nothing.
func (m *Model) kept(one agent.Message) *opaque {
	if one.Role != agent.RoleAssistant || len(one.Opaque) == 0 {
		return nil
	}
	var o opaque
	if json.Unmarshal(one.Opaque, &o) != nil || o.Model != m.o.Model || len(o.Blocks) == 0 {
		return nil // another adapter's, or another model's: it could not read them
	}
	return &o
}

// thinks reports whether the first block is a thinking block.
func (o *opaque) thinks() bool { return o != nil && len(o.Blocks[0].Raw) > 0 }

// length returns the bytes of text in the answer. If the message has another number now, its text was changed, and cannot be divided
// into the blocks of the answer.
func (o *opaque) length() int {
	n := 0
	for _, b := range o.Blocks {
		n += max(b.Text, 0)
	}
	return n
}

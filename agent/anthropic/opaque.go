package anthropic

import (
	"encoding/json"

	"github.com/plimsoll/plimsoll/agent"
)

// opaque is what is kept of an answer that had thoughts: its blocks in their order. Thoughts
// are kept to the letter, for they are signed; words and calls are in the message itself.
type opaque struct {
	Model  string  `json:"model"`
	Blocks []block `json:"blocks"`
}

// block is one of three: the JSON of a block of thoughts, that many bytes of the message's
// text, or the call of that id.
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

// thinks says whether the first thing that is kept is a thought.
func (o *opaque) thinks() bool { return o != nil && len(o.Blocks[0].Raw) > 0 }

// length is how many bytes of text there were. When the message has others now, the text was
// changed and can't be taken apart as it came.
func (o *opaque) length() int {
	n := 0
	for _, b := range o.Blocks {
		n += max(b.Text, 0)
	}
	return n
}

package gemini

import (
	"encoding/json"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
)

// opaque is kept of an answer with signatures: its parts in their order.
type opaque struct {
	Model string     `json:"model"`
	Parts []keptPart `json:"parts"`
}

// keptPart is one of two: a number of bytes of the message's text, which may be none, or a call by its number in the message, from 1.
type keptPart struct {
	Text      int    `json:"text,omitempty"`
	Call      int    `json:"call,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// kept reads what this model left in a message; nil when there is nothing.
func (m *Model) kept(one *agent.Message) *opaque {
	if one.Role != agent.RoleAssistant || len(one.Opaque) == 0 {
		return nil
	}
	var o opaque
	if json.Unmarshal(one.Opaque, &o) != nil || o.Model != m.o.Model || len(o.Parts) == 0 {
		return nil // another adapter's, or another model's: it could not read them
	}
	text := 0
	for _, p := range o.Parts {
		if p.Text < 0 || p.Call < 0 || p.Call > len(one.Calls) {
			return nil
		}
		text += p.Text
	}
	if text != len(one.Text) {
		return nil // the text was changed since, and the signatures are of what it was
	}
	return &o
}

// unsigned goes with a call that has no signature, because another model made it: Google's own value for that.
// https://ai.google.dev/gemini-api/docs/thought-signatures
const unsigned = "skip_thought_signature_validator"

// demandsSignatures reports whether a model refuses calls without signatures: all do since Gemini 3.
func demandsSignatures(model string) bool {
	for _, old := range [...]string{"gemini-1", "gemini-2", "gemini-pro", "gemma", "learnlm"} {
		if strings.HasPrefix(model, old) {
			return false
		}
	}
	return strings.HasPrefix(model, "gemini")
}

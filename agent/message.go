package agent

import (
	"encoding/json"
)

// Role is the author of a message.
type Role string

// The roles. The system prompt is not a message: it is part of each [Request].
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a conversation: words of the user, words and calls of the model,
// or the result of one call. It must not be changed once it is in a conversation.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`
	// Calls are the calls that the model asks for, in its order.
	Calls []Call `json:"calls,omitempty"`
	// CallID and Name identify the call of a result; Failed marks it as an error.
	CallID string `json:"call_id,omitempty"`
	Name   string `json:"name,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	// Opaque is data that the adapter of the model has stored with its message, to be sent back with it,
	// such as signed thoughts. Other adapters ignore it.
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

// Call is one call of a tool, as the model wrote it.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments should be a JSON object. Models do not always write one: the text is kept
	// as it came, and the fault is reported to the model.
	Arguments string `json:"arguments"`
}

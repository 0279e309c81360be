package modelserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// Answer is a model's answer, in the form that the request asked for.
type Answer struct {
	Model   string
	Stream  bool
	Created int64 // seconds since 1970
	// Fingerprint is Chat Completions' system_fingerprint.
	Fingerprint string
	// NewID makes an identifier that begins with prefix.
	NewID func(prefix string) string

	Text, Thinking string
	// Signature goes with the thinking, and is Responses' encrypted reasoning; "" makes one of the
	// thinking alone. Redacted are blocks of thinking that are not shown, behind it (Messages).
	Signature string
	Redacted  []string
	// Summary is a compaction block that takes the place of the answer (Messages).
	Summary *Summary
	// Iteration, unless nil, is the usage of writing a summary; Usage, of an answer, is nothing then.
	Iteration *Usage
	// Transformations, unless nil, are the changes made to the request: input_transformations.
	Transformations any
	// Refusal is the reason why the model will not answer (Chat Completions alone has a place for it).
	Refusal string
	Calls   []Call
	// Stop is the reason why the answer ends, in the dialect's word; "" is a good end.
	Stop  string
	Usage Usage

	IncludeUsage bool // Chat Completions: a stream ends with the usage
	Compaction   bool // Responses: the text is a compaction item
	// Compacted is the encrypted content of a compaction item ahead of the answer (Responses).
	Compacted string
	Array     bool // Gemini: a stream without alt=sse is one JSON array
}

// Call is a call of a tool.
type Call struct {
	ID, Name  string
	Arguments string // JSON; of a custom tool its input
	// Kind and Namespace are of Responses' tools: "custom", "local_shell", "" for a function.
	Kind, Namespace string
}

// Summary is a compaction block as Messages has it.
type Summary struct{ Content, Signature string }

// Usage is the reported use of an answer, in tokens. Cached and Written, which were read from the
// cache of prompts and written into it, are parts of Input.
type Usage struct{ Input, Cached, Written, Output int }

// Sign makes the signature that goes with thinking.
func Sign(thinking string) string {
	sum := sha256.Sum256([]byte("scripted:" + thinking))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// arguments returns a call's arguments as part of an object.
func (c Call) arguments() json.RawMessage { return json.RawMessage(c.Arguments) }

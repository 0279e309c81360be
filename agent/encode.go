package agent

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/plimsoll/plimsoll/window/wire"
)

// Encoder is a [Model] that can show the body that it is about to send. The agent counts, repairs and shortens that very body, and Generate
// finds it in [Request.Encoded]: so a history is encoded once for each step. For a Model that is not an Encoder the agent counts a body of
// its own, in OpenAI's dialect, and Generate writes another one.
type Encoder interface {
	Model
	// Encode writes a request as a body of the dialect wire.Chat, wire.Messages or wire.Gemini, with at least the model (where it
	// stands in the body), the system prompt, the messages and the tools, and returns it parsed. In wire.Chat each message of r is
	// one message of the body; in the others successive messages of one speaker are one. Encode may be called from any goroutine,
	// also while Generate runs, and asks nothing of the service.
	Encode(r *Request) (*wire.Request, error)
}

// encodedRequest is a body that was made to fit, and the fields of the request that it was made from.
type encodedRequest struct {
	body     *wire.Request
	system   string
	messages []Message
	tools    []ToolSpec
}

// Encoded returns the body that the model's [Encoder.Encode] wrote, made to fit: messages may be shortened, left out or summarised in it,
// as they are in r.Messages. It returns nil for a request that was not made by an [Agent] or whose model is not an Encoder, and for a copy
// with other System, Messages or Tools; then encode the body anew.
func (r *Request) Encoded() *wire.Request {
	if r.encoded.body == nil || r.System != r.encoded.system || !sameSlice(r.Messages, r.encoded.messages) || !sameSlice(r.Tools, r.encoded.tools) {
		return nil
	}
	return r.encoded.body
}

// sameSlice reports whether two slices have the same elements in memory; true for two empty ones.
func sameSlice[E any](a, b []E) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// chatEncoder writes requests of OpenAI's Chat Completions for a model that is not an [Encoder]. They are never sent, but hold all that
// costs tokens.
type chatEncoder struct {
	model     string
	specs     []ToolSpec // whose JSON toolsJSON is
	toolsJSON []byte
}

// encode returns a request in the form of Chat Completions.
func (c *chatEncoder) encode(r *Request) (*wire.Request, error) {
	raw := make([][]byte, len(r.Messages))
	for i := range r.Messages {
		raw[i] = append(appendMessage(append(make([]byte, 0, chatSize(&r.Messages[i])), '{'), &r.Messages[i]), '}')
	}
	return wire.Parse(wire.Chat, chatBody(c.model, r.System, raw, c.tools(r.Tools)))
}

// chatBody returns a request of Chat Completions. messages are the JSON of each message, tools is the array of tools, or nil.
func chatBody(model, system string, messages [][]byte, tools []byte) []byte {
	size := len(tools) + len(system) + len(system)/8 + 256
	for _, raw := range messages {
		size += len(raw) + 1
	}
	b := append(wire.Quote(append(make([]byte, 0, size), `{"model":`...), model), `,"messages":[`...)
	if system != "" {
		b = append(b, wire.TextMessage(wire.Chat, wire.RoleSystem, system)...)
	}
	for i, raw := range messages {
		if i > 0 || system != "" {
			b = append(b, ',')
		}
		b = append(b, raw...)
	}
	b = append(b, ']')
	if tools != nil {
		b = append(append(b, `,"tools":`...), tools...)
	}
	return append(b, '}')
}

// chatSize returns about how many bytes a message takes as JSON.
func chatSize(m *Message) int { return len(m.Text) + len(m.Text)/8 + len(m.Opaque) + 256 }

// appendMessage appends the members of a message, without the braces, to b.
func appendMessage(b []byte, m *Message) []byte {
	b = wire.Quote(append(b, `"role":`...), string(m.Role))
	if m.Role == RoleTool {
		b = wire.Quote(append(b, `,"tool_call_id":`...), m.CallID)
	}
	if m.Text != "" || len(m.Calls) == 0 {
		b = wire.Quote(append(b, `,"content":`...), m.Text)
	}
	for i, call := range m.Calls {
		if i == 0 {
			b = append(b, `,"tool_calls":[{"id":`...)
		} else {
			b = append(b, `,{"id":`...)
		}
		b = wire.Quote(b, call.ID)
		b = wire.Quote(append(b, `,"type":"function","function":{"name":`...), call.Name)
		b = append(wire.Quote(append(b, `,"arguments":`...), call.Arguments), `}}`...)
	}
	if len(m.Calls) > 0 {
		b = append(b, ']')
	}
	if len(m.Opaque) > 0 {
		// What an adapter wants back costs tokens like thoughts.
		b = append(b, `,"reasoning_details":`...)
		if json.Valid(m.Opaque) {
			b = append(b, m.Opaque...)
		} else {
			b = wire.Quote(b, []byte(m.Opaque))
		}
	}
	return b
}

// tools returns the JSON array of tools, nil for none. It keeps the last one, because most requests of a query have the same tools.
func (c *chatEncoder) tools(specs []ToolSpec) []byte {
	same := func(a, b ToolSpec) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
	}
	if c.toolsJSON != nil && slices.EqualFunc(specs, c.specs, same) {
		return c.toolsJSON
	}
	if len(specs) == 0 {
		return nil
	}
	b := []byte{'['}
	for i, s := range specs {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.Quote(append(b, `{"type":"function","function":{"name":`...), s.Name)
		b = wire.Quote(append(b, `,"description":`...), s.Description)
		b = append(b, `,"parameters":`...)
		if json.Valid(s.Schema) {
			b = append(b, s.Schema...)
		} else {
			b = wire.Quote(b, []byte(s.Schema))
		}
		b = append(b, `}}`...)
	}
	c.specs, c.toolsJSON = slices.Clone(specs), append(b, ']')
	return c.toolsJSON
}

package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// keyName is a member that no provider knows; it comes first in each message and names the
// message of the conversation that it was made of, whatever is done to the rest. The name is a
// digest of the content and no position: when old messages go from the front of a conversation,
// the counts of the others stay good.
const keyName = `{"plimsoll_message":"`

const keyDigits = 16

// A codec writes messages as a request of OpenAI's Chat Completions, which package wire reads,
// and reads them back. The request is never sent: adapters write their own. It has all that
// costs tokens.
type codec struct {
	ms    []Message
	raw   [][]byte // of each message
	byKey map[string]int
	size  int // bytes
	head  int // messages before the first: 1 with a system prompt
}

func newCodec(seed maphash.Seed, ms []Message) *codec {
	c := &codec{ms: ms, raw: make([][]byte, len(ms)), byKey: make(map[string]int, len(ms))}
	for i := range ms {
		m := &ms[i]
		var b []byte
		b = append(make([]byte, 0, len(m.Text)+len(m.Text)/8+len(m.Opaque)+256), keyName...)
		at := len(b)
		b = append(b, strings.Repeat("0", keyDigits)...)
		b = append(b, '"')
		b = appendMessage(b, m)
		var h maphash.Hash
		h.SetSeed(seed)
		_, _ = h.Write(b)
		_, _ = h.WriteString(m.Name) // not in what is counted
		if m.Failed {
			_ = h.WriteByte(1)
		}
		digits := strconv.FormatUint(h.Sum64(), 16)
		copy(b[at+keyDigits-len(digits):], digits)
		c.raw[i] = b
		c.byKey[string(b[at:at+keyDigits])] = i
		c.size += len(b)
	}
	return c
}

// appendMessage writes what follows the key.
func appendMessage(b []byte, m *Message) []byte {
	b = wire.Quote(append(b, `,"role":`...), string(m.Role))
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
	return append(b, '}')
}

// body is the whole request. tools is the array of tools, or nil.
func (c *codec) body(model, system string, tools []byte) []byte {
	b := make([]byte, 0, c.size+len(c.raw)+len(tools)+len(system)+len(system)/8+256)
	b = append(wire.Quote(append(b, `{"model":`...), model), `,"messages":[`...)
	if c.head = 0; system != "" {
		c.head = 1
		b = append(b, wire.TextMessage(wire.Chat, wire.RoleSystem, system)...)
	}
	for i, raw := range c.raw {
		if i+c.head > 0 {
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

// messages reads a request that was made of the codec's by edits. What was not edited is the
// message it was.
func (c *codec) messages(r *wire.Request) ([]Message, error) {
	out := make([]Message, 0, len(r.Messages))
	for i := range r.Messages {
		if r.Messages[i].Role == wire.RoleSystem {
			continue
		}
		raw := r.Raw(r.Messages[i].Span)
		at, known := c.find(raw)
		if known && bytes.Equal(raw, c.raw[at]) {
			out = append(out, c.ms[at])
			continue
		}
		m, err := decodeMessage(raw)
		if err != nil {
			return nil, fmt.Errorf("agent: read a message of %d bytes after an edit: %w", len(raw), err)
		}
		if known {
			m = c.merge(at, m)
		} else if m.Role == RoleTool {
			m.Failed = m.Text == repair.Note
			m.Name = nameOf(out, m.CallID)
		}
		out = append(out, m)
	}
	return out, nil
}

// find tells which message was made into raw.
func (c *codec) find(raw []byte) (int, bool) {
	rest, ok := bytes.CutPrefix(raw, []byte(keyName))
	if !ok || len(rest) < keyDigits {
		return 0, false
	}
	at, ok := c.byKey[string(rest[:keyDigits])]
	return at, ok
}

// merge puts what an edit changed into a copy of the message it was done to.
func (c *codec) merge(at int, edited Message) Message {
	m := c.ms[at]
	was, err := decodeMessage(c.raw[at])
	if err != nil { // we wrote it
		return edited
	}
	if edited.Text != was.Text {
		m.Text = edited.Text
	}
	m.CallID = edited.CallID
	if !slices.Equal(edited.Calls, was.Calls) {
		if len(edited.Calls) != len(was.Calls) {
			m.Opaque = nil // it may speak of a call that is gone
		}
		m.Calls = edited.Calls
	}
	return m
}

// nameOf is the tool of a call, the newest with that id.
func nameOf(ms []Message, id string) string {
	for _, m := range slices.Backward(ms) {
		for _, call := range slices.Backward(m.Calls) {
			if call.ID == id {
				return call.Name
			}
		}
	}
	return ""
}

func decodeMessage(raw []byte) (Message, error) {
	var in struct {
		Role    Role   `json:"role"`
		Content string `json:"content"`
		CallID  string `json:"tool_call_id"`
		Calls   []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Message{}, err
	}
	m := Message{Role: in.Role, Text: in.Content, CallID: in.CallID}
	for _, call := range in.Calls {
		m.Calls = append(m.Calls, Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return m, nil
}

// knows tells whether there is, or was with the last tools, a tool of that name.
func (f *fitter) knows(name string) bool {
	return slices.ContainsFunc(f.specs, func(s ToolSpec) bool { return s.Name == name })
}

// tools is the array of tools, which is the same for most requests of a query.
func (f *fitter) tools(specs []ToolSpec) []byte {
	same := func(a, b ToolSpec) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
	}
	if f.toolsJSON != nil && slices.EqualFunc(specs, f.specs, same) {
		return f.toolsJSON
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
	f.specs, f.toolsJSON = slices.Clone(specs), append(b, ']')
	return f.toolsJSON
}

package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
	"github.com/plimsoll/plimsoll/window/wire"
)

// maxID bounds an id, in bytes; Bedrock takes no longer ones.
const maxID = 64

// message is a message of the request.
type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"` // *content, or the json.RawMessage of a block that goes back to the letter
}

// content is a block: text, a call or a result.
type content struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []content       `json:"content,omitempty"`
	IsError   *bool           `json:"is_error,omitempty"`
	Cache     *cacheControl   `json:"cache_control,omitempty"`
}

// cacheControl marks the end of what the service caches.
type cacheControl struct {
	Type string `json:"type"`
}

var ephemeral = &cacheControl{Type: "ephemeral"}

// tool is a declared tool.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *cacheControl   `json:"cache_control,omitempty"`
}

// encodedMembers are the members that Encode writes.
var encodedMembers = []string{"model", "system", "tools", "tool_choice"}

// Encode writes model, system prompt, tools and messages of a request, see agent.Encoder. The cache mark in the messages is set later, by
// markLastBlock, when the messages are known to fit.
func (m *Model) Encode(r *agent.Request) (*wire.Request, error) {
	var names modelapi.Names
	list := []modelapi.Member{{Name: "model", Value: m.o.Model}}
	if strings.TrimSpace(r.System) != "" {
		list = append(list, modelapi.Member{Name: "system", Value: []content{{Type: "text", Text: r.System, Cache: ephemeral}}})
	}
	tools, declared := m.tools(r, &names)
	if len(tools) > 0 {
		list = append(list, modelapi.Member{Name: "tools", Value: tools})
	}
	if len(tools) > 0 && !declared {
		list = append(list, modelapi.Member{Name: "tool_choice", Value: map[string]string{"type": "none"}})
	}
	list = append(list, modelapi.Member{Name: "messages", Value: m.messages(r.Messages, &names)})
	extra, _ := modelapi.Split(m.o.Extra, encodedMembers...)
	body, err := modelapi.Body(list, extra)
	if err != nil {
		return nil, err
	}
	return wire.Parse(wire.Messages, body)
}

// request returns the body to send: what Encode wrote, and the members that are known only when it fits.
func (m *Model) request(r *agent.Request) ([]byte, error) {
	encoded := r.Encoded()
	if encoded == nil {
		var err error
		if encoded, err = m.Encode(r); err != nil {
			return nil, err
		}
	}
	maxOutput := m.output
	if r.MaxOutput > 0 {
		maxOutput = r.MaxOutput
		if m.o.MaxOutput > 0 {
			maxOutput = min(maxOutput, m.o.MaxOutput)
		}
	}
	thinking := m.thinking(r)
	if thinking.Budget > 0 && maxOutput <= thinking.Budget {
		maxOutput += thinking.Budget // it is part of max_tokens, which has to be more
	}
	list := []modelapi.Member{{Name: "max_tokens", Value: maxOutput}}
	if thinking.Type != "" {
		list = append(list, modelapi.Member{Name: "thinking", Value: thinking})
	}
	_, extra := modelapi.Split(m.o.Extra, encodedMembers...)
	return modelapi.Body(append(list, modelapi.Member{Name: "stream", Value: true}), extra, markLastBlock(encoded)...)
}

// markLastBlock returns the body, in pieces, with a cache mark on the last block that can have one. Thinking blocks cannot. Without such a
// block the body stays as it is.
func markLastBlock(r *wire.Request) [][]byte {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		parts := r.Messages[i].Parts
		for k := len(parts) - 1; k >= 0; k-- {
			at := parts[k].Span.End - 1
			if kind := parts[k].Kind; (kind == wire.Text || kind == wire.Call || kind == wire.Result) && r.Body[at] == '}' {
				return [][]byte{r.Body[:at], []byte(`,"cache_control":{"type":"ephemeral"}`), r.Body[at:]}
			}
		}
	}
	return [][]byte{r.Body}
}

// tools returns the tools of the request. Some services refuse a history with calls when no tool is declared. Then the tools that were called are
// returned, declared is false, and the model is told not to call any.
func (m *Model) tools(r *agent.Request, names *modelapi.Names) (list []tool, declared bool) {
	for _, t := range r.Tools {
		list = append(list, tool{Name: names.Out(t.Name), Description: t.Description, Schema: modelapi.Schema(t)})
	}
	if len(list) > 0 {
		list[len(list)-1].Cache = ephemeral
		return list, true
	}
	seen := map[string]bool{}
	for _, one := range r.Messages {
		for _, c := range one.Calls {
			if name := names.Out(c.Name); !seen[name] {
				seen[name] = true
				list = append(list, tool{Name: name, Schema: modelapi.Schema(agent.ToolSpec{})})
			}
		}
	}
	return list, false
}

// thinking is the member of the request that is called so.
type thinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens,omitempty"`
}

// thinking returns the thinking setting of a request, zero for none. A budget is only set if the running turn began with thinking: the
// service refuses it for a turn that lost its thinking when old messages were cut.
func (m *Model) thinking(r *agent.Request) thinking {
	switch {
	case m.o.Thinking < 0:
		return thinking{Type: "adaptive"}
	case m.o.Thinking > 0 && m.hasBegunThinking(r.Messages):
		return thinking{Type: "enabled", Budget: m.o.Thinking}
	}
	return thinking{}
}

// hasBegunThinking reports whether all calls of the running turn come with thinking. It is true if the turn has no calls yet.
func (m *Model) hasBegunThinking(list []agent.Message) bool {
	for i := len(list) - 1; i >= 0; i-- {
		switch list[i].Role {
		case agent.RoleUser:
			// A note behind results belongs to the turn that runs.
			if i == 0 || list[i-1].Role != agent.RoleTool {
				return true
			}
		case agent.RoleAssistant:
			if len(list[i].Calls) > 0 && !m.keptBlocks(list[i]).thinks() {
				return false
			}
		}
	}
	return true
}

// messages makes one message of what this protocol wants in one: all results of a turn, before any text, and messages of the same role that follow
// each other. Messages without content are left out.
func (m *Model) messages(list []agent.Message, names *modelapi.Names) []message {
	var out []message
	var results, texts []any
	flush := func() {
		if blocks := append(results, texts...); len(blocks) > 0 {
			out = append(out, message{Role: "user", Content: blocks})
		}
		results, texts = nil, nil
	}
	for i, one := range list {
		switch one.Role {
		case agent.RoleUser:
			if strings.TrimSpace(one.Text) != "" {
				texts = append(texts, &content{Type: "text", Text: one.Text})
			}
		case agent.RoleTool:
			text := one.Text
			if strings.TrimSpace(text) == "" {
				text = "(no output)"
			}
			results = append(results, &content{
				Type: "tool_result", ToolUseID: modelapi.ID(one.CallID, maxID), Content: []content{{Type: "text", Text: text}}, IsError: &one.Failed,
			})
		case agent.RoleAssistant:
			if i == len(list)-1 {
				one.Text = strings.TrimRight(one.Text, " \t\r\n") // refused at the very end
			}
			blocks := m.assistant(one, names)
			if len(blocks) == 0 {
				continue
			}
			flush()
			if n := len(out); n > 0 && out[n-1].Role == "assistant" {
				out[n-1].Content = append(out[n-1].Content, blocks...)
				continue
			}
			out = append(out, message{Role: "assistant", Content: blocks})
		}
	}
	flush()
	return out
}

// assistant returns an answer as it came: thinking blocks byte for byte, text and calls in their order. Text that was changed since stands
// behind the thinking blocks.
func (m *Model) assistant(one agent.Message, names *modelapi.Names) []any {
	var out []any
	words := func(s string) {
		if strings.TrimSpace(s) != "" {
			out = append(out, &content{Type: "text", Text: s})
		}
	}
	done := make([]bool, len(one.Calls))
	call := func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		c := one.Calls[i]
		out = append(out, &content{Type: "tool_use", ID: modelapi.ID(c.ID, maxID), Name: names.Out(c.Name), Input: modelapi.Object(c.Arguments)})
	}
	rest := one.Text
	if o := m.keptBlocks(one); o != nil {
		for _, b := range o.Blocks {
			switch {
			case len(b.Raw) > 0:
				out = append(out, b.Raw)
			case b.Text > 0:
				n := len(rest)
				if o.length() == len(one.Text) {
					n = b.Text
				}
				words(rest[:n])
				rest = rest[n:]
			case b.Call != "":
				for i, c := range one.Calls {
					if c.ID == b.Call {
						call(i)
						break
					}
				}
			}
		}
	}
	words(rest)
	for i := range one.Calls {
		call(i)
	}
	return out
}

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

// keptBlocks returns the blocks that this model left in the Opaque of its message; nil if there are none, or if another model or adapter
// wrote them.
func (m *Model) keptBlocks(one agent.Message) *opaque {
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

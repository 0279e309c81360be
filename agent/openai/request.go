package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Lengths of ids in bytes. OpenAI refuses longer ones; Mistral takes no other length.
const (
	maxOpenAIID     = 40
	mistralIDLength = 9
)

// message is a message of the request.
type message struct {
	Role       string        `json:"role"`
	Content    string        `json:"content,omitempty"`
	ToolCallID string        `json:"tool_call_id,omitempty"`
	ToolCalls  []requestCall `json:"tool_calls,omitempty"`
	// The thoughts that led to the calls, under the name that they came with.
	ReasoningContent *string           `json:"reasoning_content,omitempty"`
	Reasoning        *string           `json:"reasoning,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

// requestCall is a call in a message of the request.
type requestCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function requestFunction `json:"function"`
	// Extra holds the signatures that Gemini gives calls, and refuses calls without.
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

type requestFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// tool is a declared tool. Its schema is sent as it was written: a map would lose the order of the properties, which models read.
type tool struct {
	Type     string       `json:"type"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// encodedMembers are the members that Encode writes.
var encodedMembers = []string{"model", "tools"}

// Encode writes model, messages and tools of a request, see agent.Encoder.
func (m *Model) Encode(r *agent.Request) (*wire.Request, error) {
	body, err := m.encode(r)
	if err != nil {
		return nil, err
	}
	return wire.Parse(wire.Chat, body)
}

// encode returns the body of a request as far as it is known before the request is made to fit: model, messages and tools.
func (m *Model) encode(r *agent.Request) ([]byte, error) {
	var names modelapi.Names
	list := []modelapi.Member{{Name: "model", Value: m.o.Model}, {Name: "messages", Value: m.messages(r, &names)}}
	var tools []tool
	for _, t := range r.Tools {
		tools = append(tools, tool{Type: "function", Function: toolFunction{Name: names.Out(t.Name), Description: t.Description, Parameters: modelapi.Schema(t)}})
	}
	if len(tools) > 0 {
		list = append(list, modelapi.Member{Name: "tools", Value: tools})
	}
	extra, _ := modelapi.Split(m.o.Extra, encodedMembers...)
	return modelapi.Body(list, extra)
}

// request returns the body to send: what Encode wrote, and the members that are known only when it fits.
func (m *Model) request(r *agent.Request) (body []byte, err error) {
	if encoded := r.Encoded(); encoded != nil {
		body = encoded.Body
	} else if body, err = m.encode(r); err != nil {
		return nil, err
	}
	var list []modelapi.Member
	if r.MaxOutput > 0 {
		list = append(list, modelapi.Member{Name: m.o.OutputMember, Value: r.MaxOutput})
	}
	if r.Session != "" && m.o.Provider == "openai" {
		// Others refuse members that they don't know. The name of a session is nobody's business.
		sum := sha256.Sum256([]byte(r.Session))
		list = append(list, modelapi.Member{Name: "prompt_cache_key", Value: hex.EncodeToString(sum[:16])})
	}
	list = append(list, modelapi.Member{Name: "stream_options", Value: map[string]bool{"include_usage": true}})
	_, extra := modelapi.Split(m.o.Extra, encodedMembers...)
	return modelapi.Body(append(list, modelapi.Member{Name: "stream", Value: true}), extra, body)
}

// messages returns the system prompt and the messages of a request in the form of Chat Completions. Empty messages of the user and the
// model are left out.
func (m *Model) messages(r *agent.Request, names *modelapi.Names) []message {
	list := make([]message, 0, len(r.Messages)+1)
	if strings.TrimSpace(r.System) != "" {
		list = append(list, message{Role: "system", Content: r.System})
	}
	kept := m.keptReasoning(r.Messages)
	for i, one := range r.Messages {
		switch one.Role {
		case agent.RoleUser:
			if one.Text != "" {
				list = append(list, message{Role: "user", Content: one.Text})
			}
		case agent.RoleTool:
			text := one.Text
			text = cmp.Or(text, "(no output)")
			list = append(list, message{Role: "tool", Content: text, ToolCallID: m.callID(one.CallID)})
		case agent.RoleAssistant:
			if one.Text == "" && len(one.Calls) == 0 {
				continue
			}
			list = append(list, m.assistantMessage(one, kept[i], names))
		}
	}
	return list
}

// assistantMessage returns a message of the model with its calls. The reasoning in kept goes back in the member that it came in; kept may be
// nil.
func (m *Model) assistantMessage(one agent.Message, kept *opaque, names *modelapi.Names) message {
	a := message{Role: "assistant", Content: one.Text}
	for _, c := range one.Calls {
		a.ToolCalls = append(a.ToolCalls, requestCall{
			ID: m.callID(c.ID), Type: "function", Extra: kept.call(c.ID),
			Function: requestFunction{Name: names.Out(c.Name), Arguments: string(modelapi.Object(c.Arguments))},
		})
	}
	if kept == nil {
		return a
	}
	switch {
	case len(kept.Details) > 0:
		a.ReasoningDetails = kept.Details
	case kept.Member == reasoningContent:
		a.ReasoningContent = &kept.Reasoning
	case kept.Member == reasoning:
		a.Reasoning = &kept.Reasoning
	}
	return a
}

// callID returns the id of a call in a form that the provider accepts; others than OpenAI, Azure and Mistral get it unchanged. The same id
// always gives the same result, so a call and its result still match.
func (m *Model) callID(id string) string {
	switch m.o.Provider {
	case "openai", "azure":
		return modelapi.ID(id, maxOpenAIID)
	case "mistral":
		if len(id) == mistralIDLength && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" {
			return id
		}
		sum := sha256.Sum256([]byte(id))
		return hex.EncodeToString(sum[:])[:mistralIDLength]
	}
	// Kimi's models read the name of the tool out of ids such as "functions.NAME:0".
	return id
}

// The members in which thoughts come, and go back.
const (
	reasoningContent = "reasoning_content"
	reasoning        = "reasoning"
)

// opaque is the part of an answer that its provider wants back.
type opaque struct {
	Model string `json:"model"`
	// Member is the name under which the thoughts came and go back.
	Member    string                     `json:"member,omitempty"`
	Reasoning string                     `json:"reasoning,omitempty"`
	Details   []json.RawMessage          `json:"reasoning_details,omitempty"`
	Calls     map[string]json.RawMessage `json:"calls,omitempty"` // extra_content by id
}

// call returns what the provider wants back with a call, nil for nothing.
func (o *opaque) call(id string) json.RawMessage {
	if o == nil {
		return nil
	}
	return o.Calls[id]
}

// thoughts reports whether the provider gets reasoning back. DeepSeek and Kimi refuse a call without the reasoning that led to it; GLM,
// MiniMax, Qwen and OpenRouter answer better with it, and an unknown provider may be a gateway to one of these. OpenAI shows no reasoning,
// and others refuse members that they do not know.
func (m *Model) thoughts() bool {
	switch m.o.Provider {
	case "deepseek", "kimi", "glm", "minimax", "qwen", "openrouter", "opencode", "":
		return true
	}
	return false
}

// needsReasoning reports whether the provider refuses a history without reasoning: DeepSeek that of every message of a turn with calls, its
// last one too (api-docs.deepseek.com, thinking_mode; hermes-agent#15228), and Kimi that of calls. Both think unless they are told not to.
func (m *Model) needsReasoning() bool {
	var thinking struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(m.o.Extra["thinking"], &thinking) // what is no object tells nothing
	return (m.o.Provider == "deepseek" || m.o.Provider == "kimi") && thinking.Type != "disabled"
}

// noReasoning takes the place of reasoning that is not there: DeepSeek V4 Pro takes "" for a member that was left out (hermes-agent#17341).
const noReasoning = " "

// keptReasoning returns, by the index of the message, the reasoning that this model left in its messages with calls; where the provider needs
// reasoning in all messages, [noReasoning] for those of other models and those that have none.
func (m *Model) keptReasoning(list []agent.Message) map[int]*opaque {
	kept, needed := map[int]*opaque{}, m.needsReasoning()
	for i, one := range list {
		if one.Role != agent.RoleAssistant || len(one.Calls) == 0 && !needed {
			continue
		}
		var o opaque
		if len(one.Opaque) == 0 || json.Unmarshal(one.Opaque, &o) != nil || o.Model != m.o.Model {
			o = opaque{} // none, another adapter's, or another model's
		}
		if !m.thoughts() {
			o.Member, o.Reasoning, o.Details = "", "", nil
		}
		if needed && len(o.Details) == 0 && (o.Member == "" || o.Reasoning == "") {
			o.Member, o.Reasoning = reasoningContent, noReasoning
		}
		kept[i] = &o
	}
	return kept
}

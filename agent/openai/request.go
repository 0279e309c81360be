package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/internal/modelapi"
)

// Lengths of ids in bytes. OpenAI refuses longer ones; Mistral takes no other length.
const (
	longestID = 40
	mistralID = 9
)

func (m *Model) request(r *agent.Request, names *modelapi.Names) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{
		Model:         m.o.Model,
		Messages:      m.messages(r, names),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	for _, t := range r.Tools {
		f := shared.FunctionDefinitionParam{Name: names.Out(t.Name)}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		// As it stands: a map would lose the order of the properties, which models read.
		f.SetExtraFields(map[string]any{"parameters": modelapi.Schema(t)})
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(f))
	}
	if r.MaxOutput > 0 {
		if m.o.OutputMember == maxTokens {
			p.MaxTokens = param.NewOpt(int64(r.MaxOutput))
		} else {
			p.MaxCompletionTokens = param.NewOpt(int64(r.MaxOutput))
		}
	}
	if r.Session != "" && m.o.Provider == "openai" {
		// Others refuse members that they don't know. The name of a session is nobody's business.
		sum := sha256.Sum256([]byte(r.Session))
		p.PromptCacheKey = param.NewOpt(hex.EncodeToString(sum[:16]))
	}
	extra := map[string]any{}
	for name, value := range m.o.Extra {
		extra[name] = value
	}
	extra["stream"] = true
	p.SetExtraFields(extra)
	return p
}

func (m *Model) messages(r *agent.Request, names *modelapi.Names) []openai.ChatCompletionMessageParamUnion {
	list := make([]openai.ChatCompletionMessageParamUnion, 0, len(r.Messages)+1)
	if strings.TrimSpace(r.System) != "" {
		list = append(list, openai.SystemMessage(r.System))
	}
	kept := m.opaques(r.Messages)
	for i, one := range r.Messages {
		switch one.Role {
		case agent.RoleUser:
			if one.Text != "" {
				list = append(list, openai.UserMessage(one.Text))
			}
		case agent.RoleTool:
			text := one.Text
			if text == "" {
				text = "(no output)"
			}
			list = append(list, openai.ToolMessage(text, m.id(one.CallID)))
		case agent.RoleAssistant:
			if one.Text == "" && len(one.Calls) == 0 {
				continue
			}
			list = append(list, openai.ChatCompletionMessageParamUnion{OfAssistant: m.assistant(one, kept[i], names)})
		}
	}
	return list
}

func (m *Model) assistant(one agent.Message, kept *opaque, names *modelapi.Names) *openai.ChatCompletionAssistantMessageParam {
	a := &openai.ChatCompletionAssistantMessageParam{}
	if one.Text != "" {
		a.Content.OfString = param.NewOpt(one.Text)
	}
	for _, c := range one.Calls {
		f := &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: m.id(c.ID),
			Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
				Name: names.Out(c.Name), Arguments: string(modelapi.Object(c.Arguments)),
			},
		}
		if extra := kept.call(c.ID); extra != nil {
			f.SetExtraFields(map[string]any{extraContent: extra})
		}
		a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: f})
	}
	if kept != nil && len(one.Calls) > 0 {
		extra := map[string]any{}
		if len(kept.Details) > 0 {
			extra[reasoningDetails] = kept.Details
		} else if kept.Member != "" {
			extra[kept.Member] = kept.Reasoning
		}
		if len(extra) > 0 {
			a.SetExtraFields(extra)
		}
	}
	return a
}

// id is an id as the provider takes it; a call and its result get the same.
func (m *Model) id(id string) string {
	switch m.o.Provider {
	case "openai", "azure":
		return modelapi.ID(id, longestID)
	case "mistral":
		if len(id) == mistralID && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" {
			return id
		}
		sum := sha256.Sum256([]byte(id))
		return hex.EncodeToString(sum[:])[:mistralID]
	}
	// Kimi's models read the name of the tool out of ids such as "functions.NAME:0".
	return id
}

const (
	reasoningContent = "reasoning_content"
	reasoningDetails = "reasoning_details"
	// extraContent holds the signatures that Gemini gives calls, and refuses calls without.
	extraContent = "extra_content"
)

// opaque is what is kept of an answer for its provider.
type opaque struct {
	Model string `json:"model"`
	// Member is the name under which the thoughts came and go back.
	Member    string                     `json:"member,omitempty"`
	Reasoning string                     `json:"reasoning,omitempty"`
	Details   []json.RawMessage          `json:"reasoning_details,omitempty"`
	Calls     map[string]json.RawMessage `json:"calls,omitempty"` // extra_content by id
}

func (o *opaque) call(id string) json.RawMessage {
	if o == nil {
		return nil
	}
	return o.Calls[id]
}

// thoughts says whether thoughts go back to where they came from. DeepSeek and Kimi refuse a
// call without the thoughts that led to it; GLM, MiniMax, Qwen and OpenRouter think better
// with them, and what is unknown may be a gateway to one of these. OpenAI shows none, and
// others refuse members that they don't know.
func (m *Model) thoughts() bool {
	switch m.o.Provider {
	case "deepseek", "kimi", "glm", "minimax", "qwen", "openrouter", "opencode", "":
		return true
	}
	return false
}

// opaques reads what was kept, of the messages of this model with calls. Where a provider
// refuses calls without thoughts, those that have none get empty ones, as soon as it is
// known to think.
func (m *Model) opaques(list []agent.Message) map[int]*opaque {
	kept := map[int]*opaque{}
	thinks := false
	for i, one := range list {
		if one.Role != agent.RoleAssistant || len(one.Calls) == 0 || len(one.Opaque) == 0 {
			continue
		}
		var o opaque
		if json.Unmarshal(one.Opaque, &o) != nil || o.Model != m.o.Model {
			continue // another adapter's, or another model's
		}
		if !m.thoughts() {
			o.Member, o.Reasoning, o.Details = "", "", nil
		}
		thinks = thinks || o.Member == reasoningContent
		kept[i] = &o
	}
	if thinks && (m.o.Provider == "deepseek" || m.o.Provider == "kimi") {
		for i, one := range list {
			if one.Role == agent.RoleAssistant && len(one.Calls) > 0 && (kept[i] == nil || kept[i].Member == "") {
				kept[i] = &opaque{Member: reasoningContent}
			}
		}
	}
	return kept
}

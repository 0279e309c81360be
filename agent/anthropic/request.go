package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/internal/modelapi"
)

// longestID is how long an id may be in bytes; Bedrock takes no longer ones.
const longestID = 64

func (m *Model) request(r *agent.Request, names *modelapi.Names) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: m.o.Model, MaxTokens: int64(m.output)}
	if r.MaxOutput > 0 {
		p.MaxTokens = int64(r.MaxOutput)
		if m.o.MaxOutput > 0 {
			p.MaxTokens = min(p.MaxTokens, int64(m.o.MaxOutput))
		}
	}
	if strings.TrimSpace(r.System) != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.System, CacheControl: anthropic.NewCacheControlEphemeralParam()}}
	}
	p.Messages = m.messages(r.Messages, names)
	m.tools(&p, r, names)
	m.think(&p, r)
	extra := map[string]any{}
	for name, value := range m.o.Extra {
		extra[name] = value
	}
	extra["stream"] = true
	p.SetExtraFields(extra)
	return p
}

func (m *Model) tools(p *anthropic.MessageNewParams, r *agent.Request, names *modelapi.Names) {
	for _, t := range r.Tools {
		tool := &anthropic.ToolParam{
			Name:        names.Out(t.Name),
			InputSchema: param.Override[anthropic.ToolInputSchemaParam](modelapi.Schema(t)),
		}
		if t.Description != "" {
			tool.Description = param.NewOpt(t.Description)
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: tool})
	}
	if len(p.Tools) > 0 {
		p.Tools[len(p.Tools)-1].OfTool.CacheControl = anthropic.NewCacheControlEphemeralParam()
		return
	}
	// A history with calls is refused by some services where no tool is declared: those that
	// were called are, and may not be called.
	seen := map[string]bool{}
	for _, one := range r.Messages {
		for _, c := range one.Calls {
			name := names.Out(c.Name)
			if seen[name] {
				continue
			}
			seen[name] = true
			p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
				Name: name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](modelapi.Schema(agent.ToolSpec{})),
			}})
		}
	}
	if len(p.Tools) > 0 {
		p.ToolChoice = anthropic.ToolChoiceUnionParam{OfNone: &anthropic.ToolChoiceNoneParam{}}
	}
}

// think turns thinking on. A turn that runs must have begun with a thought then: where room
// was made and the thought is gone, this request goes without.
func (m *Model) think(p *anthropic.MessageNewParams, r *agent.Request) {
	switch {
	case m.o.Thinking < 0:
		p.Thinking.OfAdaptive = &anthropic.ThinkingConfigAdaptiveParam{}
	case m.o.Thinking > 0 && m.begunThinking(r.Messages):
		// The budget is part of max_tokens, which has to be more.
		p.Thinking = anthropic.ThinkingConfigParamOfEnabled(int64(m.o.Thinking))
		if p.MaxTokens <= int64(m.o.Thinking) {
			p.MaxTokens += int64(m.o.Thinking)
		}
	}
}

func (m *Model) begunThinking(list []agent.Message) bool {
	for i := len(list) - 1; i >= 0; i-- {
		switch list[i].Role {
		case agent.RoleUser:
			// A note behind results belongs to the turn that runs.
			if i == 0 || list[i-1].Role != agent.RoleTool {
				return true
			}
		case agent.RoleAssistant:
			if len(list[i].Calls) > 0 && !m.kept(list[i]).thinks() {
				return false
			}
		}
	}
	return true
}

// messages merges what this protocol wants in one message: all results of a turn, before any
// text, and all that follow each other of one role.
func (m *Model) messages(list []agent.Message, names *modelapi.Names) []anthropic.MessageParam {
	var out []anthropic.MessageParam
	var results, texts []anthropic.ContentBlockParamUnion
	flush := func() {
		if blocks := append(results, texts...); len(blocks) > 0 {
			out = append(out, anthropic.NewUserMessage(blocks...))
		}
		results, texts = nil, nil
	}
	for i, one := range list {
		switch one.Role {
		case agent.RoleUser:
			if strings.TrimSpace(one.Text) != "" {
				texts = append(texts, anthropic.NewTextBlock(one.Text))
			}
		case agent.RoleTool:
			text := one.Text
			if strings.TrimSpace(text) == "" {
				text = "(no output)"
			}
			results = append(results, anthropic.NewToolResultBlock(modelapi.ID(one.CallID, longestID), text, one.Failed))
		case agent.RoleAssistant:
			if i == len(list)-1 {
				one.Text = strings.TrimRight(one.Text, " \t\r\n") // refused at the very end
			}
			blocks := m.assistant(one, names)
			if len(blocks) == 0 {
				continue
			}
			flush()
			if n := len(out); n > 0 && out[n-1].Role == anthropic.MessageParamRoleAssistant {
				out[n-1].Content = append(out[n-1].Content, blocks...)
				continue
			}
			out = append(out, anthropic.NewAssistantMessage(blocks...))
		}
	}
	flush()
	mark(out)
	return out
}

// mark has the service cache up to the last block that can be marked; thoughts can't.
func mark(list []anthropic.MessageParam) {
	for i := len(list) - 1; i >= 0; i-- {
		for k := len(list[i].Content) - 1; k >= 0; k-- {
			if c := list[i].Content[k].GetCacheControl(); c != nil {
				*c = anthropic.NewCacheControlEphemeralParam()
				return
			}
		}
	}
}

// assistant is an answer as it came: thoughts to the letter, words and calls in their order.
// What was changed since, as words are when room is made, follows the thoughts.
func (m *Model) assistant(one agent.Message, names *modelapi.Names) []anthropic.ContentBlockParamUnion {
	var out []anthropic.ContentBlockParamUnion
	words := func(s string) {
		if strings.TrimSpace(s) != "" {
			out = append(out, anthropic.NewTextBlock(s))
		}
	}
	done := make([]bool, len(one.Calls))
	call := func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		c := one.Calls[i]
		out = append(out, anthropic.NewToolUseBlock(modelapi.ID(c.ID, longestID), json.RawMessage(modelapi.Object(c.Arguments)), names.Out(c.Name)))
	}
	rest := one.Text
	if o := m.kept(one); o != nil {
		for _, b := range o.Blocks {
			switch {
			case len(b.Raw) > 0:
				out = append(out, raw(b.Raw))
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

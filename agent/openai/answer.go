package openai

import (
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/internal/modelapi"
)

// answer puts the pieces of an answer together.
type answer struct {
	x        *modelapi.Exchange
	names    *modelapi.Names
	text     func(string)
	thoughts bool

	said    strings.Builder
	refused bool
	calls   []*call
	places  map[int64]*call
	member  string
	thought strings.Builder
	details []json.RawMessage
	finish  string
	usage   agent.Usage
	any     bool
}

type call struct {
	id, name  string
	arguments strings.Builder
	extra     json.RawMessage
}

func (a *answer) stream(body *modelapi.Answer) error {
	for e, err := range body.Events() {
		if err != nil {
			return err
		}
		if err := a.x.EventError(e); err != nil {
			return err
		}
		if !json.Valid(e.Data) {
			return a.x.Broken("an event of the answer is not JSON", nil)
		}
		var c openai.ChatCompletionChunk
		if err := json.Unmarshal(e.Data, &c); err != nil {
			return a.x.Broken("an event of the answer is no part of one", err)
		}
		if err := a.chunk(&c); err != nil {
			return err
		}
	}
	if a.finish == "" && !(a.x.Ended() && a.any) {
		return a.x.Broken("the answer broke off before its end", nil)
	}
	return nil
}

func (a *answer) chunk(c *openai.ChatCompletionChunk) error {
	if c.JSON.Usage.Valid() {
		a.count(c.Usage)
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue // one was asked for
		}
		a.any = true
		d := &choice.Delta
		if err := a.say(words(d.Content, d.JSON.Content), d.Refusal); err != nil {
			return err
		}
		if err := a.think(d.JSON.ExtraFields); err != nil {
			return err
		}
		for k := range d.ToolCalls {
			t := &d.ToolCalls[k]
			if err := a.piece(t, k); err != nil {
				return err
			}
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
		if u, ok := choice.JSON.ExtraFields["usage"]; ok { // Kimi
			var used openai.CompletionUsage
			if json.Unmarshal([]byte(u.Raw()), &used) == nil {
				a.count(used)
			}
		}
	}
	return nil
}

// whole reads an answer that is no stream.
func (a *answer) whole(body *modelapi.Answer) error {
	raw, err := body.Bytes()
	if err != nil {
		return err
	}
	if err := a.x.EventError(modelapi.Event{Data: raw}); err != nil {
		return err
	}
	var c openai.ChatCompletion
	if !json.Valid(raw) || json.Unmarshal(raw, &c) != nil {
		return a.x.Broken("the answer is not the JSON of one", nil)
	}
	if len(c.Choices) == 0 {
		return a.x.Broken("the answer has no choices", nil)
	}
	choice := &c.Choices[0]
	a.finish, a.any = choice.FinishReason, true
	a.count(c.Usage)
	if err := a.say(words(choice.Message.Content, choice.Message.JSON.Content), choice.Message.Refusal); err != nil {
		return err
	}
	if err := a.think(choice.Message.JSON.ExtraFields); err != nil {
		return err
	}
	for k := range choice.Message.ToolCalls {
		var t openai.ChatCompletionChunkChoiceDeltaToolCall
		if json.Unmarshal([]byte(choice.Message.ToolCalls[k].RawJSON()), &t) != nil {
			continue
		}
		t.Index = int64(k)
		if err := a.piece(&t, k); err != nil {
			return err
		}
	}
	return nil
}

// say adds words.
func (a *answer) say(content, refusal string) error {
	if refusal != "" {
		a.refused = true
		content += refusal
	}
	if content == "" {
		return nil
	}
	if err := a.x.Take(len(content)); err != nil {
		return err
	}
	a.x.Begun()
	a.said.WriteString(content)
	a.text(content)
	return nil
}

// words are those of a content: a text, or a list as Mistral's thinking models write it. The
// client gives the JSON of what is no text.
func words(text string, content respjson.Field) string {
	raw := content.Raw()
	if strings.HasPrefix(raw, `"`) {
		return text
	}
	var list []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal([]byte(raw), &list) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range list {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// think keeps thoughts that have to go back.
func (a *answer) think(extra map[string]respjson.Field) error {
	if len(extra) == 0 {
		return nil
	}
	for _, member := range [...]string{reasoningContent, "reasoning"} {
		f, ok := extra[member]
		if !ok || !strings.HasPrefix(f.Raw(), `"`) {
			continue
		}
		var s string
		if json.Unmarshal([]byte(f.Raw()), &s) != nil || s == "" {
			continue
		}
		a.x.Begun()
		// Some gateways send both, with the same words.
		if !a.thoughts || a.member != "" && a.member != member {
			break
		}
		if err := a.x.Take(len(s)); err != nil {
			return err
		}
		a.member = member
		a.thought.WriteString(s)
		break
	}
	if f, ok := extra[reasoningDetails]; ok && a.thoughts {
		var list []json.RawMessage
		if json.Unmarshal([]byte(f.Raw()), &list) != nil {
			return nil
		}
		if err := a.x.Take(len(f.Raw())); err != nil {
			return err
		}
		a.details = append(a.details, list...)
	}
	return nil
}

// piece adds a piece of a call.
func (a *answer) piece(t *openai.ChatCompletionChunkChoiceDeltaToolCall, place int) error {
	c := a.at(t, place)
	if c == nil {
		if len(a.calls) >= modelapi.MaxCalls {
			return a.x.Oversized("the answer has too many calls")
		}
		c = &call{}
		if a.places == nil {
			a.places = map[int64]*call{}
		}
		a.calls = append(a.calls, c)
		a.places[index(t, len(a.calls)-1)] = c
	}
	if c.id == "" {
		c.id = t.ID
	}
	// Some servers repeat the name in every piece.
	if name := t.Function.Name; c.arguments.Len() == 0 && name != c.name {
		c.name += name
	}
	arguments := t.Function.Arguments
	if raw := t.Function.JSON.Arguments.Raw(); arguments == "" && strings.HasPrefix(raw, "{") {
		arguments = raw // an object in the place of its text
	}
	if err := a.x.Take(len(t.ID) + len(t.Function.Name) + len(arguments)); err != nil {
		return err
	}
	a.x.Begun()
	c.arguments.WriteString(arguments)
	if f, ok := t.JSON.ExtraFields[extraContent]; ok && strings.HasPrefix(f.Raw(), "{") {
		if err := a.x.Take(len(f.Raw())); err != nil {
			return err
		}
		c.extra = json.RawMessage(f.Raw())
	}
	return nil
}

// at finds the call that a piece belongs to; nil for a new one. Some servers leave the index
// out, or give every call the same: another id with a name begins another call.
func (a *answer) at(t *openai.ChatCompletionChunkChoiceDeltaToolCall, place int) *call {
	var c *call
	if t.JSON.Index.Valid() {
		c = a.places[t.Index]
	} else if t.ID == "" && len(a.calls) > 0 {
		c = a.calls[len(a.calls)-1]
		if place > 0 && t.Function.Name != "" {
			c = nil
		}
	} else {
		for _, known := range a.calls {
			if known.id == t.ID && t.ID != "" {
				c = known
			}
		}
	}
	if c != nil && t.ID != "" && c.id != "" && t.ID != c.id && t.Function.Name != "" {
		return nil
	}
	return c
}

func index(t *openai.ChatCompletionChunkChoiceDeltaToolCall, place int) int64 {
	if t.JSON.Index.Valid() {
		return t.Index
	}
	return int64(place)
}

func (a *answer) count(u openai.CompletionUsage) {
	cached := u.PromptTokensDetails.CachedTokens
	for _, name := range [...]string{"prompt_cache_hit_tokens", "cached_tokens"} { // DeepSeek, Kimi
		var n int64
		if f, ok := u.JSON.ExtraFields[name]; ok && json.Unmarshal([]byte(f.Raw()), &n) == nil {
			cached = max(cached, n)
		}
	}
	if u.PromptTokens == 0 && u.CompletionTokens == 0 {
		return // sent ahead of the real ones
	}
	a.usage = modelapi.Usage(u.PromptTokens, cached, u.CompletionTokens)
}

// reply is the whole of it.
func (a *answer) reply(model string) (*agent.Reply, error) {
	out := &agent.Reply{Message: agent.Message{Role: agent.RoleAssistant, Text: a.said.String()}, Usage: a.usage}
	kept := opaque{Model: model, Member: a.member, Reasoning: a.thought.String(), Details: a.details}
	for _, c := range a.calls {
		if c.id == "" {
			c.id = modelapi.NewID()
		}
		if c.extra != nil {
			if kept.Calls == nil {
				kept.Calls = map[string]json.RawMessage{}
			}
			kept.Calls[c.id] = c.extra
		}
		out.Message.Calls = append(out.Message.Calls, agent.Call{
			ID: c.id, Name: a.names.Back(c.name), Arguments: modelapi.Arguments(c.arguments.String()),
		})
	}
	if len(out.Message.Calls) > 0 && (kept.Member != "" || len(kept.Details) > 0 || len(kept.Calls) > 0) {
		raw, err := json.Marshal(kept)
		if err != nil {
			return nil, a.x.Broken("what the provider wants back is not JSON", err)
		}
		out.Message.Opaque = raw
	}
	var err error
	out.Stop, err = a.stop()
	return out, err
}

func (a *answer) stop() (agent.Stop, error) {
	switch a.finish {
	case "length", "max_tokens":
		return agent.StopLength, nil
	case "content_filter", "sensitive", "refusal": // "sensitive" is GLM's
		return agent.StopRefused, nil
	case "model_context_window_exceeded":
		return agent.StopOverflow, nil
	case "insufficient_system_resource", "network_error", "error", "abort": // DeepSeek, GLM, OpenRouter, SGLang
		return "", a.x.Broken("the provider broke the answer off: "+a.finish, nil)
	}
	switch {
	case len(a.calls) > 0:
		return agent.StopCalls, nil
	case a.refused:
		return agent.StopRefused, nil
	}
	return agent.StopEnd, nil
}

package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
)

// chunk is an event of a stream, or a whole answer. Only the members that are used are read.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
}

type choice struct {
	Index        modelapi.Count `json:"index"`
	Delta        delta          `json:"delta"`
	Message      delta          `json:"message"` // of a whole answer
	FinishReason string         `json:"finish_reason"`
	Usage        *usage         `json:"usage"` // Kimi
}

// delta is the addition of one event, or of a whole answer, to the message of the model.
type delta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          string          `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ToolCalls        []callDelta     `json:"tool_calls"`
}

// callDelta is a call, or a part of one.
type callDelta struct {
	Index    *modelapi.Count `json:"index"`
	ID       string          `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"`
}

type usage struct {
	Prompt     modelapi.Count `json:"prompt_tokens"`
	Completion modelapi.Count `json:"completion_tokens"`
	Details    struct {
		Cached modelapi.Count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Hit    modelapi.Count `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cached modelapi.Count `json:"cached_tokens"`           // Kimi
}

// quoted returns the text of a JSON string; "" of anything else.
func quoted(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// answer assembles the events of an answer.
type answer struct {
	x        *modelapi.Exchange
	names    *modelapi.Names
	text     func(string)
	thoughts bool

	said    strings.Builder
	refused bool
	calls   []*call
	places  map[modelapi.Count]*call
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

// Stream reads an answer that comes as events. An answer without a finish_reason is an error, unless the stream ended with "[DONE]" after
// at least one choice.
func (a *answer) Stream(body *modelapi.Answer) error {
	for e, err := range body.Events() {
		if err != nil {
			return err
		}
		var c chunk
		if err := a.x.Decode(e, &c); err != nil {
			return err
		}
		if err := a.addChunk(&c); err != nil {
			return err
		}
	}
	if a.finish == "" && !(a.x.Ended() && a.any) {
		return a.x.Broken("the answer broke off before its end", nil)
	}
	return nil
}

// addChunk adds a chunk of the answer: its usage, and the delta and finish_reason of the first choice.
func (a *answer) addChunk(c *chunk) error {
	a.count(c.Usage)
	for i := range c.Choices {
		one := &c.Choices[i]
		if one.Index != 0 {
			continue // one was asked for
		}
		a.any = true
		if err := a.addDelta(&one.Delta); err != nil {
			return err
		}
		if one.FinishReason != "" {
			a.finish = one.FinishReason
		}
		a.count(one.Usage)
	}
	return nil
}

// Whole reads an answer that is not a stream.
func (a *answer) Whole(body *modelapi.Answer) error {
	var c chunk
	if err := body.Decode(&c); err != nil {
		return err
	}
	if len(c.Choices) == 0 {
		return a.x.Broken("the answer has no choices", nil)
	}
	one := &c.Choices[0]
	a.finish, a.any = one.FinishReason, true
	a.count(c.Usage)
	for k := range one.Message.ToolCalls {
		if t := &one.Message.ToolCalls[k]; t.Index != nil {
			*t.Index = modelapi.Count(k)
		}
	}
	return a.addDelta(&one.Message)
}

// addDelta adds the text, the reasoning and the calls of a delta.
func (a *answer) addDelta(w *delta) error {
	if err := a.addText(contentOf(w.Content), w.Refusal); err != nil {
		return err
	}
	if err := a.addThought(w); err != nil {
		return err
	}
	for k := range w.ToolCalls {
		if err := a.addCallPiece(&w.ToolCalls[k], k); err != nil {
			return err
		}
	}
	return nil
}

// addText adds text to the answer and passes it on at once. A refusal is text too, and marks the answer as refused. The error is for an
// answer that is too large.
func (a *answer) addText(content, refusal string) error {
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

// contentOf returns the text of a content: a string, or the texts of a list, as Mistral's reasoning models write it; "" for anything else.
func contentOf(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '[' {
		return quoted(raw)
	}
	var list []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if modelapi.Decode(raw, &list) != nil {
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

// addThought keeps reasoning that has to be sent back to the provider with later requests. Reasoning is a sign of life in any case, but is
// only kept for models that want it back.
func (a *answer) addThought(w *delta) error {
	for _, t := range [...]struct {
		member string
		raw    json.RawMessage
	}{{reasoningContent, w.ReasoningContent}, {reasoning, w.Reasoning}} {
		s := quoted(t.raw)
		if s == "" {
			continue
		}
		a.x.Begun()
		// Some gateways send both, with the same words.
		if !a.thoughts || a.member != "" && a.member != t.member {
			break
		}
		if err := a.x.Take(len(s)); err != nil {
			return err
		}
		a.member = t.member
		a.thought.WriteString(s)
		break
	}
	if len(w.ReasoningDetails) > 0 && a.thoughts {
		var list []json.RawMessage
		if json.Unmarshal(w.ReasoningDetails, &list) != nil || len(list) == 0 {
			return nil
		}
		if err := a.x.Take(len(w.ReasoningDetails)); err != nil {
			return err
		}
		a.details = append(a.details, list...)
	}
	return nil
}

// addCallPiece adds a part of a call.
func (a *answer) addCallPiece(t *callDelta, place int) error {
	c := a.callFor(t, place)
	if c == nil {
		if len(a.calls) >= modelapi.MaxCalls {
			return a.x.Oversized("the answer has too many calls")
		}
		c = &call{}
		if a.places == nil {
			a.places = map[modelapi.Count]*call{}
		}
		a.calls = append(a.calls, c)
		a.places[index(t, len(a.calls)-1)] = c
	}
	c.id = cmp.Or(c.id, t.ID)
	// Some servers repeat the name in every piece.
	if name := t.Function.Name; c.arguments.Len() == 0 && name != c.name {
		c.name += name
	}
	arguments := quoted(t.Function.Arguments)
	if raw := string(t.Function.Arguments); strings.HasPrefix(raw, "{") {
		arguments = raw // an object in the place of its text
	}
	if err := a.x.Take(len(t.ID) + len(t.Function.Name) + len(arguments)); err != nil {
		return err
	}
	a.x.Begun()
	c.arguments.WriteString(arguments)
	if len(t.Extra) > 0 && t.Extra[0] == '{' {
		if err := a.x.Take(len(t.Extra)); err != nil {
			return err
		}
		c.extra = t.Extra
	}
	return nil
}

// callFor finds the call that a part belongs to; nil for a new call. Some servers leave the index out, or give every call the same one: then
// another id together with a name begins another call.
func (a *answer) callFor(t *callDelta, place int) *call {
	var c *call
	if t.Index != nil {
		c = a.places[*t.Index]
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

// index returns the index of a call that a delta gives, or place if it gives none.
func index(t *callDelta, place int) modelapi.Count {
	if t.Index != nil {
		return *t.Index
	}
	return modelapi.Count(place)
}

// count takes a report of usage in place of the one before; one without tokens is ignored.
func (a *answer) count(u *usage) {
	if u == nil || u.Prompt == 0 && u.Completion == 0 {
		return // none, or sent ahead of the real ones
	}
	a.usage = modelapi.Usage(int64(u.Prompt), int64(max(u.Details.Cached, u.Hit, u.Cached)), int64(u.Completion))
}

// Reply returns the finished reply.
func (a *answer) Reply(model string) (*agent.Reply, error) {
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
	out.Stop, err = a.stopReason()
	return out, err
}

// stopReason returns why the answer ended. It is an error if the provider says that it broke the answer off.
func (a *answer) stopReason() (agent.Stop, error) {
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

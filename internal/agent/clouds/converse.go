package clouds

import (
	"encoding/json"
	"strings"

	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
)

// Bedrock's Converse takes one form for the models of all makers. Its members, as the API reference has them:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html

// toolBlock is a block that has to do with a tool, or text.
type toolBlock struct {
	Text      *string     `json:"text,omitempty"`
	Use       *toolUse    `json:"toolUse,omitempty"`
	Result    *toolResult `json:"toolResult,omitempty"`
	Reasoning *reasoning  `json:"reasoningContent,omitempty"`
}

type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	ID      string      `json:"toolUseId"`
	Content []toolBlock `json:"content"`
	Status  string      `json:"status,omitempty"`
}

type reasoning struct {
	Text struct {
		Text      string `json:"text"`
		Signature string `json:"signature"`
	} `json:"reasoningText"`
}

// inferenceMembers are members of a Messages request that Converse takes for all models, by its own names.
var inferenceMembers = map[string]string{"max_tokens": "maxTokens", "temperature": "temperature", "top_p": "topP", "stop_sequences": "stopSequences"}

// sentRequest is the part of a Messages request that package anthropic writes.
type sentRequest struct {
	System []struct {
		Text string `json:"text"`
	} `json:"system"`
	Messages []struct {
		Role    string      `json:"role"`
		Content []sentBlock `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
	} `json:"tools"`
}

type sentBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   []sentBlock     `json:"content"`
	IsError   bool            `json:"is_error"`
}

// converse writes a request of package anthropic as one of Converse. Cache marks are left out: most models refuse them. So is reasoning
// that nobody signed, which models refuse in what they said before.
func converse(members map[string]json.RawMessage) ([]byte, error) {
	var s sentRequest
	inference, fields := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name, value := range members {
		var err error
		switch name {
		case "system":
			err = json.Unmarshal(value, &s.System)
		case "messages":
			err = json.Unmarshal(value, &s.Messages)
		case "tools":
			err = json.Unmarshal(value, &s.Tools)
		case "tool_choice", "thinking": // Anthropic's own; without a choice a model may call or not
		default:
			if known, ok := inferenceMembers[name]; ok {
				inference[known] = value
			} else {
				fields[name] = value
			}
		}
		if err != nil {
			return nil, err
		}
	}
	type message struct {
		Role    string      `json:"role"`
		Content []toolBlock `json:"content"`
	}
	messages := make([]message, 0, len(s.Messages))
	for _, one := range s.Messages {
		if blocks := converseBlocks(one.Content); len(blocks) > 0 {
			messages = append(messages, message{one.Role, blocks})
		}
	}
	list := []modelapi.Member{{Name: "messages", Value: messages}}
	if len(s.System) > 0 {
		system := make([]toolBlock, len(s.System))
		for i := range s.System {
			system[i].Text = &s.System[i].Text
		}
		list = append(list, modelapi.Member{Name: "system", Value: system})
	}
	if len(s.Tools) > 0 {
		tools := make([]map[string]any, len(s.Tools))
		for i, t := range s.Tools {
			spec := map[string]any{"name": t.Name, "inputSchema": map[string]json.RawMessage{"json": t.Schema}}
			if t.Description != "" { // an empty one is refused
				spec["description"] = t.Description
			}
			tools[i] = map[string]any{"toolSpec": spec}
		}
		list = append(list, modelapi.Member{Name: "toolConfig", Value: map[string]any{"tools": tools}})
	}
	if len(inference) > 0 {
		list = append(list, modelapi.Member{Name: "inferenceConfig", Value: inference})
	}
	if len(fields) > 0 {
		list = append(list, modelapi.Member{Name: "additionalModelRequestFields", Value: fields})
	}
	return modelapi.Body(list, nil)
}

// converseBlocks returns blocks of Anthropic in the form of Converse. Empty texts and unsigned thinking are left out, because Converse
// refuses them.
func converseBlocks(list []sentBlock) (out []toolBlock) {
	for i := range list {
		b := &list[i]
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) != "" { // refused
				out = append(out, toolBlock{Text: &b.Text})
			}
		case "thinking":
			if b.Signature != "" {
				r := &reasoning{}
				r.Text.Text, r.Text.Signature = b.Thinking, b.Signature
				out = append(out, toolBlock{Reasoning: r})
			}
		case "tool_use":
			out = append(out, toolBlock{Use: &toolUse{ID: b.ID, Name: b.Name, Input: b.Input}})
		case "tool_result":
			r := &toolResult{ID: b.ToolUseID, Content: converseBlocks(b.Content)}
			if b.IsError {
				r.Status = "error"
			}
			out = append(out, toolBlock{Result: r})
		}
	}
	return out
}

// converseEvent is the payload of an event of ConverseStream.
type converseEvent struct {
	Index int `json:"contentBlockIndex"`
	Start struct {
		Use *struct {
			ID   string `json:"toolUseId"`
			Name string `json:"name"`
		} `json:"toolUse"`
	} `json:"start"`
	Delta struct {
		Text *string `json:"text"`
		Use  *struct {
			Input string `json:"input"`
		} `json:"toolUse"`
		Reasoning *struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
		} `json:"reasoningContent"`
	} `json:"delta"`
	Stop  string `json:"stopReason"`
	Usage struct {
		Input   modelapi.Count `json:"inputTokens"`
		Output  modelapi.Count `json:"outputTokens"`
		Read    modelapi.Count `json:"cacheReadInputTokens"`
		Written modelapi.Count `json:"cacheWriteInputTokens"`
	} `json:"usage"`
}

// stops are Converse's reasons to stop that Anthropic's own service has other words for.
var stops = map[string]string{"guardrail_intervened": "refusal", "content_filtered": "refusal"}

// conversation writes what Converse streams as the events of Anthropic's own service.
type conversation struct {
	open int // the block that is being received, plus one; a block of text has no event at its start
}

// convertEvent returns the events of Anthropic's stream that one event of Converse stands for; none for an event without meaning there.
func (c *conversation) convertEvent(name string, payload []byte) ([]map[string]any, error) {
	var e converseEvent
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, errFrame
	}
	block := func(of map[string]any) map[string]any {
		return map[string]any{"type": "content_block_start", "index": e.Index, "content_block": of}
	}
	switch name {
	case "messageStart":
		return []map[string]any{{"type": "message_start", "message": map[string]any{"type": "message", "role": "assistant", "content": []any{}}}}, nil
	case "contentBlockStart":
		if e.Start.Use == nil {
			return nil, nil
		}
		c.open = e.Index + 1
		return []map[string]any{block(map[string]any{"type": "tool_use", "id": e.Start.Use.ID, "name": e.Start.Use.Name, "input": map[string]any{}})}, nil
	case "contentBlockDelta":
		var kind map[string]any
		var deltas []map[string]any
		switch d := &e.Delta; {
		case d.Text != nil:
			kind = map[string]any{"type": "text", "text": ""}
			deltas = append(deltas, map[string]any{"type": "text_delta", "text": *d.Text})
		case d.Use != nil:
			deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": d.Use.Input})
		case d.Reasoning != nil:
			kind = map[string]any{"type": "thinking", "thinking": ""}
			if d.Reasoning.Text != "" {
				deltas = append(deltas, map[string]any{"type": "thinking_delta", "thinking": d.Reasoning.Text})
			}
			if d.Reasoning.Signature != "" {
				deltas = append(deltas, map[string]any{"type": "signature_delta", "signature": d.Reasoning.Signature})
			}
		}
		var out []map[string]any
		if kind != nil && c.open != e.Index+1 {
			c.open = e.Index + 1
			out = append(out, block(kind))
		}
		for _, d := range deltas {
			out = append(out, map[string]any{"type": "content_block_delta", "index": e.Index, "delta": d})
		}
		return out, nil
	case "messageStop":
		stop := e.Stop
		if known, ok := stops[stop]; ok {
			stop = known
		}
		return []map[string]any{{"type": "message_delta", "delta": map[string]any{"stop_reason": stop}}}, nil
	case "metadata":
		return []map[string]any{
			{"type": "message_delta", "usage": map[string]any{
				"input_tokens": e.Usage.Input, "output_tokens": e.Usage.Output,
				"cache_read_input_tokens": e.Usage.Read, "cache_creation_input_tokens": e.Usage.Written,
			}},
			{"type": "message_stop"},
		}, nil
	}
	return nil, nil
}

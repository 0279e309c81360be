package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
)

// event is an event of a stream. Only the members that are used are read.
type event struct {
	Type    string         `json:"type"`
	Index   modelapi.Count `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	Block receivedBlock `json:"content_block"`
	Delta struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		JSON       string `json:"partial_json"`
		Thinking   string `json:"thinking"`
		Signature  string `json:"signature"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// receivedBlock is a content block, or the beginning of one.
type receivedBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"` // of redacted thoughts
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

type usage struct {
	Input   modelapi.Count `json:"input_tokens"`
	Read    modelapi.Count `json:"cache_read_input_tokens"`
	Written modelapi.Count `json:"cache_creation_input_tokens"`
	Output  modelapi.Count `json:"output_tokens"`
}

// answer assembles the blocks of an answer.
type answer struct {
	x     *modelapi.Exchange
	names *modelapi.Names
	text  func(string)
	// strict services refuse thoughts without a signature.
	strict bool

	blocks []*part
	places map[modelapi.Count]*part
	finish string
	calls  int
	input  int64
	cached int64
	output int64
	begun  bool
}

// part is a block while it is received.
type part struct {
	kind      string
	text      strings.Builder // words, thoughts, or arguments
	id, name  string
	signature strings.Builder
	data      string          // of redacted thoughts
	input     json.RawMessage // arguments that came whole
}

// Stream reads an answer that comes as events. An answer without its first event, or without a reason for its end, is an error.
func (a *answer) Stream(body *modelapi.Answer) error {
	for e, err := range body.Events() {
		if err != nil {
			return err
		}
		var v event
		if err := a.x.Decode(e, &v); err != nil {
			return err
		}
		if err := a.handleEvent(&v); err != nil {
			return err
		}
		if a.x.Ended() {
			break
		}
	}
	if !a.begun || a.finish == "" {
		return a.x.Broken("the answer broke off before its end", nil)
	}
	return nil
}

// handleEvent adds one event to the answer. Events of unknown types are ignored.
func (a *answer) handleEvent(v *event) error {
	switch v.Type {
	case "message_start":
		a.begun = true
		a.count(v.Message.Usage)
	case "content_block_start":
		return a.startBlock(v)
	case "content_block_delta":
		return a.addDelta(v)
	case "message_delta":
		if v.Delta.StopReason != "" {
			a.finish = v.Delta.StopReason
		}
		a.count(v.Usage)
	case "message_stop":
		a.x.End()
	}
	return nil
}

// count reads a report of usage. The last report has the totals; some services give parts of them only at the start, others only at the
// end.
func (a *answer) count(u usage) {
	if sum := int64(max(u.Input, 0) + max(u.Read, 0) + max(u.Written, 0)); sum > 0 && sum >= a.input {
		a.input, a.cached = sum, int64(u.Read)
	}
	a.output = max(a.output, int64(u.Output))
}

// startBlock begins the block of a content_block_start, with what the event already has of it. A block of an unknown type is ignored.
func (a *answer) startBlock(v *event) error {
	b := &v.Block
	p, err := a.addPart(v.Index, b.Type)
	if err != nil || p == nil {
		return err
	}
	p.id, p.name, p.data = b.ID, b.Name, b.Data
	if err := a.x.Take(len(b.ID) + len(b.Name) + len(b.Data)); err != nil {
		return err
	}
	if raw := string(b.Input); p.kind == "tool_use" && raw != "" && raw != "{}" && raw != "null" {
		// Compatible services send the arguments whole. Anthropic sends {} and pieces.
		p.input = b.Input
		if err := a.x.Take(len(raw)); err != nil {
			return err
		}
	}
	if err := a.growPart(p, b.Text+b.Thinking); err != nil {
		return err
	}
	return a.sign(p, b.Signature)
}

// addPart adds an empty part of a kind for the block at index. It returns nil, without an error, for an unknown kind, and an error for too
// many parts.
func (a *answer) addPart(index modelapi.Count, kind string) (*part, error) {
	switch kind {
	case "text", "thinking", "redacted_thinking":
	case "tool_use":
		a.calls++
	default:
		return nil, nil // nothing was asked for that would be of another kind
	}
	if len(a.blocks) >= modelapi.MaxCalls {
		return nil, a.x.Oversized("the answer has too many blocks")
	}
	p := &part{kind: kind}
	if a.places == nil {
		a.places = map[modelapi.Count]*part{}
	}
	a.blocks = append(a.blocks, p)
	a.places[index] = p
	return p, nil
}

// addDelta appends the text, arguments, reasoning or signature of a content_block_delta to its block. A block that is not known is ignored.
func (a *answer) addDelta(v *event) error {
	d := v.Delta
	p := a.places[v.Index]
	if p == nil {
		return nil
	}
	switch d.Type {
	case "text_delta":
		return a.growPart(p, d.Text)
	case "input_json_delta":
		return a.growPart(p, d.JSON)
	case "thinking_delta":
		return a.growPart(p, d.Thinking)
	case "signature_delta":
		return a.sign(p, d.Signature)
	}
	return nil
}

// growPart appends s to a part, and passes it to the caller if the part is text. It is an error if the answer becomes too large.
func (a *answer) growPart(p *part, s string) error {
	if s == "" {
		return nil
	}
	if err := a.x.Take(len(s)); err != nil {
		return err
	}
	a.x.Begun()
	p.text.WriteString(s)
	if p.kind == "text" {
		a.text(s)
	}
	return nil
}

// sign adds s to the signature of a part. It is an error if the answer becomes too large.
func (a *answer) sign(p *part, s string) error {
	p.signature.WriteString(s)
	return a.x.Take(len(s))
}

// Whole reads an answer that is not a stream.
func (a *answer) Whole(body *modelapi.Answer) error {
	var message struct {
		Type       string          `json:"type"`
		Content    []receivedBlock `json:"content"`
		StopReason string          `json:"stop_reason"`
		Usage      usage           `json:"usage"`
	}
	if err := body.Decode(&message); err != nil {
		return err
	}
	if message.Type == "" && len(message.Content) == 0 {
		return a.x.Broken("the answer is not the JSON of one", nil)
	}
	for i := range message.Content {
		b := &message.Content[i]
		p, err := a.addPart(modelapi.Count(i), b.Type)
		if err != nil {
			return err
		}
		if p == nil {
			continue
		}
		p.id, p.name, p.data = b.ID, b.Name, b.Data
		if p.kind == "tool_use" {
			p.input = b.Input
		}
		if err := a.x.Take(len(b.ID) + len(b.Name) + len(b.Data) + len(p.input)); err != nil {
			return err
		}
		if err := a.growPart(p, b.Text+b.Thinking); err != nil {
			return err
		}
		if err := a.sign(p, b.Signature); err != nil {
			return err
		}
	}
	a.count(message.Usage)
	a.finish = message.StopReason
	return nil
}

// Reply returns the finished reply.
func (a *answer) Reply(model string) (*agent.Reply, error) {
	out := &agent.Reply{
		Message: agent.Message{Role: agent.RoleAssistant},
		Usage:   modelapi.Usage(a.input, a.cached, a.output),
	}
	kept := opaque{Model: model}
	thought := false
	var text strings.Builder
	for _, p := range a.blocks {
		switch p.kind {
		case "text":
			if p.text.Len() > 0 {
				text.WriteString(p.text.String())
				kept.Blocks = append(kept.Blocks, block{Text: p.text.Len()})
			}
		case "tool_use":
			c := agent.Call{ID: p.id, Name: a.names.Back(p.name), Arguments: modelapi.Arguments(p.arguments())}
			if c.ID == "" {
				c.ID = modelapi.NewID()
			}
			out.Message.Calls = append(out.Message.Calls, c)
			kept.Blocks = append(kept.Blocks, block{Call: c.ID})
		default:
			if raw := p.thought(a.strict); raw != nil {
				thought = true
				kept.Blocks = append(kept.Blocks, block{Raw: raw})
			}
		}
	}
	out.Message.Text = text.String()
	if thought {
		raw, err := json.Marshal(kept)
		if err != nil {
			return nil, a.x.Broken("what the provider wants back is not JSON", err)
		}
		out.Message.Opaque = raw
	}
	out.Stop = a.stopReason()
	return out, nil
}

// arguments returns the arguments of a call: the pieces that came, or if none did, those that its block began with.
func (p *part) arguments() string {
	if p.text.Len() > 0 {
		return p.text.String()
	}
	return string(p.input)
}

// thought returns a thinking block in the form in which it is sent back; nil when the service would refuse it.
func (p *part) thought(strict bool) json.RawMessage {
	var v any
	switch {
	case p.kind == "redacted_thinking":
		v = struct {
			Type string `json:"type"`
			Data string `json:"data"`
		}{p.kind, p.data}
	case strict && p.signature.Len() == 0:
		return nil
	default:
		v = struct {
			Type      string `json:"type"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
		}{p.kind, p.text.String(), p.signature.String()}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// stopReason returns why the answer ended. Without a reason of its own, an answer with calls asks for their results.
func (a *answer) stopReason() agent.Stop {
	switch a.finish {
	case "max_tokens":
		return agent.StopLength
	case "model_context_window_exceeded":
		return agent.StopOverflow
	case "refusal":
		return agent.StopRefused
	}
	if a.calls > 0 {
		return agent.StopCalls
	}
	return agent.StopEnd
}

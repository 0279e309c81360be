package scripted

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/internal/eventstream"
	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/window/wire"
)

// converse writes an answer as Amazon Bedrock's Converse does: one object, or event frames.
func (s *stream) converse(a *modelserver.Answer) {
	reason := "end_turn"
	if len(a.Calls) > 0 {
		reason = "tool_use"
	}
	if a.Stop != "" {
		reason = a.Stop
	}
	used := m{
		"inputTokens": a.Usage.Input - a.Usage.Cached - a.Usage.Written, "outputTokens": a.Usage.Output, "totalTokens": a.Usage.Input + a.Usage.Output,
		"cacheReadInputTokens": a.Usage.Cached, "cacheWriteInputTokens": a.Usage.Written,
	}
	blocks := []m{}
	if a.Thinking != "" {
		blocks = append(blocks, m{"reasoningContent": m{"reasoningText": m{"text": a.Thinking, "signature": modelserver.Sign(a.Thinking)}}})
	}
	if a.Text != "" {
		blocks = append(blocks, m{"text": a.Text})
	}
	for _, c := range a.Calls {
		blocks = append(blocks, m{"toolUse": m{"toolUseId": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments)}})
	}
	if !a.Stream {
		s.JSON(200, m{"output": m{"message": m{"role": "assistant", "content": blocks}}, "stopReason": reason, "usage": used, "metrics": m{"latencyMs": 5}})
		return
	}
	s.Open(eventstream.Type)
	s.frame("messageStart", m{"role": "assistant"})
	for i, b := range blocks {
		var deltas []m
		switch {
		case b["text"] != nil:
			deltas = []m{{"text": b["text"]}}
		case b["reasoningContent"] != nil:
			thought := b["reasoningContent"].(m)["reasoningText"].(m)
			deltas = []m{{"reasoningContent": m{"text": thought["text"]}}, {"reasoningContent": m{"signature": thought["signature"]}}}
		default:
			use := b["toolUse"].(m)
			s.frame("contentBlockStart", m{"contentBlockIndex": i, "start": m{"toolUse": m{"toolUseId": use["toolUseId"], "name": use["name"]}}})
			deltas = []m{{"toolUse": m{"input": string(use["input"].(json.RawMessage))}}}
		}
		for _, d := range deltas {
			s.frame("contentBlockDelta", m{"contentBlockIndex": i, "delta": d})
		}
		s.frame("contentBlockStop", m{"contentBlockIndex": i})
	}
	s.frame("messageStop", m{"stopReason": reason})
	s.frame("metadata", m{"usage": used, "metrics": m{"latencyMs": 5}})
}

// framed is the head of an answer of InvokeModelWithResponseStream.
type framed struct{ http.ResponseWriter }

func (f framed) WriteHeader(status int) {
	f.Header().Set("Content-Type", eventstream.Type)
	f.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (f framed) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// chunk writes an event of Messages as InvokeModelWithResponseStream does.
func (s *stream) chunk(event string) bool {
	_, data, _ := strings.Cut(event, "data: ")
	s.Raw(string(eventstream.Event("chunk", fmt.Appendf(nil, `{"bytes":"%s"}`, base64.StdEncoding.EncodeToString([]byte(strings.TrimSpace(data)))))))
	s.Flush()
	return true
}

// frame writes the frame of an event.
func (s *stream) frame(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps and texts
	}
	s.Framed(eventstream.Event(name, data))
}

// converseForm refuses by an error, or in a stream by an exception in it.
func converseForm(words string, inStream bool) form {
	return form{dialects: []wire.Dialect{wire.Converse}, write: func(s *stream, _ *Provider, r *Request, _ excess) {
		if !inStream || !r.Stream {
			s.W.Header().Set("x-amzn-ErrorType", "ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/")
			s.JSON(400, m{"message": words})
			return
		}
		s.Open(eventstream.Type)
		s.frame("messageStart", m{"role": "assistant"})
		data, err := json.Marshal(m{"message": words})
		if err != nil {
			panic(err) // a text
		}
		s.Framed(eventstream.Exception("validationException", data))
	}}
}

func converseStop(s *stream, p *Provider, r *Request, o excess) {
	a := p.answer(r, Reply{Stop: "model_context_window_exceeded", Output: 1})
	a.Usage = modelserver.Usage{Input: o.limit, Output: 1}
	s.converse(a)
}

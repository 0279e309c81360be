// Package modelserver writes what a model answers in the form of OpenAI Chat Completions and Responses, Anthropic Messages and Google
// generateContent, whole or as a stream of events. The stand-in (package standin) and the scripted provider of tests use it.
//
// Each dialect is a method of [Stream] of its own, so that a program holds only those that it calls. A [Stream] is for one answer and one
// goroutine; Err says whether the client has gone. Members are written in alphabetical order: the same answer has the same bytes. The
// official clients of e2e/clients read what comes.
package modelserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"github.com/plimsoll/plimsoll/window/wire"
)

// Answer is a model's answer, in the form that the request asked for.
type Answer struct {
	Model   string
	Stream  bool
	Created int64 // seconds since 1970
	// Fingerprint is Chat Completions' system_fingerprint.
	Fingerprint string
	// NewID makes an identifier that begins with prefix.
	NewID func(prefix string) string

	Text, Thinking string
	// Signature goes with the thinking, and is Responses' encrypted reasoning; "" makes one of the
	// thinking alone. Redacted are blocks of thinking that are not shown, behind it (Messages).
	Signature string
	Redacted  []string
	// Summary is a compaction block that takes the place of the answer (Messages).
	Summary *Summary
	// Iteration, unless nil, is the usage of writing a summary; Usage, of an answer, is nothing then.
	Iteration *Usage
	// Transformations, unless nil, are the changes made to the request: input_transformations.
	Transformations any
	// Refusal is the reason why the model will not answer (Chat Completions alone has a place for it).
	Refusal string
	Calls   []Call
	// Stop is the reason why the answer ends, in the dialect's word; "" is a good end.
	Stop  string
	Usage Usage

	IncludeUsage bool // Chat Completions: a stream ends with the usage
	Compaction   bool // Responses: the text is a compaction item
	// Compacted is the encrypted content of a compaction item ahead of the answer (Responses).
	Compacted string
	Array     bool // Gemini: a stream without alt=sse is one JSON array
}

// Call is a call of a tool.
type Call struct {
	ID, Name  string
	Arguments string // JSON; of a custom tool its input
	// Kind and Namespace are of Responses' tools: "custom", "local_shell", "" for a function.
	Kind, Namespace string
}

// Summary is a compaction block as Messages has it.
type Summary struct{ Content, Signature string }

// Usage is the reported use of an answer, in tokens. Cached and Written, which were read from the
// cache of prompts and written into it, are parts of Input.
type Usage struct{ Input, Cached, Written, Output int }

// Sign makes the signature that goes with thinking.
func Sign(thinking string) string {
	sum := sha256.Sum256([]byte("scripted:" + thinking))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// arguments returns a call's arguments as part of an object.
func (c Call) arguments() json.RawMessage { return json.RawMessage(c.Arguments) }

// Chat writes a Chat Completions answer: one object, or chunks that end in [DONE], with
// the usage in a chunk of its own when stream_options asks for it.
func (s *Stream) Chat(a *Answer) {
	id := a.NewID("chatcmpl-")
	reason := "stop"
	if len(a.Calls) > 0 {
		reason = "tool_calls"
	}
	if a.Stop != "" {
		reason = a.Stop
	}
	used := m{
		"prompt_tokens": a.Usage.Input, "completion_tokens": a.Usage.Output, "total_tokens": a.Usage.Input + a.Usage.Output,
		"prompt_tokens_details":     m{"cached_tokens": a.Usage.Cached, "audio_tokens": 0},
		"completion_tokens_details": m{"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
	}
	if !a.Stream {
		message := m{"role": "assistant", "content": nil, "refusal": orNull(a.Refusal)}
		if a.Refusal == "" && (a.Text != "" || len(a.Calls) == 0) {
			message["content"] = a.Text
		}
		if a.Thinking != "" {
			message["reasoning_content"] = a.Thinking
		}
		if len(a.Calls) > 0 {
			var calls []any
			for _, c := range a.Calls {
				calls = append(calls, chatCall(c))
			}
			message["tool_calls"] = calls
		}
		s.writeWhole(m{
			"id": id, "object": "chat.completion", "created": a.Created, "model": a.Model, "service_tier": "default", "system_fingerprint": a.Fingerprint,
			"choices": []any{m{"index": 0, "message": message, "logprobs": nil, "finish_reason": reason}}, "usage": used,
		})
		return
	}
	s.OpenEvents()
	chunk := func(choices []any, usage any) {
		c := m{"id": id, "object": "chat.completion.chunk", "created": a.Created, "model": a.Model, "service_tier": "default", "system_fingerprint": a.Fingerprint, "choices": choices}
		if a.IncludeUsage {
			c["usage"] = usage
		}
		s.Event("", c)
	}
	delta := func(d m, finish any) {
		chunk([]any{m{"index": 0, "delta": d, "logprobs": nil, "finish_reason": finish}}, nil)
	}
	delta(m{"role": "assistant", "content": "", "refusal": nil}, nil)
	for _, text := range pieces(a.Thinking) {
		delta(m{"reasoning_content": text}, nil)
	}
	for _, text := range pieces(a.Refusal) {
		delta(m{"refusal": text}, nil)
	}
	for _, text := range pieces(a.Text) {
		delta(m{"content": text}, nil)
	}
	for i, c := range a.Calls {
		delta(m{"tool_calls": []any{m{"index": i, "id": c.ID, "type": "function", "function": m{"name": c.Name, "arguments": ""}}}}, nil)
		for _, text := range pieces(c.Arguments) {
			delta(m{"tool_calls": []any{m{"index": i, "function": m{"arguments": text}}}}, nil)
		}
	}
	delta(m{}, reason)
	if a.IncludeUsage {
		chunk([]any{}, used)
	}
	s.Event("", "[DONE]")
}

func chatCall(c Call) m {
	return m{"id": c.ID, "type": "function", "function": m{"name": c.Name, "arguments": c.Arguments}}
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Fail writes a failure in the form of a dialect's provider.
func (s *Stream) Fail(d wire.Dialect, f wire.Failure) {
	s.send(f.Status, d.Rules().Error(f))
}

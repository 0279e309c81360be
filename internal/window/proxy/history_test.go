package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

type m = map[string]any

// talk is an agent's conversation that is resent in full every turn, in any dialect. What
// it says at a place is always the same.
type talk struct {
	dialect wire.Dialect
	model   string
	size    int // bytes of one tool result
	output  int // requested
	stream  bool
	marks   bool                  // Messages: the last message carries the cache mark
	text    func(turn int) string // what a tool says; nil is prose of size
}

var everyDialect = []wire.Dialect{wire.Chat, wire.Responses, wire.Messages, wire.Gemini, wire.Converse}

func talkIn(d wire.Dialect) talk {
	model := map[wire.Dialect]string{wire.Chat: "gpt-4o", wire.Responses: "gpt-5.1", wire.Messages: "claude-sonnet-4-5", wire.Gemini: "gemini-2.5-pro", wire.Converse: "anthropic.claude-sonnet-4-5-20250929-v1:0"}[d]
	return talk{dialect: d, model: model, size: 3000, output: 500, stream: true}
}

const (
	task   = "The task: find out why the build of project Halcyon fails, and mend it."
	newest = "And this is the newest word of the user: look at step %d."
)

// path below the root of a proxy with the usual upstreams.
func (k talk) path() string {
	switch k.dialect {
	case wire.Chat:
		return "/openai/v1/chat/completions"
	case wire.Responses:
		return "/openai/v1/responses"
	case wire.Messages:
		return "/anthropic/v1/messages"
	case wire.Converse:
		if k.stream {
			return "/bedrock/model/" + url.PathEscape(k.model) + "/converse-stream"
		}
		return "/bedrock/model/" + url.PathEscape(k.model) + "/converse"
	}
	if k.stream {
		return "/gemini/v1beta/models/" + k.model + ":streamGenerateContent?alt=sse"
	}
	return "/gemini/v1beta/models/" + k.model + ":generateContent"
}

func (k talk) result(turn int) string {
	if k.text != nil {
		return k.text(turn)
	}
	var b strings.Builder
	for i := 0; b.Len() < k.size; i++ {
		fmt.Fprintf(&b, "line %d of turn %d: the compiler says that package number %d needs attention soon\n", i, turn, (turn*31+i)%977)
	}
	return b.String()
}

// body is the request of a turn: the task, turns calls with their results, a newest word.
func (k talk) body(turns int) []byte {
	last := fmt.Sprintf(newest, turns)
	var body m
	switch k.dialect {
	case wire.Chat:
		list := []any{m{"role": "system", "content": "You are an agent."}, m{"role": "user", "content": task}}
		for i := range turns {
			id := fmt.Sprintf("call_%d", i)
			list = append(list,
				m{"role": "assistant", "content": fmt.Sprintf("Step %d.", i), "tool_calls": []any{m{"id": id, "type": "function", "function": m{"name": "shell", "arguments": fmt.Sprintf(`{"cmd":"make %d"}`, i)}}}},
				m{"role": "tool", "tool_call_id": id, "content": k.result(i)})
		}
		body = m{"model": k.model, "messages": append(list, m{"role": "user", "content": last}), "max_tokens": k.output, "stream": k.stream}
		if k.stream {
			body["stream_options"] = m{"include_usage": true}
		}
	case wire.Responses:
		list := []any{m{"type": "message", "role": "user", "content": task}}
		for i := range turns {
			id := fmt.Sprintf("call_%d", i)
			list = append(list, m{"type": "function_call", "call_id": id, "name": "shell", "arguments": fmt.Sprintf(`{"cmd":"make %d"}`, i)},
				m{"type": "function_call_output", "call_id": id, "output": k.result(i)})
		}
		body = m{"model": k.model, "instructions": "You are an agent.", "input": append(list, m{"type": "message", "role": "user", "content": last}), "max_output_tokens": k.output, "stream": k.stream, "store": false}
	case wire.Messages:
		list := []any{m{"role": "user", "content": task}}
		for i := range turns {
			id := fmt.Sprintf("toolu_%d", i)
			list = append(list,
				m{"role": "assistant", "content": []any{m{"type": "text", "text": fmt.Sprintf("Step %d.", i)}, m{"type": "tool_use", "id": id, "name": "shell", "input": m{"cmd": fmt.Sprintf("make %d", i)}}}},
				m{"role": "user", "content": []any{m{"type": "tool_result", "tool_use_id": id, "content": k.result(i)}}})
		}
		text := m{"type": "text", "text": last}
		if k.marks {
			text["cache_control"] = m{"type": "ephemeral"}
		}
		if turns > 0 { // behind the results, in their message
			content := list[len(list)-1].(m)
			content["content"] = append(content["content"].([]any), text)
		}
		body = m{"model": k.model, "system": []any{m{"type": "text", "text": "You are an agent."}}, "messages": list, "max_tokens": k.output, "stream": k.stream}
	case wire.Converse:
		list := []any{m{"role": "user", "content": []any{m{"text": task}}}}
		for i := range turns {
			id := fmt.Sprintf("tooluse_%d", i)
			list = append(list,
				m{"role": "assistant", "content": []any{m{"text": fmt.Sprintf("Step %d.", i)}, m{"toolUse": m{"toolUseId": id, "name": "shell", "input": m{"cmd": fmt.Sprintf("make %d", i)}}}}},
				m{"role": "user", "content": []any{m{"toolResult": m{"toolUseId": id, "content": []any{m{"text": k.result(i)}}}}}})
		}
		words := []any{m{"text": last}}
		if k.marks {
			words = append(words, m{"cachePoint": m{"type": "default"}})
		}
		if turns > 0 {
			content := list[len(list)-1].(m)
			content["content"] = append(content["content"].([]any), words...)
		}
		body = m{
			"system": []any{m{"text": "You are an agent."}}, "messages": list, "inferenceConfig": m{"maxTokens": k.output},
			"toolConfig": m{"tools": []any{m{"toolSpec": m{"name": "shell", "inputSchema": m{"json": m{"type": "object"}}}}}},
		}
	case wire.Gemini:
		list := []any{m{"role": "user", "parts": []any{m{"text": task}}}}
		for i := range turns {
			list = append(list, m{"role": "model", "parts": []any{m{"functionCall": m{"name": "shell", "args": m{"cmd": fmt.Sprintf("make %d", i)}}}}},
				m{"role": "user", "parts": []any{m{"functionResponse": m{"name": "shell", "response": m{"output": k.result(i)}}}}})
		}
		list = append(list, m{"role": "model", "parts": []any{m{"text": "What now?"}}}, m{"role": "user", "parts": []any{m{"text": last}}})
		body = m{"contents": list, "systemInstruction": m{"parts": []any{m{"text": "You are an agent."}}}, "generationConfig": m{"maxOutputTokens": k.output}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return text
}

// ask sends a turn and returns the answer with its whole text.
func (k talk) ask(t *testing.T, root string, turns int) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, root+k.path(), bytes.NewReader(k.body(turns)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer sk-of-a-test")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

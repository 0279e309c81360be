package compact_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A step is one thing that happens in a conversation.
type step struct {
	user, assistant, system string
	call                    string // name of a tool; with args and result
	args, result            string
	failed, thinks, image   bool
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// body writes a conversation down as a client of that dialect would.
func body(d wire.Dialect, steps []step) []byte {
	var list []any
	type m = map[string]any
	id := 0
	for _, s := range steps {
		id++
		call := fmt.Sprintf("call_%d", id)
		args := s.args
		if args == "" {
			args = `{"n":1}`
		}
		switch d {
		case wire.Chat:
			switch {
			case s.system != "":
				list = append(list, m{"role": "system", "content": s.system})
			case s.image:
				list = append(list, m{"role": "user", "content": []m{{"type": "text", "text": s.user}, {"type": "image_url", "image_url": m{"url": "data:image/png;base64," + strings.Repeat("iVBORw0K", 800)}}}})
			case s.user != "":
				list = append(list, m{"role": "user", "content": s.user})
			case s.call != "":
				list = append(list, m{"role": "assistant", "content": s.assistant, "tool_calls": []m{{"id": call, "type": "function", "function": m{"name": s.call, "arguments": args}}}},
					m{"role": "tool", "tool_call_id": call, "content": s.result})
			default:
				list = append(list, m{"role": "assistant", "content": s.assistant})
			}
		case wire.Responses:
			switch {
			case s.system != "":
				list = append(list, m{"type": "message", "role": "developer", "content": []m{{"type": "input_text", "text": s.system}}})
			case s.image:
				list = append(list, m{"type": "message", "role": "user", "content": []m{{"type": "input_text", "text": s.user}, {"type": "input_image", "image_url": "data:image/png;base64," + strings.Repeat("iVBORw0K", 800)}}})
			case s.user != "":
				list = append(list, m{"type": "message", "role": "user", "content": []m{{"type": "input_text", "text": s.user}}})
			default:
				if s.thinks {
					list = append(list, m{"type": "reasoning", "id": "rs_" + call, "summary": []m{}, "encrypted_content": "gAAAA" + strings.Repeat("x", 200)})
				}
				if s.assistant != "" {
					list = append(list, m{"type": "message", "role": "assistant", "content": []m{{"type": "output_text", "text": s.assistant}}})
				}
				if s.call != "" {
					list = append(list, m{"type": "function_call", "call_id": call, "name": s.call, "arguments": args},
						m{"type": "function_call_output", "call_id": call, "output": s.result})
				}
			}
		case wire.Messages:
			switch {
			case s.system != "":
				list = append(list, m{"role": "user", "content": []m{{"type": "text", "text": "<system-reminder>" + s.system + "</system-reminder>"}}})
			case s.image:
				list = append(list, m{"role": "user", "content": []m{{"type": "text", "text": s.user}, {"type": "image", "source": m{"type": "base64", "media_type": "image/png", "data": strings.Repeat("iVBORw0K", 800)}}}})
			case s.user != "":
				list = append(list, m{"role": "user", "content": s.user})
			default:
				var blocks []m
				if s.thinks {
					blocks = append(blocks, m{"type": "thinking", "thinking": "let me see", "signature": "c2ln"})
				}
				if s.assistant != "" {
					blocks = append(blocks, m{"type": "text", "text": s.assistant})
				}
				if s.call != "" {
					blocks = append(blocks, m{"type": "tool_use", "id": call, "name": s.call, "input": json.RawMessage(args)})
				}
				list = append(list, m{"role": "assistant", "content": blocks})
				if s.call != "" {
					list = append(list, m{"role": "user", "content": []m{{"type": "tool_result", "tool_use_id": call, "content": s.result, "is_error": s.failed}}})
				}
			}
		case wire.Converse:
			var blocks []m
			role := "user"
			switch {
			case s.system != "":
				continue
			case s.image:
				blocks = []m{{"text": s.user}, {"image": m{"format": "png", "source": m{"bytes": strings.Repeat("iVBORw0K", 800)}}}}
			case s.user != "":
				blocks = []m{{"text": s.user}}
			default:
				role = "assistant"
				if s.thinks {
					blocks = append(blocks, m{"reasoningContent": m{"reasoningText": m{"text": "let me see", "signature": "c2ln"}}})
				}
				if s.assistant != "" {
					blocks = append(blocks, m{"text": s.assistant})
				}
				if s.call != "" {
					blocks = append(blocks, m{"toolUse": m{"toolUseId": call, "name": s.call, "input": json.RawMessage(args)}})
				}
			}
			if n := len(list); n > 0 && list[n-1].(m)["role"] == role { // the speakers take turns
				other := map[string]string{"user": "assistant", "assistant": "user"}[role]
				list = append(list, m{"role": other, "content": []m{{"text": "go on"}}})
			}
			list = append(list, m{"role": role, "content": blocks})
			if role == "assistant" && s.call != "" {
				result := m{"toolUseId": call, "content": []m{{"text": s.result}}}
				if s.failed {
					result["status"] = "error"
				}
				list = append(list, m{"role": "user", "content": []m{{"toolResult": result}}})
			}
		case wire.Gemini:
			switch {
			case s.system != "":
			case s.image:
				list = append(list, m{"role": "user", "parts": []m{{"text": s.user}, {"inlineData": m{"mimeType": "image/png", "data": strings.Repeat("iVBORw0K", 800)}}}})
			case s.user != "":
				list = append(list, m{"role": "user", "parts": []m{{"text": s.user}}})
			default:
				var parts []m
				if s.assistant != "" {
					parts = append(parts, m{"text": s.assistant})
				}
				if s.call != "" {
					if len(list) > 0 && list[len(list)-1].(m)["role"] == "model" {
						list = append(list, m{"role": "user", "parts": []m{{"text": "go on"}}})
					}
					parts = append(parts, m{"functionCall": m{"name": s.call, "args": json.RawMessage(args)}})
				}
				list = append(list, m{"role": "model", "parts": parts})
				if s.call != "" {
					list = append(list, m{"role": "user", "parts": []m{{"functionResponse": m{"name": s.call, "response": m{"output": s.result}}}}})
				}
			}
		}
	}
	switch d {
	case wire.Chat:
		return []byte(marshal(map[string]any{"model": "gpt-test", "messages": list}))
	case wire.Responses:
		return []byte(marshal(map[string]any{"model": "gpt-test", "instructions": "Be good.", "input": list}))
	case wire.Messages:
		return []byte(marshal(map[string]any{"model": "claude-test", "max_tokens": 1000, "system": "Be good.", "thinking": map[string]any{"type": "enabled", "budget_tokens": 1024}, "messages": list}))
	}
	if d == wire.Converse {
		return []byte(marshal(m{
			"system": []m{{"text": "Be good."}}, "toolConfig": m{"tools": []m{}}, "messages": list,
			"additionalModelRequestFields": m{"thinking": m{"type": "enabled", "budget_tokens": 1024}},
		}))
	}
	return []byte(marshal(map[string]any{"systemInstruction": map[string]any{"parts": []any{map[string]any{"text": "Be good."}}}, "contents": list}))
}

var dialects = []wire.Dialect{wire.Chat, wire.Responses, wire.Messages, wire.Gemini, wire.Converse}

func parse(t testing.TB, d wire.Dialect, b []byte) *wire.Request {
	t.Helper()
	r, err := wire.Parse(d, b)
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, b)
	}
	return r
}

// quarter measures with a token for every four bytes: exact enough to test what is done
// about a number.
func quarter(r *wire.Request) compact.Sizes {
	s := compact.Sizes{Head: (len(r.Body) - r.List.Len()) / 4, Total: len(r.Body) / 4}
	for i := range r.Messages {
		s.Messages = append(s.Messages, r.Messages[i].Span.Len()/4)
	}
	return s
}

func view(t testing.TB, r *wire.Request) *compact.View {
	t.Helper()
	v, err := compact.Replay(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// log is a tool's output of about n bytes.
func log(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%02d:%02d:%02d worker-%d took job %06x\n", r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(9), r.IntN(1<<24))
	}
	return b.String()
}

// random makes a valid conversation of n steps that ends with the user or with a result.
func random(r *rand.Rand, n int) []step {
	steps := []step{{user: "The task: find out why the importer in pkg/import/run.go loses rows."}}
	for len(steps) < n {
		switch k := r.IntN(12); {
		case k < 7:
			s := step{call: []string{"bash", "read", "grep"}[r.IntN(3)], result: log(r, 20+r.IntN(1<<(4+r.IntN(11)))), failed: r.IntN(9) == 0, thinks: r.IntN(2) == 0}
			if r.IntN(2) == 0 {
				s.assistant = fmt.Sprintf("I look at shard_%d next.", r.IntN(999))
			}
			if r.IntN(5) == 0 {
				s.args = marshal(map[string]any{"path": fmt.Sprintf("/srv/data/%d.csv", r.IntN(999)), "text": strings.Repeat("ä\n\"", r.IntN(200))})
			}
			steps = append(steps, s)
		case k < 9:
			steps = append(steps, step{assistant: strings.Repeat("I think it is the encoding. ", 1+r.IntN(40)), thinks: r.IntN(2) == 0})
		case k < 10:
			steps = append(steps, step{user: "Also " + strings.Repeat("check the header. ", 1+r.IntN(30))})
		case k < 11:
			steps = append(steps, step{user: "Look at this.", image: true})
		default:
			steps = append(steps, step{system: "The files changed on disk. " + strings.Repeat("x ", r.IntN(100))})
		}
	}
	if s := steps[len(steps)-1]; s.call == "" {
		steps = append(steps, step{user: "Now the newest question: how many rows are lost?"})
	}
	return steps
}

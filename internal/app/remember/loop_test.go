package remember_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/remember"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/capture"
	"github.com/plimsoll/plimsoll/window/wire"
)

// talk is a conversation in any dialect.
type talk struct {
	d        wire.Dialect
	messages []any
}

func (c *talk) user(text string) {
	switch c.d {
	case wire.Gemini:
		c.messages = append(c.messages, m{"role": "user", "parts": []any{m{"text": text}}})
	case wire.Responses:
		c.messages = append(c.messages, m{"type": "message", "role": "user", "content": []any{m{"type": "input_text", "text": text}}})
	default:
		c.messages = append(c.messages, m{"role": "user", "content": text})
	}
}

func (c *talk) says(text string) {
	switch c.d {
	case wire.Gemini:
		c.messages = append(c.messages, m{"role": "model", "parts": []any{m{"text": text}}})
	case wire.Responses:
		c.messages = append(c.messages, m{"type": "message", "role": "assistant", "content": []any{m{"type": "output_text", "text": text}}})
	default:
		c.messages = append(c.messages, m{"role": "assistant", "content": text})
	}
}

func (c *talk) calls(tool string, input m, result string) {
	id := fmt.Sprintf("call_%d", len(c.messages))
	arguments, _ := json.Marshal(input)
	switch c.d {
	case wire.Gemini:
		c.messages = append(c.messages, m{"role": "model", "parts": []any{m{"functionCall": m{"name": tool, "args": input}}}},
			m{"role": "user", "parts": []any{m{"functionResponse": m{"name": tool, "response": m{"output": result}}}}})
	case wire.Responses:
		c.messages = append(c.messages, m{"type": "function_call", "call_id": id, "name": tool, "arguments": string(arguments)},
			m{"type": "function_call_output", "call_id": id, "output": result})
	case wire.Messages:
		c.messages = append(c.messages, m{"role": "assistant", "content": []any{m{"type": "tool_use", "id": id, "name": tool, "input": input}}},
			m{"role": "user", "content": []any{m{"type": "tool_result", "tool_use_id": id, "content": result}}})
	default:
		c.messages = append(c.messages, m{"role": "assistant", "content": "", "tool_calls": []any{m{"id": id, "type": "function", "function": m{"name": tool, "arguments": string(arguments)}}}},
			m{"role": "tool", "tool_call_id": id, "content": result})
	}
}

func (c *talk) body() []byte {
	request := m{"model": "some-model", "messages": c.messages}
	switch c.d {
	case wire.Gemini:
		request = m{"contents": c.messages}
	case wire.Responses:
		request = m{"model": "some-model", "input": c.messages}
	case wire.Messages:
		request["max_tokens"] = 500
	}
	text, err := json.Marshal(request)
	if err != nil {
		panic(err)
	}
	return text
}

// TestLoopInEveryDialect: over 200 turns in each dialect the user's notes are added to prompts and repeated, by the model, by commands and tools that ask
// the memory, and in results that hold what was added; nothing of it enters the memory again, and every other word does.
func TestLoopInEveryDialect(t *testing.T) {
	rules := []string{"The harbour opens at six in the morning.", "Never deploy the harbour on a Monday.", "The crane of the harbour is called Gustav.", "I want answers about the harbour in French."}
	for d, path := range map[wire.Dialect]string{
		wire.Chat: "/openai/v1/chat/completions", wire.Responses: "/openai/v1/responses", wire.Messages: messagesPath, wire.Gemini: "/gemini/v1beta/models/gemini-x:generateContent",
	} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "[memory]\non = true\n")
			store := b.store()
			for _, r := range rules {
				if _, err := store.Add(t.Context(), memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: remember.UserNamespace, Text: r}); err != nil {
					t.Fatal(err)
				}
			}
			store.Close()
			g := b.gateway(remember.Options{Own: true}, 0)
			waitReady(t, g)
			c := &talk{d: d}
			added := 0
			const turns = 200
			for turn := range turns {
				if turn%20 == 0 {
					c = &talk{d: d} // another conversation, to which all is new
				}
				c.user(fmt.Sprintf("Question %d: what about the harbour, the crane, Monday, six, French?", turn))
				sent := g.send(path, http.Header{"Authorization": {"Bearer somebody"}}, c.body())
				r, err := wire.Parse(d, []byte(sent))
				if err != nil {
					t.Fatal(err)
				}
				block := ""
				for i := range r.Messages {
					for j := range r.Messages[i].Parts {
						p := &r.Messages[i].Parts[j]
						if words := r.Words(p); r.Messages[i].Role == wire.RoleUser && p.Kind == wire.Text {
							if at := strings.Index(words, "<plimsoll-memory-context>"); at >= 0 {
								block = words[at:]
								added++
							}
						}
					}
				}
				lines := strings.Join(capture.Unwrap(block), "\n")
				switch turn % 5 {
				case 0:
					c.calls("shell", m{"command": "plimsoll memory search harbour"}, lines+"\n"+strings.Join(rules, "\n"))
				case 1:
					c.calls("search_memory", m{"query": "harbour"}, strings.Join(rules, "\n"))
				case 2:
					c.calls("shell", m{"command": "cat session.json"}, "x\n"+block+"\ny")
				case 3:
					c.calls("shell", m{"command": "ls"}, fmt.Sprintf("file-%d", turn))
				}
				c.says(fmt.Sprintf("Answer %d. As the memory says:\n%s", turn, lines))
			}
			g.send(path, http.Header{"Authorization": {"Bearer somebody"}}, c.body())
			g.flush()
			g.close()
			prompts, answers, files := 0, 0, 0
			for _, r := range b.records() {
				if r.Kind == memory.KindNote {
					if r.Count != 1 {
						t.Errorf("counted again: %+v", r)
					}
					continue
				}
				for _, rule := range rules {
					if strings.Contains(r.Text, rule) {
						t.Errorf("kept again: %+v", r)
					}
				}
				if strings.Contains(r.Text, "plimsoll-memory") {
					t.Errorf("ours: %q", r.Text)
				}
				prompts += strings.Count(r.Text, "Question ")
				answers += strings.Count(r.Text, "Answer ")
				files += strings.Count(r.Text, "file-")
			}
			// A search that a busy machine makes late adds nothing to its prompt.
			if added < turns*9/10 || prompts != turns || files != turns/5 || answers < turns/2 {
				t.Errorf("added %d times; %d prompts, %d answers and %d other results were kept", added, prompts, answers, files)
			}
			t.Logf("added %d times in %d turns; %d prompts, %d answers and %d other results were kept", added, turns, prompts, answers, files)
		})
	}
}

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/anthropic"
	"github.com/plimsoll/plimsoll/agent/openai"
)

// fixedHistory is a conversation that forgets what is added to it.
type fixedHistory []agent.Message

func (h fixedHistory) Open(context.Context, string, bool) (agent.Conversation, error) { return h, nil }
func (h fixedHistory) Messages() []agent.Message                                      { return h }
func (fixedHistory) Append(...agent.Message) error                                    { return nil }
func (fixedHistory) Replace([]agent.Message) error                                    { return nil }
func (fixedHistory) Close() error                                                     { return nil }

// longHistory has 2,000 messages and about 1 MB: questions, calls with signed thoughts, results, answers.
func longHistory(opaque string) fixedHistory {
	line := "2026-11-23T12:00:00Z level=info msg=\"sync of application guestbook\" status=Synced health=Healthy\n"
	var h fixedHistory
	for i := range 500 {
		id := fmt.Sprint("call_", i)
		h = append(h,
			agent.Message{Role: agent.RoleUser, Text: fmt.Sprintf("question %d: what changed since then?", i)},
			agent.Message{Role: agent.RoleAssistant, Text: "I look.", Opaque: json.RawMessage(opaque), Calls: []agent.Call{{ID: id, Name: "read", Arguments: `{"path":"a/b/c"}`}}},
			agent.Message{Role: agent.RoleTool, CallID: id, Name: "read", Text: fmt.Sprint(i) + strings.Repeat(line, 18)},
			agent.Message{Role: agent.RoleAssistant, Text: "Nothing of note."})
	}
	return h
}

// BenchmarkStepOfALongHistory is a whole query of one step, over HTTP, with a history of 2,000 messages (1 MB) in a window that
// has room for it.
func BenchmarkStepOfALongHistory(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/messages") {
			_, _ = io.WriteString(w, `{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
	}))
	b.Cleanup(server.Close)
	chat, err := openai.New(openai.Options{BaseURL: server.URL + "/v1", Model: "gpt-5.1", Provider: "openai", Window: 4_000_000})
	if err != nil {
		b.Fatal(err)
	}
	messages, err := anthropic.New(anthropic.Options{BaseURL: server.URL, Model: "claude-sonnet-4-5", Window: 4_000_000})
	if err != nil {
		b.Fatal(err)
	}
	for name, of := range map[string]struct {
		model  agent.Model
		opaque string
	}{
		"openai":    {chat, ""},
		"anthropic": {messages, `{"model":"claude-sonnet-4-5","blocks":[{"raw":{"type":"thinking","thinking":"` + strings.Repeat("hm ", 40) + `","signature":"c2lnbmVk"}}]}`},
	} {
		b.Run(name, func(b *testing.B) {
			history := longHistory(of.opaque)
			size := 0
			for _, m := range history {
				size += len(m.Text) + len(m.Opaque)
			}
			a := start(b, agent.Options{Model: of.model, Conversations: history, System: "be brief", Limits: agent.Limits{MaxHistoryMessages: 10_000}})
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if got := ask(b, a, agent.Query{Session: "s"}); got.Outcome != agent.Completed {
					b.Fatalf("%+v", got)
				}
			}
		})
	}
}

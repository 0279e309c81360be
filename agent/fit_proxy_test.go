package agent_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/anthropic"
	"github.com/plimsoll/plimsoll/agent/gemini"
	"github.com/plimsoll/plimsoll/agent/openai"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/window/models"
)

// The same body is refused by an agent and by the proxy, or sent by both: each gets what the adapter of the model encodes.
func TestTheProxyAndTheAgentRefuseTheSame(t *testing.T) {
	t.Parallel()
	const window = 4000
	var sent atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sent.Add(1)
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
	}))
	defer upstream.Close()
	p, err := proxy.New(proxy.Options{
		Upstreams: []proxy.Upstream{{Name: "openai", URL: upstream.URL + "/v1"}, {Name: "anthropic", URL: upstream.URL}, {Name: "gemini", URL: upstream.URL}},
		Resolver:  models.NewResolver(models.Options{Overrides: models.Overrides{Max: window}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	server := httptest.NewServer(p)
	defer server.Close()
	chat, err := openai.New(openai.Options{Provider: "openai", Key: "key", Model: "gpt-4o", Window: window})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := anthropic.New(anthropic.Options{Provider: "anthropic", Key: "key", Model: "claude-sonnet-4-5", Window: window})
	if err != nil {
		t.Fatal(err)
	}
	google, err := gemini.New(gemini.Options{Provider: "gemini", Key: "key", Model: "gemini-2.5-pro", Window: window})
	if err != nil {
		t.Fatal(err)
	}
	user := func(text string) agent.Message { return agent.Message{Role: agent.RoleUser, Text: text} }
	model := func(text string) agent.Message { return agent.Message{Role: agent.RoleAssistant, Text: text} }

	for path, adapter := range map[string]agent.Encoder{"/openai/v1/chat/completions": chat, "/anthropic/v1/messages": messages, "/gemini/v1beta/models/gemini-2.5-pro:generateContent": google} {
		refused, taken := 0, 0
		for _, size := range []int{1000, 3000, 3900, 4100, 4400, 4800, 5500, 7000, 12_000, 40_000} {
			for kind, text := range map[string]string{
				"digits": agent.FitWords(size, uint64(size)), "prose": strings.Repeat("what was said before is said again ", size/7), "letters": strings.Repeat("ж", size),
			} {
				call := model("")
				call.Calls = []agent.Call{{ID: "a", Name: "get_a", Arguments: `{"id":"a"}`}}
				for shape, ms := range map[string][]agent.Message{
					"one question": {user(text)},
					"a history":    {user("first"), model(text), user("second"), model("said"), user("third " + text[:len(text)/4])},
					"a result":     {user("first"), call, {Role: agent.RoleTool, CallID: "a", Name: "get_a", Text: text}},
				} {
					_, _, err := agent.Fit(t.Context(), adapter, "You help.", ms, nil)
					_, tooLarge := errors.AsType[*agent.TooLargeError](err)
					if err != nil && !tooLarge {
						t.Fatal(err)
					}
					encoded, err := adapter.Encode(&agent.Request{System: "You help.", Messages: ms})
					if err != nil {
						t.Fatal(err)
					}
					before := sent.Load()
					res, err := http.Post(server.URL+path, "application/json", bytes.NewReader(encoded.Body))
					if err != nil {
						t.Fatal(err)
					}
					said, _ := io.ReadAll(res.Body)
					res.Body.Close()
					if behind := sent.Load() == before; behind != tooLarge {
						t.Errorf("%s: %s of %d, %s: the agent refuses: %v; the proxy: %v (%d %.200s)", path, kind, size, shape, tooLarge, behind, res.StatusCode, said)
					}
					if tooLarge {
						refused++
					} else {
						taken++
					}
				}
			}
		}
		if refused == 0 || taken == 0 {
			t.Errorf("%s: %d refused, %d sent: the sizes show nothing", path, refused, taken)
		}
	}
}

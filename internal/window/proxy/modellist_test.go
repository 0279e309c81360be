package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/window/models"
)

// What a provider's own list says of a model counts once it has passed, byte for byte. The bodies are shortened from the providers'
// documentation.
func TestListsOfModelsTeachWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, body, model string
		want                    models.Window
	}{
		{"anthropic", "/anthropic/v1/models", `{"data":[{"type":"model","id":"claude-new-9","display_name":"Claude New","created_at":"2026-11-01T00:00:00Z","max_input_tokens":2000000,"max_tokens":128000,"capabilities":{"batch":{"supported":true}}}],"has_more":false}`, "claude-new-9", models.Window{Context: 2_000_000, Output: 128_000}},
		{"one of anthropic", "/anthropic/v1/models/claude-new-9", `{"type":"model","id":"claude-new-9","max_input_tokens":2000000,"max_tokens":64000}`, "claude-new-9", models.Window{Context: 2_000_000, Output: 64_000}},
		{"gemini", "/gemini/v1beta/models?pageSize=5", `{"models":[{"name":"models/gemini-new-9","inputTokenLimit":2097152,"outputTokenLimit":65536}]}`, "gemini-new-9", models.Window{Context: 2_097_152, Output: 65_536}},
		{"openrouter", "/openai/v1/models", `{"data":[{"id":"lab/new-9","context_length":1048576,"pricing":{"prompt":"0.1"},"top_provider":{"context_length":262144,"max_completion_tokens":32768,"is_moderated":false}}]}`, "lab/new-9", models.Window{Context: 262_144, Output: 32_768}},
		{"groq", "/openai/v1/models", `{"object":"list","data":[{"id":"new-9","object":"model","active":true,"context_window":131072,"max_completion_tokens":65536}]}`, "new-9", models.Window{Context: 131_072, Output: 65_536}},
		{"mistral", "/openai/v1/models", `{"data":[{"id":"new-9","capabilities":{"completion_chat":true},"max_context_length":262144,"aliases":[]}]}`, "new-9", models.Window{Context: 262_144}},
		{"vllm", "/openai/v1/models", `{"data":[{"id":"new-9","owned_by":"vllm","max_model_len":40960,"permission":[]}]}`, "new-9", models.Window{Context: 40_960}},
		{"together", "/openai/v1/models", `[{"id":"lab/new-9","type":"chat","context_length":65536}]`, "lab/new-9", models.Window{Context: 65_536}},
		{"copilot", "/openai/v1/models", `{"data":[{"id":"new-9","capabilities":{"family":"new","limits":{"max_context_window_tokens":400000,"max_prompt_tokens":272000,"max_output_tokens":128000}}}]}`, "new-9", models.Window{Context: 400_000, Input: 272_000, Output: 128_000}},
		{"lm studio", "/openai/v1/models", `{"data":[{"id":"new-9","capabilities":["tool_use"],"max_context_length":131072,"loaded_context_length":8192}]}`, "new-9", models.Window{Context: 8_192}},
	} {
		for _, encoding := range []string{"", "gzip", "br", "zstd"} {
			t.Run(c.name+encoding, func(t *testing.T) {
				packed := packedAs(t, encoding, []byte(c.body))
				upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json; charset=utf-8")
					if encoding != "" {
						w.Header().Set("Content-Encoding", encoding)
					}
					_, _ = w.Write(packed)
				}))
				defer upstream.Close()
				x := models.NewResolver(models.Options{})
				p, root, _ := start(t, upstream.URL, Options{Resolver: x})
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, root+c.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Accept-Encoding", encoding) // else net/http unpacks
				res, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || string(got) != string(packed) {
					t.Fatalf("%v: %q", err, got)
				}
				name, _, _ := strings.Cut(strings.TrimPrefix(c.path, "/"), "/")
				up := p.upstreams[name].modelsName()
				c.want.Source = models.SourceList
				// The answer is there before the list has been looked at.
				var now models.Window
				wait.Until(t, fmt.Sprintf("it is %+v", c.want), func() bool {
					now = x.Window(up, c.model, nil)
					return now == c.want
				}, func() string { return fmt.Sprintf("it is %+v", now) })
			})
		}
	}
}

// A list may only raise what is known of a provider that refuses what is too long: it may have been another credential's. What was
// refused counts before it.
func TestListsLowerNothingThatIsKnown(t *testing.T) {
	t.Parallel()
	x := models.NewResolver(models.Options{})
	const anthropic = "anthropic+https://api.anthropic.com"
	known := x.Window(anthropic, "claude-sonnet-5", nil)
	taken := x.Tell(anthropic, readList([]byte(`{"data":[{"id":"claude-sonnet-5","max_input_tokens":100000},{"id":"claude-haiku-4-5","max_input_tokens":900000},{"id":"","max_input_tokens":5000},{"id":"x","max_input_tokens":-1},{"id":"y","max_input_tokens":1e99},{"id":"z","max_input_tokens":"many"}]}`)))
	if w := x.Window(anthropic, "claude-sonnet-5", nil); w != known || taken != 1 {
		t.Errorf("%+v, %d taken; want %+v", w, taken, known)
	}
	if w := x.Window(anthropic, "claude-haiku-4-5", nil); w.Context != 900_000 || w.Output == 0 {
		t.Errorf("raised: %+v", w)
	}
	if ok, why := x.Learn(anthropic, "claude-haiku-4-5", nil, 200_000, true); !ok {
		t.Fatal(why)
	}
	if w := x.Window(anthropic, "claude-haiku-4-5", nil); w.Context != 200_000 || w.Source != models.SourceLearned {
		t.Errorf("refused: %+v", w)
	}
	const own = "openai+http://10.0.0.5:8000/v1"
	x.Tell(own, readList([]byte(`{"data":[{"id":"qwen3-32b","max_model_len":16384}]}`)))
	if w := x.Window(own, "qwen3-32b", nil); w.Context != 16_384 {
		t.Errorf("of a server that may cut without a word: %+v", w)
	}
	for n := range 10_000 {
		x.Tell(own, []models.Listing{{Model: fmt.Sprintf("m-%d", n), Window: models.Window{Context: 5_000}}})
	}
	if w := x.Window(own, "m-9999", nil); w.Source == models.SourceList {
		t.Error("there is no bound")
	}
}

func FuzzModelList(f *testing.F) {
	f.Add([]byte(`{"data":[{"id":"a","capabilities":{"limits":{"max_context_window_tokens":5000}},"top_provider":null}]}`))
	f.Add([]byte(`[{"id":"a","context_length":5e3}]`))
	f.Add([]byte(`{"models":[{"name":"models/a","inputTokenLimit":1e400}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, l := range readList(data) {
			if l.Window.Context <= 0 || l.Window.Context > models.MaxContext || l.Window.Output < 0 {
				t.Fatalf("%+v", l)
			}
		}
	})
}

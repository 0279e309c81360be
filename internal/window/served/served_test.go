package served

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// answers are bodies as the servers write them, by method and path.
type answers map[string]string

func (a answers) serve(t *testing.T) (url string, asked *atomic.Int64) {
	asked = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "" {
			t.Error("a credential was sent")
		}
		body, ok := a[r.Method+" "+r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method == http.MethodPost {
			var in struct{ Model string }
			text, _ := io.ReadAll(r.Body)
			if json.Unmarshal(text, &in) != nil || in.Model == "" {
				t.Errorf("asked with %s", text)
			}
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func TestWindow(t *testing.T) {
	ollama := answers{
		"GET /api/ps":    `{"models":[{"name":"qwen2.5:0.5b","model":"qwen2.5:0.5b","size":492523008,"details":{"format":"gguf"},"expires_at":"2026-11-02T08:15:34Z","size_vram":0,"context_length":2048},{"name":"llama3:latest","model":"llama3:latest","context_length":131072}]}`,
		"POST /api/show": `{"license":"…","modelfile":"FROM x","parameters":"stop                           \"<|im_end|>\"\nnum_ctx                        8192\n","model_info":{"qwen3.context_length":262144}}`,
	}
	for name, c := range map[string]struct {
		server answers
		model  string
		want   int
	}{
		"Ollama, loaded":          {ollama, "qwen2.5:0.5b", 2048},
		"Ollama, without a tag":   {ollama, "llama3", 131072},
		"Ollama, not loaded":      {ollama, "qwen3:8b", 8192},
		"Ollama, nothing is said": {answers{"GET /api/ps": `{"models":[]}`, "POST /api/show": `{"model_info":{"qwen3.context_length":262144}}`}, "qwen3:8b", 0},
		"llama.cpp":               {answers{"GET /props": `{"default_generation_settings":{"id":0,"n_ctx":65536,"params":{}},"total_slots":4}`}, "any", 65536},
		"LM Studio":               {answers{"GET /api/v0/models": `{"data":[{"id":"qwen3-8b","state":"loaded","max_context_length":262144,"loaded_context_length":4096}]}`}, "qwen3-8b", 4096},
		"LM Studio, not loaded":   {answers{"GET /api/v0/models": `{"data":[{"id":"qwen3-8b","state":"not-loaded","max_context_length":262144}]}`}, "qwen3-8b", 0},
		"something else":          {answers{}, "m", 0},
		"no JSON":                 {answers{"GET /props": "<html>"}, "m", 0},
		"a negative window":       {answers{"GET /props": `{"default_generation_settings":{"n_ctx":-1}}`}, "m", 0},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := c.server.serve(t)
			a := New(nil)
			for range 3 {
				if got := a.Window("openai+"+url+"/v1", c.model); got != c.want {
					t.Errorf("%d tokens, want %d", got, c.want)
				}
			}
			if n := asked.Load(); n > 4 {
				t.Errorf("%d requests for one question", n)
			}
		})
	}
}

// Nobody is asked who may be anybody, and a server that says nothing does not hold up a request for long.
func TestWhoIsNotAsked(t *testing.T) {
	for upstream, want := range map[string]string{
		"openai+http://127.0.0.1:11434/v1": "http://127.0.0.1:11434", "http://[::1]:8080": "http://[::1]:8080", "https://192.168.1.7/v1": "https://192.168.1.7",
		"http://localhost:1234/v1": "http://localhost:1234", "openai+https://api.openai.com/v1": "", "http://gateway.example/v1": "", "openai": "",
		"http://user:pass@127.0.0.1/": "", "http://8.8.8.8/": "", "http://127.0.0.1.example/": "", "file:///etc": "",
	} {
		if got := rootOf(upstream); got != want {
			t.Errorf("%s: %q, want %q", upstream, got, want)
		}
	}
	// A server hears that a client has left only when it has read the body.
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer silent.Close()
	done := make(chan int, 1)
	go func() { done <- New(nil).Window(silent.URL, "m") }()
	select {
	case got := <-done:
		if got != 0 {
			t.Errorf("%d tokens", got)
		}
	case <-time.After(30 * time.Second):
		t.Error("a silent server is waited for")
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add("num_ctx 8192\n")
	f.Fuzz(func(t *testing.T, parameters string) {
		text, err := json.Marshal(map[string]string{"parameters": parameters})
		if err != nil || len(parameters) > 1<<16 {
			return
		}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/show") {
				_, _ = w.Write(text)
				return
			}
			_, _ = w.Write([]byte(parameters))
		}))
		defer s.Close()
		if got := New(nil).Window(s.URL, "m"); got < 0 {
			t.Errorf("%d tokens", got)
		}
	})
}

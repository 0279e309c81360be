package setup

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// localModels answers as Ollama does.
func localModels(t *testing.T, body string) modelServer {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "" {
			http.Error(w, "no", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return modelServer{"Ollama", s.URL + "/v1"}
}

const twoModels = `{"object":"list","data":[{"id":"bad name\n"},{"id":"nomic-embed-text:latest"},{"id":"qwen3:8b"},{"id":"llama3.2"}]}`

type memoryTable struct {
	On          bool
	Facts       bool
	FactsURL    string `toml:"facts_url"`
	FactsModel  string `toml:"facts_model"`
	FactsTokens int    `toml:"facts_tokens"`
	EmbedURL    string `toml:"embed_url"`
	EmbedModel  string `toml:"embed_model"`
}

func (h *house) memory() memoryTable {
	h.t.Helper()
	var c struct{ Memory memoryTable }
	text, err := os.ReadFile(filepath.Join(h.home, ".config/plimsoll/config.toml"))
	if err != nil || toml.Unmarshal(text, &c) != nil {
		h.t.Fatalf("%v: %s", err, text)
	}
	return c.Memory
}

// The memory is switched on by a yes only, and a model that answers on this machine is agreed to by a yes of its own, which names its address
// and the budget; all of it is taken back to the byte.
func TestMemoryIsSwitchedOnByChoice(t *testing.T) {
	server := localModels(t, twoModels)
	all := memoryTable{On: true, Facts: true, FactsURL: server.url, FactsModel: "qwen3:8b", FactsTokens: 20_000, EmbedURL: server.url, EmbedModel: "nomic-embed-text:latest"}
	for name, c := range map[string]struct {
		answers []string // to the questions of number 4
		asked   int
		want    memoryTable
	}{
		"Enter":           {[]string{""}, 1, memoryTable{}},
		"yes, then Enter": {[]string{"y", "", ""}, 3, memoryTable{On: true}},
		"all":             {[]string{"y", "y", "y"}, 3, all},
		"facts only":      {[]string{"yes", "yes", "no"}, 3, memoryTable{On: true, Facts: true, FactsURL: server.url, FactsModel: "qwen3:8b", FactsTokens: 20_000}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, map[string]string{".config/plimsoll/config.toml": "[watch]\nruns = true\n\n[memory] # mine\nage = \"100h\"\n"})
			before := h.everything()
			h.o.Yes, h.o.modelServers = false, []modelServer{{"gone", "http://127.0.0.1:1/v1"}, server}
			var questions []Question
			h.o.Ask = func(q Question) (string, error) {
				if !slices.Contains([]string{"memory", "facts", "meaning"}, q.Flag) {
					return "", nil
				}
				questions = append(questions, q)
				return c.answers[len(questions)-1], nil
			}
			h.do()
			if got := h.memory(); got != c.want || len(questions) != c.asked {
				t.Errorf("%d questions, %+v; want %d, %+v", len(questions), got, c.asked, c.want)
			}
			if c.asked == 3 {
				if text := questions[1].Text; !strings.Contains(text, "qwen3:8b of Ollama at "+server.url) || !strings.Contains(text, "20000 tokens a day") {
					t.Errorf("it asks for facts by %q", text)
				}
				if text := questions[2].Text; !strings.Contains(text, "nomic-embed-text:latest of Ollama at "+server.url) {
					t.Errorf("it asks for vectors by %q", text)
				}
			}
			questions = nil
			after := h.everything()
			h.do()
			h.same("a second time", after)
			for _, change := range h.undo().Changes {
				if change.Action != Undone || !change.Exact {
					t.Errorf("undone: %+v", change)
				}
			}
			h.same("undone", before)
		})
	}
}

// --yes keeps the memory as it is, and --memory yes beside it asks no server for models: those take a flag of their own.
func TestMemoryWithoutAnybodyToAsk(t *testing.T) {
	asked := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		_, _ = io.WriteString(w, twoModels)
	}))
	t.Cleanup(s.Close)
	h := newHouse(t, nil)
	h.o.modelServers = []modelServer{{"Ollama", s.URL + "/v1"}}
	h.do()
	if got := h.memory(); got != (memoryTable{}) {
		t.Errorf("--yes: %+v", got)
	}
	h.o.Memory = "yes"
	h.do()
	if got := h.memory(); got != (memoryTable{On: true}) || asked {
		t.Errorf("--memory yes: %+v, a server was asked: %v", got, asked)
	}
	h.o.Facts = "yes"
	h.do()
	if got := h.memory(); got.FactsModel != "qwen3:8b" || !got.Facts || got.EmbedURL != "" || !asked {
		t.Errorf("--facts yes: %+v", got)
	}
	none := newHouse(t, nil)
	none.o.Memory, none.o.Meaning, none.o.modelServers = "yes", "yes", []modelServer{{"gone", "http://127.0.0.1:1/v1"}}
	if c := none.do().of(whatMeaning); c.Action != Left || !strings.Contains(c.Why, "http://127.0.0.1:1/v1") {
		t.Errorf("%+v", c)
	}
	mine := newHouse(t, map[string]string{".config/plimsoll/config.toml": "[memory]\non = false\n"})
	mine.o.Memory = "yes"
	if c := mine.do().of(whatMemory); c.Action != Left || !strings.Contains(c.Why, `on is set to "false" already`) {
		t.Errorf("%+v", c)
	}
}

// A server of models is not followed elsewhere, and what is no list of models offers nothing.
func TestListsOfModels(t *testing.T) {
	elsewhere := localModels(t, twoModels)
	away := httptest.NewServer(http.RedirectHandler(elsewhere.url+"/models", http.StatusFound))
	t.Cleanup(away.Close)
	for _, s := range []modelServer{{"away", away.URL + "/v1"}, localModels(t, "<html>"), localModels(t, `{"data":[]}`), localModels(t, `{"data":[{"id":"$(rm)"}]}`)} {
		if got := askServers(t.Context(), []modelServer{s}); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	}
	got := askServers(t.Context(), []modelServer{elsewhere})
	if len(got) != 1 || !slices.Equal(got[0].models, []string{"nomic-embed-text:latest", "qwen3:8b", "llama3.2"}) {
		t.Errorf("%+v", got)
	}
	for model, want := range map[string]bool{
		"nomic-embed-text": true, "all-minilm:33m": true, "BAAI/bge-m3": true, "multilingual-e5-large": true, "qwen3:8b": false, "rouge5": false, "gemma-3e5b": false,
	} {
		if embeds(model) != want {
			t.Errorf("%s makes vectors: %v", model, !want)
		}
	}
}

// FuzzModels: whatever a server answers, the names that come of it can be shown and written into a file.
func FuzzModels(f *testing.F) {
	f.Add([]byte(twoModels))
	f.Add([]byte(`{"data":[{"id":"a\"b"},{"id":"\u202e"},{"id":""}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		all := readModels(body)
		if len(all) > modelsMost {
			t.Errorf("%d models", len(all))
		}
		for _, id := range all {
			_, text, err := setting{"memory", []pair{{"facts_model", id}}}.text(nil)
			var c struct{ Memory memoryTable }
			if err != nil || toml.Unmarshal([]byte(text), &c) != nil || c.Memory.FactsModel != id {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

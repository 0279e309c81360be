package agents

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
)

// standinForFacts speaks chat completions and is no model: from each passage that says "X uses Y" it makes a fact, and an invented one. Its behaviour can be
// changed: silent, slow, busy (429), garbage, giant.
type standinForFacts struct {
	url string

	mu        sync.Mutex
	behaviour string
	asked     []time.Time
	keys      map[string]int
	bodies    []string
}

func newStandinForFacts(t *testing.T) *standinForFacts {
	s := &standinForFacts{keys: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.CloseClientConnections)
	s.url = server.URL + "/v1"
	return s
}

func (s *standinForFacts) be(behaviour string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviour = behaviour
}

func (s *standinForFacts) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func (s *standinForFacts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	s.mu.Lock()
	behaviour := s.behaviour
	s.asked = append(s.asked, time.Now())
	s.keys[r.Header.Get("Authorization")]++
	s.bodies = append(s.bodies, string(body))
	s.mu.Unlock()
	switch behaviour {
	case "silent":
		<-r.Context().Done()
		return
	case "slow":
		select {
		case <-time.After(300 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	case "busy":
		http.Error(w, `{"error":{"message":"slow down, you who said the passage"}}`, http.StatusTooManyRequests)
		return
	case "garbage":
		s.say(w, "I would rather talk about the passage.")
		return
	case "giant":
		w.Header().Set("Content-Type", "text/event-stream")
		chunk := `data: {"choices":[{"delta":{"content":"` + strings.Repeat("x", 64<<10) + `"}}]}` + "\n\n"
		for range 4096 { // 256 MiB, if somebody takes it
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
		return
	}
	var request struct{ Messages []struct{ Content string } }
	_ = json.Unmarshal(body, &request)
	facts := []map[string]any{}
	for line := range strings.Lines(request.Messages[len(request.Messages)-1].Content) {
		var p struct {
			Passage int
			Text    string
		}
		if json.Unmarshal([]byte(line), &p) != nil {
			continue
		}
		if who, what, ok := strings.Cut(strings.TrimSuffix(p.Text, "."), " uses "); ok {
			facts = append(facts, map[string]any{"passage": p.Passage, "subject": who, "attribute": "database", "value": what, "quote": p.Text, "confidence": 0.9},
				map[string]any{"passage": p.Passage, "subject": who, "attribute": "owner", "value": "Eve", "quote": "Eve owns it"})
		}
	}
	text, _ := json.Marshal(facts)
	s.say(w, string(text))
}

// say answers as a stream, which is what the client asks for.
func (s *standinForFacts) say(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	quoted, _ := json.Marshal(text)
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%s}}]}\n\n", quoted)
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
	fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":300,\"completion_tokens\":40,\"total_tokens\":340}}\n\ndata: [DONE]\n\n")
}

// factsWorld is a user with facts switched on.
type factsWorld struct {
	t      *testing.T
	home   string
	model  *standinForFacts
	app    *core.Core
	events *journal.Journal
}

func newFactsWorld(t *testing.T, more string) *factsWorld {
	w := &factsWorld{t: t, home: t.TempDir(), model: newStandinForFacts(t), events: journal.New(journal.Options{})}
	t.Setenv("FACTS_API_KEY", "key-of-the-facts-0123456789")
	t.Setenv("OPENAI_API_KEY", "key-of-the-agents-0123456789")
	text := fmt.Sprintf("[memory]\nfacts = true\nfacts_model = \"gpt-5-mini\"\nfacts_url = %q\nfacts_key = \"FACTS_API_KEY\"\n%s", w.model.url, more)
	testfile.Write(t, filepath.Join(w.home, "config.toml"), text)
	w.app = factsApp(t, w.home)
	return w
}

func factsApp(t *testing.T, home string) *core.Core {
	t.Helper()
	app, err := core.New(core.Options{
		Dir: home, Environ: []string{"HOME=" + home, "PLIMSOLL_STATE_DIR=" + filepath.Join(home, "state"), "PLIMSOLL_CONFIG=" + filepath.Join(home, "config.toml")},
		Warn: func(text string) { t.Log("warned: " + text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

func (w *factsWorld) start() *Facts {
	w.t.Helper()
	f, err := openFacts(w.app, w.settings(), w.events, shortTimes)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

func (w *factsWorld) settings() config.Settings {
	w.t.Helper()
	s, err := w.app.Config.For("")
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// with opens the memory for a moment.
func (w *factsWorld) with(do func(m *memories.Memory)) {
	w.t.Helper()
	m, err := memories.Open(w.app, memories.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	do(m)
	if err := m.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *factsWorld) say(origin memory.Origin, texts ...string) {
	w.t.Helper()
	w.with(func(m *memories.Memory) {
		for i, text := range texts {
			if _, err := m.Store.Add(w.t.Context(), memory.Record{
				Kind: memory.KindEpisode, Origin: origin, Namespace: "project/x", Text: text, Source: memory.Source{Conversation: "c", Turn: i + 1},
			}); err != nil {
				w.t.Fatal(err)
			}
		}
	})
}

func (w *factsWorld) now() (s memories.FactsStats, facts int) {
	w.t.Helper()
	w.with(func(m *memories.Memory) {
		page, err := m.List(w.t.Context(), memories.Query{Kind: "fact"})
		if err != nil {
			w.t.Fatal(err)
		}
		s, facts = m.FactsStats(), page.Total
	})
	return s, facts
}

// until waits for something to become true.
func (w *factsWorld) until(what string, is func() bool) {
	w.t.Helper()
	wait.Until(w.t, what, is, func() string {
		s, n := w.now()
		return fmt.Sprintf("%+v, %d facts, %d requests", s, n, w.model.requests())
	})
}

// what counts events by what they say.
func (w *factsWorld) what() map[string]int {
	out := map[string]int{}
	for r := range w.events.Since(0) {
		switch e := r.Event.(type) {
		case journal.MemoryFacts:
			out["asked"]++
			out["kept"] += e.Kept
			out["unquoted"] += e.Unquoted
		case journal.MemoryFactsFailed:
			out[e.Why+" "+e.Error]++
		}
	}
	return out
}

// Off by default; then what people and models say is read in the background, once, by the key of its own, and invented quotes are counted. What yields no
// fact is not paid for again, by nobody.
func TestFactsInTheBackground(t *testing.T) {
	w := newFactsWorld(t, "")
	off := w.settings()
	off.Memory.Facts = false
	if f, err := OpenFacts(w.app, off, w.events); f != nil || err != nil {
		t.Fatalf("%v, %v", f, err)
	}
	w.say(memory.OriginUser, "The attic uses Oracle.") // before it was switched on: for memory learn
	time.Sleep(5 * time.Millisecond)
	f := w.start()
	time.Sleep(50 * time.Millisecond)
	w.say(memory.OriginUser, "The ledger uses PostgreSQL.", "Nothing of any length is said here.")
	w.say(memory.OriginTool, "The web page uses MySQL.")
	w.until("two passages are read", func() bool { s, _ := w.now(); return s.Read == 2 && s.Waiting == 0 })
	if s, n := w.now(); n != 1 || s.SpentToday == 0 || s.SpentToday > 2*340 || !s.On {
		t.Errorf("%d facts, %+v", n, s)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := w.what(); got["kept"] != 1 || got["unquoted"] != 1 {
		t.Errorf("%v", got)
	}
	asked := w.model.requests()
	again := w.start() // a restart reads nothing anew
	time.Sleep(200 * time.Millisecond)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Learn(t.Context(), w.app, LearnOptions{DryRun: true})
	if err != nil || l.Episodes != 2 || w.model.requests() != asked { // what was said before, and what a tool said
		t.Errorf("%+v, %v; %d requests, then %d", l, err, asked, w.model.requests())
	}
	// memory learn shares the model, the key, the budget and what is noted as read.
	if l, err = Learn(t.Context(), w.app, LearnOptions{}); err != nil || l.Facts.Kept != 2 || l.Model != "openai/gpt-5-mini" {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err = Learn(t.Context(), w.app, LearnOptions{}); err != nil || l.Episodes != 0 {
		t.Errorf("%+v, %v", l, err)
	}
	for key, n := range w.model.keys {
		if key != "Bearer key-of-the-facts-0123456789" {
			t.Errorf("%d requests came with %q", n, key)
		}
	}
	for _, secret := range []string{"key-of-the-facts", "key-of-the-agents"} {
		if left := filesOf(t, w.home, secret); len(left) > 0 {
			t.Errorf("%v have a key", left)
		}
	}
}

// filesOf are the files below a directory that hold a text.
func filesOf(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if strings.Contains(string(body), text) {
			names = append(names, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// shortTimes are those of the tests, which wait for what the daemon does in minutes.
var shortTimes = factsTimes{every: 20 * time.Millisecond, pause: 50 * time.Millisecond, request: time.Second, quiet: time.Millisecond}

// A provider that is silent, busy, or answers with what is no list: the passages stay, pauses grow between requests, and when it works again all are read. No
// event holds a word of it.
func TestFactsOutliveAProvider(t *testing.T) {
	for _, behaviour := range []string{"silent", "busy", "garbage", "giant", "slow"} {
		t.Run(behaviour, func(t *testing.T) {
			w := newFactsWorld(t, "facts_tokens = 1000000\n")
			f := w.start()
			w.model.be(behaviour)
			var texts []string
			for i := range 20 {
				texts = append(texts, fmt.Sprintf("Service number %d uses database%d.", i, i))
			}
			w.say(memory.OriginAgent, texts...)
			if behaviour != "slow" {
				w.until("three requests fail", func() bool { return w.model.requests() >= 3 })
				asked := w.model.asked
				if first, second := asked[1].Sub(asked[0]), asked[2].Sub(asked[1]); first < 50*time.Millisecond || second < 100*time.Millisecond {
					t.Errorf("the pauses are %v and %v", first, second)
				}
				w.model.be("")
			}
			w.until("all are read", func() bool { s, n := w.now(); return s.Read == 20 && n == 20 && s.Waiting == 0 })
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			s, _ := w.now()
			// 20 passages in batches of 8 are three requests of 340 tokens; one that came to nothing counts as what it could have cost, or nothing
			// when the provider did not take it.
			if least := 3 * 340; s.SpentToday < least || behaviour == "busy" && s.SpentToday != 3*340 && s.SpentToday > 6*340 {
				t.Errorf("%d tokens", s.SpentToday)
			}
			want := map[string]string{"silent": "failed ", "busy": "failed busy (HTTP 429)", "garbage": "failed the model's answer is no list of facts", "giant": "failed ", "slow": "asked"}[behaviour]
			found := false
			for what := range w.what() {
				found = found || strings.HasPrefix(what, want)
				if strings.Contains(what, "passage") || strings.Contains(what, "gave_up") {
					t.Errorf("event %q", what)
				}
			}
			if !found {
				t.Errorf("no event %q: %v", want, w.what())
			}
		})
	}
}

// The budget is of the day and of the disk: a restart does not make it new.
func TestFactsBudgetOutlivesARestart(t *testing.T) {
	w := newFactsWorld(t, "facts_tokens = 2000\n") // about 1950 are reserved for a request, and 340 are used
	for i := range 3 {
		f := w.start()
		w.say(memory.OriginUser, fmt.Sprintf("House %d uses a cellar.", i), fmt.Sprintf("Boat %d uses a sail.", i))
		time.Sleep(300 * time.Millisecond)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := w.now()
	if s.SpentToday > 2000 || w.model.requests() != 1 || s.Waiting < 4 {
		t.Errorf("%+v after %d requests", s, w.model.requests())
	}
	if got := w.what()["budget the day's tokens for facts are spent"]; got == 0 || got > 3 {
		t.Errorf("it is told %d times", got)
	}
}

// TestFactsProcess is no test: it is the process that the next one kills.
func TestFactsProcess(t *testing.T) {
	home := os.Getenv("PLIMSOLL_TEST_FACTS_HOME")
	if home == "" {
		t.Skip("it is started by another test")
	}
	app := factsApp(t, home)
	s, err := app.Config.For("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openFacts(app, s, journal.New(journal.Options{}), shortTimes); err != nil {
		t.Fatal(err)
	}
	fmt.Println("begun")
	select {}
}

// kill -9 in the middle of requests: what waited waits on, each passage is read, and what was under way counts as spent.
func TestFactsOutliveAKill(t *testing.T) {
	w := newFactsWorld(t, "facts_tokens = 1000000\n")
	start := func() *exec.Cmd {
		child := exec.Command(os.Args[0], "-test.run=^TestFactsProcess$")
		child.Env = append(os.Environ(), "PLIMSOLL_TEST_FACTS_HOME="+w.home)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if said := bufio.NewScanner(out); !said.Scan() || said.Text() != "begun" {
			t.Fatalf("%q", said.Text())
		}
		return child
	}
	kill := func(child *exec.Cmd) {
		_ = child.Process.Kill()
		_ = child.Wait()
	}
	w.model.be("silent")
	child := start()
	w.say(memory.OriginUser, "The mast uses a rope.", "The keel uses lead.", "Words without a fact in them.")
	w.until("it is asked", func() bool { return w.model.requests() == 1 })
	kill(child)
	// On a slow machine it is asked about the first before the last is said; that all of them are read is held below.
	if s, n := w.now(); s.Waiting < 1 || n != 0 || s.SpentToday < 1000 || s.Read != 0 {
		t.Errorf("after the kill: %+v, %d facts", s, n)
	}
	w.model.be("slow")
	for range 5 { // killed at any moment
		child = start()
		time.Sleep(130 * time.Millisecond)
		kill(child)
	}
	w.model.be("")
	child = start()
	defer kill(child)
	w.until("all are read", func() bool { s, n := w.now(); return s.Read == 3 && s.Waiting == 0 && n == 2 })
}

// A key of an agent's or of other programs, no key, and no model are each an error that says what to set; the key is in none of them.
func TestFactsSettings(t *testing.T) {
	t.Setenv("FACTS_API_KEY", "key-of-the-facts-0123456789")
	t.Setenv("AGENT_KEY", "key-of-the-agents-0123456789")
	t.Setenv("OPENAI_API_KEY", "key-of-the-agents-0123456789")
	t.Setenv("OPENAI_BASE_URL", "https://elsewhere.example/v1")
	t.Setenv("EMPTY_KEY", "")
	home := t.TempDir()
	file := filepath.Join(home, "key")
	testfile.Write(t, file, "key-of-the-file-0123456789\n")
	for _, c := range []struct{ text, want, url string }{
		{"facts = true\n", "names no model", ""},
		{"facts = true\nfacts_model = \"openai/gpt-5-mini\"\n", "has no key", ""},
		{"facts = true\nfacts_model = \"openai/gpt-5-mini\"\nfacts_key = \"OPENAI_API_KEY\"\n", "the key of other programs", ""},
		{"facts = true\nfacts_model = \"openai/gpt-5-mini\"\nfacts_key = \"AGENT_KEY\"\n", "the key of the agent reviewer", ""},
		{"facts = true\nfacts_model = \"openai/gpt-5-mini\"\nfacts_key = \"EMPTY_KEY\"\n", "is empty", ""},
		{"facts = true\nfacts_model = \"standin\"\n", "stand-in", ""},
		{"facts = true\nfacts_model = \"openai/gpt-5-mini\"\nfacts_key = \"FACTS_API_KEY\"\nfacts_key_file = \"/x\"\n", "both", ""},
		{"facts = true\nfacts_model = \"openai/gpt-5-mini\"\nfacts_key_file = \"" + file + ".none\"\n", "holds no key", ""},
		{"facts = true\nfacts_model = \"m\"\nfacts_url = \"http://models.example/v1\"\nfacts_key = \"FACTS_API_KEY\"\n", "over https", ""},
		{"facts = true\nfacts_model = \"openai/gpt-5-mini\"\nfacts_key_file = \"" + file + "\"\n", "", "https://api.openai.com"},
		{"facts = true\nfacts_model = \"anthropic/claude-haiku-4-5\"\nfacts_key = \"FACTS_API_KEY\"\n", "", "https://api.anthropic.com"},
		{"facts = true\nfacts_model = \"qwen3\"\nfacts_url = \"http://127.0.0.1:1/v1\"\n", "", "http://127.0.0.1:1/v1"},
	} {
		text := "[memory]\n" + c.text + "[agents.reviewer]\nmodel = \"gpt-5.2\"\nkey_env = \"AGENT_KEY\"\n"
		testfile.Write(t, filepath.Join(home, "config.toml"), text)
		app := factsApp(t, home)
		s, err := app.Config.For("")
		if err != nil {
			t.Fatal(err)
		}
		choice, key, err := factsModel(app, s)
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "0123456789")):
			t.Errorf("%q: %v", c.text, err)
		case c.want == "" && (err != nil || !strings.HasPrefix(choice.url, c.url) || strings.Contains(key, "agents")):
			t.Errorf("%q: %q with %q, %v", c.text, choice.url, key, err)
		}
	}
}

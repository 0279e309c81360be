//go:build linux || darwin

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// standinForFacts speaks chat completions and is no model: it hangs as long as it is told to, and then makes a fact of "The ledger uses PostgreSQL." and an
// invented one.
func standinForFacts(t *testing.T) (url string, hangs *atomic.Bool, asked *atomic.Int64, key *atomic.Value) {
	hangs, asked, key = &atomic.Bool{}, &atomic.Int64{}, &atomic.Value{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		asked.Add(1)
		key.Store(r.Header.Get("Authorization"))
		if hangs.Load() {
			<-r.Context().Done()
			return
		}
		facts := "[]"
		if strings.Contains(string(body), "The ledger uses PostgreSQL.") {
			facts = `[{"passage":1,"subject":"ledger","attribute":"database","value":"PostgreSQL","quote":"The ledger uses PostgreSQL."},` +
				`{"passage":1,"subject":"ledger","attribute":"owner","value":"Eve","quote":"Eve owns the ledger."}]`
		}
		quoted, _ := json.Marshal(facts)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\n", quoted)
		fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":300,\"completion_tokens\":40,\"total_tokens\":340}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL, hangs, asked, key
}

// passLease sets what the killed daemon had taken from the queue back, as the two minutes do that it had taken it for.
func (w *world) passLease(queue string) {
	w.t.Helper()
	text := testfile.Read(w.t, queue)
	passed := regexp.MustCompile(`,"after":"[^"]*"`).ReplaceAll(text, nil)
	if bytes.Equal(passed, text) {
		w.t.Errorf("nothing was taken: %s", text)
	}
	testfile.Write(w.t, queue, passed)
}

// The daemon draws facts in the background: killed by signal 9 in the middle of a request, and ended by SIGTERM, it loses nothing and pays for nothing twice. Its key
// is its own, and stands nowhere.
func TestFactsOfTheDaemon(t *testing.T) {
	long(t, "it waits for a daemon to have time")
	t.Parallel()
	w := newWorld(t)
	url, hangs, asked, key := standinForFacts(t)
	const factsKey = "own-key-of-facts-0123456789"
	w.variables = append(w.variables, "FACTS_API_KEY="+factsKey, "OPENAI_API_KEY=key-of-agents-0123456789")
	write(t, fmt.Sprintf("[memory]\nfacts = true\nfacts_model = \"small\"\nfacts_url = %q\nfacts_key = \"FACTS_API_KEY\"\n", url+"/v1"), w.state, "config.toml")
	ready := filepath.Join(w.state, "ready")
	start := func() (*exec.Cmd, string) {
		t.Helper()
		_ = os.Remove(ready)
		cmd := exec.Command(plimsoll, "serve", "--listen", "127.0.0.1:0", "--ready-file", ready)
		cmd.Dir, cmd.Env = w.work, w.environment()
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		base := ""
		w.until("the daemon is ready", func() bool {
			text, err := os.ReadFile(ready)
			base = strings.TrimSpace(string(text))
			return err == nil && base != ""
		})
		return cmd, base
	}
	end := func(cmd *exec.Cmd, by syscall.Signal) {
		t.Helper()
		if err := cmd.Process.Signal(by); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); by == syscall.SIGTERM && err != nil {
			t.Errorf("the daemon ended with %v", err)
		}
	}
	now := func() (s struct {
		Facts struct {
			On      bool `json:"on"`
			Waiting int  `json:"waiting"`
			Read    int  `json:"read"`
			Spent   int  `json:"spent_today"`
			PerDay  int  `json:"tokens_per_day"`
		} `json:"facts"`
	},
	) {
		t.Helper()
		got := w.run(nil, plimsoll, "memory", "stats", "--json")
		if err := json.Unmarshal([]byte(got.stdout), &s); err != nil || got.status != 0 {
			t.Fatalf("%v: %s%s", err, got.stdout, got.stderr)
		}
		return s
	}
	first, _ := start() // what is said from now on is read
	end(first, syscall.SIGTERM)
	if s := now(); !s.Facts.On || s.Facts.Spent != 0 || s.Facts.PerDay != 20_000 {
		t.Errorf("%+v", s)
	}
	store, err := memory.Open(memory.Options{Dir: filepath.Join(w.state, "memory")})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"The ledger uses PostgreSQL.", "Here is nothing to be learned.", "Nor is here."} {
		if _, err := store.Add(t.Context(), memory.Record{
			Kind: memory.KindEpisode, Origin: memory.OriginUser, Namespace: "project/serve", Text: text, Source: memory.Source{Conversation: "c", Turn: i + 1},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	hangs.Store(true)
	killed, _ := start()
	w.until("it asks", func() bool { return asked.Load() == 1 })
	end(killed, syscall.SIGKILL)
	if s := now(); s.Facts.Waiting != 3 || s.Facts.Read != 0 || s.Facts.Spent < 1000 {
		t.Errorf("after the kill: %+v", s)
	}
	hangs.Store(false)
	w.passLease(filepath.Join(w.state, "facts", "queue.jsonl"))
	third, base := start()
	w.until("all are read", func() bool { s := now(); return s.Facts.Read == 3 && s.Facts.Waiting == 0 })
	answer, err := http.Get(base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`plimsoll_memory_facts_proposals_total{outcome="kept"} 1`, `plimsoll_memory_facts_proposals_total{outcome="unquoted"} 1`, "plimsoll_memory_facts_episodes_total 3",
		"plimsoll_memory_facts_queued 0", "plimsoll_memory_facts_limit 20000", "plimsoll_memory_dropped_total 0",
	} {
		if !strings.Contains(string(text), want+"\n") {
			t.Errorf("no %s in the metrics", want)
		}
	}
	before := asked.Load()
	end(third, syscall.SIGTERM)
	fourth, _ := start()
	if got := w.run(nil, plimsoll, "memory", "search", "ledger database", "--kind", "fact"); !strings.Contains(got.stdout, "ledger: database is PostgreSQL") {
		t.Errorf("%s%s", got.stdout, got.stderr)
	}
	end(fourth, syscall.SIGTERM)
	if n := asked.Load(); n != before {
		t.Errorf("%d more requests after a restart", n-before)
	}
	if got := key.Load(); got != "Bearer "+factsKey {
		t.Errorf("it came with %q", got)
	}
	for _, secret := range []string{"own-key-of-facts", "key-of-agents"} {
		if names := w.holding(secret); len(names) > 0 {
			t.Errorf("%v have a key", names)
		}
	}
}

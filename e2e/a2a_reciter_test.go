//go:build linux || darwin

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// A reciter is a model that a test has in its hand. Asked to "recite N lines of SIZE" it
// streams them, each when the test lets it. A line is one event of the agent's stream.
type reciter struct {
	*httptest.Server
	mu   sync.Mutex
	gate *gate
}

// A gate lets through as many lines as it is told to.
type gate struct {
	lines chan struct{}
	wide  chan struct{}
	once  sync.Once
}

const mostLines = 4096

func newGate() *gate {
	return &gate{lines: make(chan struct{}, mostLines), wide: make(chan struct{})}
}

func (g *gate) allow(n int) {
	for range n {
		g.lines <- struct{}{}
	}
}

func (g *gate) open() { g.once.Do(func() { close(g.wide) }) }

// hold makes later questions wait at a new gate.
func (r *reciter) hold() *gate {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = newGate()
	return r.gate
}

// let makes later questions wait for nothing.
func (r *reciter) let() { r.hold().open() }

// verse is a line that a reciter says. Each < is six bytes in JSON, so few words fill a log.
func verse(i, size int) string { return fmt.Sprintf("line %d %s\n", i, strings.Repeat("<", size)) }

func verses(n, size int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(verse(i+1, size))
	}
	return b.String()
}

func recite(n, size int) string { return fmt.Sprintf("recite %d lines of %d", n, size) }

var recital = regexp.MustCompile(`recite (\d+) lines of (\d+)`)

// newReciter starts one; flags make an agent ask it.
func newReciter(t *testing.T, w *world) (r *reciter, flags []string) {
	t.Helper()
	r = &reciter{}
	r.let()
	r.Server = httptest.NewServer(http.HandlerFunc(r.answer))
	t.Cleanup(func() { // before the server waits for its answers
		r.CloseClientConnections()
		r.Close()
	})
	w.variables = append(w.variables, "OPENAI_API_KEY=sk-reciter", "OPENAI_BASE_URL="+r.URL+"/v1", simulated)
	return r, []string{"--model", "reciter"}
}

func (r *reciter) answer(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	found := recital.FindAllSubmatch(body, -1)
	if err != nil || !strings.HasSuffix(req.URL.Path, "/chat/completions") || len(found) == 0 {
		http.NotFound(w, req)
		return
	}
	last := found[len(found)-1]
	n, _ := strconv.Atoi(string(last[1]))
	size, _ := strconv.Atoi(string(last[2]))
	r.mu.Lock()
	g := r.gate
	r.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	say := func(choices []any, usage any) bool {
		data, _ := json.Marshal(map[string]any{
			"id": "recital", "object": "chat.completion.chunk", "created": 1, "model": "reciter", "choices": choices, "usage": usage,
		})
		_, err := fmt.Fprintf(w, "data: %s\n\n", data)
		return err == nil && out.Flush() == nil
	}
	choice := func(delta map[string]any, end any) []any {
		return []any{map[string]any{"index": 0, "delta": delta, "finish_reason": end}}
	}
	if !say(choice(map[string]any{"role": "assistant", "content": ""}, nil), nil) {
		return
	}
	for i := range n {
		select {
		case <-g.wide:
		case <-g.lines:
		case <-req.Context().Done():
			return
		}
		if !say(choice(map[string]any{"content": verse(i+1, size)}, nil), nil) {
			return
		}
	}
	say(choice(map[string]any{}, "stop"), nil)
	say([]any{}, map[string]any{"prompt_tokens": 10, "completion_tokens": n, "total_tokens": 10 + n})
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// agentEvents is agentServer with what it prints for --events.
func (w *world) agentEvents(flags ...string) (url string, events func(kind string) []map[string]any) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "events")
	ready := filepath.Join(w.t.TempDir(), "ready")
	// A shell has a file for its output; exec leaves no process between.
	w.background(append([]string{
		"/bin/sh", "-c", `file=$1; shift; exec "$@" >"$file"`, "sh", file,
		plimsoll, "agent", "serve", "--events", "--listen", "127.0.0.1:0", "--ready-file", ready,
	}, flags...)...)
	w.until("the agent is ready", func() bool {
		text, err := os.ReadFile(ready)
		url = strings.TrimSpace(string(text))
		return err == nil && url != ""
	})
	return url, func(kind string) (found []map[string]any) {
		text := testfile.Read(w.t, file)
		for l := range strings.Lines(string(text)) {
			var e struct {
				Kind  string
				Event map[string]any
			}
			if strings.HasSuffix(l, "\n") && json.Unmarshal([]byte(l), &e) == nil && e.Kind == kind {
				found = append(found, e.Event)
			}
		}
		return found
	}
}

package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/daemon"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/window/wire"
)

// lines is a writer that may be read while it is written to.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// events returns the events of one kind, in order.
func (l *lines) events(t *testing.T, kind string) (list []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		var record struct {
			Kind  string
			Event map[string]any
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if record.Kind == kind {
			list = append(list, record.Event)
		}
	}
	return list
}

// sent is what one request through the daemon came to.
type sent struct {
	status    int
	answer    string
	forwarded []byte // the newest body that the provider got, nil when it got none
	tries     int    // how often it was asked
	log       *lines
}

// rungs are those of the first compaction.
func (s sent) rungs(t *testing.T) string {
	var names []string
	for _, e := range s.log.events(t, "window.compacted") {
		for _, r := range e["rungs"].([]any) {
			names = append(names, r.(string))
		}
	}
	return strings.Join(names, " ")
}

// through posts a body to a daemon with this configuration, in front of a scripted provider.
func through(t *testing.T, body []byte, o scripted.Options, environ ...string) sent {
	t.Helper()
	return throughBoth(t, nil, "", body, o, environ...)
}

// throughBoth is through with a request before, and waits until an event of a kind is told before the second one is sent.
func throughBoth(t *testing.T, first []byte, event string, body []byte, o scripted.Options, environ ...string) sent {
	t.Helper()
	o.Lenient, o.Tokenizer = true, scripted.O200K
	model := scripted.New(o)
	provider := httptest.NewServer(model)
	defer provider.Close()
	log := &lines{}
	url, end := serving(t, "127.0.0.1:0", daemon.Options{Log: log}, append(environ, "PLIMSOLL_UPSTREAM_OPENAI="+provider.URL+"/v1")...)
	if url == "" {
		t.Fatal(end())
	}
	if first != nil {
		res, err := http.Post(url+"/openai/v1/chat/completions", "application/json", bytes.NewReader(first))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		wait.Until(t, event+" is logged", func() bool { return len(log.events(t, event)) > 0 })
	}
	res, err := http.Post(url+"/openai/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	s := sent{status: res.StatusCode, answer: string(answer), log: log}
	for _, r := range model.Requests() {
		if r.Kind == "model" {
			s.forwarded, s.tries = r.Body, s.tries+1
		}
	}
	return s
}

// turns is a chat session of about so many bytes.
func turns(size int) []byte {
	s := transcripts.NewSession(transcripts.SessionOptions{Dialect: wire.Chat, Content: transcripts.English, ResultBytes: 3000, Seed: 3, Model: "gpt-4o"})
	return s.Request(s.TurnOf(size))
}

// Every setting of [window] changes what happens to a request, under its own name and under
// those that people have in their environments already.
func TestWindowSettingsChangeWhatHappens(t *testing.T) {
	body := turns(240_000) // about 48,000 tokens
	limit := "PLIMSOLL_WINDOW_MAX_TOKENS=64000"
	const half = "PLIMSOLL_WINDOW_TARGET=0.5" // masking is enough for it
	cuts := func(t *testing.T, s sent) bool {
		return s.status == 200 && s.rungs(t) != "" && len(s.forwarded) < len(body)
	}
	whole := func(_ *testing.T, s sent) bool { return s.status == 200 && bytes.Equal(s.forwarded, body) }
	smaller := func(share float64) func(*testing.T, sent) bool {
		return func(t *testing.T, s sent) bool { return cuts(t, s) && len(s.forwarded) < int(share*float64(len(body))) }
	}
	for name, c := range map[string]struct {
		with, without    []string
		holds, otherwise func(*testing.T, sent) bool
		o                scripted.Options
	}{
		"max_tokens":         {with: []string{"PLIMSOLL_WINDOW_MAX_TOKENS=40000"}, holds: cuts, otherwise: whole},
		"MAX_CONTEXT_TOKENS": {with: []string{"MAX_CONTEXT_TOKENS=40000"}, holds: cuts, otherwise: whole},
		"OPENAI_MAX_…":       {with: []string{"OPENAI_MAX_CONTEXT_TOKENS=40000", "MAX_CONTEXT_TOKENS=100000"}, without: []string{"ANTHROPIC_MAX_CONTEXT_TOKENS=40000"}, holds: cuts, otherwise: whole},
		"LLM_PROVIDER":       {with: []string{"LLM_PROVIDER=azure-openai", "AZURE_OPENAI_MAX_CONTEXT_TOKENS=40000"}, without: []string{"AZURE_OPENAI_MAX_CONTEXT_TOKENS=40000"}, holds: cuts, otherwise: whole},
		"trigger":            {with: []string{limit, "PLIMSOLL_WINDOW_TRIGGER=0.6"}, without: []string{limit, "PLIMSOLL_WINDOW_TRIGGER=0.99"}, holds: cuts, otherwise: whole},
		"trigger alone":      {with: []string{limit, "PLIMSOLL_WINDOW_TRIGGER=0.4"}, holds: cuts, otherwise: whole},
		"target":             {with: []string{"MAX_CONTEXT_TOKENS=40000", "PLIMSOLL_WINDOW_TARGET=0.2"}, without: []string{"MAX_CONTEXT_TOKENS=40000", half}, holds: smaller(0.25), otherwise: func(t *testing.T, s sent) bool { return cuts(t, s) && !smaller(0.25)(t, s) }},
		"mode observe":       {with: []string{"MAX_CONTEXT_TOKENS=40000", "PLIMSOLL_WINDOW_MODE=observe"}, without: []string{"MAX_CONTEXT_TOKENS=40000"}, holds: whole, otherwise: cuts},
		"mode off":           {with: []string{"MAX_CONTEXT_TOKENS=40000", "PLIMSOLL_WINDOW_MODE=off"}, holds: func(t *testing.T, s sent) bool { return whole(t, s) && len(s.log.events(t, "window.request")) == 0 }, otherwise: func(t *testing.T, s sent) bool { return len(s.log.events(t, "window.request")) == 1 }},
		"compact":            {with: []string{"MAX_CONTEXT_TOKENS=40000", "ENABLE_AUTO_COMPRESSION=false"}, without: []string{"MAX_CONTEXT_TOKENS=40000"}, holds: whole, otherwise: cuts},
		"min_messages":       {with: []string{"MAX_CONTEXT_TOKENS=40000", "MIN_MESSAGES_TO_KEEP=60"}, without: []string{"MAX_CONTEXT_TOKENS=40000"}, holds: func(t *testing.T, s sent) bool { return sameEnd(body, s.forwarded) > 100_000 }, otherwise: func(t *testing.T, s sent) bool { return sameEnd(body, s.forwarded) < 100_000 }},
		"cut_tool_results":   {with: []string{"MAX_CONTEXT_TOKENS=40000", half, "SUMMARIZE_TOOL_OUTPUTS=false"}, without: []string{"MAX_CONTEXT_TOKENS=40000", half}, holds: func(t *testing.T, s sent) bool { return s.rungs(t) == "extract" }, otherwise: func(t *testing.T, s sent) bool { return s.rungs(t) == "cut mask" }},
		"max_tool_output":    {with: []string{"MAX_CONTEXT_TOKENS=40000", half, "MAX_TOOL_OUTPUT_SIZE=500"}, without: []string{"MAX_CONTEXT_TOKENS=40000", half}, holds: func(t *testing.T, s sent) bool { return s.rungs(t) == "cut" }, otherwise: func(t *testing.T, s sent) bool { return s.rungs(t) == "cut mask" }},
		"summarizer":         {with: []string{"MAX_CONTEXT_TOKENS=40000", "SUMMARIZE_TOOL_OUTPUTS=false", "PLIMSOLL_WINDOW_SUMMARIZER=off"}, without: []string{"MAX_CONTEXT_TOKENS=40000", "SUMMARIZE_TOOL_OUTPUTS=false"}, holds: func(t *testing.T, s sent) bool { return s.rungs(t) == "drop" }, otherwise: func(t *testing.T, s sent) bool { return s.rungs(t) == "extract" }},
	} {
		t.Run(name, func(t *testing.T) {
			if got := through(t, body, c.o, c.with...); !c.holds(t, got) {
				t.Errorf("with %v: status %d, %d of %d bytes in %d tries, rungs %q\n%.300s", c.with, got.status, len(got.forwarded), len(body), got.tries, got.rungs(t), got.answer)
			}
			if got := through(t, body, c.o, c.without...); !c.otherwise(t, got) {
				t.Errorf("with %v: status %d, %d of %d bytes in %d tries, rungs %q\n%.300s", c.without, got.status, len(got.forwarded), len(body), got.tries, got.rungs(t), got.answer)
			}
		})
	}
}

// Between two tasks room is made when it is due, for the boundary, and not before.
func TestABoundaryMakesNoCut(t *testing.T) {
	r, err := wire.Parse(wire.Chat, turns(240_000)) // about 48,000 tokens
	if err != nil {
		t.Fatal(err)
	}
	d := r.Draft()
	d.InsertMessages(len(r.Messages), wire.TextMessage(wire.Chat, wire.RoleAssistant, "All of it is done."), wire.TextMessage(wire.Chat, wire.RoleUser, "Now something else."))
	if r, err = d.Build(); err != nil {
		t.Fatal(err)
	}
	limit := "PLIMSOLL_WINDOW_MAX_TOKENS=64000"
	for _, c := range []struct {
		environ []string
		reason  any
	}{
		{[]string{limit}, nil},
		{[]string{limit, "PLIMSOLL_WINDOW_TRIGGER=0.95"}, nil},
		{[]string{limit, "PLIMSOLL_WINDOW_TRIGGER=0.6"}, "topic"},
	} {
		got := through(t, r.Body, scripted.Options{}, c.environ...)
		var reason any
		for _, e := range got.log.events(t, "window.compacted") {
			reason = e["reason"]
		}
		if got.status != 200 || reason != c.reason || bytes.Equal(got.forwarded, r.Body) != (c.reason == nil) {
			t.Errorf("with %v: status %d, room made for %v, %d of %d bytes", c.environ, got.status, reason, len(got.forwarded), len(r.Body))
		}
	}
}

// sameEnd is how many bytes at the end of two bodies are the same.
func sameEnd(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// A call without its result is mended, unless that is switched off.
func TestWindowRepairCanBeSwitchedOff(t *testing.T) {
	body := []byte(`{"model":"gpt-4o","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"and?"}]}`)
	if got := through(t, body, scripted.Options{}); !strings.Contains(string(got.forwarded), `"role":"tool"`) || len(got.log.events(t, "window.repaired")) != 1 {
		t.Errorf("repaired: %s", got.forwarded)
	}
	if got := through(t, body, scripted.Options{}, "PLIMSOLL_WINDOW_REPAIR=false"); !bytes.Equal(got.forwarded, body) {
		t.Errorf("not repaired: %s", got.forwarded)
	}
}

// What is too large to be looked into passes unseen, and is counted.
func TestWindowBodiesAreBounded(t *testing.T) {
	got := through(t, turns(10<<20), scripted.Options{}, "PLIMSOLL_WINDOW_BODY_MEMORY=8M", "MAX_CONTEXT_TOKENS=40000")
	if passed := got.log.events(t, "window.passed"); got.status != 200 || len(passed) != 1 {
		t.Errorf("body_memory: status %d, %v", got.status, passed)
	}
}

// Where compactions are kept, and for how long.
func TestWindowCompactionsAreKeptWhereTheConfigurationSays(t *testing.T) {
	body := turns(240_000)
	for store, want := range map[string]int{"disk": 1, "memory": 0, "off": 0} {
		state := t.TempDir()
		environ := []string{"MAX_CONTEXT_TOKENS=40000", "PLIMSOLL_STATE_DIR=" + state, "PLIMSOLL_WINDOW_STORE=" + store}
		if got := through(t, body, scripted.Options{}, environ...); got.rungs(t) == "" {
			t.Fatalf("%s: nothing was cut", store)
		}
		a := newCore(t, state, environ...)
		cuts, err := watch.Cuts(a, "")
		if err != nil || len(cuts) != want {
			t.Errorf("%s: %d are kept, %v; want %d", store, len(cuts), err, want)
		}
	}
}

// A state directory that takes nothing costs what outlives the daemon, not that the next turn
// gets the bytes of the one before.
func TestWindowWithoutAStateDirectoryKeepsInMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a file")
	testfile.Write(t, file, "")
	model := scripted.New(scripted.Options{Lenient: true, Tokenizer: scripted.O200K})
	provider := httptest.NewServer(model)
	defer provider.Close()
	log := &lines{}
	url, end := serving(t, "127.0.0.1:0", daemon.Options{Log: log}, "PLIMSOLL_STATE_DIR="+file, "MAX_CONTEXT_TOKENS=40000", "PLIMSOLL_UPSTREAM_OPENAI="+provider.URL+"/v1")
	if url == "" {
		t.Fatal(end())
	}
	body := turns(240_000)
	for range 2 {
		res, err := http.Post(url+"/openai/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("%v, %v", res, err)
		}
		_, _ = io.Copy(io.Discard, res.Body) // the provider has answered then
		_ = res.Body.Close()
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	got := model.Requests()
	if len(got) != 2 || !bytes.Equal(got[0].Body, got[1].Body) || len(log.events(t, "window.compacted")) != 1 {
		t.Errorf("%d requests, %d compactions; want the bytes of one compaction twice", len(got), len(log.events(t, "window.compacted")))
	}
}

// A model writes summaries with a key of its own, and what it costs is told; without a
// model's name, or with an empty key, the daemon does not start.
func TestWindowSummariesByAModel(t *testing.T) {
	first, body := turns(150_000), turns(240_000) // below the trigger and over it
	var asked struct {
		sync.Mutex
		key, model, text string
	}
	writer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Model    string
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) != 2 {
			t.Errorf("%v, %d messages", err, len(in.Messages))
		}
		asked.Lock()
		asked.key, asked.model, asked.text = r.Header.Get("Authorization"), in.Model, in.Messages[1].Content
		asked.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"content": strings.Repeat("The importer was read and two files were changed. ", 20)}}},
			"usage":   map[string]any{"prompt_tokens": 1234, "completion_tokens": 56},
		})
	}))
	defer writer.Close()
	t.Setenv("TEST_SUMMARY_KEY", "summary-secret")
	environ := []string{
		"MAX_CONTEXT_TOKENS=40000", "SUMMARIZE_TOOL_OUTPUTS=false", "PLIMSOLL_WINDOW_SUMMARIZER=model", "PLIMSOLL_WINDOW_SUMMARY_MODEL=small",
		"PLIMSOLL_WINDOW_SUMMARY_URL=" + writer.URL + "/v1", "PLIMSOLL_WINDOW_SUMMARY_KEY=TEST_SUMMARY_KEY",
	}
	got := throughBoth(t, first, "window.summary", body, scripted.Options{}, environ...)
	told := got.log.events(t, "window.summary")
	if got.rungs(t) != "model" || !strings.Contains(string(got.forwarded), "two files were changed") || len(told) != 1 || told[0]["summary_tokens_in"] != 1234.0 || told[0]["outcome"] != "written" {
		t.Errorf("rungs %q, %v", got.rungs(t), told)
	}
	if asked.key != "Bearer summary-secret" || asked.model != "small" || !strings.Contains(asked.text, "AGENT: ") {
		t.Errorf("asked with %q for %q: %.200s", asked.key, asked.model, asked.text)
	}
	writer.Close()
	got = throughBoth(t, first, "window.summary", body, scripted.Options{}, environ...)
	if got.rungs(t) != "extract" || got.status != 200 {
		t.Errorf("without the service: status %d, rungs %q", got.status, got.rungs(t))
	}
	if told := got.log.events(t, "window.summary"); len(told) != 1 || told[0]["outcome"] != "failed" || !strings.Contains(fmt.Sprint(told[0]["error"]), "gave no answer") {
		t.Errorf("without the service: %v", told)
	}
	for env, want := range map[string]string{
		"PLIMSOLL_WINDOW_SUMMARIZER=model": "summary_model names none",
		"PLIMSOLL_WINDOW_SUMMARY_KEY=TEST_EMPTY PLIMSOLL_WINDOW_SUMMARIZER=model PLIMSOLL_WINDOW_SUMMARY_MODEL=m": "TEST_EMPTY, which is empty",
	} {
		_, end := serving(t, "127.0.0.1:0", daemon.Options{}, strings.Fields(env)...)
		if err := end(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", env, err, want)
		}
	}
}

package traces

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// got is a span as a collector has read it.
type got struct {
	TraceID    string `json:"traceId"`
	SpanID     string `json:"spanId"`
	ParentID   string `json:"parentSpanId"`
	Name       string `json:"name"`
	Kind       int    `json:"kind"`
	Start      int64  `json:"startTimeUnixNano,string"`
	End        int64  `json:"endTimeUnixNano,string"`
	Attributes []struct {
		Key   string
		Value map[string]any
	} `json:"attributes"`
	Events []struct{ Name string } `json:"events"`
	Links  []struct{ TraceID, SpanID string }
	Status struct{ Code int }
}

func (g got) attribute(key string) string {
	for _, a := range g.Attributes {
		if a.Key == key {
			for _, v := range a.Value {
				return fmt.Sprint(v)
			}
		}
	}
	return ""
}

// collector is an HTTP server that keeps what it was sent. answer says what comes of a request, after its spans were read; nil takes all.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(n int, w http.ResponseWriter) (taken bool)
	n      int
	spans  []got
	raw    []string
	at     []time.Time
}

func newCollector(t *testing.T, answer func(n int, w http.ResponseWriter) bool) *collector {
	t.Helper()
	c := &collector{answer: answer}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/traces" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s, Content-Type %q", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
		}
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unpacked
		}
		text, err := io.ReadAll(body)
		if err != nil {
			return // it was given up
		}
		var request struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []got }
			}
		}
		if err := json.Unmarshal(text, &request); err != nil {
			t.Errorf("%v in %.300s", err, text)
		}
		c.mu.Lock()
		c.n++
		n := c.n
		c.at = append(c.at, time.Now())
		c.raw = append(c.raw, string(text))
		c.mu.Unlock()
		if c.answer != nil && !c.answer(n, w) {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, rs := range request.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) taken() []got {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// one is the span with a name, of which there is one.
func (c *collector) one(t *testing.T, name string) got {
	t.Helper()
	var found []got
	for _, s := range c.taken() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d spans %q", len(found), name)
	}
	return found[0]
}

// written is a run as `plimsoll run` writes it.
type written struct {
	*journal.Journal
	w        *runs.Writer
	reporter *journal.Reporter
}

func begin(dir, kind, id, parent string) *written {
	start := journal.Report{Tool: "claude", Project: "shop", Command: []string{"claude", "-p", "the words of a secret plan"}}
	if kind != runs.KindRun {
		start.Tool = kind
	}
	r := &written{w: runs.Begin(runs.Options{Dir: dir}, runs.Header{ID: id, Kind: kind, Parent: parent, Report: start}), reporter: journal.NewReporter(start)}
	r.Journal = journal.New(journal.Options{Observers: []journal.Observer{r.reporter, r.w}})
	return r
}

func (r *written) end(t *testing.T, outcome journal.Outcome) {
	t.Helper()
	r.Append(journal.RunEnded{Outcome: outcome, Duration: time.Second, PeakBytes: 200 << 20, PeakMethod: "memory.peak"})
	if err := r.w.End(r.reporter.Report()); err != nil {
		t.Fatal(err)
	}
}

func sender(t *testing.T, dir, to string, o Options) *Sender {
	t.Helper()
	o.StateDir, o.URL, o.every, o.backoff = dir, to, 10*time.Millisecond, 10*time.Millisecond
	if o.Warn == nil {
		o.Warn = func(text string) { t.Log(text) }
	}
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A run, with a gateway inside and another run inside, is one trace.
func TestARunIsATrace(t *testing.T) {
	dir, c := t.TempDir(), newCollector(t, nil)
	s := sender(t, dir, c.URL, Options{Version: "1.2.3"})
	run := begin(dir, runs.KindRun, "outer", "")
	run.Append(journal.RunStarted{PID: 1})
	run.Append(journal.WindowCompacted{Upstream: "anthropic", Model: "claude-opus", Request: 1, Reason: "trigger", Before: 160_000, After: 90_000, Rungs: []string{"mask"}})
	run.Append(journal.WindowRequest{Upstream: "anthropic", Dialect: "messages", Model: "claude-opus", Request: 1, Conversation: "0123456789ab", Tokens: 90_000, LimitTokens: 200_000})
	run.Append(journal.WindowRequest{Upstream: "anthropic", Dialect: "messages", Model: "claude-haiku", Request: 2, Tokens: 500, LimitTokens: 200_000})
	run.Append(journal.WindowResponse{Upstream: "anthropic", Dialect: "messages", Model: "claude-haiku", Request: 2, Server: "[::1]:8080", Status: 429, Duration: 50 * time.Millisecond, Ended: "complete"})
	run.Append(journal.WindowResponse{
		Upstream: "anthropic", Dialect: "messages", Model: "claude-opus", Request: 1, Status: 200, Stream: true, TokensIn: 90_123, TokensOut: 456, CacheRead: 80_000,
		FirstByte: 400 * time.Millisecond, Duration: 2 * time.Second, Ended: "complete", CacheWrite: 77, Reasoning: 33, Server: "api.anthropic.com", ID: "msg_1", AnsweredBy: "claude-opus-5-5", Finish: "end_turn",
	})
	run.Append(journal.WindowRequest{Upstream: "openai", Dialect: "responses", Model: "gpt-5", Request: 3, Tokens: 7})
	run.Append(journal.ChildKilled{PID: 77, Name: "node", Bytes: 3 << 30, By: "kernel"})

	gateway := begin(dir, runs.KindGateway, "gate", "outer")
	gateway.Append(journal.ToolCalled{Server: "files", Method: "tools/call", Tool: "read", UpstreamBytes: 5000, DeliveredBytes: 900, Spilled: true, Protocol: "2025-11-25", Address: "mcp.example.com:8443", Duration: 30 * time.Millisecond})
	gateway.Append(journal.ToolCalled{
		Server: "files", Method: "tools/call", Tool: "write", Failed: true, Duration: time.Millisecond,
		TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	})
	gateway.Append(journal.ToolCalled{
		Server: "files", Method: "tools/call", Tool: "list", TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
	})
	gateway.Append(journal.ToolRefused{Server: "files", Tool: "delete", Why: "denied"})
	gateway.end(t, journal.OutcomeOK)
	inner := begin(dir, runs.KindRun, "inner", "outer")
	inner.end(t, journal.OutcomeFailed)

	// What has ended in a run is sent while the run goes on.
	wait.Until(t, "spans of a run that lives", func() bool { return len(c.taken()) == 7 })
	run.end(t, journal.OutcomeOK)
	wait.Until(t, "all spans", func() bool { return len(c.taken()) == 9 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	var agent, inside got
	for _, span := range c.taken() {
		if span.attribute("plimsoll.run.id") == "inner" {
			inside = span
		} else if span.Name == "invoke_agent claude" {
			agent = span
		}
	}
	opus, haiku, open := c.one(t, "chat claude-opus"), c.one(t, "chat claude-haiku"), c.one(t, "chat gpt-5")
	read, write, list, del := c.one(t, "tools/call read"), c.one(t, "tools/call write"), c.one(t, "tools/call list"), c.one(t, "tools/call delete")
	for _, span := range []got{opus, haiku, open, read, list, del, inside} {
		if span.TraceID != agent.TraceID || span.ParentID != agent.SpanID {
			t.Errorf("%s is in trace %s below %s, not in %s below %s", span.Name, span.TraceID, span.ParentID, agent.TraceID, agent.SpanID)
		}
		if span.Start > span.End || span.Start < time.Now().Add(-time.Minute).UnixNano() {
			t.Errorf("%s begins %d, ends %d", span.Name, span.Start, span.End)
		}
	}
	if agent.ParentID != "" || len(agent.TraceID) != 32 || len(agent.SpanID) != 16 {
		t.Errorf("the run: %+v", agent)
	}
	// The client of the MCP call has made the parent; the run is linked. What the client does not record is no parent.
	if write.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" || write.ParentID != "00f067aa0ba902b7" || len(write.Links) != 1 || write.Links[0].SpanID != agent.SpanID {
		t.Errorf("the call with a parent: %+v", write)
	}
	if len(list.Links) != 1 || list.Links[0].SpanID != "00f067aa0ba902b7" {
		t.Errorf("the call with a parent that is not recorded: %+v", list)
	}
	if d := time.Duration(opus.End - opus.Start); d != 2*time.Second {
		t.Errorf("a request of 2 s took %v", d)
	}
	for _, want := range []struct {
		span       got
		key, value string
	}{
		{agent, "gen_ai.operation.name", "invoke_agent"},
		{agent, "gen_ai.agent.name", "claude"},
		{agent, "gen_ai.usage.input_tokens", "90123"},
		{agent, "plimsoll.outcome", "ok"},
		{agent, "plimsoll.memory.peak_bytes", "209715200"},
		{agent, "plimsoll.project", "shop"},
		{inside, "error.type", "failed"},
		{opus, "gen_ai.operation.name", "chat"},
		{opus, "gen_ai.provider.name", "anthropic"},
		{opus, "gen_ai.request.model", "claude-opus"},
		{opus, "gen_ai.request.stream", "true"},
		{opus, "gen_ai.usage.input_tokens", "90123"},
		{opus, "gen_ai.usage.output_tokens", "456"},
		{opus, "gen_ai.usage.cache_read.input_tokens", "80000"},
		{opus, "gen_ai.response.time_to_first_chunk", "0.4"},
		{opus, "gen_ai.conversation.compacted", "true"},
		{opus, "gen_ai.usage.cache_creation.input_tokens", "77"},
		{opus, "gen_ai.usage.reasoning.output_tokens", "33"},
		{opus, "gen_ai.response.id", "msg_1"},
		{opus, "gen_ai.response.model", "claude-opus-5-5"},
		{opus, "gen_ai.response.finish_reasons", "map[values:[map[stringValue:end_turn]]]"},
		{opus, "server.address", "api.anthropic.com"},
		{opus, "server.port", "443"},
		{haiku, "server.address", "::1"},
		{haiku, "server.port", "8080"},
		{haiku, "gen_ai.response.model", ""},
		{opus, "plimsoll.window.tokens", "90000"},
		{opus, "plimsoll.window.limit_tokens", "200000"},
		{opus, "error.type", ""},
		{haiku, "error.type", "429"},
		{haiku, "gen_ai.conversation.compacted", ""},
		{open, "error.type", "run_ended"},
		{open, "gen_ai.provider.name", "openai"},
		{read, "gen_ai.operation.name", "execute_tool"},
		{read, "gen_ai.tool.name", "read"},
		{read, "mcp.method.name", "tools/call"},
		{read, "mcp.protocol.version", "2025-11-25"},
		{read, "plimsoll.mcp.server", "files"},
		{read, "plimsoll.mcp.upstream_bytes", "5000"},
		{read, "plimsoll.mcp.delivered_bytes", "900"},
		{read, "plimsoll.mcp.spilled", "true"},
		{read, "server.address", "mcp.example.com"},
		{read, "server.port", "8443"},
		{write, "server.address", ""},
		{write, "error.type", "tool_error"},
		{del, "error.type", "denied"},
	} {
		if v := want.span.attribute(want.key); v != want.value {
			t.Errorf("%s: %s is %q, want %q", want.span.Name, want.key, v, want.value)
		}
	}
	if len(opus.Events) != 1 || opus.Events[0].Name != "plimsoll.window.compacted" || len(haiku.Events) != 0 || len(agent.Events) != 1 {
		t.Errorf("events: %v, %v, %v", opus.Events, haiku.Events, agent.Events)
	}
	if opus.Kind != 3 || read.Kind != 3 || agent.Kind != 1 || del.Kind != 1 || haiku.Status.Code != 2 || opus.Status.Code != 0 {
		t.Errorf("kinds %d, %d; status %d, %d", opus.Kind, read.Kind, haiku.Status.Code, opus.Status.Code)
	}
	for _, text := range c.raw {
		if strings.Contains(text, "secret plan") {
			t.Error("words of a command line were sent")
		}
		if strings.Count(text, `"schemaUrl":"https://opentelemetry.io/schemas/`) != 2 {
			t.Errorf("no schema: %.200s", text)
		}
		if !strings.Contains(text, `{"key":"service.name","value":{"stringValue":"plimsoll"}}`) {
			t.Errorf("no resource: %.200s", text)
		}
	}
	if st := s.Stats(); st.Sent != 9 || st.Dropped != 0 || st.Queued != 0 || !st.Sending {
		t.Errorf("%+v", st)
	}
}

// The daemon serves many: each request is a trace of its own, and nothing stands for the day.
func TestEachRequestToTheDaemonIsATrace(t *testing.T) {
	dir, c := t.TempDir(), newCollector(t, nil)
	day := begin(dir, runs.KindServe, "day", "")
	for n := range 3 {
		day.Append(journal.WindowRequest{Upstream: "mine", Dialect: "gemini", Model: "m", Request: uint64(n + 1)})
		day.Append(journal.WindowResponse{Upstream: "mine", Dialect: "gemini", Model: "m", Request: uint64(n + 1), Status: 200, Ended: "complete"})
	}
	day.Append(journal.WindowRefused{Request: 4, Upstream: "mine", Model: "large", Status: 400, Reason: "does_not_fit", Text: "…"})
	day.Append(journal.WindowRefused{Status: 401, Reason: "token"}) // no request to a model
	day.Append(journal.AgentQueryEnded{Agent: "helper", Outcome: "completed", TokensIn: 5, Duration: time.Second})
	day.end(t, journal.OutcomeOK)
	s := sender(t, dir, c.URL, Options{})
	wait.Until(t, "the spans", func() bool { return len(c.taken()) >= 5 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	traces := map[string]bool{}
	for _, span := range c.taken() {
		traces[span.TraceID] = true
		if span.ParentID != "" {
			t.Errorf("%s has the parent %s", span.Name, span.ParentID)
		}
	}
	if len(c.taken()) != 5 || len(traces) != 5 {
		t.Errorf("%d spans in %d traces", len(c.taken()), len(traces))
	}
	if q := c.one(t, "invoke_agent helper"); q.attribute("gen_ai.usage.input_tokens") != "5" {
		t.Errorf("%+v", q)
	}
	if r := c.one(t, "chat large"); r.attribute("error.type") != "does_not_fit" {
		t.Errorf("%+v", r)
	}
}

// fill writes a run with n calls of tools.
func fill(t *testing.T, dir, id string, n int) {
	t.Helper()
	r := begin(dir, runs.KindGateway, id, "")
	for i := range n {
		r.Append(journal.ToolCalled{Server: "s", Method: "tools/call", Tool: fmt.Sprintf("t%d", i)})
		if i%200 == 199 {
			time.Sleep(250 * time.Millisecond) // a writer drops what comes faster than it writes
		}
	}
	r.end(t, journal.OutcomeOK)
}

// distinct counts spans by their ids, and those that came twice.
func distinct(spans []got) (n, twice int) {
	seen := map[string]bool{}
	for _, s := range spans {
		if key := s.TraceID + s.SpanID; seen[key] {
			twice++
		} else {
			seen[key] = true
		}
	}
	return len(seen), twice
}

// Whoever sends next goes on where the last one was: nothing twice, nothing lost that came meanwhile.
func TestRestart(t *testing.T) {
	dir, c := t.TempDir(), newCollector(t, nil)
	live := begin(dir, runs.KindRun, "live", "")
	for i := range 5 {
		live.Append(journal.ToolCalled{Method: "tools/call", Tool: fmt.Sprint(i)})
	}
	fill(t, dir, "first", 20)
	s := sender(t, dir, c.URL, Options{})
	wait.Until(t, "the first spans", func() bool { return len(c.taken()) == 25 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fill(t, dir, "meanwhile", 30)
	live.Append(journal.ToolCalled{Method: "tools/call", Tool: "later"})
	live.end(t, journal.OutcomeOK)
	s = sender(t, dir, c.URL, Options{})
	wait.Until(t, "the later spans", func() bool { return len(c.taken()) >= 25+30+2 })
	time.Sleep(100 * time.Millisecond)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, twice := distinct(c.taken()); n != 57 || twice != 0 {
		t.Errorf("%d spans, %d twice", n, twice)
	}
	info, err := os.Stat(filepath.Join(dir, Dir, positionName))
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() > 4096 {
		t.Errorf("%v, %v", info, err)
	}

	// Without the file all of the last hour comes again, as the same spans.
	for _, text := range []string{"", "{not json", `{"schema":99}`, `{"schema":1,"to":"http://elsewhere","runs":{"live":{"place":18446744073709551615}}}`} {
		if err := os.WriteFile(filepath.Join(dir, Dir, positionName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := len(c.taken())
		s = sender(t, dir, c.URL, Options{})
		wait.Until(t, "the same spans", func() bool { return len(c.taken()) == before+57 })
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := distinct(c.taken()); n != 57 {
		t.Errorf("%d spans after all came again", n)
	}
}

// Of several senders one sends; another goes on when it ends.
func TestOneSends(t *testing.T) {
	dir, c := t.TempDir(), newCollector(t, nil)
	a := sender(t, dir, c.URL, Options{})
	wait.Until(t, "the first", func() bool { return a.Stats().Sending })
	b := sender(t, dir, c.URL, Options{})
	fill(t, dir, "one", 10)
	wait.Until(t, "the spans", func() bool { return len(c.taken()) == 10 })
	if b.Stats().Sending || b.Stats().Sent != 0 {
		t.Errorf("both send: %+v", b.Stats())
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the second", func() bool { return b.Stats().Sending })
	fill(t, dir, "two", 10)
	wait.Until(t, "the rest", func() bool { return len(c.taken()) >= 20 })
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if n, twice := distinct(c.taken()); n != 20 || twice != 0 {
		t.Errorf("%d spans, %d twice", n, twice)
	}
}

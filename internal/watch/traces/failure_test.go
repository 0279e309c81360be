package traces

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// said keeps what the user is told.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) warn(text string) {
	s.mu.Lock()
	s.lines = append(s.lines, text)
	s.mu.Unlock()
}

func (s *said) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func (s *said) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}

// A collector that has no time gets the same spans again, not before it wants them.
func TestRetry(t *testing.T) {
	for _, status := range []int{429, 502, 503, 504} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			dir, told := t.TempDir(), &said{}
			c := newCollector(t, func(n int, w http.ResponseWriter) bool {
				if n > 3 {
					return true
				}
				if n == 3 {
					w.Header().Set("Retry-After", "1")
				}
				w.WriteHeader(status)
				_, _ = w.Write([]byte("come back\nlater, Authorization: Bearer abcdefghijklmnop"))
				return false
			})
			fill(t, dir, "run", 10)
			s := sender(t, dir, c.URL, Options{Warn: told.warn})
			wait.Until(t, "the spans", func() bool { return len(c.taken()) == 10 })
			wait.Until(t, "that they are counted", func() bool { return s.Stats().Sent == 10 })
			if st := s.Stats(); st.Dropped != 0 || st.Failures != 3 || st.Requests != 4 {
				t.Errorf("%+v", st)
			}
			c.mu.Lock()
			if d := c.at[3].Sub(c.at[2]); d < time.Second {
				t.Errorf("asked for a second, it came again after %v", d)
			}
			if c.raw[0] != c.raw[3] {
				t.Error("what came again is something else")
			}
			c.mu.Unlock()
			// Told once that it began and once that it ended.
			if told.count() != 2 || !strings.Contains(told.all(), fmt.Sprintf("status %d: come back", status)) || strings.Contains(told.all(), "abcdefghijklmnop") {
				t.Errorf("the user was told:\n%s", told.all())
			}
		})
	}
}

// What a collector refuses for good is dropped and counted, and does not stand in the way of what comes next.
func TestRefused(t *testing.T) {
	for _, status := range []int{307, 400, 401, 404, 413, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			dir, told := t.TempDir(), &said{}
			c := newCollector(t, func(n int, w http.ResponseWriter) bool {
				if n > 1 {
					return true
				}
				if status == 307 {
					w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
				}
				w.WriteHeader(status)
				return false
			})
			fill(t, dir, "refused", 10)
			s := sender(t, dir, c.URL, Options{Warn: told.warn})
			wait.Until(t, "the refusal", func() bool { return s.Stats().Dropped == 10 })
			fill(t, dir, "taken", 10)
			wait.Until(t, "what comes next", func() bool { return s.Stats().Sent == 10 })
			if len(c.taken()) != 10 || told.count() != 2 || !strings.Contains(told.all(), fmt.Sprintf("status %d", status)) {
				t.Errorf("%d taken; the user was told:\n%s", len(c.taken()), told.all())
			}
			// A restart does not send again what was refused.
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = sender(t, dir, c.URL, Options{})
			fill(t, dir, "last", 1)
			wait.Until(t, "the last", func() bool { return len(c.taken()) >= 11 })
			if n, twice := distinct(c.taken()); n != 11 || twice != 0 {
				t.Errorf("%d spans, %d twice", n, twice)
			}
		})
	}
}

// A collector that takes a request may leave spans of it out (OTLP, "Partial Success").
func TestPartialSuccess(t *testing.T) {
	for _, text := range []string{
		`{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too long"}}`, `{"partialSuccess":{"rejectedSpans":3,"errorMessage":"too long"}}`,
	} {
		dir, told := t.TempDir(), &said{}
		c := newCollector(t, func(_ int, w http.ResponseWriter) bool {
			_, _ = w.Write([]byte(text))
			return true
		})
		fill(t, dir, "run", 10)
		s := sender(t, dir, c.URL, Options{Warn: told.warn})
		wait.Until(t, "the answer", func() bool { return s.Stats().Rejected == 3 && strings.Contains(told.all(), "too long") })
		if st := s.Stats(); st.Sent != 7 || st.Requests != 1 {
			t.Errorf("%+v; told %q", st, told.all())
		}
	}
	// Whatever else a collector says with 200, it has taken them.
	for _, text := range []string{"", "OK", `{"partialSuccess":{}}`, `{"partialSuccess":null}`, `[1]`, strings.Repeat("x", 1<<20), `{"partialSuccess":{"rejectedSpans":"-5"}}`} {
		dir := t.TempDir()
		c := newCollector(t, func(_ int, w http.ResponseWriter) bool {
			_, _ = w.Write([]byte(text))
			return true
		})
		fill(t, dir, "run", 2)
		s := sender(t, dir, c.URL, Options{})
		wait.Until(t, "the answer", func() bool { return s.Stats().Sent == 2 })
	}
}

// A collector that hangs, or is not there, holds up nobody: runs are written, the memory is bounded, what has no room is counted,
// and the end of the sender does not wait for it.
func TestNoAnswer(t *testing.T) {
	hang := make(chan struct{})
	slow := newCollector(t, func(int, http.ResponseWriter) bool { <-hang; return false })
	t.Cleanup(func() { close(hang) }) // before the server waits for its handlers
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"slow": slow.URL, "down": down} {
		t.Run(name, func(t *testing.T) {
			dir, told := t.TempDir(), &said{}
			s := sender(t, dir, to, Options{Warn: told.warn, MaxQueue: 64 << 10, Timeout: 50 * time.Millisecond})
			fill(t, dir, "many", 600)
			wait.Until(t, "failures", func() bool { return s.Stats().Failures > 2 })
			st := s.Stats()
			if st.QueuedBytes > 64<<10 || st.Queued == 0 || st.Sent != 0 {
				t.Errorf("%+v", st)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if told.count() != 1 {
				t.Errorf("the user was told:\n%s", told.all())
			}
			// Nothing was lost for whom comes next, with a collector that answers.
			c := newCollector(t, nil)
			rescue := sender(t, dir, c.URL, Options{})
			wait.Until(t, "all spans", func() bool { return len(c.taken()) >= 600 })
			if n, twice := distinct(c.taken()); n != 600 || twice != 0 {
				t.Errorf("%d spans, %d twice", n, twice)
			}
			if err := rescue.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// With less room than there is to send, what waits on the disk comes when there is room.
func TestBackPressure(t *testing.T) {
	dir := t.TempDir()
	c := newCollector(t, nil)
	for i := range 8 {
		fill(t, dir, fmt.Sprintf("r%d", i), 190)
	}
	s := sender(t, dir, c.URL, Options{MaxQueue: 600 << 10})
	wait.Until(t, "all spans", func() bool { return len(c.taken()) >= 8*190 })
	if n, twice := distinct(c.taken()); n != 8*190 || twice != 0 || s.Stats().Dropped != 0 {
		t.Errorf("%d spans, %d twice, %+v", n, twice, s.Stats())
	}
}

// The queue gives up the oldest, and knows what it gave out meanwhile.
func TestQueue(t *testing.T) {
	q := newQueue(10 * (128 + 10))
	dropped := 0
	for i := range 25 {
		dropped += q.push(queued{run: "r", place: uint64(i + 1), end: time.Unix(int64(i), 0), text: make([]byte, 10)})
	}
	if n, bytes := q.size(); dropped != 15 || n != 10 || bytes != 10*138 {
		t.Fatalf("%d dropped, %d with %d bytes left", dropped, n, bytes)
	}
	batch, from := q.peek(4, 1<<20)
	if len(batch) != 4 || batch[0].place != 16 {
		t.Fatalf("%+v", batch)
	}
	for i := range 2 { // two of what was given are dropped while it is under way
		q.push(queued{place: uint64(26 + i), text: make([]byte, 10)})
	}
	q.removeSent(from, len(batch))
	if n, bytes := q.size(); n != 8 || bytes != 8*138 {
		t.Errorf("%d with %d bytes left", n, bytes)
	}
	if batch, _ = q.peek(1, 1<<20); batch[0].place != 20 {
		t.Errorf("the next is %d", batch[0].place)
	}
	if batch, _ = q.peek(100, 300); len(batch) != 2 {
		t.Errorf("%d fit into 300 bytes", len(batch))
	}
	if batch, _ = q.peek(100, 1); len(batch) != 1 {
		t.Errorf("a span that is too large alone: %d", len(batch))
	}
	if n := q.dropOlder(time.Unix(22, 0)); n != 3 {
		t.Errorf("%d too old", n)
	}
	if q.push(queued{text: make([]byte, 1<<20)}); len(q.items) != 0 || q.bytes != 0 {
		t.Errorf("a span larger than the queue leaves %d, %d bytes", len(q.items), q.bytes)
	}
}

// What ended more than an hour ago is not sent, and what was killed has an end.
func TestLookBack(t *testing.T) {
	dir, c := t.TempDir(), newCollector(t, nil)
	now := time.Now().UTC()
	folder := filepath.Join(dir, runs.Dir, now.Format("2006-01-02"))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	var text []byte
	line := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, b...), '\n')
	}
	line(map[string]any{"header": runs.Header{Schema: 1, ID: "killed", Kind: runs.KindRun, Started: now.Add(-3 * time.Hour), Report: journal.Report{Tool: "codex"}}})
	line(journal.Record{Seq: 1, Time: now.Add(-2 * time.Hour), Event: journal.ToolCalled{Method: "tools/call", Tool: "old"}})
	line(journal.Record{Seq: 2, Time: now.Add(-time.Minute), Event: journal.ToolCalled{Method: "tools/call", Tool: "new"}})
	text = append(text, `{"seq":3,"time":"torn`...)
	if err := os.WriteFile(filepath.Join(folder, "killed.jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := sender(t, dir, c.URL, Options{})
	wait.Until(t, "the spans", func() bool { return len(c.taken()) >= 2 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	run := c.one(t, "invoke_agent codex")
	if len(c.taken()) != 2 || run.attribute("plimsoll.outcome") != runs.Died || run.attribute("error.type") != runs.Died || run.Start != now.Add(-3*time.Hour).UnixNano() {
		t.Errorf("%d spans; %+v", len(c.taken()), run)
	}
	if c.one(t, "tools/call new").ParentID != run.SpanID || s.Stats().Dropped != 0 {
		t.Errorf("%+v", s.Stats())
	}
}

// Names come from agents, servers and models: what gets into a span is short, printable and no credential.
func TestNamesAreCleaned(t *testing.T) {
	dir, c := t.TempDir(), newCollector(t, nil)
	r := begin(dir, runs.KindRun, "names", "")
	hostile := "a\x1b[31m\u202e\xff\n" + strings.Repeat("é", 500)
	key := "sk-abcdefghijklmnopqrstuvwxyz0123456789"
	r.Append(journal.WindowResponse{Upstream: hostile, Dialect: hostile, Model: hostile, Status: 200, Ended: "complete"})
	r.Append(journal.ToolCalled{Server: key, Method: "tools/call", Tool: key, TraceParent: hostile})
	r.end(t, journal.OutcomeOK)
	s := sender(t, dir, c.URL, Options{})
	wait.Until(t, "the spans", func() bool { return len(c.taken()) == 3 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range c.raw {
		if strings.Contains(text, key) || strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, `\u001b`) {
			t.Errorf("%s", text)
		}
	}
	for _, span := range c.taken() {
		if len(span.Name) > maxText+len(executeTool)+1 {
			t.Errorf("a name of %d bytes", len(span.Name))
		}
		for _, a := range span.Attributes {
			if v := span.attribute(a.Key); len(v) > maxText {
				t.Errorf("%s has %d bytes", a.Key, len(v))
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "-1": 0, "1.5": 0, "99999999999999999999": 0, "4294967295": maxWait,
		"Tue, 24 Nov 2026 09:00:30 GMT": 30 * time.Second, "Tue, 24 Nov 2026 08:00:00 GMT": 0, "Wed, 25 Nov 2026 08:00:00 GMT": maxWait, "soon": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("Retry-After: %s is %v, want %v", text, got, want)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for base, want := range map[string]string{
		"http://h:4318": "http://h:4318/v1/traces", "http://h:4318/": "http://h:4318/v1/traces", "https://h/otlp/v1/traces": "https://h/otlp/v1/traces",
		"grpc://h:4317": "", "h:4318": "", "http://user:word@h": "", "": "",
	} {
		got, err := endpoint(base)
		if got != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "word") {
			t.Errorf("endpoint(%q) = %q, %v; want %q", base, got, err, want)
		}
	}
	if _, err := Start(Options{StateDir: t.TempDir(), URL: "grpc://h:4317"}); err == nil {
		t.Error("a sender by gRPC was started")
	}
}

// FuzzFold: whatever stands in a run's file, its spans are valid JSON with ids, a name, and an end not before the beginning.
func FuzzFold(f *testing.F) {
	f.Add(`{"seq":1,"time":"2026-11-24T09:00:00Z","kind":"window.request","event":{"request":1,"model":"m","overhead_ns":-5}}` + "\n" +
		`{"seq":2,"time":"2026-11-24T09:00:01Z","kind":"window.response","event":{"request":1,"model":"m","status":500,"duration_ns":9223372036854775807}}`)
	f.Add(`{"seq":1,"time":"2026-11-24T09:00:00Z","kind":"tools.called","event":{"tool":"x","traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","duration_ns":-1}}`)
	f.Add(`{"seq":1,"kind":"window.compacted","event":{"request":7}}` + "\n" + `{"seq":2,"kind":"agent.query_ended","event":{"agent":"\u0000"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		fold := newFold(&runs.Header{ID: "id", Kind: runs.KindRun, Started: time.Unix(1e9, 0)}, "id")
		give := func(s span) {
			body, err := json.Marshal(s.spanMessage)
			if err != nil {
				t.Fatalf("%v: %+v", err, s)
			}
			var back got
			if err := json.Unmarshal(body, &back); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			if len(back.TraceID) != 32 || len(back.SpanID) != 16 || back.Name == "" || back.Start > back.End || len(body) > 64<<10 {
				t.Fatalf("%s", body)
			}
		}
		for line := range strings.Lines(text) {
			var r journal.Record
			if json.Unmarshal([]byte(line), &r) == nil && r.Time.Year() > 1700 && r.Time.Year() < 2200 {
				fold.addRecord(&r, give)
			}
		}
		fold.endRun(time.Unix(2e9, 0), false, 0, &journal.Report{}, give)
	})
}

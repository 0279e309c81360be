package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/window/compact/native"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A thinker is a client that appends what it hears and keeps the thinking of it.
type thinker struct {
	t        *testing.T
	root     string
	model    string
	header   http.Header
	messages []any
}

func newThinker(t *testing.T, root string) *thinker {
	return &thinker{t: t, root: root, model: "claude-fable-5-1", header: http.Header{"X-Api-Key": {"sk-ant-api03-x"}}, messages: []any{m{"role": "user", "content": task}}}
}

func (c *thinker) body() []byte {
	text, err := json.Marshal(m{
		"model": c.model, "max_tokens": 5000, "system": "You are an agent.", "thinking": m{"type": "adaptive"}, "stop_sequences": []string{"END"},
		"tools": []any{m{"name": "shell", "input_schema": m{"type": "object"}}}, "messages": c.messages,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// turn asks, and answers the calls that come back with three kilobytes.
func (c *thinker) turn() {
	c.t.Helper()
	status, text := sendAs(c.t, c.root+"/v1/messages", c.header, c.body())
	var answer struct{ Content []m }
	if json.Unmarshal(text, &answer) != nil || status != http.StatusOK {
		c.t.Fatalf("%d %.400s", status, text)
	}
	var results []any
	for _, block := range answer.Content {
		if block["type"] == "tool_use" {
			results = append(results, m{"type": "tool_result", "tool_use_id": block["id"], "content": talk{size: 3000}.result(len(c.messages))})
		}
	}
	c.messages = append(c.messages, m{"role": "assistant", "content": answer.Content}, m{"role": "user", "content": results})
}

func sendAs(t *testing.T, url string, h http.Header, body []byte) (int, []byte) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = h.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, text
}

// summariesOf waits until n summaries have been told of.
func summariesOf(t *testing.T, j *journal.Journal, n int) []journal.WindowSummary {
	t.Helper()
	for began := time.Now(); time.Since(began) < 20*time.Second; runtime.Gosched() {
		if found := events[journal.WindowSummary](j); len(found) >= n {
			return found
		}
	}
	t.Fatal("no summary came")
	return nil
}

func thinkingProvider(t *testing.T) (*scripted.Provider, string) {
	t.Helper()
	commands := make([]string, 100)
	for i := range commands {
		commands[i] = "make"
	}
	provider := scripted.New(scripted.Options{Reasoning: scripted.RuleOf, Script: scripted.Thoughtful(scripted.Shells("done", commands...)), Strict: true, Marked: true})
	upstream := httptest.NewServer(provider)
	t.Cleanup(upstream.Close)
	return provider, upstream.URL
}

// The provider compacts while the conversation goes on, with the client's own key; nobody waits for it, and what it cost is told. Its
// summary takes the place of what was sent, and what was thought since stays valid behind it.
func TestASummaryInTheBackground(t *testing.T) {
	t.Parallel()
	provider, upstream := thinkingProvider(t)
	p, root, j := start(t, upstream, Options{Resolver: windowOf(20_000), Store: memoryStore(t), Summaries: native.Auto})
	c := newThinker(t, root+"/anthropic")
	for range 15 { // the last one is above the line, at 0.7 of 15,000 tokens
		c.turn()
	}
	told := summariesOf(t, j, 1)
	if len(told) != 1 || told[0].Outcome != "written" || told[0].By != "provider" || told[0].SummaryIn < 8000 || told[0].SummaryOut == 0 || told[0].Model != c.model || told[0].Conversation == "" {
		t.Fatalf("%+v", told)
	}
	covered := told[0].Messages
	c.turn()
	if more := events[journal.WindowSummary](j); len(more) != 1 {
		t.Errorf("it is asked for again while one is ready: %+v", more)
	}
	report := journal.NewReporter(journal.Report{})
	for rec := range j.Since(0) {
		report.Observe(rec)
	}
	if got := report.Report().Window.SummaryTokens; got != told[0].SummaryIn+told[0].SummaryOut {
		t.Errorf("the report has %d tokens", got)
	}
	// What waits is found by a request of the conversation.
	tc := &conversation{modelRequest: &modelRequest{p: p, rt: &route{up: p.upstreams["anthropic"]}}, log: p.scope("anthropic\x00" + credential(c.header, "")), name: told[0].Conversation}
	r, ok := p.summaries.Take(tc.key())
	if !ok || r.Covers != covered || len(r.Messages) != 1 {
		t.Fatalf("%v %+v", ok, r)
	}
	before := provider.Stats()
	rule, _ := native.RuleFor(native.Anthropic, wire.Messages, c.model)
	c.root, c.messages = upstream, append([]any{json.RawMessage(r.Messages[0])}, c.messages[covered:]...)
	next, err := wire.Parse(wire.Messages, c.body())
	if err != nil {
		t.Fatal(err)
	}
	h, body, err := rule.Carry(c.header, next)
	if err != nil {
		t.Fatal(err)
	}
	status, text := sendAs(t, upstream+"/v1/messages", h, body)
	if s := provider.Stats(); status != http.StatusOK || s.Refused != before.Refused || s.Dropped != before.Dropped || s.Accepted <= before.Accepted || s.Summaries != 1 {
		t.Errorf("%d %.300s\n%+v", status, text, s)
	}
}

// Where it is not wanted the provider is not asked, and one that has no such thing is asked once.
func TestSummariesThatAreNotWanted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o      Options
		client func(*thinker)
		answer string // of an upstream that does not compact
		asked  int32
	}{
		"extractive":          {o: Options{}},
		"subscription":        {o: Options{Summaries: native.Auto}, client: func(c *thinker) { c.header = http.Header{"Authorization": {"Bearer sk-ant-oat01-x"}} }},
		"subscription, meant": {o: Options{Summaries: native.Provider}, client: func(c *thinker) { c.header = http.Header{"Authorization": {"Bearer sk-ant-oat01-x"}} }, asked: 1},
		"own compaction":      {o: Options{Summaries: native.Provider, OwnCompaction: true}},
		"Claude Code":         {o: Options{Summaries: native.Provider}, client: func(c *thinker) { c.header.Set("User-Agent", "claude-cli/2.1.197 (external, cli)") }},
		"free reasoning":      {o: Options{Summaries: native.Auto}, client: func(c *thinker) { c.model = "claude-opus-4-6" }},
		"observe":             {o: Options{Summaries: native.Auto, Mode: Observe}},
		"refused for good":    {o: Options{Summaries: native.Auto}, answer: `{"type":"error","error":{"type":"invalid_request_error","message":"compaction: Extra inputs are not permitted"}}`, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, upstream := thinkingProvider(t)
			var asked atomic.Int32
			c.o.Resolver, c.o.Store = windowOf(20_000), memoryStore(t)
			c.o.Transport = transportOf(func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte(`"compaction":{"type":"summarize"}`)) {
					asked.Add(1)
					if c.answer != "" {
						return &http.Response{StatusCode: 400, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.answer)), Request: r}, nil
					}
				}
				return http.DefaultTransport.RoundTrip(r)
			})
			_, root, j := start(t, upstream, c.o)
			talker := newThinker(t, root+"/anthropic")
			if c.client != nil {
				c.client(talker)
			}
			for range 16 { // the last two are above the line
				talker.turn()
			}
			if c.asked > 0 {
				told := summariesOf(t, j, 1)
				if want := map[bool]string{true: "refused", false: "written"}[c.answer != ""]; told[0].Outcome != want {
					t.Errorf("%+v", told)
				}
			}
			if asked.Load() != c.asked {
				t.Errorf("asked %d times, want %d", asked.Load(), c.asked)
			}
		})
	}
}

// In a daemon for many, a client that compacts by itself is known by its requests, and has the chance to.
func TestTheDaemonLetsClientsCompactFirst(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]bool{"": true, "claude-cli/2.1.197 (external, cli)": false, "opencode/1.18.33": false} {
		_, upstream := thinkingProvider(t)
		_, root, j := start(t, upstream, Options{Resolver: windowOf(20_000), Store: memoryStore(t)})
		c := newThinker(t, root+"/anthropic")
		if agent != "" {
			c.header.Set("User-Agent", agent)
		}
		for range 18 { // to 0.86 of the room
			c.turn()
		}
		if got := len(events[journal.WindowCompacted](j)) > 0; got != want {
			t.Errorf("%q: room was made: %v", agent, got)
		}
	}
}

type transportOf func(*http.Request) (*http.Response, error)

func (f transportOf) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

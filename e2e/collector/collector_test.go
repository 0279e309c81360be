package collector_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

const patience = time.Minute

// span is a span with what it came with.
type span struct {
	ptrace.Span
	resource map[string]any
}

func (s span) attribute(key string) string {
	if v, ok := s.Attributes().Get(key); ok {
		return v.AsString()
	}
	return ""
}

// receiver is the collector's own OTLP receiver, with HTTP as in the collector's default configuration.
type receiver struct {
	url string

	mu     sync.Mutex
	spans  []span
	all    string       // every text in them
	refuse func() error // what the pipeline behind says; nil takes all
}

func (r *receiver) consume(_ context.Context, traces ptrace.Traces) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		if err := r.refuse(); err != nil {
			return err
		}
	}
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err != nil {
		return err
	}
	r.all += string(text)
	for _, rs := range traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				kept := ptrace.NewSpan()
				s.CopyTo(kept)
				r.spans = append(r.spans, span{kept, rs.Resource().Attributes().AsRaw()})
			}
		}
	}
	return nil
}

func (r *receiver) received() []span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// find waits for the one span of which ok is true.
func (r *receiver) find(t *testing.T, what string, ok func(span) bool) span {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		var found []span
		for _, s := range r.received() {
			if ok(s) {
				found = append(found, s)
			}
		}
		switch {
		case len(found) == 1:
			return found[0]
		case len(found) > 1:
			t.Fatalf("%s: %d spans", what, len(found))
		case time.Now().After(deadline):
			var names []string
			for _, s := range r.received() {
				names = append(names, s.Name())
			}
			t.Fatalf("%s did not come; there are %q", what, names)
		}
	}
}

func collect(t *testing.T) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	protocols := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": address}}})
	if err := protocols.Unmarshal(config); err != nil {
		t.Fatal(err)
	}
	r := &receiver{url: "http://" + address}
	next, err := consumer.NewTraces(r.consume)
	if err != nil {
		t.Fatal(err)
	}
	running, err := factory.CreateTraces(t.Context(), receivertest.NewNopSettings(factory.Type()), config, next)
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// world is a home with a configuration, in which plimsoll is started.
type world struct {
	t       *testing.T
	home    string
	environ []string
}

func newWorld(t *testing.T, otlp string) *world {
	t.Helper()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if bytes.Contains(body, []byte("no-such-model")) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"message":"there is no such model","type":"invalid_request_error","param":null,"code":null}}`)
			return
		}
		_, _ = io.WriteString(w, `{"id":"c1","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"the words of a secret answer"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1234,"completion_tokens":56,"total_tokens":1290,"prompt_tokens_details":{"cached_tokens":1000}}}`)
	}))
	t.Cleanup(model.Close)
	w := &world{t: t, home: t.TempDir()}
	config := fmt.Sprintf("[window]\nproxy = \"on\"\n[upstream]\nopenai = %q\n[mcp.servers.things]\ncommand = [%q]\n[watch]\notlp = %q\n", model.URL+"/v1", server, otlp)
	if err := os.WriteFile(filepath.Join(w.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	w.environ = []string{
		"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "PLIMSOLL_STATE_DIR=" + filepath.Join(w.home, "state"), "PLIMSOLL_CONFIG=" + filepath.Join(w.home, "config.toml"),
		// An agent's own telemetry, which has nothing to do with ours.
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_TRACES_EXPORTER=otlp",
		"COLLECTOR_TEST_SERVER=" + server, "COLLECTOR_TEST_PLIMSOLL=" + plimsoll,
	}
	return w
}

// start runs a plimsoll that listens, until stop or the end of the test. base is the first address that it prints.
func (w *world) start(args ...string) (base string, stop func()) {
	w.t.Helper()
	ready := filepath.Join(w.home, "ready-"+args[0])
	said, err := os.Create(filepath.Join(w.home, "said-"+args[0]))
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(plimsoll, append(args, "--listen", "127.0.0.1:0")...)
	if args[0] == "serve" {
		cmd.Args = append(cmd.Args, "--ready-file", ready)
	} else {
		ready = said.Name()
	}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.home, w.environ, said, said
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	_ = said.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			select {
			case err := <-ended:
				if err != nil {
					text, _ := os.ReadFile(said.Name())
					w.t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, text)
				}
			case <-time.After(patience):
				_ = cmd.Process.Kill()
				w.t.Errorf("%s did not end", strings.Join(args, " "))
			}
		})
	}
	w.t.Cleanup(stop)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if text, err := os.ReadFile(ready); err == nil && bytes.HasPrefix(text, []byte("http")) && bytes.Contains(text, []byte("\n")) {
			first, _, _ := strings.Cut(string(text), "\n")
			return first, stop
		}
	}
	text, _ := os.ReadFile(said.Name())
	w.t.Fatalf("%s was not ready:\n%s", strings.Join(args, " "), text)
	return "", stop
}

// run runs this test's own binary as an agent under plimsoll, and gives what it printed.
func (w *world) run(what string) []byte {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(plimsoll, "run", "--", self, "--password", "the words of a secret argument")
	cmd.Dir, cmd.Env = w.home, append(slices.Clone(w.environ), "COLLECTOR_TEST_AGENT="+what, "OPENAI_API_KEY=sk-test-0123456789abcdef")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("plimsoll run: %v\n%s", err, stderr.Bytes())
	}
	return out
}

// post sends a message of MCP and returns the answer's session and text.
func post(t *testing.T, url, session, message string) (string, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode > 299 {
		t.Fatalf("%s: %d %s, %v", message, res.StatusCode, text, err)
	}
	return res.Header.Get("Mcp-Session-Id"), string(text)
}

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// A run of an agent with a request to a model and a call of a tool, and the same through the daemon: spans as the collector reads them.
func TestCollector(t *testing.T) {
	r := collect(t)
	w := newWorld(t, r.url)
	w.run("tools") // nobody sends yet: a run waits for nothing
	base, stop := w.start("serve")
	if _, err := ask(base+"/openai/v1", "gpt-4o-mini"); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(base+"/openai/v1", "no-such-model"); err != nil {
		t.Fatal(err)
	}
	session, _ := post(t, base+"/mcp/things", "", initialize)
	post(t, base+"/mcp/things", session, initialized)
	post(t, base+"/mcp/things", session, call(2, "structured", parent))
	// What the server is told is what the client has sent, its own traceparent included.
	if _, said := post(t, base+"/mcp/things", session, call(3, "params", parent)); !strings.Contains(said, parent) || !strings.Contains(said, "secret argument") {
		t.Errorf("the server has received %s", said)
	}
	post(t, base+"/mcp/things", session, call(4, "error", ""))

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Base(self)
	run := r.find(t, "the run", func(s span) bool { return strings.HasPrefix(s.Name(), "invoke_agent ") })
	chat := r.find(t, "its request to a model", func(s span) bool { return s.Name() == "chat gpt-4o" })
	echo := r.find(t, "its call of a tool", func(s span) bool { return s.Name() == "tools/call echo" })
	daemonChat := r.find(t, "a request through the daemon", func(s span) bool { return s.Name() == "chat gpt-4o-mini" })
	missing := r.find(t, "a failed request", func(s span) bool { return s.Name() == "chat no-such-model" })
	structured := r.find(t, "a call with a parent", func(s span) bool { return s.Name() == "tools/call structured" })
	failed := r.find(t, "a failed call", func(s span) bool { return s.Name() == "tools/call error" })

	if !run.ParentSpanID().IsEmpty() || run.Kind() != ptrace.SpanKindInternal {
		t.Errorf("the run has the parent %s and is a %s", run.ParentSpanID(), run.Kind())
	}
	for _, s := range []span{chat, echo} {
		if s.TraceID() != run.TraceID() || s.ParentSpanID() != run.SpanID() {
			t.Errorf("%s is in trace %s below %s, the run is %s in %s", s.Name(), s.TraceID(), s.ParentSpanID(), run.SpanID(), run.TraceID())
		}
		if s.StartTimestamp() < run.StartTimestamp() || s.EndTimestamp() > run.EndTimestamp() || s.StartTimestamp() > s.EndTimestamp() {
			t.Errorf("%s from %v to %v is outside of the run, %v to %v", s.Name(), s.StartTimestamp(), s.EndTimestamp(), run.StartTimestamp(), run.EndTimestamp())
		}
	}
	for _, s := range []span{daemonChat, missing, failed} {
		if !s.ParentSpanID().IsEmpty() || s.TraceID() == run.TraceID() || s.TraceID().IsEmpty() {
			t.Errorf("%s is in trace %s below %s", s.Name(), s.TraceID(), s.ParentSpanID())
		}
	}
	if structured.TraceID().String() != parent[3:35] || structured.ParentSpanID().String() != parent[36:52] {
		t.Errorf("the call with a parent is in trace %s below %s", structured.TraceID(), structured.ParentSpanID())
	}
	for _, want := range []struct {
		s          span
		key, value string
	}{
		{run, "gen_ai.operation.name", "invoke_agent"},
		{run, "gen_ai.agent.name", strings.TrimPrefix(run.Name(), "invoke_agent ")},
		{run, "gen_ai.request.model", "gpt-4o"},
		{run, "gen_ai.usage.input_tokens", "1234"},
		{run, "plimsoll.outcome", "ok"},
		{run, "process.exit.code", "0"},
		{run, "plimsoll.mcp.calls", "1"},
		{chat, "gen_ai.operation.name", "chat"},
		{chat, "gen_ai.provider.name", "openai"},
		{chat, "gen_ai.request.model", "gpt-4o"},
		{chat, "gen_ai.usage.input_tokens", "1234"},
		{chat, "gen_ai.usage.output_tokens", "56"},
		{chat, "gen_ai.usage.cache_read.input_tokens", "1000"},
		{chat, "http.response.status_code", "200"},
		{chat, "plimsoll.window.limit_tokens", "128000"},
		{echo, "gen_ai.tool.name", "echo"},
		{echo, "plimsoll.mcp.server", "things"},
		{echo, "mcp.protocol.version", "2025-11-25"},
		{missing, "error.type", "404"},
		{failed, "error.type", "tool_error"},
		{structured, "gen_ai.operation.name", "execute_tool"},
		{structured, "mcp.method.name", "tools/call"},
		{structured, "plimsoll.mcp.server", "things"},
		{structured, "error.type", ""},
	} {
		if v := want.s.attribute(want.key); v != want.value {
			t.Errorf("%s: %s is %q, want %q", want.s.Name(), want.key, v, want.value)
		}
	}
	if run.attribute("plimsoll.memory.peak_bytes") == "" || !strings.HasPrefix(tool, strings.TrimPrefix(run.Name(), "invoke_agent ")) {
		t.Errorf("%s of %s: %v", run.Name(), tool, run.Attributes().AsRaw())
	}
	if chat.Kind() != ptrace.SpanKindClient || missing.Status().Code() != ptrace.StatusCodeError || chat.Status().Code() != ptrace.StatusCodeUnset || chat.resource["service.name"] != "plimsoll" {
		t.Errorf("kind %s, status %s and %s, resource %v", chat.Kind(), missing.Status().Code(), chat.Status().Code(), chat.resource)
	}
	stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.Contains(r.all, "secret") || strings.Contains(r.all, "sk-test") || strings.Contains(r.all, w.home) {
		t.Errorf("words, keys or paths were sent: %s", r.all)
	}
	seen := map[string]bool{}
	for _, s := range r.spans {
		if id := s.TraceID().String() + s.SpanID().String(); seen[id] {
			t.Errorf("%s came twice", s.Name())
		} else {
			seen[id] = true
		}
	}
}

// A collector whose pipeline is full answers 503: what it did not take comes again, and from `plimsoll watch` as from serve. Agents
// get the same bytes whether it answers or hangs.
func TestCollectorUnderPressure(t *testing.T) {
	r := collect(t)
	refusals := 0
	r.refuse = func() error {
		if refusals++; refusals <= 2 {
			return errors.New("the queue is full")
		}
		return nil
	}
	w := newWorld(t, r.url)
	_, stop := w.start("watch")
	with := w.run("ask")
	r.find(t, "the run", func(s span) bool { return strings.HasPrefix(s.Name(), "invoke_agent ") })
	r.find(t, "its request", func(s span) bool { return s.Name() == "chat gpt-4o" })
	stop()
	if refusals < 3 {
		t.Errorf("the collector was asked %d times", refusals)
	}

	hang, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer hang.Close()
	for name, otlp := range map[string]string{"hangs": "http://" + hang.Addr().String(), "off": ""} {
		w := newWorld(t, otlp)
		base, stop := w.start("serve")
		if out := w.run("ask"); !bytes.Equal(out, with) {
			t.Errorf("%s: the run has received %s, and else %s", name, out, with)
		}
		if out, err := ask(base+"/openai/v1", "gpt-4o"); err != nil || !bytes.Equal(out, with) {
			t.Errorf("%s: through serve came %s, %v, and else %s", name, out, err, with)
		}
		stop()
		if _, err := os.Stat(filepath.Join(w.home, "state", "traces")); (err == nil) != (otlp != "") {
			t.Errorf("%s: the sender's folder: %v", name, err)
		}
	}
}

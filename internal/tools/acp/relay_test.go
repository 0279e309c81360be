package acp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/tools/acp"
)

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}` + "\n"

// output takes what a relay writes.
type output struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(p)
}

func (o *output) Close() error { return nil }

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.String()
}

// conversation is a relay between a test that plays the editor and one that plays the agent.
type conversation struct {
	*acp.Relay
	t        *testing.T
	editor   *io.PipeWriter
	agent    *io.PipeWriter
	toAgent  output
	toEditor output
}

func newConversation(t *testing.T, gateway acp.Gateway) *conversation {
	t.Helper()
	c := &conversation{t: t}
	var in, out *io.PipeReader
	in, c.editor = io.Pipe()
	out, c.agent = io.Pipe()
	c.Relay = acp.New(acp.Options{In: in, Out: &c.toEditor, Gateway: gateway})
	c.Connect(&c.toAgent, out)
	t.Cleanup(func() {
		_ = c.editor.Close()
		_ = c.agent.Close()
		<-c.Passed()
	})
	return c
}

// says writes and waits until it has passed.
func (c *conversation) says(w *io.PipeWriter, text string) {
	c.t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		c.t.Fatal(err)
	}
	to := &c.toAgent
	if w == c.agent {
		to = &c.toEditor
	}
	last := text[strings.LastIndex(text[:len(text)-1], "\n")+1:]
	wait.Until(c.t, fmt.Sprintf("%q passes", text), func() bool { return strings.HasSuffix(to.text(), last) }, to.text)
}

func TestSessionsAndOpenRequests(t *testing.T) {
	c := newConversation(t, nil)
	c.says(c.editor, initialize)
	c.says(c.agent, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`+"\r\n")
	c.says(c.editor, `{"jsonrpc":"2.0","id":"a","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`+"\n")
	c.says(c.agent, `{"jsonrpc":"2.0","id":"a","result":{"sessionId":"s1"}}`+"\n\n")
	c.says(c.editor, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`+"\n")
	c.says(c.agent, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"usage_update","used":53000,"size":200000}}}`+"\n")
	c.says(c.agent, `{"jsonrpc":"2.0","id":2,"method":"fs/read_text_file","params":{"sessionId":"s1","path":"/x"}}`+"\n")
	c.says(c.editor, `{"jsonrpc":"2.0","id":2,"result":{"content":""}}`+"\n")
	s := c.State()
	if !s.Confirmed || s.Opened != 1 || s.Requests != 3 || s.Open != 1 || s.Missed != 0 || s.LongestLine != 141 || len(s.Sessions) != 1 {
		t.Errorf("%+v", s)
	}
	if one := s.Sessions[0]; one.ID != "s1" || one.Folder != "/w" || one.Used != 53000 || one.Size != 200000 || one.Active.Before(one.Began) {
		t.Errorf("%+v", one)
	}
	c.says(c.editor, `{"jsonrpc":"2.0","id":3,"method":"session/close","params":{"sessionId":"s1"}}`+"\n")
	c.says(c.agent, `{"jsonrpc":"2.0","id":3,"result":{}}`+"\n")
	if s := c.State(); len(s.Sessions) != 0 || s.Open != 1 {
		t.Errorf("%+v", s)
	}
}

// What is open when the agent is gone gets an answer, behind the line in which it died.
func TestFailAnswersWhatIsOpen(t *testing.T) {
	c := newConversation(t, nil)
	c.says(c.editor, initialize)
	c.says(c.agent, `{"jsonrpc":"2.0","id":0,"result":{}}`+"\n")
	c.says(c.editor, `{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s"}}`+"\n")
	before := c.toEditor.text()
	if _, err := io.WriteString(c.agent, `{"jsonrpc":"2.0","id":"p","resu`); err != nil {
		t.Fatal(err)
	}
	_ = c.agent.Close()
	<-c.Passed()
	if n := c.Fail("claude ran out of memory", acp.Failure{Reason: "oom", Limit: 1 << 30, Peak: 1<<30 - 1, Killed: []string{"python3"}}); n != 1 {
		t.Errorf("%d requests were answered, want 1", n)
	}
	rest := strings.TrimPrefix(c.toEditor.text(), before)
	want := `{"jsonrpc":"2.0","id":"p","resu` + "\n" +
		`{"jsonrpc":"2.0","id":"p","error":{"code":-32603,"message":"claude ran out of memory","data":{"reason":"oom","limit":1073741824,"peak":1073741823,"killed":["python3"]}}}` + "\n"
	if rest != want {
		t.Errorf("the editor got\n%s, want\n%s", rest, want)
	}
	if n := c.Fail("again", acp.Failure{}); n != 0 {
		t.Errorf("%d requests were answered twice", n)
	}
}

// A request that waits for an agent which never starts is answered too.
func TestFailBeforeConnect(t *testing.T) {
	var out output
	in, editor := io.Pipe()
	r := acp.New(acp.Options{In: in, Out: &out})
	go func() { _, _ = io.WriteString(editor, initialize) }()
	<-r.Asked()
	wait.Until(t, "the request is open", func() bool { return r.State().Open > 0 })
	if n := r.Fail("no room", acp.Failure{Reason: "refused"}); n != 1 {
		t.Errorf("%d requests were answered, want 1", n)
	}
	if got, want := out.text(), `{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"no room","data":{"reason":"refused","limit":0,"peak":0,"killed":[]}}}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func gateway(name, command string, args []string) (string, []string) {
	if command == "/opt/plimsoll" {
		return "", nil
	}
	return "/opt/plimsoll", []string{"mcp", "--name", name, "--"}
}

func TestServersGoBehindTheGateway(t *testing.T) {
	for before, after := range map[string]string{
		`{"name":"big","command":"node","args":["big.mjs"],"env":[]}`:              `{"name":"big","command":"/opt/plimsoll","args":["mcp","--name","big","--","node","big.mjs"],"env":[]}`,
		`{ "args" : [ ] , "command" : "\u006eode", "name":"big"}`:                  `{ "args" : ["mcp","--name","big","--","\u006eode" ] , "command" : "/opt/plimsoll", "name":"big"}`,
		`{"name":"big","command":"node"}`:                                          `{"name":"big","command":"/opt/plimsoll","args":["mcp","--name","big","--","node"]}`,
		`{"type":"http","name":"h","url":"http://x","headers":[]}`:                 `{"type":"http","name":"h","url":"http://x","headers":[]}`,
		`{"name":"p","command":"/opt/plimsoll","args":["mcp","--","x"]}`:           `{"name":"p","command":"/opt/plimsoll","args":["mcp","--","x"]}`,
		`{"name":"two","command":"a","command":"b","args":[]}`:                     `{"name":"two","command":"a","command":"b","args":[]}`,
		`{"name":"a","command":"a","args":["x"]},{"name":"b","command":"b","x":1}`: `{"name":"a","command":"/opt/plimsoll","args":["mcp","--name","a","--","a","x"]},{"name":"b","command":"/opt/plimsoll","args":["mcp","--name","b","--","b"],"x":1}`,
	} {
		for _, method := range []string{"session/new", "session/load", "session/resume"} {
			c := newConversation(t, gateway)
			c.says(c.editor, initialize)
			line := func(servers string) string {
				return `{"id":1.0,"jsonrpc":"2.0","params":{"cwd":"/w","mcpServers":[` + servers + `],"n":1e2},"method":"` + method + "\"}\r\n"
			}
			_, _ = io.WriteString(c.editor, line(before))
			_ = c.editor.Close()
			wait.Until(t, "the line passes", func() bool { return strings.HasSuffix(c.toAgent.text(), "\r\n") }, c.toAgent.text)
			if got, want := strings.TrimPrefix(c.toAgent.text(), initialize), line(after); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
	}
}

// Nothing of a stream that is not the protocol is looked at.
func TestOtherStreamsPass(t *testing.T) {
	for _, first := range []string{"hello\n", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}` + "\n", "\n", "no line break"} {
		c := newConversation(t, gateway)
		text := first + `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"mcpServers":[{"command":"x"}]}}`
		_, _ = io.WriteString(c.editor, text)
		_ = c.editor.Close()
		wait.Until(t, "the text passes", func() bool { return c.toAgent.text() == text }, c.toAgent.text)
		if s := c.State(); s.Confirmed || s.Open != 0 || c.Fail("x", acp.Failure{}) != 0 {
			t.Errorf("%q: %+v", first, s)
		}
	}
}

// A line of 64 MiB passes without being held, and its id is found at its end.
func TestLongLinesAreNotHeld(t *testing.T) {
	const size = 64 << 20
	in, editor := io.Pipe()
	out, agent := io.Pipe()
	sink := &counter{}
	r := acp.New(acp.Options{In: in, Out: sink})
	r.Connect(&output{}, out)
	_, _ = io.WriteString(editor, initialize)
	<-r.Asked()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	_, _ = io.WriteString(agent, `{"jsonrpc":"2.0","result":{"text":"`)
	chunk := bytes.Repeat([]byte("row 12345 \\\" lorem\\n "), 3000)
	for n := 0; n < size; n += len(chunk) {
		_, _ = agent.Write(chunk)
	}
	_, _ = io.WriteString(agent, `"},"id":0}`+"\n")
	_ = agent.Close()
	<-r.Passed()
	runtime.ReadMemStats(&after)
	t.Logf("64 MiB in %v, %d bytes allocated", time.Since(began), after.TotalAlloc-before.TotalAlloc)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d bytes were allocated for one line", grown)
	}
	if s := r.State(); s.Open != 0 || s.LongestLine < size || s.LongestLine != sink.n {
		t.Errorf("%+v of %d bytes", s, sink.n)
	}
	_ = editor.Close()
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

func TestTablesAreBounded(t *testing.T) {
	c := newConversation(t, nil)
	c.says(c.editor, initialize)
	c.says(c.agent, `{"jsonrpc":"2.0","id":0,"result":{}}`+"\n")
	for i := range 200 {
		c.says(c.editor, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/new","params":{"cwd":"/w"}}`+"\n", i+1))
		c.says(c.agent, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"sessionId":"s%d"}}`+"\n", i+1, i))
	}
	for i := range 300 {
		c.says(c.editor, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"s1"}}`+"\n", i+1000))
	}
	if s := c.State(); s.Opened != 200 || s.Most != 128 || len(s.Sessions) != 128 || s.Sessions[127].ID != "s199" || s.Open != 256 || s.Missed != 72+44 {
		t.Errorf("opened %d, sessions %d, open %d, missed %d", s.Opened, len(s.Sessions), s.Open, s.Missed)
	}
}

func TestSpoken(t *testing.T) {
	for words, want := range map[string]bool{
		"opencode acp": true, "gemini --acp -m x": true, "qwen --experimental-acp": true, "npx -y @agentclientprotocol/claude-agent-acp@0.49.0": true,
		"node /x/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js": true, "/usr/bin/codex-acp": true, `C:\bin\codex-acp.cmd`: true, "pi-acp.js": true,
		"claude -p": false, "acp": false, "python agent.py": false, "claude -p -acp": false, "echo x-acpx": false,
	} {
		if got := acp.Spoken(strings.Fields(words)); got != want {
			t.Errorf("%q: %v", words, got)
		}
	}
}

// Whatever comes, in pieces of any size, both sides get what was sent, but for commands of servers.
func FuzzRelay(f *testing.F) {
	f.Add([]byte(initialize+`{"id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[{"name":"x","command":"y","args":["z"]}]}}`+"\n"), []byte(`{"id":1,"result":{"sessionId":"s"}}`+"\n"), false)
	f.Add([]byte(initialize+`{"id":"2","method":"session/load","params":{"sessionId":"s","mcpServers":[{"args":[],"command":"y"}, {"url":1}]}}`+"\r\n\n{"), []byte("\n\n{]\n"+`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":1}}}`), true)
	f.Fuzz(func(t *testing.T, sent, said []byte, byBytes bool) {
		var in, from io.Reader = bytes.NewReader(sent), bytes.NewReader(said)
		if byBytes {
			in, from = iotest.OneByteReader(in), iotest.OneByteReader(from)
		}
		var toEditor output
		toAgent := &closing{done: make(chan struct{})}
		r := acp.New(acp.Options{In: in, Out: &toEditor, Gateway: gateway})
		r.Connect(toAgent, from)
		<-r.Passed()
		<-toAgent.done
		if got := toEditor.text(); got != string(said) {
			t.Fatalf("the editor got %q, want %q", got, said)
		}
		if got := toAgent.text(); got != string(sent) {
			sameButServers(t, sent, []byte(got), r.State().Wrapped)
		}
		open := r.State().Open
		if n := r.Fail("x", acp.Failure{}); n != open {
			t.Fatalf("%d of %d were answered", n, open)
		}
		for line := range strings.Lines(strings.TrimPrefix(toEditor.text(), string(said))) {
			if text := strings.TrimSpace(line); text != "" && !json.Valid([]byte(text)) {
				t.Fatalf("the editor is answered %q", line)
			}
		}
	})
}

type closing struct {
	output
	done chan struct{}
}

func (c *closing) Close() error { close(c.done); return nil }

// sameButServers holds lines with changes to what may change: with the gateway's words gone they say the same.
func sameButServers(t *testing.T, sent, got []byte, wrapped int64) {
	t.Helper()
	was, is := bytes.SplitAfter(sent, []byte{'\n'}), bytes.SplitAfter(got, []byte{'\n'})
	if len(was) != len(is) || wrapped == 0 {
		t.Fatalf("%d servers, %d lines became %d: %q", wrapped, len(was), len(is), got)
	}
	for i := range was {
		if bytes.Equal(was[i], is[i]) {
			continue
		}
		var a, b map[string]any
		if json.Unmarshal(was[i], &a) != nil {
			continue // the relay is not held to more than the brackets of what it passes
		}
		if err := json.Unmarshal(is[i], &b); err != nil {
			t.Fatalf("%q became %q: %v", was[i], is[i], err)
		}
		for _, m := range []map[string]any{a, b} {
			if p, ok := m["params"].(map[string]any); ok {
				delete(p, "mcpServers")
			}
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%q became %q", was[i], is[i])
		}
	}
}

// A run may be refused before the editor has written its first line.
func TestFailWaitsForTheFirstRequest(t *testing.T) {
	in, editor := io.Pipe()
	var out bytes.Buffer
	r := acp.New(acp.Options{In: in, Out: &out})
	go func() {
		time.Sleep(50 * time.Millisecond)
		_, _ = io.WriteString(editor, `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}`+"\n")
	}()
	if n := r.Fail("not admitted", acp.Failure{Reason: "refused"}); n != 1 || !strings.Contains(out.String(), `"id":7`) {
		t.Errorf("%d answers: %q", n, out.String())
	}
}

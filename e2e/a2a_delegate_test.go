//go:build linux || darwin

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// pythonVariable names a Python that has A2A's official SDK: pip install 'a2a-sdk[http-server]' uvicorn.
const pythonVariable = "PLIMSOLL_A2A_PYTHON"

// another writes the configuration of a client of the agent at url, and connects through `plimsoll mcp`.
func (w *world) another(url, more string) *mcp.ClientSession {
	w.t.Helper()
	write(w.t, fmt.Sprintf("[a2a.helper]\nurl = %q\n%s", url, more), w.state, "config.toml")
	return w.connect(w.stdio(plimsoll, "mcp", "--server", "helper"))
}

// toldBy is the text of a result of a tool.
func toldBy(w *world, s *mcp.ClientSession, tool, message string) (text string, failed bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	params := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"message": message}}
	params.SetProgressToken("token") // who asks for progress is not timed out while there is some
	r, err := s.CallTool(ctx, params)
	if err != nil { // a time-out
		return err.Error(), true
	}
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	return text, r.IsError
}

// Another agent of ours is a tool: for clients of MCP, and for an agent of ours.
func TestAnAgentIsATool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.variables = append(w.variables, simulated)
	url, _ := w.agentServer("argocd")
	s := w.another(url+"/a2a/argocd", "[agents.boss]\nmodel = \"standin\"\nservers = [\"helper\"]\n")
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) < 2 || tools.Tools[0].Name != "helper__details" || tools.Tools[1].Name != "helper__search" {
		t.Fatalf("%+v, %v", tools, err)
	}
	if text, failed := toldBy(w, s, "helper__search", "How many applications are degraded?"); failed || !strings.Contains(text, "application") {
		t.Errorf("%v: %s", failed, text)
	}
	r := w.run(nil, plimsoll, "ask", "--agent", "boss", "helper__search: how many applications are degraded?")
	if r.status != 0 || !strings.Contains(r.stdout, "helper__search answered") {
		t.Errorf("%d: %s%s", r.status, r.stdout, r.stderr)
	}
}

// pythonAgent starts the agent of mcp/a2a_agent.py.
func (w *world) pythonAgent() (url string, process *exec.Cmd, said func() string) {
	w.t.Helper()
	python := os.Getenv(pythonVariable)
	if python == "" {
		w.t.Skipf("%s does not name a Python with A2A's SDK (pip install 'a2a-sdk[http-server]' uvicorn): its agent is not asked", pythonVariable)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	file, err := filepath.Abs(filepath.Join("mcp", "a2a_agent.py"))
	if err != nil {
		w.t.Fatal(err)
	}
	process = exec.Command(python, file, fmt.Sprint(port))
	out := &lockedText{}
	process.Stdout, process.Stderr, process.Env, process.Dir = out, out, w.environment(), w.work
	if err := process.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	url = fmt.Sprintf("http://127.0.0.1:%d", port)
	wait.Within(w.t, patience, "the Python agent starts", func() bool {
		resp, err := http.Get(url + "/.well-known/agent-card.json")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	}, out.String)
	return url, process, out.String
}

type lockedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// An agent on the official Python SDK: answers, sessions, large artifacts, questions, failures, time-outs, and one that is killed.
func TestAnAgentOfThePythonSDKIsATool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, process, said := w.pythonAgent()
	s := w.another(url, "timeout = \"2s\"\n")
	for _, c := range []struct {
		message, want string
		failed        bool
	}{
		{"one", "one", false},
		{"two", "one and two", false}, // the context id is kept
		{"data", `{"hulls":2}`, false},
		{"slow", "28;29;", false}, // longer than the time-out, but it is working
		{"large", `"handle":"r_`, false},
		{"pick", "helper waits for an answer: Which of the two?", false},
		{"the first", "and pick and the first", false}, // goes on with the task
		{"fail", "ended as failed: the book is lost", true},
		{"raise", "ended as failed", true},
		{"hang", "no answer and no progress for 2s", true},
	} {
		text, failed := toldBy(w, s, "helper__read", c.message)
		if failed != c.failed || !strings.Contains(text, c.want) {
			t.Errorf("%s: %v: %s", c.message, failed, clip(text))
		}
	}
	wait.Until(t, "the task that timed out is cancelled", func() bool { return strings.Contains(said(), "cancelled") }, said)
	time.AfterFunc(time.Second, func() { _ = process.Process.Kill() })
	if text, failed := toldBy(w, s, "helper__read", "slow"); !failed {
		t.Errorf("a killed agent answers: %s", text)
	}
}

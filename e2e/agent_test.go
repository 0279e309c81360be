//go:build linux || darwin

package e2e

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
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
)

// Plimsoll's own agent through the command itself: the demo, ask, and agents over A2A.

// The demo checks itself: what it says of every scene it has seen. Without a key, a network or
// anything set up, and nothing stays behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   []string
		scenes string
		killed bool // a child of the agent, under its own name
	}{
		"any agent": {nil, "build history flood spend report", true},
		"argocd":    {[]string{"argocd"}, "list search page orphan loop disconnect report", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			temp := filepath.Join(w.home, "tmp")
			if err := os.Mkdir(temp, 0o700); err != nil {
				t.Fatal(err)
			}
			args := append(append([]string{plimsoll, "demo"}, c.args...), "--no-dashboard", "--json")
			r := w.run(func(c *exec.Cmd) { c.Env = append(c.Env, "TMPDIR="+temp) }, args...)
			if r.status != 0 {
				t.Fatalf("status %d: %s%s", r.status, r.stdout, r.stderr)
			}
			var scenes []string
			for line := range strings.Lines(r.stdout) {
				var s struct {
					Scene, Question, Outcome, Note string
					OK                             bool
					Run                            struct {
						Outcome string
						Tool    string
						Killed  []struct{ Name string } `json:"killed_children"`
						MCP     struct{ Spilled int }
						Window  struct{ Requests int }
					}
				}
				if err := json.Unmarshal([]byte(line), &s); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				scenes = append(scenes, s.Scene)
				if !s.OK {
					t.Errorf("%s: %s", s.Scene, s.Note)
				}
				if s.Scene != "report" {
					continue
				}
				if s.Run.Outcome != "ok" || s.Run.Tool != "demo-agent" || s.Run.Window.Requests < 10 {
					t.Errorf("the report of the run: %s", line)
				}
				if c.killed && (s.Run.MCP.Spilled == 0 || len(s.Run.Killed) != 1 || s.Run.Killed[0].Name != "build") {
					t.Errorf("the report names no build that was killed: %s", line)
				}
			}
			if got := strings.Join(scenes, " "); got != c.scenes {
				t.Errorf("scenes: %s", got)
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("left in the temporary directory: %v", left)
			}
			if _, err := os.Stat(w.state); err == nil {
				t.Error("the demo wrote into the user's state directory")
			}
			w.nothingLeft()
		})
	}
}

// TestTheDemoEndsWithItsReader: when nobody reads on, as in `plimsoll demo | head`, it ends what it has started and leaves nothing.
func TestTheDemoEndsWithItsReader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	temp := filepath.Join(w.home, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(plimsoll, "demo", "--no-questions")
	cmd.Dir, cmd.Env = w.work, append(w.environment(), "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "plimsoll demo:") {
		t.Errorf("it begins with %q, %v", line, err)
	}
	out.Close()
	_ = cmd.Wait()
	if got := status(cmd.ProcessState); got != 128+int(syscall.SIGPIPE) {
		t.Errorf("it ends with status %d", got)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("the demo leaves %v, %v", left, err)
	}
	w.nothingLeft()
}

func TestAskEndsAsItShould(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		name           string
		args, env      []string
		status         int
		stdout, stderr string
	}{
		{"an answer", []string{"--model", "standin", "list all applications"}, []string{simulated}, 0, "PAGE 1 of 819 items (41 pages)", "it goes by keywords"},
		{"a search", []string{"--model", "standin", "search", "for", "prod"}, []string{simulated}, 0, "matches for", ""},
		{"steps used up", []string{"--model", "standin", "--max-steps", "1", "list all applications"}, []string{simulated}, 0, "stand-in", "step-limit"},
		{"no model", []string{"hello"}, nil, 125, "", "--model standin"},
		{"no question", []string{"--model", "standin"}, nil, 125, "", "there is no question"},
		{"no such agent", []string{"--agent", "nobody", "hello"}, nil, 125, "", "there are: argocd"},
		{"no such session", []string{"--model", "standin", "--session", "never", "--continue", "hello"}, []string{simulated}, 125, "", "--continue"},
		{"continue what", []string{"--continue", "hello"}, nil, 125, "", "--session"},
		{"model down", []string{"hello"}, []string{simulated, "OPENAI_API_KEY=sk-secret-1", "OPENAI_BASE_URL=http://127.0.0.1:1/v1"}, 1, "", "model-error"},
		{"no Argo CD", []string{"--agent", "argocd", "--model", "standin", "hello"}, nil, 125, "", "PLIMSOLL_MCP_ARGOCD_SIMULATOR=on"},
		{"no agent at all", []string{"--model", "standin", "hello"}, nil, 0, "standin-planner", "assistant is asked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			argv := append([]string{plimsoll, "ask"}, c.args...)
			r := w.run(func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, c.env...) }, argv...)
			if r.status != c.status || !strings.Contains(r.stdout, c.stdout) || !strings.Contains(r.stderr, c.stderr) {
				t.Errorf("status %d, want %d\nstdout: %s\nstderr: %s", r.status, c.status, clip(r.stdout), clip(r.stderr))
			}
			if strings.Contains(r.stdout+r.stderr, "sk-secret-1") {
				t.Error("the key is shown")
			}
		})
	}
	w.nothingLeft()
}

// A wrong key, HTML in the place of an API, and a provider that is always busy.
func TestAskSaysWhatIsWrongWithTheModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.variables = append(w.variables, simulated)
	for _, c := range []struct {
		name    string
		answer  http.HandlerFunc
		says    string
		retried bool
	}{
		{"key", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(rw, `{"error":{"message":"Incorrect API key provided: sk-secret-2","type":"invalid_request_error","code":"invalid_api_key"}}`)
		}, "key", false},
		{"html", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprint(rw, "<html><body>Log in</body></html>")
		}, "address", false},
		{"nothing", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
		}, "model-error", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			asked := 0
			provider := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked++
				mu.Unlock()
				c.answer(rw, r)
			}))
			defer provider.Close()
			r := w.run(func(cmd *exec.Cmd) {
				cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-secret-2", "OPENAI_BASE_URL="+provider.URL+"/v1")
			}, plimsoll, "ask", "hello")
			if r.status != 1 || !strings.Contains(r.stderr, "model-error") || !strings.Contains(strings.ToLower(r.stderr), c.says) || strings.Contains(r.stdout+r.stderr, "sk-secret-2") {
				t.Errorf("status %d\nstdout: %s\nstderr: %s", r.status, clip(r.stdout), clip(r.stderr))
			}
			if (asked > 1) != c.retried {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

// A conversation is kept, found again by another process, and gone on with.
func TestAskKeepsTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.variables = append(w.variables, simulated)
	ask := func(question string) (report struct {
		Outcome, Answer string
		Steps           int
		Standin         bool
		ToolCalls       []struct{ Name, Arguments string } `json:"tool_calls"`
	},
	) {
		t.Helper()
		r := w.run(nil, plimsoll, "ask", "--model", "standin", "--session", "morning", "--json", question)
		if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.status != 0 {
			t.Fatalf("status %d, %v: %s%s", r.status, err, clip(r.stdout), clip(r.stderr))
		}
		return report
	}
	if first := ask("list all applications"); !first.Standin || !strings.Contains(first.Answer, "PAGE 1 of 819 items (41 pages)") || len(first.ToolCalls) != 1 {
		t.Errorf("first: %+v", first)
	}
	if second := ask("next page"); !strings.Contains(second.Answer, "PAGE 2 of 819 items (41 pages)") {
		t.Errorf("second: %+v", second)
	}
}

// agentServer starts agents and returns the base URL and the process.
func (w *world) agentServer(flags ...string) (string, *exec.Cmd) {
	w.t.Helper()
	ready := filepath.Join(w.t.TempDir(), "ready")
	cmd := w.background(append([]string{plimsoll, "agent", "serve", "--model", "standin", "--listen", "127.0.0.1:0", "--ready-file", ready}, flags...)...)
	url := ""
	w.until("the agent is ready", func() bool {
		text, err := os.ReadFile(ready)
		url = strings.TrimSpace(string(text))
		return err == nil && url != ""
	})
	return url, cmd
}

// sent is what the agent answers to a message.
type sent struct {
	Task struct {
		ID, ContextID string
		Status        struct {
			State   string
			Message struct{ Parts []struct{ Text string } }
		}
		Artifacts []struct{ Parts []struct{ Text string } }
		Metadata  map[string]any
	}
}

func (s sent) text() string {
	var b strings.Builder
	for _, a := range s.Task.Artifacts {
		for _, p := range a.Parts {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// postRPC sends one request of A2A 1.0.
func postRPC(t *testing.T, url, method string, params any) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/a2a/argocd", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// rpc makes one request of A2A 1.0.
func rpc(t *testing.T, url, method string, params any, result any) (code int) {
	t.Helper()
	answer := postRPC(t, url, method, params)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	reply := struct {
		Result any
		Error  *struct {
			Code    int
			Message string
		}
	}{Result: result}
	// An error of a method that streams is one event.
	if data, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "data:"); ok && strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		text = []byte(data)
	}
	if err := json.Unmarshal(text, &reply); err != nil {
		t.Fatalf("%s: %v: %s", method, err, clip(string(text)))
	}
	if reply.Error != nil {
		return reply.Error.Code
	}
	return 0
}

func message(id, session, text string) map[string]any {
	m := map[string]any{"messageId": id, "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}
	if session != "" {
		m["contextId"] = session
	}
	return map[string]any{"message": m}
}

// The task that ended the original: all of 819 applications, again and again, and 50 at once.
func TestAgentListsAllInLittleMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sim := w.simulator()
	w.variables = append(w.variables, "ARGOCD_SERVER="+sim, "ARGOCD_AUTH_TOKEN="+argocdToken)
	url, cmd := w.agentServer()
	most := watchMemory(cmd.Process.Pid)
	for i := range 10 {
		var s sent
		if code := rpc(t, url, "SendMessage", message(fmt.Sprint("m", i), "", "list all applications"), &s); code != 0 || s.Task.Status.State != "TASK_STATE_COMPLETED" || !strings.Contains(s.text(), "819") {
			t.Fatalf("code %d: %+v", code, s)
		}
	}
	got := most()
	t.Logf("most anonymous memory: %s; resident with the program's text: %s (the Python original: 424 MiB)", got.Human(), resident(cmd.Process.Pid).Human())
	if got > 32*limit.MiB || got == 0 && runtime.GOOS == "linux" {
		t.Errorf("the agent took %s, want at most 32M", got.Human())
	}

	most = watchMemory(cmd.Process.Pid)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			var s sent
			if code := rpc(t, url, "SendMessage", message(fmt.Sprint("at-once", i), "", "list all applications"), &s); code != 0 || s.Task.Status.State != "TASK_STATE_COMPLETED" {
				t.Errorf("code %d: %s", code, s.Task.Status.State)
			}
		})
	}
	all.Wait()
	got = most()
	t.Logf("50 at once: %s", got.Human())
	if got > 64*limit.MiB {
		t.Errorf("the agent took %s for 50 questions at once, want at most 64M", got.Human())
	}
}

// resident is all memory of a process, with what the file of its program has.
func resident(pid int) limit.Bytes {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	_, _ = fmt.Sscan(rest, &kib)
	return limit.Bytes(kib << 10)
}

// A process that dies in the middle of a call leaves an orphan. The next one mends the
// conversation before the model, which is strict, sees it; and the task has an end.
func TestAgentMendsWhatAKillLeftBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.variables = append(w.variables, simulated)
	url, cmd := w.agentServer("--lab")
	answer := postRPC(t, url, "SendStreamingMessage", message("m1", "", "call the tool hang"))
	defer answer.Body.Close()
	task, session := "", ""
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct{ Result sent }
		if json.Unmarshal([]byte(data), &e) == nil && e.Result.Task.ID != "" {
			task, session = e.Result.Task.ID, e.Result.Task.ContextID
		}
		if strings.Contains(data, `"plimsoll.event":"call"`) {
			break
		}
	}
	if task == "" {
		t.Fatal("no task")
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	url, _ = w.agentServer("--lab")
	var next sent
	code := rpc(t, url, "SendMessage", message("m2", session, "how many projects are there?"), &next)
	if strings.Contains(next.text(), "this agent ran out of memory") { // the kernel has killed something of another test meanwhile
		next = sent{}
		code = rpc(t, url, "SendMessage", message("m3", session, "how many projects are there?"), &next)
	}
	if code != 0 || next.Task.Status.State != "TASK_STATE_COMPLETED" || !strings.Contains(next.text(), "236") {
		t.Errorf("the next question of the conversation: code %d, %+v", code, next.Task)
	}
	var old struct {
		Status struct{ State string }
	}
	if code := rpc(t, url, "GetTask", map[string]any{"id": task}, &old); code != 0 || old.Status.State != "TASK_STATE_FAILED" {
		t.Errorf("the task that was cut off: code %d, %+v", code, old)
	}
	if code := rpc(t, url, "SubscribeToTask", map[string]any{"id": task}, nil); code != -32004 {
		t.Errorf("a subscription to an ended task: code %d, want -32004", code)
	}
	if code := rpc(t, url, "NoSuchMethod", map[string]any{}, nil); code != -32601 {
		t.Errorf("an unknown method: code %d", code)
	}
}

//go:build linux || darwin

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// talker is a provider of OpenAI's protocol that answers with the last question, in two pieces; one with "wait" in it never gets its
// second piece.
func talker(t *testing.T) (url string, asked *atomic.Pointer[string]) {
	t.Helper()
	asked = &atomic.Pointer[string]{}
	piece := func(text string) string {
		return fmt.Sprintf("data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
	}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		text := string(body)
		asked.Store(&text)
		rw.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(rw, piece("one, "))
		rw.(http.Flusher).Flush()
		if last := text[strings.LastIndex(text, `"user"`):]; strings.Contains(last, "wait") {
			<-r.Context().Done()
			return
		}
		fmt.Fprint(rw, piece("two, done"))
		fmt.Fprint(rw, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":500,\"total_tokens\":1500}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", asked
}

// A person talks: lines are edited, Ctrl-C stops an answer and not the chat, a paste is one question, and what was said is kept.
func TestChatOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, asked := talker(t)
	testfile.Write(t, filepath.Join(w.state, "config.toml"), "[models.\"some/model\"]\ncontext = 200000\ninput_price = 3.0\noutput_price = 15.0\n")
	more := []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL="}
	c := w.open(more, plimsoll, "chat", "--base-url", url, "--model", "some/model", "--session", "s1")
	c.expect("assistant asks openai/some/model")
	c.expect("> ")
	c.press("hellp\x7fo there" + enter)
	c.expect("one, two, done")
	c.expect("of 200k (")
	c.expect("so far 1k in, 500 out · $0.0105")
	if !strings.Contains(*asked.Load(), "hello there") {
		t.Errorf("asked: %s", clip(*asked.Load()))
	}
	c.press("wait for me" + enter)
	c.expect("one, ")
	c.press(ctrlC)
	c.expect("stopped; what was asked stays in the conversation")
	c.press("\x1b[200~first line\nsecond line\x1b[201~" + enter)
	c.expect("first line⏎second line")
	c.expect("one, two, done")
	if !strings.Contains(*asked.Load(), `first line\nsecond line`) || !strings.Contains(*asked.Load(), "wait for me") {
		t.Errorf("asked: %s", clip(*asked.Load()))
	}
	c.press("\x1b[A\x1b[A\x1b[A" + enter) // what was asked first
	c.expect("hello there")
	c.expect("one, two, done")
	c.press("/tools" + enter)
	c.expect("no tools; --mcp")
	c.press("/save" + enter)
	c.expect("written to chat-s1.md")
	c.press("/save" + enter)
	c.expect("there is a file chat-s1.md already; name another: /save FILE")
	c.expect("> ")
	c.press(ctrlC)
	c.expect("Ctrl-C once more")
	c.press("\x04")
	c.expect("to go on: plimsoll chat assistant --session s1")
	if status := c.wait(); status != 0 {
		t.Errorf("status %d", status)
	}
	c.restored()
	c.leftEdge()
	saved, err := os.ReadFile(filepath.Join(w.work, "chat-s1.md"))
	if err != nil || strings.Count(string(saved), "hello there") != 2 || !strings.Contains(string(saved), "first line\nsecond line") || !strings.Contains(string(saved), "one, two, done") {
		t.Errorf("%v: %s", err, saved)
	}

	// Another process goes on with it, and begins another one on request.
	c = w.open(more, plimsoll, "chat", "--base-url", url, "--model", "some/model", "--continue")
	c.expect("goes on with the session s1 (4 questions)")
	c.expect("> ")
	c.press("\x1b[A" + enter)
	c.expect("one, two, done")
	if n := strings.Count(*asked.Load(), "hello there"); n != 3 {
		t.Errorf("the history has it %d times: %s", n, clip(*asked.Load()))
	}
	c.press("/clear" + enter)
	c.expect("begun anew")
	c.press("and now" + enter)
	c.expect("one, two, done")
	if strings.Contains(*asked.Load(), "hello there") {
		t.Errorf("what was cleared is still sent: %s", clip(*asked.Load()))
	}
	c.press("/quit" + enter)
	if status := c.wait(); status != 0 {
		t.Errorf("status %d", status)
	}
	c.restored()
	w.nothingLeft()
}

// A signal that asks for the end ends the chat where it waits, and the terminal is as it was.
func TestChatEndsOnRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, _ := talker(t)
	c := w.open([]string{"OPENAI_API_KEY=k"}, plimsoll, "chat", "--base-url", url, "--model", "m", "--private")
	c.expect("> ")
	c.press("half a quest")
	c.expect("half a quest")
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := c.wait(); status != 143 {
		t.Errorf("status %d, want 143", status)
	}
	c.restored()
	if _, err := os.Stat(filepath.Join(w.state, "agents")); err == nil {
		t.Error("--private has kept something")
	}
}

// Without a terminal questions are lines, and only answers are on standard output.
func TestChatInAPipe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, _ := talker(t)
	pipe := func(input string, flags ...string) result {
		return w.run(func(cmd *exec.Cmd) {
			cmd.Stdin = strings.NewReader(input)
			cmd.Env = append(cmd.Env, "OPENAI_API_KEY=k")
		}, append([]string{plimsoll, "chat", "--base-url", url, "--model", "m"}, flags...)...)
	}
	r := pipe("a\n\nb \\\nc\n/window\n")
	if r.status != 0 || r.stdout != "one, two, done\none, two, done\n" || !strings.Contains(r.stderr, "so far 2k in, 1k out") {
		t.Errorf("status %d\nstdout: %s\nstderr: %s", r.status, r.stdout, clip(r.stderr))
	}
	r = w.run(func(cmd *exec.Cmd) { cmd.Stdin = strings.NewReader("a\n") }, plimsoll, "chat", "--base-url", "http://127.0.0.1:1/v1", "--model", "m")
	if r.status != 1 || r.stdout != "" || !strings.Contains(r.stderr, "unreachable") {
		t.Errorf("without a model: status %d\nstdout: %s\nstderr: %s", r.status, r.stdout, clip(r.stderr))
	}
	r = pipe("a\n", "--session", "none", "--continue")
	if r.status != 125 || !strings.Contains(r.stderr, `keeps no session "none"`) {
		t.Errorf("status %d: %s", r.status, clip(r.stderr))
	}
}

// The tools of a client's own file, with what the client would fill in.
func TestChatTakesTheServersOfAClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, _ := talker(t)
	file := filepath.Join(w.work, ".mcp.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers":{
		"files": {"command": %q, "args": ["mcp", "argocd", "--simulator", "--quiet"], "env": {"TOKEN": "${THE_TOKEN}"}},
		"asks": {"command": "x", "args": ["${input:key}"]}
	}}`, plimsoll), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(more ...string) result {
		return w.run(func(cmd *exec.Cmd) {
			cmd.Stdin = strings.NewReader("/tools\n")
			cmd.Env = append(append(cmd.Env, "OPENAI_API_KEY=k"), more...)
		}, plimsoll, "chat", "--base-url", url, "--model", "m", "--mcp-config", file)
	}
	if r := run("THE_TOKEN=x"); r.status != 0 || !strings.Contains(r.stderr, "list_applications") || !strings.Contains(r.stderr, "asks (line 3): its args: only its client can fill in ${input:key}") {
		t.Errorf("status %d\n%s", r.status, clip(r.stderr))
	}
	if r := run(); r.status != 125 || !strings.Contains(r.stderr, "the variable THE_TOKEN is not set") {
		t.Errorf("status %d\n%s", r.status, clip(r.stderr))
	}
	w.nothingLeft()
}

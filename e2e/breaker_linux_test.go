package e2e

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// An agent in a container is killed by the kernel and started again by whoever restarts containers, as process 1 again, over the same
// state: it and every other process of the agent work with half of the window and search first, which is told once.
func TestAnAgentThatDiedInItsContainerComesBackWithHalfOfItsWindow(t *testing.T) {
	t.Parallel()
	if exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").Run() != nil {
		t.Skip("no process namespace can be made")
	}
	w := newWorld(t)
	w.variables = append(w.variables, simulated)
	c := w.container(256 * mebibyte)
	ready := filepath.Join(t.TempDir(), "url")
	start := func() (cmd *exec.Cmd, url string, said func() string) {
		t.Helper()
		_ = os.Remove(ready)
		log, err := os.Create(filepath.Join(t.TempDir(), "said"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		cmd = c.command("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c", `echo 1000 >/proc/self/oom_score_adj; exec "$@"`, "sh",
			plimsoll, "agent", "serve", "argocd", "--model", "standin", "--listen", "127.0.0.1:0", "--ready-file", ready, "--events")
		cmd.Stderr, cmd.Stdout = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		said = func() string {
			text, _ := os.ReadFile(log.Name())
			return string(text)
		}
		wait.Within(t, patience, "the agent is ready", func() bool { return fileExists(t, ready) })
		text, err := os.ReadFile(ready)
		if err != nil {
			t.Fatal(err, said())
		}
		return cmd, strings.TrimSpace(string(text)), said
	}
	ratio := func(url string) string {
		t.Helper()
		answer, err := http.Get(url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		_, value, _ := strings.Cut(string(body), `plimsoll_agent_window_ratio{agent="argocd"} `)
		value, _, _ = strings.Cut(value, "\n")
		return value
	}
	ask := func() string {
		cmd := exec.Command(plimsoll, "ask", "--model", "standin", "--json", "list all applications")
		cmd.Dir, cmd.Env = w.work, w.environment()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("ask: %v", err)
		}
		return string(out)
	}
	first, url, said := start()
	if got := ratio(url); got != "1" || strings.Contains(said(), "half of the context window") {
		t.Fatalf("at first it works with %q of its window: %s", got, said())
	}
	life := filepath.Join(w.state, "agents", "argocd", "life")
	greedy := c.command(testtool, "thrash", strconv.Itoa(205), "20ms")
	if err := greedy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = greedy.Process.Kill(); _ = greedy.Wait() }()
	wait.Within(t, 20*time.Second, "the use is in the mark", func() bool {
		marks, _ := filepath.Glob(filepath.Join(life, "*.mark"))
		for _, path := range marks {
			if text, _ := os.ReadFile(path); strings.Contains(string(text), `"used":"2`) || strings.Contains(string(text), `"used":2`) {
				return len(marks) == 1
			}
		}
		return false
	})
	more := c.command(testtool, "thrash", strconv.Itoa(120), "20ms")
	if err := more.Start(); err != nil {
		t.Fatal(err)
	}
	died := make(chan error, 1)
	go func() { died <- first.Wait() }()
	select {
	case <-died:
	case <-time.After(20 * time.Second):
		t.Fatal("the kernel has not killed it")
	}
	for _, p := range []*exec.Cmd{more, greedy} {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
	second, url, said := start()
	if got := ratio(url); got != "0.5" {
		t.Errorf("after its death it works with %q of its window: %s", got, said())
	}
	if text := said(); strings.Count(text, "half of the context window") != 1 || strings.Count(text, `"window.breaker"`) != 1 {
		t.Errorf("it says %s", text)
	}
	beside := ask()
	if !strings.Contains(beside, "half of the context window") || strings.Contains(beside, `"window.breaker"`) || strings.Count(beside, `"failed": true`) != 1 {
		t.Errorf("ask beside it says %s", beside)
	}
	_ = second.Process.Signal(syscall.SIGTERM)
	_ = second.Process.Kill()
	_ = second.Wait()
}

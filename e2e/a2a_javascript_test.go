//go:build linux || darwin

package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The official JavaScript SDK as a client of the command: mcp/a2a.mjs, with Node.js and the
// SDK at the versions that mcp/package-lock.json pins.

// A script is a scene that the SDK plays.
type script struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
	err *strings.Builder
}

// heard is what it prints of a task.
type heard struct {
	What, Name, Transport, Version string
	Task, Text                     string
	State                          int // as the protocol numbers them: 2 working, 3 completed, 5 canceled
	Snapshots, Pieces, Ends, Calls int
	Error, Message                 string
}

const (
	jsWorking   = 2
	jsCompleted = 3
	jsCancelled = 5
)

func (w *world) script(url, transport, version, scene, question string) *script {
	w.t.Helper()
	node := pinned(w.t, "node")
	sdk := filepath.Join("mcp", "node_modules", "@a2a-js", "sdk", "package.json")
	if _, err := os.Stat(sdk); err != nil {
		if os.Getenv("CI") == "true" {
			w.t.Fatalf("the JavaScript SDK of A2A is not installed (npm ci --prefix e2e/mcp): %v", err)
		}
		w.t.Skip("the JavaScript SDK of A2A is not installed: run .ci/run e2e, or npm ci --prefix e2e/mcp")
	}
	file, err := filepath.Abs(filepath.Join("mcp", "a2a.mjs"))
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(node, file, url, transport, version, scene, question)
	cmd.Dir, cmd.Env = w.work, w.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	s := &script{t: w.t, err: &strings.Builder{}}
	cmd.Stderr = s.err
	if s.in, err = cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	s.out = bufio.NewScanner(out)
	s.out.Buffer(nil, 8<<20)
	w.t.Cleanup(func() {
		late.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return s
}

// hear is the next thing that it prints, which must be this.
func (s *script) hear(what string) (h heard) {
	s.t.Helper()
	if !s.out.Scan() {
		s.t.Fatalf("it ended before %q: %v\n%s", what, s.out.Err(), clip(s.err.String()))
	}
	if err := json.Unmarshal(s.out.Bytes(), &h); err != nil || h.What != what {
		s.t.Fatalf("%v: want %q: %s", err, what, clip(s.out.Text()))
	}
	return h
}

// cue lets it go on.
func (s *script) cue() {
	s.t.Helper()
	if _, err := io.WriteString(s.in, "go on\n"); err != nil {
		s.t.Fatal(err)
	}
}

// javaScript are the ways of the SDK that the card offers.
var javaScript = []struct{ transport, version, protocol string }{
	{"jsonrpc", "1.0", "JSONRPC"},
	{"rest", "1.0", "HTTP+JSON"},
	{"jsonrpc", "0.3", "JSONRPC"},
}

func TestA2AJavaScript(t *testing.T) {
	w := newWorld(t)
	w.variables = append(w.variables, simulated)
	base, _ := w.agentServer("--lab")
	for _, c := range javaScript {
		t.Run(c.transport+" "+c.version, func(t *testing.T) {
			w := *w
			w.t = t
			play := func(url, scene, question string) *script {
				s := w.script(url, c.transport, c.version, scene, question)
				if h := s.hear("card"); h.Name != "argocd" || h.Transport != c.protocol || h.Version != c.version {
					t.Fatalf("the card: %+v", h)
				}
				return s
			}
			url := base + "/a2a/argocd/"
			sent := play(base, "send", "list all applications").hear("answer") // the card of a host's only agent
			if sent.State != jsCompleted || !strings.Contains(sent.Text, "PAGE 1 of 819 items (41 pages)") {
				t.Errorf("sent: %+v", sent)
			}
			streamed := play(url, "stream", "list all applications").hear("streamed")
			if streamed.State != jsCompleted || streamed.Text != sent.Text || streamed.Snapshots != 1 || streamed.Ends != 1 || streamed.Pieces < 5 {
				t.Errorf("streamed: %+v", streamed)
			}
			// Away from a call that never ends; back, and an end to it.
			s := play(url, "cancel", "call the tool hang")
			left := s.hear("left")
			if left.State != jsWorking || left.Ends != 0 {
				t.Errorf("left: %+v", left)
			}
			if h := s.hear("cancelled"); h.State != jsCancelled {
				t.Errorf("cancelled: %+v", h)
			}
			if h := s.hear("rest"); h.Task != left.Task || h.State != jsCancelled || h.Snapshots != 1 || h.Ends != 1 {
				t.Errorf("rest: %+v", h)
			}
			if h := s.hear("kept"); h.State != jsCancelled {
				t.Errorf("kept: %+v", h)
			}
		})
	}
}

// In the middle of an answer: away, and back to a snapshot, the rest, and the very same text.
func TestA2AJavaScriptComesBack(t *testing.T) {
	w := newWorld(t)
	model, flags := newReciter(t, w)
	url, _ := w.agentServer(flags...)
	const n, size = 30, 20
	for _, c := range javaScript {
		t.Run(c.transport+" "+c.version, func(t *testing.T) {
			w := *w
			w.t = t
			gate := model.hold()
			gate.allow(5)
			s := w.script(url+"/a2a/argocd/", c.transport, c.version, "back", recite(n, size))
			s.hear("card")
			left := s.hear("left")
			if left.Pieces < 3 || left.Snapshots != 1 || left.Ends != 0 || !strings.HasPrefix(verses(5, size), left.Text) {
				t.Errorf("left: %+v", left)
			}
			gate.allow(10) // while it is away
			w.until("the agent has said more", func() bool {
				var k sent
				return rpc(t, url, "GetTask", map[string]any{"id": left.Task}, &k.Task) == 0 && k.text() == verses(15, size)
			})
			s.cue()
			snapshot := s.hear("snapshot")
			if snapshot.Task != left.Task || snapshot.Snapshots != 1 || snapshot.Pieces != 0 || snapshot.Text != verses(15, size) {
				t.Errorf("snapshot: %+v", snapshot)
			}
			gate.open()
			rest := s.hear("rest")
			// One event each for what was left of the lines, and the empty one that ends the answer at most.
			if rest.Text != verses(n, size) || rest.State != jsCompleted || rest.Snapshots != 1 || rest.Ends != 1 || rest.Pieces < n-15 || rest.Pieces > n-15+1 {
				t.Errorf("rest: %+v", rest)
			}
			if kept := s.hear("kept"); kept.Text != rest.Text || kept.State != jsCompleted {
				t.Errorf("kept: %+v", kept)
			}
			// 1.0 has an error of its own for it; in 0.3 it is one in the stream.
			if over := s.hear("over"); over.Error == "" || c.version == "1.0" && over.Error != "UnsupportedOperationError" {
				t.Errorf("a subscription to a task that has ended: %+v", over)
			}
		})
	}
}

//go:build linux || darwin

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// talk is a client of an agent that speaks the Agent Client Protocol under plimsoll run.
type talk struct {
	w     *world
	cmd   *exec.Cmd
	in    *json.Encoder
	out   *bufio.Scanner
	errs  bytes.Buffer
	close func()
}

type acpReply struct {
	ID     *int
	Method string // of the agent's own requests
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    struct {
			Reason      string
			Limit, Peak int64
			Killed      []string
		}
	}
}

func (w *world) talk(flags ...string) *talk {
	w.t.Helper()
	return w.talkTo(w.inSession, flags, testtool, "acp", "acp")
}

// inSession tells the test tool where it keeps its sessions.
func (w *world) inSession(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Env, "SESSION="+filepath.Join(w.home, "session"))
}

// talkTo starts an agent that speaks the protocol under plimsoll run. prepare may change the command.
func (w *world) talkTo(prepare func(*exec.Cmd), flags []string, command ...string) *talk {
	w.t.Helper()
	argv := append(append([]string{"run", "--quiet"}, flags...), "--")
	k := &talk{w: w, cmd: exec.Command(plimsoll, append(argv, command...)...)}
	k.cmd.Dir, k.cmd.Env, k.cmd.Stderr = w.work, w.environment(), &k.errs
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	prepare(k.cmd)
	in, err := k.cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	k.in, k.out, k.close = json.NewEncoder(in), bufio.NewScanner(out), func() { _ = in.Close() }
	k.out.Buffer(nil, 16<<20)
	if err := k.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = in.Close()
		_ = k.cmd.Process.Signal(syscall.SIGTERM)
		_ = k.cmd.Wait()
	})
	return k
}

func (k *talk) send(id int, method string, params any) {
	k.w.t.Helper()
	if err := k.in.Encode(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		k.w.t.Fatal(err)
	}
}

// answer waits for the answer of a request. An end of the stream is none. What the agent asks meanwhile is allowed.
func (k *talk) answer(id int) (acpReply, bool) {
	k.w.t.Helper()
	for k.out.Scan() {
		var r acpReply
		if err := json.Unmarshal(k.out.Bytes(), &r); err != nil {
			k.w.t.Fatalf("%v in %q", err, k.out.Text())
		}
		if r.Method != "" {
			k.allow(r)
			continue
		}
		if r.ID != nil && *r.ID == id {
			return r, true
		}
	}
	return acpReply{}, false
}

// allow answers a request for permission by the first of its options that allows.
func (k *talk) allow(r acpReply) {
	k.w.t.Helper()
	var asked struct {
		Options []struct{ OptionID, Kind string }
	}
	if r.ID == nil || r.Method != "session/request_permission" || json.Unmarshal(r.Params, &asked) != nil {
		return
	}
	for _, o := range asked.Options {
		if strings.HasPrefix(o.Kind, "allow") {
			answer := map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.OptionID}}
			if err := k.in.Encode(map[string]any{"jsonrpc": "2.0", "id": *r.ID, "result": answer}); err != nil {
				k.w.t.Fatal(err)
			}
			return
		}
	}
}

func (k *talk) begin() {
	k.w.t.Helper()
	k.send(0, "initialize", map[string]any{"protocolVersion": 1})
	if r, ok := k.answer(0); !ok || r.Error != nil {
		k.w.t.Fatalf("initialize: %+v", r.Error)
	}
	k.send(1, "session/new", map[string]any{"cwd": k.w.work, "mcpServers": []any{map[string]any{"name": "big", "command": "big", "args": []string{"-v"}, "env": []any{}}}})
	if r, ok := k.answer(1); !ok || r.Error != nil {
		k.w.t.Fatalf("session/new: %+v", r.Error)
	}
}

func (k *talk) prompt(text string) {
	k.w.t.Helper()
	k.send(2, "session/prompt", map[string]any{"sessionId": "s1", "prompt": []any{map[string]any{"type": "text", "text": text}}})
}

// An editor hears why an agent does not answer any more.
func TestEditorHearsWhyTheAgentIsGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags          []string
		prompt, reason string
		says           string
	}{
		"killed":       {nil, "die", "signalled", "ended by SIGKILL"},
		"time up":      {[]string{"--time-max", "3s"}, "hang", "limit", "time_max"},
		"by itself":    {nil, "exit", "", ""},
		"not admitted": {[]string{"--reserve", "900T"}, "", "refused", "not admitted"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newWorld(t).talk(c.flags...)
			id := 0
			if c.prompt == "" {
				k.send(0, "initialize", map[string]any{"protocolVersion": 1})
			} else {
				k.begin()
				k.prompt(c.prompt)
				id = 2
			}
			r, ok := k.answer(id)
			if c.reason == "" {
				if ok {
					t.Errorf("plimsoll spoke for an agent that ended by itself: %+v", r.Error)
				}
				return
			}
			if !ok || r.Error == nil {
				t.Fatalf("the editor got %+v", r)
			}
			if e := r.Error; e.Code != -32603 || e.Data.Reason != c.reason || e.Data.Limit <= 0 || !strings.Contains(e.Message, c.says) || strings.Contains(e.Message, "\n") {
				t.Errorf("the editor is told %+v", *e)
			}
		})
	}
}

// An editor does not wait longer than 15 seconds for a slot.
func TestEditorIsNotKeptInTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.variables = append(w.variables, "PLIMSOLL_RESOURCES_MAX_CONCURRENT_TOTAL=1")
	first := w.talk()
	first.begin()
	began := time.Now()
	second := w.talk("--wait=10m")
	second.send(0, "initialize", map[string]any{"protocolVersion": 1})
	r, ok := second.answer(0)
	if !ok || r.Error == nil || r.Error.Data.Reason != "refused" || !strings.Contains(r.Error.Message, "not admitted within 15 s") {
		t.Fatalf("%+v", r)
	}
	if took := time.Since(began); took < 15*time.Second || took > 25*time.Second {
		t.Errorf("it was told after %v", took)
	}
	second.close()
	if err := second.cmd.Wait(); status(second.cmd.ProcessState) != 125 {
		t.Errorf("it ended with %v", err)
	}
}

// What an editor and an agent say is known to top and runs, and servers are behind the gateway.
func TestEditorsSessionsAreShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.talk()
	k.begin()
	sent := testfile.Read(t, filepath.Join(w.home, "session"))
	if want := fmt.Sprintf(`"command":%q,"env":[],"name":"big"`, plimsoll); !strings.Contains(string(sent), want) || !strings.Contains(string(sent), `"args":["mcp","--name","big","--in-run",`) ||
		!strings.Contains(string(sent), `"--","big","-v"]`) {
		t.Errorf("the agent got %s", sent)
	}
	k.prompt("nothing")
	if r, ok := k.answer(2); !ok || r.Error != nil {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{`"folder": "` + w.work, `"open": 1`, `"longest_line_bytes": `} {
		w.until("top shows "+want, func() bool { return strings.Contains(w.run(nil, plimsoll, "top", "--once", "--json").stdout, want) })
	}
	k.close()
	if err := k.cmd.Wait(); err != nil {
		t.Error(err)
	}
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(w.run(nil, plimsoll, "runs", "--json").stdout), &list); err != nil || len(list) != 1 {
		t.Fatalf("%v: %v", err, list)
	}
	page := w.run(nil, plimsoll, "runs", list[0].ID).stdout
	for _, want := range []string{"1 sessions open of 1, 3 requests, longest line ", "1 MCP server behind the gateway", w.work + "  idle ", "1.2k of 200k tokens  s1"} {
		if !strings.Contains(page, want) {
			t.Errorf("runs does not show %q: %s", want, page)
		}
	}
}

// A run that does not speak the protocol has its caller's own pipes.
func TestOtherRunsKeepTheirPipes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, argv := range [][]string{{"cat"}, {"sh", "-c", "cat; true"}} {
		cmd := exec.Command(plimsoll, append([]string{"run", "--quiet", "--"}, argv...)...)
		cmd.Dir, cmd.Env = w.work, w.environment()
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = in.Write([]byte("x"))
		if b := make([]byte, 1); true {
			if _, err := out.Read(b); err != nil || b[0] != 'x' {
				t.Fatal(err)
			}
		}
		for _, p := range w.processes() {
			if !strings.HasPrefix(p.args, "cat") {
				continue
			}
			for fd := range 2 {
				own, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.pid, fd))
				callers, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", cmd.Process.Pid, fd))
				if own != callers || own == "" {
					t.Errorf("descriptor %d of %v is %s, and its caller's %s", fd, argv, own, callers)
				}
			}
		}
		_ = in.Close()
		_ = cmd.Wait()
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/creack/pty"

	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// notice is one that a test's program was given.
type notice struct {
	Cause, Text, Run, Tool string
}

// teller writes a program that keeps each notice in a file of its own, and how to see them. It takes its time, as one that asks a
// server does.
func (s *site) teller() (program string, notices func() []notice) {
	s.t.Helper()
	dir := s.t.(interface{ TempDir() string }).TempDir()
	program = filepath.Join(dir, "tell")
	text := "#!/bin/sh\nsleep 0.3\ncat >" + dir + "/$$.part && mv " + dir + "/$$.part " + dir + "/$$.json\n"
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
	return program, func() (list []notice) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
		for _, file := range files {
			body, err := os.ReadFile(file)
			var n notice
			if err == nil {
				err = json.Unmarshal(body, &n)
			}
			if err != nil {
				s.t.Errorf("%s: %v", body, err)
			}
			list = append(list, n)
		}
		return list
	}
}

// causes are those of a list, sorted, with the tool.
func causes(list []notice) (out []string) {
	for _, n := range list {
		out = append(out, n.Tool+": "+n.Cause)
	}
	slices.Sort(out)
	return out
}

// TestARunTellsOfItself: a refusal, its own death, and that of a child, each once, in every layer; and nothing of a run that is well.
// What gives a notice while a run goes on is not ended with it, although it is a child of the plimsoll that adopts the run's orphans.
func TestARunTellsOfItself(t *testing.T) {
	t.Parallel()
	for _, layer := range layersHere() {
		s := newSite(t)
		program, notices := s.teller()
		s.configure("[watch]\nnotify = [\"" + program + "\"]\n[tools.large]\ninitial_estimate = \"400T\"\n")
		for _, c := range []struct {
			code int
			args []string
		}{
			{0, []string{"--tool", "well", "--", "true"}},
			{3, []string{"--tool", "failed", "--", "sh", "-c", "exit 3"}},
			{125, []string{"--tool", "large", "--", "true"}},
			{137, []string{"--tool", "bomb", "--memory-max", "64M", "--", "agent", "bomb"}},
			{0, []string{"--tool", "parent", "--memory-max", "120M", "--", "agent", "outlive"}},
		} {
			if o := s.plimsoll(append([]string{"run", "--layer", layer}, c.args...)...); o.code != c.code || strings.Contains(o.stderr, "notice") {
				t.Errorf("%s: %v: %+v", layer, c.args, o)
			}
		}
		list := notices()
		want := []string{"bomb: oom", "large: refused", "parent: child_killed"}
		if got := causes(list); !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", layer, got, want)
		}
		known := map[string]bool{}
		for _, e := range s.runs() {
			known[e.ID] = true
		}
		for _, n := range list {
			if !known[n.Run] || !strings.HasPrefix(n.Text, n.Tool+" in web: ") {
				t.Errorf("%s: %+v", layer, n)
			}
		}
	}
}

// TestAServerThatIsKilledIsToldOf by the gateway in front of it.
func TestAServerThatIsKilledIsToldOf(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	program, notices := s.teller()
	s.configure("[watch]\nnotify = [\"" + program + "\"]\n[mcp]\nmemory_max = \"64M\"\n")
	cmd := s.command("mcp", "--", "agent", "bomb")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n")
	o := s.finish(cmd)
	list := notices()
	if len(list) != 1 || list[0].Cause != "child_killed" || !strings.Contains(list[0].Text, "the MCP server agent (pid ") || strings.Contains(o.stdout+o.stderr, "notice") {
		t.Errorf("%+v, %+v", list, o)
	}
}

// TestANoticeHoldsUpNoRun longer than two seconds, and changes nothing about how it ends.
func TestANoticeHoldsUpNoRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	pid := filepath.Join(s.dir, "pid")
	hang := filepath.Join(s.dir, "hang")
	if err := os.WriteFile(hang, []byte("#!/bin/sh\nsleep 300 & echo $! >"+pid+"; wait\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.configure("[watch]\nnotify = [\"" + hang + "\"]\n[tools.large]\ninitial_estimate = \"400T\"\n")
	began := time.Now()
	o := s.plimsoll("run", "--tool", "large", "--", "true")
	if took := time.Since(began); took < 1900*time.Millisecond || took > 15*time.Second || o.code != 125 {
		t.Errorf("%+v after %s", o, took)
	}
	contains(t, "the end", o.stderr, "not admitted", "a notice (plimsoll: not admitted) was not given by the command", "it took too long and was ended")
	wait.Until(t, "what the program started is killed", func() bool { n := pidIn(t, pid); return n != 0 && !lives(n) })
	began = time.Now()
	if o := s.plimsoll("run", "--", "true"); o.code != 0 || o.stderr != weakLayer() || time.Since(began) > 1900*time.Millisecond {
		t.Errorf("%+v after %s", o, time.Since(began))
	}
	for _, way := range []string{`["/no/such/program"]`, `"http://127.0.0.1:1/T0KEN?key=s3cret"`, `"desktop"`} {
		s.env = append(s.env, "PATH="+tools)
		s.configure("[watch]\nnotify = " + way + "\n[tools.large]\ninitial_estimate = \"400T\"\n")
		o := s.plimsoll("run", "--tool", "large", "--", "agent", "hold", "1")
		if o.code != 125 || strings.Contains(o.stderr, "T0KEN") || strings.Contains(o.stderr, "s3cret") {
			t.Errorf("%s: %+v", way, o)
		}
		contains(t, way, o.stderr, "was not given by ")
	}
}

// TestAProjectSendsNoNotices: whoever wrote a repository does not choose what runs, nor who hears of runs.
func TestAProjectSendsNoNotices(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	program, notices := s.teller()
	s.configure("[tools.large]\ninitial_estimate = \"400T\"\n")
	testfile.Write(t, filepath.Join(s.dir, ".plimsoll.toml"), "[watch]\nnotify = [\""+program+"\"]\n")
	o := s.plimsoll("run", "--tool", "large", "--", "true")
	contains(t, "the warning", o.stderr, "a project file may not set it")
	if list := notices(); len(list) != 0 { // a run ends when it has told everybody
		t.Errorf("%+v", list)
	}
}

// TestANoticeMakesNoOther: a program that starts a run, which is refused too, is told of once, also where all runs are watched.
func TestANoticeMakesNoOther(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	count := filepath.Join(s.dir, "count")
	program := filepath.Join(s.dir, "again")
	text := "#!/bin/sh\necho once >>" + count + "\n" + s.program() + " run --tool large -- true\n"
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	s.configure("[watch]\nnotify = [\"" + program + "\"]\n[tools.large]\ninitial_estimate = \"400T\"\n")
	s.watcher("watch", "--notify", program)
	s.plimsoll("run", "--quiet", "--tool", "large", "--", "true")
	time.Sleep(3 * time.Second)
	if body, err := os.ReadFile(count); err != nil || string(body) != "once\n" {
		t.Errorf("%q, %v", body, err)
	}
	if list := s.runs(); len(list) != 2 {
		t.Errorf("%+v", list)
	}
}

// watcher starts a command that watches all runs, and waits until it does.
func (s *site) watcher(args ...string) *exec.Cmd {
	s.t.Helper()
	cmd := s.command(args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	var said lockedBuffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("%v: %v; %s", args, err, said.String())
		}
	})
	wait.Until(s.t, "it is there", func() bool {
		return strings.Contains(said.String(), "notices of all runs go to") || strings.Contains(said.String(), "serving on")
	})
	time.Sleep(1500 * time.Millisecond) // it looks once a second
	return cmd
}

// lockedBuffer is a buffer that a command writes and a test reads.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string { b.mu.Lock(); defer b.mu.Unlock(); return b.buf.String() }

// TestAllRunsAreToldOfOnce: by `watch --notify`, also what the runs tell themselves in the same way, and what two watch.
func TestAllRunsAreToldOfOnce(t *testing.T) {
	t.Parallel()
	for _, configured := range []bool{false, true} {
		t.Run(fmt.Sprintf("configured %t", configured), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			program, notices := s.teller()
			text := "[tools.large]\ninitial_estimate = \"400T\"\n"
			if configured {
				text += "[watch]\nnotify = [\"" + program + "\"]\n"
			}
			s.configure(text)
			s.env = append(s.env, "PLIMSOLL_WATCH_NOTIFY=off")
			s.plimsoll("run", "--quiet", "--tool", "large", "--", "true") // before anybody watches
			s.env = s.env[:len(s.env)-1]
			s.watcher("watch", "--notify", program)
			if configured {
				s.watcher("serve", "--listen", "127.0.0.1:0")
			} else {
				s.watcher("watch", "--notify", program)
			}
			s.plimsoll("run", "--quiet", "--tool", "large", "--", "true")
			s.plimsoll("run", "--quiet", "--tool", "bomb", "--layer", "monitor", "--memory-max", "64M", "--", "agent", "bomb")
			s.plimsoll("run", "--quiet", "--tool", "parent", "--layer", "rlimit", "--memory-max", "120M", "--", "agent", "outlive")
			cmd := s.command("run", "--quiet", "--enforcement", "off", "--tool", "victim", "--", "sleep", "60")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			s.until("it runs", func(l []watch.Entry) bool { return len(l) > 0 && l[0].Tool == "victim" && l[0].Outcome == "running" })
			time.Sleep(1500 * time.Millisecond)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			want := []string{"bomb: oom", "large: refused", "parent: child_killed", "victim: died"}
			wait.Reached(wait.Bound, func() bool { return len(notices()) >= len(want) })
			time.Sleep(2500 * time.Millisecond) // for what comes twice
			if got := causes(notices()); !slices.Equal(got, want) {
				t.Errorf("%q, not %q", got, want)
			}
			s.nextCommand("after the kill")
		})
	}
}

// TestAWebhookHearsOfARun through the flag and through a configuration; and a way that cannot work is an error before anything is watched.
func TestAWebhookHearsOfARun(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []notice
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil || r.Method != http.MethodPost || r.URL.RawQuery != "key=s3cret" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		mu.Lock()
		got = append(got, n)
		mu.Unlock()
	}))
	t.Cleanup(hook.Close)
	s := newSite(t)
	s.configure("[watch]\nnotify = \"" + hook.URL + "/T0KEN?key=s3cret\"\n[tools.large]\ninitial_estimate = \"400T\"\n")
	if o := s.plimsoll("run", "--tool", "large", "--", "true"); o.code != 125 || strings.Contains(o.stderr, "notice") {
		t.Errorf("%+v", o)
	}
	mu.Lock()
	if len(got) != 1 || got[0].Cause != "refused" {
		t.Errorf("%+v", got)
	}
	mu.Unlock()
	for _, args := range [][]string{{"config", "show"}, {"config", "show", "--json"}, {"config", "explain", "watch.notify"}, {"runs", "last", "--json"}} {
		if o := s.plimsoll(args...); o.code != 0 || strings.Contains(o.stdout+o.stderr, "T0KEN") || strings.Contains(o.stdout+o.stderr, "s3cret") {
			t.Errorf("%v: %+v", args, o)
		}
	}
	for way, want := range map[string]string{
		"no-such-program-anywhere": "install it, or write its whole path", "off": "name desktop, a URL or a command", "ftp://host/": "http or https", "./tell": "write the whole path",
	} {
		if o := s.plimsoll("watch", "--notify", way); o.code == 0 || !strings.Contains(o.stderr, want) || o.stdout != "" {
			t.Errorf("%s: %+v", way, o)
		}
	}
}

// TestTheDesktopAndTheTerminal: notify-send is called where it is there, and the terminal shows the notice where it is not.
func TestTheDesktopAndTheTerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configure("[watch]\nnotify = \"desktop\"\n[tools.large]\ninitial_estimate = \"400T\"\n")
	desk := t.TempDir()
	send := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + desk + "/args\n"
	if err := os.WriteFile(filepath.Join(desk, "notify-send"), []byte(send), 0o700); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "PATH="+desk, "TERM=xterm-256color")
	if o := s.plimsoll("run", "--tool", "large", "--", filepath.Join(tools, "agent"), "hold", "1"); o.code != 125 || strings.Contains(o.stderr, "notice") {
		t.Errorf("%+v", o)
	}
	args := testfile.Read(t, filepath.Join(desk, "args"))
	contains(t, "notify-send", string(args), "--app-name=plimsoll\n", "\n--\nplimsoll: not admitted\nlarge in web: large is not admitted")

	s.env = append(s.env, "PATH="+t.TempDir())
	tty, err := pty.Start(s.command("run", "--tool", "large", "--", filepath.Join(tools, "agent"), "hold", "1"))
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	screen, _ := io.ReadAll(tty) // it ends with an error of the terminal
	contains(t, "the terminal", string(screen), "\x1b]9;plimsoll: not admitted: large in web: large is not admitted", "\x1b\\\a")
}

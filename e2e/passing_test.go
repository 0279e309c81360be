//go:build linux || darwin

package e2e

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// same runs a command bare and in every layer and demands the same result. But for the
// result, prepare and the command are the test.
func same(t *testing.T, prepare func(*exec.Cmd), command ...string) {
	t.Helper()
	w := newWorld(t)
	want := w.run(prepare, command...)
	everyLayer(t, func(t *testing.T, m mode) {
		w := &world{t: t, home: w.home, work: w.work, state: w.state, cookie: w.cookie}
		got := w.run(prepare, m.argv(nil, command...)...)
		if got.status != want.status {
			t.Errorf("status %d, bare %d\nstderr: %s", got.status, want.status, clip(got.stderr))
		}
		if got.stdout != want.stdout {
			t.Errorf("stdout %q, bare %q", clip(got.stdout), clip(want.stdout))
		}
		if got.stderr != want.stderr {
			t.Errorf("stderr %q, bare %q", clip(got.stderr), clip(want.stderr))
		}
		w.nothingLeft()
	})
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notExecutable := filepath.Join(w.work, "plain")
	testfile.Write(t, notExecutable, "#!/bin/sh\n")
	// A shell says 128+N for signal N, and so does plimsoll. Only some signals can be
	// passed on by dying of them; for a script both look alike.
	cases := []struct {
		command []string
		want    int
	}{
		{[]string{testtool, "exit", "0"}, 0},
		{[]string{testtool, "exit", "1"}, 1},
		{[]string{testtool, "exit", "125"}, 125},
		{[]string{testtool, "exit", "255"}, 255},
		{[]string{testtool, "die", "1"}, 129},
		{[]string{testtool, "die", "2"}, 130},
		{[]string{testtool, "die", "3"}, 131},
		{[]string{testtool, "die", "9"}, 137},
		{[]string{testtool, "die", "11"}, 139},
		{[]string{testtool, "die", "13"}, 141},
		{[]string{testtool, "die", "15"}, 143},
		{[]string{w.work}, 126},                           // a directory
		{[]string{notExecutable}, 126},                    // a file without the x bit
		{[]string{"plimsoll-e2e-no-such-command"}, 127},   // not in PATH
		{[]string{filepath.Join(w.work, "nowhere")}, 127}, // no such file
	}
	everyLayer(t, func(t *testing.T, m mode) {
		for _, c := range cases {
			t.Run(strings.Join(append([]string{filepath.Base(c.command[0])}, c.command[1:]...), "_"), func(t *testing.T) {
				w := &world{t: t, home: w.home, work: w.work, state: w.state, cookie: w.cookie}
				got := w.run(nil, m.argv(nil, c.command...)...)
				if got.status != c.want {
					t.Errorf("status %d, want %d\nstderr: %s", got.status, c.want, clip(got.stderr))
				}
				if got.stdout != "" {
					t.Errorf("words on stdout: %q", got.stdout)
				}
				// What plimsoll could not start it must say, and name.
				if (c.want == 126 || c.want == 127) && !strings.Contains(got.stderr, c.command[0]) {
					t.Errorf("stderr %q does not name %s", got.stderr, c.command[0])
				}
			})
		}
	})
}

// Plimsoll's own failures are 125, on stderr only, and nothing is started.
func TestOwnFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	started := filepath.Join(w.work, "started")
	touch := []string{"--", "touch", started}
	for name, argv := range map[string][]string{
		"no command":     {"run"},
		"empty command":  {"run", "--", ""},
		"unknown flag":   slices.Concat([]string{"run", "--no-such-flag"}, touch),
		"size of nought": slices.Concat([]string{"run", "--memory-max", "0"}, touch),
		"bad size":       slices.Concat([]string{"run", "--memory-max", "4GG"}, touch),
		"unknown layer":  slices.Concat([]string{"run", "--layer", "no-such-layer"}, touch),
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, home: w.home, work: w.work, state: w.state, cookie: w.cookie}
			got := w.run(nil, append([]string{plimsoll}, argv...)...)
			want := 125
			if name == "empty command" {
				want = 127 // as env, nice and a shell have it
			}
			if got.status != want {
				t.Errorf("status %d, want %d\nstderr: %s", got.status, want, clip(got.stderr))
			}
			if got.stdout != "" {
				t.Errorf("words on stdout: %q", got.stdout)
			}
			if strings.TrimSpace(got.stderr) == "" {
				t.Error("nothing on stderr: the user is not told what was wrong")
			}
			if _, err := os.Stat(started); err == nil {
				t.Error("the command was started all the same")
			}
		})
	}
}

func TestStreamsAreUntouched(t *testing.T) {
	t.Parallel()
	data := make([]byte, 1<<20)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	everyMode(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		got := w.run(func(cmd *exec.Cmd) { cmd.Stdin = bytes.NewReader(data) }, m.argv(nil, testtool, "streams")...)
		if got.status != 0 {
			t.Fatalf("status %d", got.status)
		}
		if got.stdout != string(data) {
			t.Errorf("stdout: %d bytes came through, other than the %d sent", len(got.stdout), len(data))
		}
		turned := bytes.Clone(data)
		for i := range turned {
			turned[i] ^= 0xff
		}
		if got.stderr != string(turned) {
			t.Errorf("stderr: %d bytes came through, other than the %d sent; it begins with %q", len(got.stderr), len(data), got.stderr[:min(len(got.stderr), 200)])
		}
	})
}

// Without --quiet plimsoll may speak, on stderr; stdout is the command's alone.
func TestOwnWordsAreOnStderr(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.run(nil, plimsoll, "run", "--", testtool, "args")
	if want := w.run(nil, testtool, "args"); got.stdout != want.stdout || got.status != 0 {
		t.Errorf("status %d, stdout %q, want %q\nstderr: %s", got.status, got.stdout, want.stdout, got.stderr)
	}
}

func TestTenThousandArguments(t *testing.T) {
	t.Parallel()
	command := []string{testtool, "args"}
	for i := range 10_000 {
		command = append(command, fmt.Sprintf("argument %d with 'quotes' and a\nnewline", i))
	}
	same(t, nil, append(command, "", "--", "-x", "--help")...)
}

func TestPlaceAndUmask(t *testing.T) {
	t.Parallel()
	// Through a symbolic link, whose name only PWD keeps.
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	prepare := func(cmd *exec.Cmd) {
		cmd.Dir, cmd.Env = link, append(cmd.Env, "PWD="+link)
		// The shell sets the umask: ours is shared with the other tests.
		cmd.Args = append([]string{"sh", "-c", `umask 027; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
	}
	same(t, prepare, testtool, "place")
}

func TestDescriptorsPass(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prepare := func(cmd *exec.Cmd) {
		// 3 to 7, with a gap at 6: what plimsoll opens for itself must not land there.
		for fd := 3; fd <= 7; fd++ {
			if fd == 6 {
				cmd.ExtraFiles = append(cmd.ExtraFiles, nil)
				continue
			}
			name := filepath.Join(dir, fmt.Sprint(fd))
			testfile.Write(t, name, fmt.Appendf(nil, "file %d", fd))
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			cmd.ExtraFiles = append(cmd.ExtraFiles, f)
		}
	}
	same(t, prepare, testtool, "descriptors", "3", "7")
}

func TestEnvironmentIsTheSameButForTheRun(t *testing.T) {
	t.Parallel()
	odd := func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "EMPTY=", "ODD=a=b\nc", "NOT\xffUTF8=\xfe", "OPENAI_API_KEY=secret")
	}
	w := newWorld(t)
	want := strings.Split(w.run(odd, testtool, "env").stdout, "\x00")
	everyLayer(t, func(t *testing.T, m mode) {
		w := &world{t: t, home: w.home, work: w.work, state: w.state, cookie: w.cookie}
		got := strings.Split(w.run(odd, m.argv(nil, testtool, "env")...).stdout, "\x00")
		var added []string // the run's own, and what hands its limit down to runtimes (docs/run.md)
		got = slices.DeleteFunc(got, func(kv string) bool {
			name, value, _ := strings.Cut(kv, "=")
			is := slices.Contains([]string{"PLIMSOLL_RUN_ID", "PLIMSOLL_RUN_MEMORY", "NODE_OPTIONS", "DENO_V8_FLAGS"}, name) && value != ""
			if is {
				added = append(added, name)
			}
			return is
		})
		slices.Sort(added)
		if want := "DENO_V8_FLAGS NODE_OPTIONS PLIMSOLL_RUN_ID PLIMSOLL_RUN_MEMORY"; strings.Join(added, " ") != want {
			t.Errorf("%q are added, want %s, each once", added, want)
		}
		if !slices.Equal(got, want) {
			for _, kv := range got {
				if !slices.Contains(want, kv) {
					t.Errorf("added: %q", kv)
				}
			}
			for _, kv := range want {
				if !slices.Contains(got, kv) {
					t.Errorf("lost: %q", kv)
				}
			}
			t.Error("the environment, or its order, is not what it was")
		}
	})
}

// What a process inherits besides: signal dispositions and mask, limits, priorities.
func TestInheritedAttributes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("read from /proc")
	}
	// HUP and INT only: the runtime of a Go program, plimsoll's too, puts its own handlers
	// over other ignored signals before main, and a handler does not survive exec.
	ignore := func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"bash", "-c", `trap "" HUP INT; ulimit -S -n 777; ulimit -c 0; exec "$@"`, "bash", cmd.Path}, cmd.Args[1:]...)
		path, err := exec.LookPath("bash")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path = path
	}
	t.Run("signals", func(t *testing.T) {
		same(t, ignore, "grep", "-E", "^(SigBlk|SigIgn|SigCgt|NoNewPrivs|Seccomp|CapEff|CapBnd|CapAmb|Cpus_allowed):", "/proc/self/status")
	})
	t.Run("limits", func(t *testing.T) {
		// The data limit is what the rlimit layer works with.
		same(t, ignore, "grep", "-v", "^Max data size", "/proc/self/limits")
	})
	t.Run("out of memory order", func(t *testing.T) {
		same(t, nil, "cat", "/proc/self/oom_score_adj")
	})
	// Where no group holds the weight, niceness does: with the weight of everything else there is none.
	t.Run("nice", func(t *testing.T) {
		same(t, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "PLIMSOLL_RESOURCES_CPU_WEIGHT=100") }, "nice")
	})
}

// speaker is a command whose first line has been read and that still runs.
type speaker struct {
	world *world
	cmd   *exec.Cmd
	out   *bufio.Reader
	errs  *bytes.Buffer
}

// start begins argv without a terminal and waits for its line "ready".
func (w *world) start(argv ...string) *speaker {
	w.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.work, w.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	s := &speaker{world: w, cmd: cmd, errs: new(bytes.Buffer)}
	cmd.Stderr = s.errs
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = cmd.Process.Kill() })
	s.out = bufio.NewReader(pipe)
	if line, err := s.out.ReadString('\n'); line != "ready\n" {
		w.t.Fatalf("%q said %q, not ready: %v", short(argv), line, err)
	}
	return s
}

// end returns what it still says and its status.
func (s *speaker) end(t *testing.T) (string, int) {
	t.Helper()
	hung := time.AfterFunc(patience, func() {
		t.Errorf("%q has not ended within %v: killed by the test", short(s.cmd.Args), patience)
		_ = s.cmd.Process.Kill()
		for _, p := range s.world.processes() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	})
	defer hung.Stop()
	said, err := io.ReadAll(s.out)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // the status tells
	return string(said), status(s.cmd.ProcessState)
}

func TestSignalsAreForwardedOnce(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			everyMode(t, func(t *testing.T, m mode) {
				w := newWorld(t)
				s := w.start(m.argv(nil, testtool, "terminate")...)
				if err := s.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				said, status := s.end(t)
				if want := fmt.Sprintf("got %s and 0 more\n", sig); said != want || status != 7 {
					t.Errorf("said %q with status %d, want %q with 7\nstderr: %s", said, status, want, s.errs)
				}
				w.nothingLeft()
			})
		})
	}
}

func TestSecondTerminateKills(t *testing.T) {
	t.Parallel()
	everyLayer(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		s := w.start(m.argv(nil, testtool, "stubborn")...)
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if line, err := s.out.ReadString('\n'); line != "got 1\n" {
			t.Fatalf("the first SIGTERM was not passed on: %q, %v", line, err)
		}
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if _, status := s.end(t); status != 137 {
			t.Errorf("status %d, want 137: after a second SIGTERM the tool is killed\nstderr: %s", status, s.errs)
		}
		w.nothingLeft()
	})
}

// A daemon in a session of its own outlives its parent; with plimsoll it ends with the run.
func TestNothingOutlivesTheRun(t *testing.T) {
	t.Parallel()
	everyLayer(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		got := w.run(nil, m.argv(nil, testtool, "daemon")...)
		if got.status != 0 || got.stdout != "left one behind\n" {
			t.Errorf("status %d, stdout %q\nstderr: %s", got.status, got.stdout, got.stderr)
		}
		w.nothingLeft()
	})
}

// The same without plimsoll must leave a process, or the test above proves nothing.
func TestDaemonOutlivesBareTool(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("found by /proc")
	}
	w := newWorld(t)
	w.run(nil, testtool, "daemon")
	if len(w.processes()) != 1 {
		t.Errorf("%d processes left, want the daemon", len(w.processes()))
	}
}

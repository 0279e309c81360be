package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// A container is a control group as a kubelet makes it: with a memory limit, and on cgroup v2 so that it dies whole.
type container struct {
	w     *world
	dir   string
	whole bool   // memory.oom.group is set
	log   string // the termination message
}

func (w *world) container(memory int64) *container {
	t := w.t
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to make a control group as a kubelet does")
	}
	c := &container{w: w, log: filepath.Join(t.TempDir(), "termination-log")}
	name := "e2e-" + w.cookie // a name that begins with plimsoll- is that of a run
	put := func(file string, value any) error {
		return os.WriteFile(filepath.Join(c.dir, file), fmt.Append(nil, value), 0)
	}
	var err error
	if _, noV1 := os.Stat("/sys/fs/cgroup/memory/memory.usage_in_bytes"); noV1 == nil {
		c.dir = filepath.Join("/sys/fs/cgroup/memory", name)
		if err = os.Mkdir(c.dir, 0o755); err == nil {
			err = put("memory.limit_in_bytes", memory)
			_ = put("memory.memsw.limit_in_bytes", memory)
		}
	} else {
		c.dir = filepath.Join("/sys/fs/cgroup", name)
		if err = os.Mkdir(c.dir, 0o755); err == nil {
			err = put("memory.max", memory)
			_ = put("memory.swap.max", 0)
			c.whole = put("memory.oom.group", 1) == nil
		}
	}
	if err != nil {
		t.Skip("no control group can be made: ", err)
	}
	t.Cleanup(func() {
		for _, p := range w.processes() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		wait.Within(t, patience, c.dir+" is removed", func() bool { return os.Remove(c.dir) == nil })
	})
	if err := os.WriteFile(c.log, nil, 0o666); err != nil { // as the kubelet makes it
		t.Fatal(err)
	}
	// A pod has all of its memory for what it runs.
	w.variables = append(w.variables, "PLIMSOLL_TERMINATION_LOG="+c.log, "PLIMSOLL_RESOURCES_MIN_FREE=0", "PLIMSOLL_RESOURCES_RESERVATION=64M")
	return c
}

// command is what starts in the container.
func (c *container) command(argv ...string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", slices.Concat([]string{"-c", `echo 0 >"$0"/cgroup.procs && exec "$@"`, c.dir}, argv)...)
	cmd.Dir, cmd.Env = c.w.work, c.w.environment()
	return cmd
}

// says waits until the termination message has all of the words.
func (c *container) says(words ...string) string {
	t := c.w.t
	t.Helper()
	var text []byte
	wait.Within(t, patience, fmt.Sprintf("the message has %q", words), func() bool {
		var err error
		if text, err = os.ReadFile(c.log); err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(string(text), w) })
	}, func() string { return fmt.Sprintf("it is %q", text) })
	if len(text) > 4096 {
		t.Errorf("the message has %d bytes", len(text))
	}
	return string(text)
}

const mebibyte = 1 << 20

// A run in a container stays below the container's limit. What fills the container is named in its termination message while it lives,
// and after it has died of it, be it the greedy process alone or everything.
func TestContainerOfARunSaysWhyItDied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.container(256 * mebibyte)
	run := func(memory string) *exec.Cmd {
		return c.command(plimsoll, "run", "--layer", "monitor", "--enforcement", "best-effort", "--", testtool, "thrash", memory, "20ms")
	}
	cmd := run("212")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// 240 MiB is 16 below the container's.
	text := c.says("plimsoll: this container uses 8", " of 256 MiB", "\n  testtool (pid ", "Limits inside: testtool may use 240 MiB (plimsoll run).", "What to do: raise resources.limits.memory")
	t.Log(text)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if !strings.Contains(said.String(), "more than 75 %") {
		t.Errorf("the container's log says nothing: %s", said.String())
	}

	cmd = run("1024")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(time.Minute): // close to the limit, with programs on a slow disk, it can take long to die; then it is killed from outside, as a kubelet does
		for _, p := range w.processes() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		<-ended
	}
	t.Logf("it ended with %v, whole: %v", cmd.ProcessState, c.whole)
	t.Log(c.says("testtool", "of 2", "MiB"))
}

// What is refused, because it would never fit into the container, says so where a person looks who finds the pod failing.
func TestContainerOfARefusedRunSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.container(256 * mebibyte)
	cmd := c.command(plimsoll, "run", "--reserve", "1G", "--", testtool, "exit", "0")
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 125 {
		t.Fatal(err)
	}
	t.Log(c.says("plimsoll: testtool is not admitted: it needs 1 GiB", "next "))
}

// The daemon watches its container too, and none of its MCP servers may use more than the container has. There is no systemd in a container
// that would give a server a scope elsewhere.
func TestContainerOfTheDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.container(256 * mebibyte)
	writeAs(t, filepath.Join(w.state, "config.toml"), "[resources]\nlayers = [\"monitor\"]\n[mcp.servers.brief]\ncommand = [\"/bin/false\"]\n", 0o600)
	ready := filepath.Join(t.TempDir(), "url")
	cmd := c.command(plimsoll, "serve", "--listen", "127.0.0.1:0", "--ready-file", ready)
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Within(t, patience, "the daemon is ready", func() bool { return fileExists(t, ready) })
	url := testfile.Read(t, ready)
	answer, err := http.Post(strings.TrimSpace(string(url))+"/mcp/brief", "application/json", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	text, err := os.ReadFile(said.Name())
	if err != nil || !strings.Contains(string(text), "the MCP server brief may use 240 MiB of memory: kept below the 256 MiB that ") {
		t.Errorf("its server's limit is not below the container's: %s (%v)", text, err)
	}
	greedy := c.command(testtool, "thrash", strconv.Itoa(220), "20ms")
	if err := greedy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Log(c.says("plimsoll: this container uses ", " of 256 MiB", "\n  testtool (pid ", "  plimsoll (pid "))
	_ = greedy.Process.Kill()
	_ = greedy.Wait()
	c.says("plimsoll: this container has used ")
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("serve ends with %v", err)
	}
}

// An agent that has run out of a small container's memory is started again by whoever restarts containers: what was learned from its
// death is more than the container will ever have, and keeps it out as little as a guess does. What somebody asked for still does.
func TestContainerOfAnAgentThatDiedStartsItAgain(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{64, 256} {
		for _, layer := range []string{"cgroup1", "cgroup2", "rlimit"} {
			t.Run(fmt.Sprintf("%d MiB, %s", size, layer), func(t *testing.T) {
				w := newWorld(t)
				c := w.container(size * mebibyte)
				w.variables = slices.DeleteFunc(w.variables, func(v string) bool { return strings.HasPrefix(v, "PLIMSOLL_RESOURCES_") })
				run := func(extra ...string) (code int, said string) {
					argv := append([]string{plimsoll, "run", "--layer", layer}, extra...)
					cmd := c.command(append(argv, "--", testtool, "thrash", strconv.FormatInt(2*size, 10))...)
					body, err := cmd.CombinedOutput()
					if cmd.ProcessState == nil {
						t.Fatal(err)
					}
					// In the layer rlimit the container is one group, and the kernel sometimes takes us in the milliseconds until the memory of the
					// agent that it has killed is free. To whoever restarts the container that is the same: 137.
					return status(cmd.ProcessState), string(body)
				}
				learned := false // what killed it; a supervisor that the kernel took with it learns nothing
				for i := range 3 {
					status, said := run()
					if strings.Contains(said, "layer "+layer+":") || strings.Contains(said, "  "+layer+" ") {
						t.Skip(said)
					}
					if status != 137 {
						t.Fatalf("start %d: status %d: %s", i+1, status, said)
					}
					if told := strings.Contains(said, "that are there for it, under a limit of"); told != learned {
						t.Errorf("start %d: %s", i+1, said)
					}
					learned = learned || strings.Contains(said, "plimsoll: out of memory")
				}
				if status, said := run("--reserve", "2G"); status != 125 || !strings.Contains(said, "there will never be more than") {
					t.Errorf("with a stated need: status %d: %s", status, said)
				}
			})
		}
	}
}

package termination

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/limit"
)

const roleName = "PLIMSOLL_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleName); role {
	case "":
		os.Exit(m.Run())
	case "container":
		os.Exit(playContainer())
	case "grow":
		os.Exit(playGrow())
	default:
		fmt.Fprintln(os.Stderr, "no role", role)
		os.Exit(2)
	}
}

// playContainer enters the group and watches, with a child that takes memory as it is told.
func playContainer() int {
	dir, path := os.Args[1], os.Args[2]
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
		fmt.Println("enter:", err)
		return 2
	}
	w, err := Start(Options{Path: path, Inner: "the child may use 1G", Note: func(e Event) { fmt.Println("note:", e) }, Warn: func(s string) { fmt.Println("warn:", s) }})
	if err != nil {
		fmt.Println("start:", err)
		return 2
	}
	defer w.End("")
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), roleName+"=grow")
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		fmt.Println("child:", err)
		return 2
	}
	fmt.Println("child", child.Process.Pid)
	_ = child.Wait()
	return 0
}

// playGrow holds as many bytes as the last line says.
func playGrow() int {
	name := [16]byte{}
	copy(name[:], "greedy")
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(ptr(&name)), 0, 0, 0)
	var held [][]byte
	total := 0
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		want, _ := strconv.Atoi(lines.Text())
		const step = 1 << 20
		for ; total < want; total += step {
			b, err := unix.Mmap(-1, 0, step, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
			if err != nil {
				return 3
			}
			for i := 0; i < step; i += 4096 {
				b[i] = 1
			}
			held = append(held, b)
		}
		for ; total > want && len(held) > 0; total -= step {
			_ = unix.Munmap(held[len(held)-1])
			held = held[:len(held)-1]
		}
		fmt.Println("held", total)
	}
	return 0
}

// newGroup makes a control group of so much memory that dies whole, as a kubelet makes it for a container, beside all others.
func newGroup(t *testing.T, memory limit.Bytes) (dir string, whole bool) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to make a control group as a kubelet does")
	}
	own, err := cgroupfs.Own()
	if err != nil {
		t.Skip(err)
	}
	name := fmt.Sprintf("plimsoll-termination-%d", os.Getpid())
	put := func(file, value string) error { return os.WriteFile(filepath.Join(dir, file), []byte(value), 0) }
	if mount := own.V1Mount["memory"]; mount != "" {
		dir = filepath.Join(mount, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skip(err)
		}
		err = put("memory.limit_in_bytes", strconv.FormatInt(int64(memory), 10))
		_ = put("memory.memsw.limit_in_bytes", strconv.FormatInt(int64(memory), 10))
	} else {
		dir = filepath.Join(own.UnifiedMount, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skip(err)
		}
		err = put("memory.max", strconv.FormatInt(int64(memory), 10))
		_ = put("memory.swap.max", "0")
		whole = put("memory.oom.group", "1") == nil
	}
	t.Cleanup(func() {
		wait.Until(t, dir+" is gone", func() bool { // the dead are counted for a moment
			if os.Remove(dir) == nil {
				return true
			}
			pids, _ := cgroupfs.Procs(dir)
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return false
		})
	})
	if err != nil {
		t.Skip("the group takes no memory limit: ", err)
	}
	return dir, whole
}

// A container's processes grow to three quarters of its memory, to nine tenths, fall, and grow over all of it. The file says at each
// moment who it is; and on cgroup v2, where the kernel then kills everybody in the container, also the watcher, it says so afterwards.
func TestTheFileSaysWhyBeforeTheContainerDies(t *testing.T) {
	const memory = 256 * limit.MiB
	dir, whole := newGroup(t, memory)
	path := filepath.Join(t.TempDir(), "termination-log")
	if err := os.WriteFile(path, nil, 0o666); err != nil { // as the kubelet makes it
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "/proc/self/exe", dir, path)
	c.Env = append(os.Environ(), roleName+"=container")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewScanner(io.TeeReader(out, &said))
	until := func(prefix string) string {
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				return strings.TrimSpace(rest)
			}
		}
		t.Fatalf("it ended before %q: %s", prefix, said.String())
		return ""
	}
	child := until("child")
	hold := func(share limit.Bytes) {
		fmt.Fprintln(in, int64(memory/100*share))
		until("held")
	}
	written := func(what string, ok func(string) bool) (text string) {
		wait.Until(t, what, func() bool {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text = string(body)
			return ok(text)
		}, func() string { return fmt.Sprintf("the file says %q", text) })
		return text
	}
	hold(40)
	hold(77)
	culprit := "\n  greedy (pid " + child + ") with "
	written("at 77 %", func(s string) bool {
		return strings.HasPrefix(s, "plimsoll: this container uses 7") || strings.HasPrefix(s, "plimsoll: this container uses 8")
	})
	hold(92)
	text := written("at 92 %", func(s string) bool { return strings.HasPrefix(s, "plimsoll: this container uses 9") })
	for _, want := range []string{culprit, " of 256 MiB.", "limit memory.", "Limits inside: the child may use 1G.", "384Mi"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	hold(20)
	written("back at 20 %", func(s string) bool {
		return strings.HasPrefix(s, "plimsoll: this container has used 9") && strings.Contains(s, culprit)
	})
	hold(92)
	written("at 92 % again", func(s string) bool { return strings.HasPrefix(s, "plimsoll: this container uses 9") })
	fmt.Fprintln(in, int64(2*memory)) // the kernel's turn
	err = c.Wait()
	if _, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if whole {
		if s := c.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGKILL {
			t.Errorf("the watcher was not killed with the rest, but ended with %v", c.ProcessState)
		}
		events, _ := os.ReadFile(filepath.Join(dir, "memory.events"))
		t.Logf("memory.events: %s", strings.ReplaceAll(string(events), "\n", ", "))
		if !strings.HasPrefix(string(after), "plimsoll: this container uses 9") {
			t.Errorf("the file does not say how full it was: %s", after)
		}
	}
	if !strings.Contains(string(after), culprit) || len(after) > MaxMessage {
		t.Errorf("the file does not say who it was: %s", after)
	}
	for _, line := range []string{"more than 75 %", "more than 90 %"} {
		if !strings.Contains(said.String(), line) {
			t.Errorf("nobody was told of %q: %s", line, said.String())
		}
	}
	t.Logf("died whole: %v; the file:\n%s", whole, after)
}

func ptr(p *[16]byte) unsafe.Pointer { return unsafe.Pointer(p) }

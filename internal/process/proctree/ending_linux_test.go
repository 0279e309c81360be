package proctree

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stranger is a user whom nothing of root's belongs to.
const stranger = 65534

// asStranger does something with the file rights of another user, where this process has those of
// root. The rights are the thread's, so they reach no other test.
func asStranger(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.SetfsuidRetUid(stranger)
	defer func() {
		unix.SetfsuidRetUid(0)
		if now, _ := unix.SetfsuidRetUid(-1); now != 0 { // an id that is none only asks
			t.Fatal("root's rights did not come back")
		}
	}()
	if now, _ := unix.SetfsuidRetUid(-1); now != stranger {
		t.Skip("this sandbox does not let root take the rights of another user (setfsuid)")
	}
	do()
}

// The process forks after the listing has passed the child's number. To another user than root the
// environment of one that is ending is a stranger's.
func TestALookIsNotTrustedWhileSomebodyIsEnding(t *testing.T) {
	ending := proc{pid: 120, ppid: 1, start: 120, name: "parent", ending: true}
	left := proc{pid: 130, ppid: 1, start: 130, name: "left", environ: cookie + "\x00"}
	for name, c := range map[string]struct {
		parent  proc
		sealed  bool // its environment may not be read
		settled bool
	}{
		"ending, and its files are root's":        {ending, true, false},
		"ending, and its environment ends early":  {proc{pid: 120, ppid: 1, start: 120, ending: true, environ: "A=1\x00PLIM"}, false, false},
		"a stranger's that lives on":              {proc{pid: 120, ppid: 1, start: 120}, true, true},
		"ending, of a parent who is a stranger's": {proc{pid: 120, ppid: 70, start: 120, ending: true}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTable(t)
			x.add(proc{pid: 70, ppid: 1, start: 70, name: "a service"})
			x.add(proc{pid: 100, ppid: 60, start: 100, name: "agent", state: "Z"})
			tree := x.tree(Options{Root: 100, Cookie: cookie})
			// Like a look of a user who may read what is his, as the kernel has it.
			look := func() (alive []int, settled bool) {
				t.Helper()
				x.open(map[bool]int{c.sealed: 120}[true])
				asStranger(t, func() { alive, settled = living(t, tree) })
				return alive, settled
			}
			for range 2 {
				look()
			}
			x.add(c.parent)
			if alive, settled := look(); len(alive) != 0 || settled != c.settled {
				t.Errorf("alive: %v, settled: %v; want nobody, settled: %v", alive, settled, c.settled)
			}
			if c.settled {
				return
			}
			x.add(left)
			if alive, _ := look(); len(alive) != 1 || alive[0] != left.pid {
				t.Errorf("alive: %v, want %d", alive, left.pid)
			}
			x.remove(left.pid)
			x.remove(ending.pid)
			look()
			if alive, settled := look(); len(alive) != 0 || !settled {
				t.Errorf("alive: %v, settled: %v; want nobody for sure", alive, settled)
			}
		})
	}
}

// open lets everybody read the table, but nobody the environment of the process sealed.
func (x *table) open(sealed int) {
	x.t.Helper()
	err := filepath.WalkDir(x.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := os.FileMode(0o444)
		switch {
		case e.IsDir():
			mode = 0o755
		case e.Name() == "environ" && filepath.Base(filepath.Dir(path)) == strconv.Itoa(sealed):
			mode = 0
		}
		return os.Chmod(path, mode)
	})
	if err != nil {
		x.t.Fatal(err)
	}
}

// halfEnded plays the parent of a process that is held in the middle of its end: the first process of a
// PID namespace waits there until all others of the namespace have been reaped (zap_pid_ns_processes
// of kernel/pid_namespace.c), and one of them is a child of this process, which does so at the end.
func halfEnded(environ string) error {
	// Package os tries once, with a child that ends at once, whether it can have descriptors of processes. That
	// one must not become the first of the namespace.
	if _, err := os.FindProcess(os.Getpid()); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWPID); err != nil { // this thread's children; the thread is locked
		return fmt.Errorf("unshare the PID namespace: %w", err)
	}
	attr := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 && os.Getenv("PROCTREE_AS") != "" {
		attr.Credential = &syscall.Credential{Uid: stranger, Gid: stranger, NoSetGroups: true}
	}
	var ends [2]func() error
	var pids [2]int
	for i, env := range [][]string{{environ}, {}} {
		c := exec.Command("cat") // of one thread
		c.Env, c.SysProcAttr = env, attr
		in, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			return err
		}
		ends[i], pids[i] = in.Close, c.Process.Pid
		defer c.Wait()
	}
	fmt.Println("ready", pids[0])
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	ends[0]()
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, pids[1], &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		return err
	}
	fmt.Println("held") // the other one has killed this one, and waits for it to be reaped
	in.ReadString('\n')
	return nil
}

// What the kernel shows of a process in the middle of its end: no zombie yet, and nothing of it may be read.
func TestAProcessInTheMiddleOfItsEndIsAskedAgain(t *testing.T) {
	entry := fmt.Sprintf("PLIMSOLL_RUN_ID=%d-ending-%d", os.Getpid(), time.Now().UnixNano())
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), "PROCTREE_ROLE=ending "+entry)
	c.Stderr = os.Stderr
	if uid := os.Geteuid(); uid == 0 {
		c.Env = append(c.Env, "PROCTREE_AS=stranger")
	} else {
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}}
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Skipf("this machine lets nobody make namespaces: %v", err)
	}
	defer func() {
		in.Close()
		c.Wait()
	}()
	said := bufio.NewReader(out)
	line, err := said.ReadString('\n')
	pid, wrong := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(line), "ready "))
	if err != nil || wrong != nil {
		t.Skipf("this machine lets nobody make a PID namespace: %s", line)
	}
	look := func() (tree *Tree, alive []int, settled bool) {
		tree, err := New(Options{Cookie: entry})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tree.Close() })
		asStranger(t, func() { alive, settled = living(t, tree) })
		return tree, alive, settled
	}
	for begin := time.Now(); ; runtime.Gosched() { // until it has its own name and environment
		_, alive, _ := look()
		if len(alive) == 1 && alive[0] == pid && Name(pid) == "cat" {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("%v carry the cookie, as another user sees it; want %d, %q", alive, pid, Name(pid))
		}
	}
	fmt.Fprintln(in, "end")
	if line, err = said.ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("%q, %v", line, err)
	}
	p, err := Lookup(pid)
	if err != nil || p.Zombie() || !p.ending {
		t.Fatalf("%+v, %v: want a process that is ending", p, err)
	}
	asStranger(t, func() {
		if b, err := readProc(pid, "environ"); err == nil {
			t.Errorf("the environment of a process that is ending is %q, want no right to read it", b)
		}
	})
	tree, alive, settled := look()
	if e := tree.known[pid]; len(alive) != 0 || settled || e == nil || e.inode != 0 || e.undecided.IsZero() {
		t.Errorf("alive: %v, settled: %v, entry %+v; want nobody for now, and to ask it again", alive, settled, e)
	}
}

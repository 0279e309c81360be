package proctree

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The test binary plays the processes of a tree: PROCTREE_ROLE says which. Every role
// writes a line to standard output when it and its children are ready, and then lives
// until its standard input ends or it is killed.
func TestMain(m *testing.M) {
	if role := os.Getenv("PROCTREE_ROLE"); role != "" {
		play(strings.Fields(role))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func play(role []string) {
	n := 0
	if len(role) > 1 {
		n, _ = strconv.Atoi(role[1])
	}
	switch role[0] {
	case "idle":
	case "deep": // n processes below, one under the other
		if n > 0 {
			child("deep "+strconv.Itoa(n-1), nil)
		}
	case "wide": // n children
		for range n {
			child("idle", nil)
		}
	case "wide-stubborn":
		for range n {
			child("stubborn", nil)
		}
	case "orphan": // a child whose parent ends
		child("parent-of-orphan", nil)
	case "parent-of-orphan":
		child("idle", nil)
		fmt.Println("ready")
		return
	case "daemon": // an orphan in a session of its own
		child("parent-of-daemon", nil)
	case "parent-of-daemon":
		child("idle", &syscall.SysProcAttr{Setsid: true})
		fmt.Println("ready")
		return
	case "zombie": // a child that nobody waits for
		c := exec.Command("/proc/self/exe")
		c.Env = []string{"PROCTREE_ROLE=exit"}
		if err := c.Start(); err != nil {
			panic(err)
		}
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, c.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
			panic(err)
		}
	case "exit":
		return
	case "named":
		name, _ := hex.DecodeString(role[1])
		setName(string(name))
	case "threads":
		for range n {
			go func() { runtime.LockOSThread(); select {} }()
		}
	case "big": // n MiB of private memory
		block := touch(n << 20)
		defer runtime.KeepAlive(block)
	case "spike": // held n MiB once
		block := touch(n << 20)
		unix.Munmap(block)
	case "shmem": // n MiB that a child maps too
		block, err := unix.Mmap(-1, 0, n<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
		if err != nil {
			panic(err)
		}
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		defer runtime.KeepAlive(block)
	case "leaderless": // the first thread ends, another one holds n MiB
		leaderless(n)
	case "stubborn": // ignores SIGTERM
		signal.Ignore(syscall.SIGTERM)
	case "forker": // keeps starting children that do the same, for n generations
		signal.Ignore(syscall.SIGTERM)
		forker(n)
	case "comets": // n processes that each start a successor and end, again and again
		for range n {
			next("comet 1000")
		}
	case "sparks": // a chain of n processes, each of which lives half a millisecond
		next("spark " + role[1])
	case "ending": // with a child that is held in the middle of its end
		if err := halfEnded(role[1]); err != nil {
			fmt.Println(err)
		}
		return
	case "spark":
		spark(n)
	case "comet":
		if n > 0 {
			next("comet " + strconv.Itoa(n-1))
		}
		return
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadByte()
}

// child starts the test binary in a role and waits until it is ready. Its standard input
// is ours, so that the whole tree ends with the test.
func child(role string, attr *syscall.SysProcAttr) {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), "PROCTREE_ROLE="+role)
	c.Stdin, c.Stderr = os.Stdin, os.Stderr
	c.SysProcAttr = attr
	out, err := c.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := c.Start(); err != nil {
		panic(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		panic(fmt.Sprint(role, line, err))
	}
	if strings.HasPrefix(role, "parent-of-") {
		c.Wait()
	}
}

func touch(size int) []byte {
	block, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		panic(err)
	}
	for i := 0; i < size; i += 4096 {
		block[i] = 1
	}
	return block
}

func setName(name string) {
	if err := os.WriteFile("/proc/self/comm", []byte(name), 0); err != nil {
		panic(err)
	}
}

// leaderless ends the first thread; the process goes on in the others.
func leaderless(mebibytes int) {
	go func() {
		block := touch(mebibytes << 20)
		defer runtime.KeepAlive(block)
		for { // until the kernel shows the first thread as ended
			if p, err := Lookup(os.Getpid()); err == nil && p.State == 'Z' {
				break
			}
			runtime.Gosched()
		}
		fmt.Println("ready")
		bufio.NewReader(os.Stdin).ReadByte()
		unix.Exit(0)
	}()
	unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
}

// The main goroutine keeps the first thread, so that the role "leaderless" ends that one.
func init() { runtime.LockOSThread() }

// forker starts six children over time, every other one in a session of its own. The
// whole family stays below 6+36+216 processes, should the test fail.
func forker(generations int) {
	fmt.Println("ready")
	for i := range 6 {
		if generations == 0 {
			break
		}
		c := exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), "PROCTREE_ROLE=forker "+strconv.Itoa(generations-1))
		c.Stdin = os.Stdin
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: i%2 == 1}
		if c.Start() == nil {
			go c.Wait()
		}
		if i >= 3 {
			unix.Nanosleep(&unix.Timespec{Nsec: 20e6}, nil)
		}
	}
}

// spark forks without exec, again and again; each parent ends at once.
func spark(n int) {
	nap := unix.Timespec{Nsec: 500e3}
	for range n {
		unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&nap)), 0, 0)
		child, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if child != 0 || errno != 0 { // what a fork leaves of the Go runtime can make system calls and no more
			break
		}
	}
	unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
}

// next starts the test binary in a role and does not wait for it.
func next(role string) {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), "PROCTREE_ROLE="+role)
	if err := c.Start(); err != nil {
		panic(err)
	}
}

// start starts the test binary in a role as the root of a tree, with "setsid " before the
// role in a session of its own; the option Cookie "cookie" becomes the real one. The whole tree is killed
// at the end of the test.
func start(t testing.TB, role string, o Options) (*Tree, *exec.Cmd) {
	t.Helper()
	c := exec.Command("/proc/self/exe")
	role, session := strings.CutPrefix(role, "setsid ")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	cookie := fmt.Sprintf("PLIMSOLL_RUN_ID=%d-%s-%d", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
	c.Env = append(os.Environ(), "PROCTREE_ROLE="+role, cookie)
	c.Stderr = os.Stderr
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	o.Root = c.Process.Pid
	if o.Cookie == "cookie" {
		o.Cookie = cookie
	}
	t.Cleanup(func() { c.Wait() })
	tree, err := New(o)
	if err != nil {
		c.Process.Kill()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, err := tree.KillTree(t.Context(), KillOptions{}); err != nil {
			t.Errorf("clean up: %v: %v", left, err)
		}
		tree.Close()
		// What the tree lost is found by the cookie alone.
		rest, err := New(Options{Cookie: cookie})
		if err != nil {
			t.Error(err)
			return
		}
		defer rest.Close()
		if left, err := rest.KillTree(t.Context(), KillOptions{}); err != nil {
			t.Errorf("clean up by cookie: %v: %v", left, err)
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("role %q did not become ready: %q %v", role, line, err)
	}
	return tree, c
}

func scan(t testing.TB, tree *Tree) Changes {
	t.Helper()
	changes, err := tree.Scan()
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// alive counts the members that are no zombies.
func alive(tree *Tree) int {
	n := 0
	for _, p := range tree.Members() {
		if !p.Zombie() {
			n++
		}
	}
	return n
}

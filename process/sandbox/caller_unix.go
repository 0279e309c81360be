//go:build unix

package sandbox

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/internal/process/sandbox/shim"
	"github.com/plimsoll/plimsoll/journal"
)

const (
	// hangupApart bounds the time between the closing of a caller's end of the pipe and its death for both to be one event: the kernel
	// closes the files of a process that was killed some moments before it reports the death.
	hangupApart = time.Second
	// witnessWait bounds the wait of a signal of ours for the same one at the witness. The kernel sends one for a group to all its members
	// before anybody of them runs.
	witnessWait = 200 * time.Millisecond
	// witnessStart bounds the wait of a command for its witness to listen, which takes some milliseconds.
	witnessStart = time.Second
	// maxShells bounds the shells (sh -c) between the caller and us.
	maxShells = 3
)

// FindCaller returns the process that started this one, perhaps through a shell (sh -c), and holds the other end of its standard input, an
// open pipe or socket. It returns false for a command in a pipeline or a script, whose shell holds neither end; under nohup (SIGHUP is
// ignored); for a command of sshd, whose connection may break; and if init has started this process.
func FindCaller() (Caller, bool) {
	var st unix.Stat_t
	if unix.Fstat(0, &st) != nil || signal.Ignored(syscall.SIGHUP) || isHungUp(0) {
		return Caller{}, false
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFIFO && kind != unix.S_IFSOCK {
		return Caller{}, false
	}
	pid := os.Getppid()
	for range maxShells + 1 {
		p, err := proctree.Lookup(pid)
		if err != nil || pid <= 1 || strings.HasPrefix(p.Name, "sshd") {
			return Caller{}, false
		}
		if holdsInput(pid) {
			return Caller{PID: pid, Start: p.Start}, true
		}
		if !isShellCommand(pid) {
			return Caller{}, false
		}
		pid = p.PPID
	}
	return Caller{}, false
}

// shellNames are shells that may stay the parent of the one command that they were given.
var shellNames = []string{"sh", "bash", "dash", "zsh", "ash", "ksh", "fish", "busybox"}

// isShellCommand reports whether a process is a shell that was given a command line (sh -c LINE), not a script.
func isShellCommand(pid int) bool {
	argv := readArguments(pid)
	if len(argv) < 3 || !slices.Contains(shellNames, strings.TrimPrefix(filepath.Base(argv[0]), "-")) {
		return false
	}
	for _, a := range argv[1:] {
		if !strings.HasPrefix(a, "-") {
			return false
		}
		if !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "c") {
			return true
		}
	}
	return false
}

// isHungUp reports whether the other end of a pipe or socket is closed, or on Linux writes no more.
func isHungUp(fd int) bool {
	set := []unix.PollFd{{Fd: int32(fd), Events: hangupEvents}}
	n, err := unix.Poll(set, 0)
	return err == nil && n > 0 && set[0].Revents != 0
}

// watchCaller asks the run to end when its caller has died and standard input has hung up, and kills it after grace: an editor that crashed ends
// nothing itself, and some agents do not end at the end of their input. One of the two alone ends nothing. It returns when quit is closed, the
// command has ended, or the caller lives on after closing its end of the pipe and is not Needed.
func (r *Run) watchCaller(grace time.Duration, quit <-chan struct{}) {
	woken, wake, err := os.Pipe()
	if err != nil {
		return
	}
	defer woken.Close()
	go func() {
		<-quit
		_ = wake.Close()
	}()
	set := []unix.PollFd{{Fd: 0, Events: hangupEvents}, {Fd: int32(woken.Fd()), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(set, -1)
		if err != nil && !errors.Is(err, unix.EINTR) || set[1].Revents != 0 {
			return
		}
		if err == nil && set[0].Revents != 0 {
			break
		}
	}
	caller := *r.spec.Caller
	for end, pause := time.Now().Add(hangupApart), hangupApart/20; proctree.Alive(caller.PID, caller.Start); {
		if time.Now().After(end) {
			if caller.Needed == nil || !caller.Needed() {
				return // the command goes on without being talked to
			}
			pause = hangupApart
		}
		select {
		case <-quit:
			return
		case <-r.exited:
			return
		case <-time.After(pause):
		}
	}
	select {
	case <-r.exited:
		return
	default:
	}
	r.spec.appendEvent(journal.Warned{About: "caller", Text: "the program that started it has ended, and standard input with it: the run was asked to end"})
	_ = r.Freeze(false)
	r.askToEnd()
	r.killAfter(grace, quit)
}

// newWitness starts the witness process and waits until it listens, at most for witnessStart. If it cannot be started, the witness never sees a
// signal, and so every signal counts as sent to us alone. The caller calls its stop.
func newWitness() *witness {
	w := &witness{seen: make(chan os.Signal, 16), stop: func() {}}
	said, say, err := os.Pipe()
	if err != nil {
		return w
	}
	stop, err := startHelper(say, false, shim.Witness)
	_ = say.Close()
	if err != nil {
		_ = said.Close()
		return w
	}
	told, ready := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		b := make([]byte, 1)
		for listens := false; ; listens = true {
			_, err := said.Read(b)
			if !listens {
				close(ready)
			}
			if err != nil {
				return
			}
			select {
			case w.seen <- syscall.Signal(b[0]):
			default:
			}
		}
	}()
	w.stop = func() {
		stop()
		_ = said.Close()
		<-told
	}
	select {
	case <-ready:
	case <-time.After(witnessStart):
	}
	return w
}

// sawGroupSignal reports whether a signal that has just reached us was sent to the whole group. It waits for the witness for at most witnessWait.
func (w *witness) sawGroupSignal(sig os.Signal) bool {
	late := time.After(witnessWait)
	for {
		select {
		case s := <-w.seen:
			if s == sig {
				return true
			}
		case <-late:
			return false
		}
	}
}

// Guard starts a process that waits, and executes the program at path with the arguments argv (its name first) if this process dies before it
// has called dismiss. It has a session of its own: nobody can catch SIGKILL, and one sent to our process group must not reach it. It stays in
// the control group that this process is in now.
func Guard(path string, argv ...string) (dismiss func(), err error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return startHelper(null, true, append([]string{shim.Guard, path}, argv...)...)
}

// startHelper starts this binary as [shim.Beside] with args, in a session of its own if apart is set. leave tells the helper to end and waits
// until it has.
func startHelper(stdout *os.File, apart bool, args ...string) (leave func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	in, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	p, err := os.StartProcess(self, append([]string{shim.Beside}, args...), &os.ProcAttr{
		Files: []*os.File{in, stdout, null}, Env: append(os.Environ(), "GOMAXPROCS=1"), Sys: &syscall.SysProcAttr{Setsid: apart},
	})
	if err != nil {
		_ = hold.Close()
		return nil, err
	}
	return func() {
		_, _ = hold.Write([]byte{1})
		_ = hold.Close()
		_, _ = p.Wait()
	}, nil
}

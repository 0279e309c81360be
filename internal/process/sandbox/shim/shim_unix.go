//go:build linux || darwin

package shim

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// LimitFailed precedes the error number when a limit could not be set; without it the
// command could not be executed.
const LimitFailed = "limit "

// Limits are the resource limits to set, in the kernel's units; 0 leaves one alone.
type Limits struct {
	Data, AddressSpace, Processes uint64
}

// Encode writes the limits as three decimal numbers.
func (l Limits) Encode() string {
	return formatDecimal(l.Data) + "," + formatDecimal(l.AddressSpace) + "," + formatDecimal(l.Processes)
}

// init becomes the shim if this process was started under the name [Name]: it sets the limits of this process and executes the command in its
// place. If that fails, it writes the number of the error to the descriptor that it was given, and exits with status 127. It does not return then.
func init() {
	if len(os.Args) < 5 || os.Args[0] != Name {
		return
	}
	report := int(parseDecimal(os.Args[2]))
	syscall.CloseOnExec(report)
	text := ""
	if errno := limitSelf(os.Args[1]); errno != 0 {
		text = LimitFailed + formatDecimal(uint64(errno))
	} else if errno := execCommand(os.Args[3], os.Args[4:]); errno != 0 {
		text = formatDecimal(uint64(errno))
	}
	_, _ = syscall.Write(report, []byte(text))
	os.Exit(127)
}

// limitSelf sets the three limits of this process, given as "DATA,AS,NPROC"; 0 leaves one as it is.
func limitSelf(limits string) syscall.Errno {
	var numbers [3]uint64
	i := 0
	for _, c := range []byte(limits) {
		switch {
		case c == ',' && i < 2:
			i++
		case c >= '0' && c <= '9':
			numbers[i] = numbers[i]*10 + uint64(c-'0')
		}
	}
	for i, resource := range []int{syscall.RLIMIT_DATA, syscall.RLIMIT_AS, rlimitNproc} {
		if errno := lowerLimit(resource, numbers[i]); errno != 0 {
			return errno
		}
	}
	return 0
}

// execCommand replaces this process by a command, and returns only if that fails.
func execCommand(path string, args []string) syscall.Errno {
	err := syscall.Exec(path, args, os.Environ())
	if err == syscall.ENOEXEC { // a script without an interpreter line, as execvp(3) does it
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, args[1:]...), os.Environ())
	}
	if errno, ok := err.(syscall.Errno); ok {
		return errno
	}
	return syscall.EINVAL
}

// lowerLimit sets the soft and the hard limit to a value, but never above the present hard limit; 0 leaves both as they are.
func lowerLimit(resource int, to uint64) syscall.Errno {
	if to == 0 {
		return 0
	}
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err.(syscall.Errno)
	}
	to = min(to, now.Max)
	if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: to, Max: to}); err != nil {
		return err.(syscall.Errno)
	}
	return 0
}

// formatDecimal formats n. The package strconv would make the start of the process longer.
func formatDecimal(n uint64) string {
	var buf [20]byte
	i := len(buf)
	for {
		i--
		buf[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(buf[i:])
		}
	}
}

// init becomes the process beside a run if this process was started under the name Beside: a witness or a guard. It does not return then.
func init() {
	if len(os.Args) < 2 || os.Args[0] != Beside {
		return
	}
	switch os.Args[1] {
	case Witness:
		reportSignals()
	case Guard:
		supervisor := os.Getppid()
		if !waitInputEnd() && len(os.Args) > 3 {
			waitForEnd(supervisor)
			_ = syscall.Exec(os.Args[2], os.Args[3:], os.Environ())
		}
	}
	os.Exit(0)
}

// maxDying bounds the wait for the end of a supervisor that has closed its end of our pipe.
const maxDying = 5 * time.Second

// waitForEnd waits until the supervisor, our parent, has ended. The kernel closes the files of a process that dies one after the other, and
// gives its children another parent after that: until then it may still hold the lock of its claim, and whoever cleans up would take it
// for alive.
func waitForEnd(supervisor int) {
	for end := time.Now().Add(maxDying); os.Getppid() == supervisor && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// reportSignals writes the number of every signal that it gets to standard output, one byte each, until standard input ends.
func reportSignals() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		waitInputEnd()
		os.Exit(0)
	}()
	_, _ = os.Stdout.Write([]byte{0}) // it is ready
	for s := range signals {
		_, _ = os.Stdout.Write([]byte{byte(s.(syscall.Signal))})
	}
}

// waitInputEnd waits for the end of standard input, and reports whether a byte came before it.
func waitInputEnd() bool {
	said := false
	for {
		n, err := os.Stdin.Read(make([]byte, 1))
		if said = said || n > 0; err != nil {
			return said
		}
	}
}

// init tries a limit if this process was started under the name Trial: it takes memory or starts processes. It does not return then.
func init() {
	if len(os.Args) != 3 || os.Args[0] != Trial {
		return
	}
	switch n := parseDecimal(os.Args[2]); os.Args[1] {
	case "memory":
		os.Exit(takeMemory(int(n)))
	case "pids":
		os.Exit(takePids(int(n)))
	}
	time.Sleep(5 * time.Second) // "wait": one of the processes that takePids starts
	os.Exit(0)
}

// takeMemory maps and touches n bytes, then stays a while for a watcher to notice.
func takeMemory(n int) int {
	memory, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return Stopped
	}
	if n > 1<<30 { // asking was the trial: nobody should pay for touching it
		return Broke
	}
	for i := 0; i < n; i += 4096 {
		memory[i] = 1
	}
	time.Sleep(1500 * time.Millisecond)
	return Broke
}

// takePids starts n processes that wait, and kills them again. It returns Stopped if one could not be started, as under a limit, and Broke
// if all could.
func takePids(n int) int {
	self, err := os.Executable()
	if err != nil {
		return Broke
	}
	var started []int
	result := Broke
	for range n {
		pid, err := syscall.ForkExec(self, []string{Trial, "wait", "0"}, &syscall.ProcAttr{Env: os.Environ()})
		if err != nil {
			result = Stopped
			break
		}
		started = append(started, pid)
	}
	if result == Broke {
		time.Sleep(1500 * time.Millisecond)
	}
	for _, pid := range started {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		var status syscall.WaitStatus
		_, _ = syscall.Wait4(pid, &status, 0, nil)
		if status.Signaled() && result == Broke && len(started) == n {
			continue
		}
	}
	return result
}

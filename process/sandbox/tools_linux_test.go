package sandbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/process/sandbox"
)

func contextBackground() context.Context { return context.Background() }

var probed = sync.OnceValue(available)

func asExec(err error, target **sandbox.ExecError) bool { return errors.As(err, target) }

// processExists is false for a zombie, and for a process that is about to be one: it has
// left its groups and given up its memory, and runs none of its own code any more.
func processExists(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil
}

func playTool(tool string, args []string) int {
	number := func(i int) int { n, _ := strconv.Atoi(args[i]); return n }
	switch tool {
	case "exit":
		return number(0)
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.Signal(number(0)))
		time.Sleep(time.Minute)
	case "cat":
		if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
			return 1
		}
	case "stopwith": // PID
		sandbox.StopWith(number(0))
	case "sleep":
		time.Sleep(time.Duration(number(0)) * time.Millisecond)
	case "grow": // MB MS: holds one megabyte more each time, with a pause before it, and then ends
		for range number(0) {
			time.Sleep(time.Duration(number(1)) * time.Millisecond)
			hold(1)
		}
	case "dying": // FILE MS: starts a guard that writes into FILE whether we live, closes its pipe, and dies some time later, as the kernel has it
		if _, err := sandbox.Guard("/bin/sh", "sh", "-c", fmt.Sprintf("case $(cut -d' ' -f3 /proc/%d/stat) in Z | X | '') echo gone ;; *) echo alive ;; esac >%s", os.Getpid(), args[0])); err != nil {
			return 1
		}
		for fd := 3; fd < 64; fd++ {
			var st unix.Stat_t
			if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO { // the guard's
				_ = unix.Close(fd)
			}
		}
		time.Sleep(time.Duration(number(1)) * time.Millisecond)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Minute)
	case "spike": // PROCESSES MB MS: that many processes hold that much for so long, all at once
		if number(0) == 1 {
			hold(number(1))
			time.Sleep(time.Duration(number(2)) * time.Millisecond)
			return 0
		}
		for range number(0) {
			c := again("spike-in-step", args[1], args[2])
			in, _ := c.StdinPipe()
			out, _ := c.StdoutPipe()
			if c.Start() != nil {
				return 2
			}
			_, _ = bufio.NewReader(out).ReadString('\n') // it holds its memory now
			defer in.Close()
		}
		time.Sleep(time.Duration(number(2)) * time.Millisecond)
	case "spike-in-step":
		hold(number(0))
		fmt.Println("held")
		_, _ = io.ReadAll(os.Stdin)
	case "keep": // MB: holds that much, and after each line on standard input reads all of it again
		kept := hold(number(0))
		fmt.Println("held")
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			for i := 0; i < len(kept); i += 4096 {
				if kept[i] != 1 {
					return 3
				}
			}
			fmt.Println("there")
		}
	case "forkbomb":
		for range number(0) {
			c := again("sleep", "20000") // longer than a slow machine takes to start them all
			if err := c.Start(); errors.Is(err, syscall.EAGAIN) {
				return 11
			}
		}
		time.Sleep(1500 * time.Millisecond)
	case "agent": // MB CHILDREN MB: starts greedy children and must outlive them
		kept := hold(number(0))
		var all sync.WaitGroup
		done := make(chan struct{}) // until then each keeps what it holds, so that all ask for it at once
		var holding sync.WaitGroup
		for range number(1) {
			holding.Add(1)
			all.Go(func() {
				c := again("spike-in-step", args[2])
				in, _ := c.StdinPipe()
				out, _ := c.StdoutPipe()
				if c.Start() == nil {
					_, _ = bufio.NewReader(out).ReadString('\n') // it holds, or it was killed
				}
				holding.Done()
				<-done
				in.Close()
				_ = c.Wait()
			})
		}
		holding.Wait()
		close(done)
		all.Wait()
		if kept[0] != 1 {
			return 3
		}
	case "family": // MB CHILDREN MB: an agent and its children, until standard input ends
		kept := hold(number(0))
		for range number(1) {
			c := again("spike-in-step", args[2])
			if _, err := c.StdinPipe(); err != nil || c.Start() != nil {
				return 2
			}
		}
		_, _ = io.ReadAll(os.Stdin)
		return int(kept[0]) - 1
	case "read":
		f, err := os.Open(args[0])
		if err != nil {
			return 2
		}
		if _, err := io.Copy(io.Discard, onlyReader{f}); err != nil {
			return 3
		}
	case "daemons": // N [stubborn]: orphans in sessions of their own
		n := number(0)
		for range n {
			detach("sleep", "60000")
		}
		if len(args) > 1 {
			detach("stubborn")
		}
		time.Sleep(400 * time.Millisecond) // long enough for their start and for one look
	case "nest": // LIMIT MB: a run inside this run that takes more than its own limit
		self, _ := os.Executable()
		null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		var got nestedRun
		r, err := sandbox.Start(context.Background(), sandbox.Spec{
			ID: fmt.Sprintf("in-%d", os.Getpid()), Path: self, Args: []string{"spike", "1", args[1], "10"},
			Env:      playing("spike"),
			Files:    []*os.File{null, null, null},
			Nested:   true,
			Limits:   sandbox.Limits{Memory: limit.Bytes(number(0)) * limit.MiB, Pids: 100},
			Remember: func(r sandbox.Remains) error { got.Remains = r; return nil },
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		got.Result, err = r.Wait()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		_ = json.NewEncoder(os.Stdout).Encode(got)
	case "supervise-as-init": // LAYER
		if err := superviseAsInit(sandbox.Layer(args[0])); err != nil {
			fmt.Println(err)
			return 1
		}
	case "supervise-once": // LAYER: a supervisor of one short command
		self, _ := os.Executable()
		null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		r, err := sandbox.Start(context.Background(), sandbox.Spec{
			ID: fmt.Sprintf("once-%d", os.Getpid()), Path: self, Args: []string{"sleep", "5"},
			Env:    playing("sleep"),
			Files:  []*os.File{null, null, null},
			Layers: []sandbox.Layer{sandbox.Layer(args[0])}, Detach: true,
			Limits: sandbox.Limits{Memory: 1 << 30, Pids: 100},
		})
		if err == nil {
			_, err = r.Wait()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	case "supervise": // LAYER RUNS: a supervisor that is going to be killed in the last of so many runs
		self, _ := os.Executable()
		null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		var remains sandbox.Remains
		s := sandbox.Spec{
			Path: self, Env: playing("sleep"),
			Files:  []*os.File{null, null, null},
			Layers: []sandbox.Layer{sandbox.Layer(args[0])}, Detach: true,
			Limits:   sandbox.Limits{Memory: 1 << 30, Pids: 100},
			Remember: func(r sandbox.Remains) error { remains = r; return nil },
		}
		for n := number(1); n > 0; n-- {
			s.ID, s.Args = fmt.Sprintf("dead-%d-%d", os.Getpid(), n), []string{"sleep", "60000"}
			if n > 1 {
				s.Args[1] = "5"
			}
			r, err := sandbox.Start(context.Background(), s)
			if err == nil && n > 1 {
				_, err = r.Wait()
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			remains.PID = r.PID()
		}
		_ = json.NewEncoder(os.Stdout).Encode(remains)
		time.Sleep(time.Minute)
	}
	return 0
}

// playing is our environment with another tool in it.
func playing(tool string) []string {
	_ = os.Setenv(toolVar, tool)
	return os.Environ()
}

// nestedRun is what the tool "nest" tells of its inner run.
type nestedRun struct {
	Result  sandbox.Result
	Remains sandbox.Remains
}

type onlyReader struct{ io.Reader }

// hold takes and touches n MiB.
func hold(n int) []byte {
	memory, err := syscall.Mmap(-1, 0, n<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		os.Exit(12)
	}
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	return memory
}

func again(tool string, args ...string) *exec.Cmd {
	self, _ := os.Executable()
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), toolVar+"="+tool)
	return c
}

func detach(tool string, args ...string) {
	c := again(tool, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, _ := c.StdoutPipe()
	if err := c.Start(); err != nil {
		os.Exit(13)
	}
	if tool == "stubborn" { // before it says so it ends on SIGTERM like everybody
		_, _ = bufio.NewReader(out).ReadString('\n')
	}
}

// killedSupervisor starts a supervisor of so many runs in the layer, one after the other, and
// kills it in the last one. It returns that one's remains and its tool.
func killedSupervisor(t *testing.T, layer sandbox.Layer, runs int) (sandbox.Remains, int) {
	t.Helper()
	c := again("supervise", string(layer), strconv.Itoa(runs))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var remains sandbox.Remains
	if err := json.NewDecoder(out).Decode(&remains); err != nil {
		t.Fatal(err)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	return remains, remains.PID
}

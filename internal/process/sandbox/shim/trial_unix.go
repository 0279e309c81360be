//go:build linux || darwin

package shim

import (
	"os"
	"syscall"
	"time"
)

func init() {
	if len(os.Args) != 3 || os.Args[0] != Trial {
		return
	}
	switch n := parse(os.Args[2]); os.Args[1] {
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

// takePids starts n processes that wait.
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

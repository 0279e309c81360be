package shim

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// init tries a limit if this process was started under the name [Trial]: it takes memory or starts processes, and exits. It does not return then.
func init() {
	if len(os.Args) != 3 || os.Args[0] != Trial {
		return
	}
	switch n := parseDecimal(os.Args[2]); os.Args[1] {
	case "memory":
		os.Exit(takeMemory(uintptr(n)))
	case "pids":
		os.Exit(takePids(int(n)))
	}
	time.Sleep(5 * time.Second) // "wait": one of the processes that takePids starts
	os.Exit(0)
}

// takeMemory commits n bytes, then stays a while for a watcher to notice. Committing is
// what counts; nobody should pay for touching them.
func takeMemory(n uintptr) int {
	if _, err := windows.VirtualAlloc(0, n, windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE); err != nil {
		return Stopped
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
	var started []*os.Process
	result := Broke
	for range n {
		p, err := os.StartProcess(self, []string{Trial, "wait", "0"}, &os.ProcAttr{})
		if err != nil {
			result = Stopped
			break
		}
		started = append(started, p)
	}
	for _, p := range started {
		_ = p.Kill()
		_, _ = p.Wait()
	}
	return result
}

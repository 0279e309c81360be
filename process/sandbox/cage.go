package sandbox

import "syscall"

// cage holds one run inside its limits, by the means of one layer. It is built before the command starts and closed after its processes
// have ended. Methods are called from one goroutine at a time, but kill and freeze may come from another.
type cage interface {
	strength() Strength
	// launch starts the command inside the cage and returns its pid.
	launch(c *command) (int, error)
	// sample returns what the run uses now. ok is false when the cage can't tell and the process tree must be measured.
	sample() (s Sample, ok bool)
	// members appends the pids in the cage; ok is false when the cage can't tell.
	members(pids []int) (_ []int, ok bool)
	// charged returns the bytes that count against the limit, read cheaply; 0 when unknown.
	charged() int64
	// peak returns the kernel's high-water mark in bytes and the name of its source; ok is false when the kernel keeps none.
	peak() (bytes int64, method string, ok bool)
	// oomKills counts the kernel's OOM kills in the cage so far.
	oomKills() int
	// freeze stops every process, or lets all go on; an error when the layer can't.
	freeze(on bool) error
	// kill sends SIGKILL to every process in the cage, children born meanwhile included.
	kill() error
	// close removes what was made. It is called when no process is left, or to undo a
	// start that failed.
	close() error
}

// command is a program to execute, ready for fork and exec.
type command struct {
	path  string
	args  []string
	env   []string
	dir   string
	files []uintptr
	sys   syscall.SysProcAttr
	// nice is the nice value that the command starts with where no group holds its weight.
	nice int
}

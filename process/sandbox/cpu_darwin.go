package sandbox

import "golang.org/x/sys/unix"

// forkNice calls fork and sets the nice value of the new process just after: on macOS it belongs to the process. What the process starts
// inherits it. held reports whether that worked; it is false for 0.
func forkNice(nice int, fork func() (int, error)) (pid int, held bool, err error) {
	pid, err = fork()
	if err == nil && nice != 0 {
		held = unix.Setpriority(unix.PRIO_PROCESS, pid, nice) == nil
	}
	return pid, held, err
}

// ownNice returns the nice value that this process was started with, which the command inherits.
func ownNice() int {
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return nice
}

// lowerPriority raises the nice value of a descendant to nice, unless it is as high already.
func lowerPriority(pid, nice int) {
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, pid); err == nil && now < nice {
		_ = unix.Setpriority(unix.PRIO_PROCESS, pid, nice)
	}
}

// setPriority does nothing: without the arguments of other processes no agent is found below the command here.
func setPriority(int, int) {}

// niceSession does nothing: sessions have no nice value here.
func niceSession(int, int, <-chan struct{}) {}

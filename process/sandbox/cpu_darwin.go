package sandbox

import "golang.org/x/sys/unix"

// forkNice makes the command nice just after its start: on macOS the value belongs to the
// process. What it starts inherits it.
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

func lowerPriority(pid, nice int) {
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, pid); err == nil && now < nice {
		_ = unix.Setpriority(unix.PRIO_PROCESS, pid, nice)
	}
}

// evenPriority is not asked for: arguments of other processes are not read here.
func evenPriority(int, int) {}

func niceSession(int, int) {}

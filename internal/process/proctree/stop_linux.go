package proctree

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// ownsGroup reports whether the whole process group can be signalled at once: it is named after a member, so that all in it descend from
// the root, nobody is excluded from the tree who may be in it, and it is not our own.
func (t *Tree) ownsGroup(pgid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.o.Exclude == nil && pgid > 1 && t.ledByMember(pgid) && pgid != unix.Getpgrp()
}

// settled reports whether the last scan could decide about every process that it met.
func (t *Tree) settled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.undecided == 0
}

// stopGroup stops all processes of a group at once, those included that no scan has seen.
func stopGroup(pgid int) { _ = unix.Kill(-pgid, unix.SIGSTOP) }

// raisePriority puts the calling thread ahead of all others where that is allowed, until the
// function it returns is called.
func raisePriority() (done func()) {
	runtime.LockOSThread()
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, 0, -20)
	}
	return func() {
		if err == nil {
			// The system call counts from 40 (nice -20) down to 1 (nice 19).
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 20-before)
		}
		runtime.UnlockOSThread()
	}
}

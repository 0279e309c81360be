package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/sysfile"
	"github.com/plimsoll/plimsoll/limit"
)

// canStop is true when a process can be held still while the rest of its tree is found.
const canStop = true

const (
	sigStop = syscall.SIGSTOP
	sigCont = syscall.SIGCONT
)

// Signal sends sig to p, and only to p: the process is pinned by a pidfd first and its
// start time compared after, so that a number that went to another process is never hit.
// Kernels before 5.3, and sandboxes that forbid pidfd_open, get kill(2) directly after the
// comparison. An ended process is an error that wraps [ErrGone]; signal 0 only asks.
func Signal(p Process, sig syscall.Signal) error {
	if p.PID <= 1 || p.PID == os.Getpid() {
		return fmt.Errorf("signal %v to process %d: refused, it is init or this process", sig, p.PID)
	}
	same := func() error {
		now, err := Lookup(p.PID)
		if err == nil && now.Start != p.Start {
			err = fmt.Errorf("process %d: %w, its number belongs to another one now", p.PID, ErrGone)
		}
		return err
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	switch {
	case err == nil:
		defer unix.Close(fd)
		if err := same(); err != nil {
			return err
		}
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
		if err == unix.ENOSYS || err == unix.EPERM && sig == 0 {
			err = unix.Kill(p.PID, sig)
		}
		return signalError(p, sig, err)
	case err == unix.ESRCH:
		return signalError(p, sig, err)
	}
	if err := same(); err != nil {
		return err
	}
	return signalError(p, sig, unix.Kill(p.PID, sig))
}

// signalError returns the error for a signal that could not be sent; it wraps [ErrGone] if the process has ended.
func signalError(p Process, sig syscall.Signal, err error) error {
	switch {
	case err == nil:
		return nil
	case err == unix.ESRCH:
		return fmt.Errorf("process %d: %w", p.PID, ErrGone)
	}
	return fmt.Errorf("signal %v to process %v: %w", sig, p, err)
}

// Lookup returns the process that has this PID now. The error wraps [ErrGone] when there is none.
func Lookup(pid int) (Process, error) {
	var room [1 << 10]byte // on the stack; the line has some 300 bytes, and what is read of it comes early
	b, err := sysfile.ReadProcess(pid, "stat", room[:])
	if err != nil {
		return Process{}, procError(pid, err)
	}
	return parseStat(b)
}

// Dying reports whether a process is about to end: its exit has begun, or a SIGKILL is pending for it. It is false for one that has gone.
func Dying(pid int) bool {
	p, err := Lookup(pid)
	if err != nil || p.ending {
		return err == nil
	}
	b, err := readProc(pid, "status")
	return err == nil && killPending(b)
}

// killPending reports whether SIGKILL is pending, for the thread or for the process, by the masks in a status text (proc_pid_status(5)).
func killPending(status []byte) bool {
	for line := range bytes.Lines(status) {
		name, mask, _ := bytes.Cut(line, []byte{':'})
		if string(name) != "SigPnd" && string(name) != "ShdPnd" {
			continue
		}
		bits, err := strconv.ParseUint(string(bytes.TrimSpace(mask)), 16, 64)
		if err == nil && bits>>(uint(unix.SIGKILL)-1)&1 != 0 {
			return true
		}
	}
	return false
}

// readProc reads a small file of a process in /proc. The error wraps [ErrGone] if the process has ended.
func readProc(pid int, name string) ([]byte, error) {
	b, err := sysfile.Read(filepath.Join("/proc", strconv.Itoa(pid), name), sysfile.Small)
	return b, procError(pid, err)
}

// procError returns err, or an [ErrGone] if err says that the process has ended.
func procError(pid int, err error) error {
	if isGoneError(err) {
		return fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return err
}

// isGoneError reports whether a failed access in /proc says that the process has ended.
func isGoneError(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
}

// PrivatePages returns the number of resident pages that a process does not share with a file; 0 when it cannot be told.
func PrivatePages(pid int) int64 {
	var room [256]byte
	b, err := sysfile.ReadProcess(pid, "statm", room[:])
	if err != nil {
		return 0
	}
	pages, err := parseStatm(b)
	if err != nil {
		return 0
	}
	return int64(pages.privatePages())
}

// HighWater returns the highest resident size in bytes that the memory of a process has had; 0 when it cannot be told.
func HighWater(pid int) limit.Bytes {
	var room [4 << 10]byte
	b, err := sysfile.ReadProcess(pid, "status", room[:])
	if err != nil {
		return 0
	}
	bytes, _ := parseKilobytes(b, "VmHWM")
	return bytes
}

// ownsGroup reports whether the whole process group can be signalled at once: it is named after a member, so that all in it descend from
// the root, nobody is excluded from the tree who may be in it, and it is not our own.
func (t *Tree) ownsGroup(pgid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.o.Exclude == nil && pgid > 1 && t.ledByMember(pgid) && pgid != unix.Getpgrp()
}

// isSettled reports whether the last scan could decide about every process that it met.
func (t *Tree) isSettled() bool {
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

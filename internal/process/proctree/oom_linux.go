package proctree

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OOMScoreAdj raises a process's oom_score_adj to value (-1000 … 1000). It never lowers
// it: a score that is as high or higher stays. Raising needs no privilege for one's own
// processes. changed reports whether it was written.
func OOMScoreAdj(pid, value int) (changed bool, err error) {
	return raiseOOMScore("/proc", pid, value)
}

// raiseOOMScore raises the oom_score_adj of a process to value, and never lowers it; changed is false if it was that high already.
func raiseOOMScore(procDir string, pid, value int) (changed bool, err error) {
	if value < -MaxOOMScore || value > MaxOOMScore {
		return false, fmt.Errorf("oom_score_adj %d: want -%d to %d", value, MaxOOMScore, MaxOOMScore)
	}
	var room [64]byte // no [os.File]: each process of a run is asked once, and what that allocates stays in a supervisor that is never collected
	path := append(append(strconv.AppendInt(append(append(room[:0], procDir...), '/'), int64(pid), 10), "/oom_score_adj"...), 0)
	at := unix.AT_FDCWD
	r, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(&path[0])), unix.O_RDWR|unix.O_CLOEXEC, 0, 0, 0)
	if errno != 0 {
		return false, oomError(pid, errno)
	}
	fd := int(r)
	defer unix.Close(fd)
	var buf [32]byte
	n, err := unix.Pread(fd, buf[:], 0)
	if err != nil {
		return false, oomError(pid, err)
	}
	now, err := strconv.Atoi(string(bytes.TrimSpace(buf[:n])))
	if err != nil {
		return false, fmt.Errorf("%w: the oom_score_adj of process %d is %q", errFormat, pid, string(buf[:n]))
	}
	if now >= value {
		return false, nil
	}
	if _, err := unix.Pwrite(fd, strconv.AppendInt(buf[:0], int64(value), 10), 0); err != nil {
		return false, oomError(pid, err)
	}
	return true, nil
}

// OOMScoreAs gives the process pid the oom_score_adj of the process model. Lowering needs no privilege down to the value that a privileged
// process has set last.
func OOMScoreAs(pid, model int) error {
	score, err := os.ReadFile("/proc/" + strconv.Itoa(model) + "/oom_score_adj")
	if err != nil {
		return oomError(model, err)
	}
	f, err := os.OpenFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", os.O_WRONLY, 0)
	if err != nil {
		return oomError(pid, err)
	}
	defer f.Close()
	if _, err := f.Write(bytes.TrimSpace(score)); err != nil {
		return oomError(pid, err)
	}
	return nil
}

// oomError returns an error about an OOM score that could not be changed; it wraps [ErrGone] if the process has ended.
func oomError(pid int, err error) error {
	if isGoneError(err) {
		return fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return fmt.Errorf("change the OOM score of process %d: %w", pid, err)
}

// RaiseOOMScore raises the oom_score_adj of each member except the root to value, once, and returns how many it raised. Children inherit
// the score, so that most need nothing. A member that [Options].Spare spares is asked about again the next time. Members that could not be
// raised are counted in [Counters]; the first error that does not say that the process is gone is returned.
func (t *Tree) RaiseOOMScore(value int) (raised int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m.oomAdjusted {
			continue
		}
		if t.isRoot(m.Process) {
			m.oomAdjusted = true
			continue
		}
		if m.spared = t.o.Spare != nil && t.o.Spare(m.Process); m.spared {
			continue
		}
		m.oomAdjusted = true
		changed, failed := raiseOOMScore(t.procDir, m.PID, value)
		if changed {
			raised++
		}
		if failed != nil && !isGone(failed) {
			t.counters.OOMScoreFailed++
			if err == nil {
				err = failed
			}
		}
	}
	return raised, err
}

package proctree

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// OOMScoreAdj raises a process's oom_score_adj to value (-1000 … 1000). It never lowers
// it: a score that is as high or higher stays. Raising needs no privilege for one's own
// processes. changed says whether it was written.
func OOMScoreAdj(pid, value int) (changed bool, err error) {
	return raiseOOMScore("/proc", pid, value)
}

func raiseOOMScore(procDir string, pid, value int) (changed bool, err error) {
	if value < -MaxOOMScore || value > MaxOOMScore {
		return false, fmt.Errorf("oom_score_adj %d: want -%d to %d", value, MaxOOMScore, MaxOOMScore)
	}
	path := procDir + "/" + strconv.Itoa(pid) + "/oom_score_adj"
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false, oomError(pid, err)
	}
	defer f.Close()
	var buf [32]byte
	n, err := f.Read(buf[:])
	if err != nil {
		return false, oomError(pid, err)
	}
	now, err := strconv.Atoi(string(bytes.TrimSpace(buf[:n])))
	if err != nil {
		return false, fmt.Errorf("%w: %s holds %q", errFormat, path, buf[:n])
	}
	if now >= value {
		return false, nil
	}
	if _, err := f.WriteAt(strconv.AppendInt(buf[:0], int64(value), 10), 0); err != nil {
		return false, oomError(pid, err)
	}
	return true, nil
}

func oomError(pid int, err error) error {
	if goneError(err) {
		return fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return fmt.Errorf("raise the OOM score of process %d: %w", pid, err)
}

// RaiseOOMScore raises each member except the root once, when it is first seen, and
// returns how many it raised. Children inherit the score, so that most need nothing.
// Members that could not be raised are counted in [Counters]; the first error that does
// not say that the process is gone is returned.
func (t *Tree) RaiseOOMScore(value int) (raised int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m.oomAdjusted {
			continue
		}
		m.oomAdjusted = true
		if t.isRoot(m.Process) {
			continue
		}
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

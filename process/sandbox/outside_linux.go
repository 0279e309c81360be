package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/internal/process/sysfile"
)

// freezers are the files that stop a group, with what they hold while it is stopped.
var freezers = []struct{ file, on, off string }{
	{"cgroup.freeze", "1", "0"},
	{"freezer.state", "FROZEN", "THAWED"},
}

// hasGroups reports whether the run's processes are in control groups of its own.
func (r Remains) hasGroups() bool {
	return len(r.Groups) > 0 && r.Layer != Rlimit && r.Layer != Monitor
}

// freezeGroups freezes a run by its groups. held is false if none of them has a freezer that holds processes. It is an error if this process is
// in one of the groups.
func freezeGroups(r Remains) (held bool, err error) {
	if !r.hasGroups() {
		return false, nil
	}
	for _, dir := range r.Groups {
		if err := checkGroup(dir, r.ID); err != nil {
			if errors.Is(err, ErrBusy) {
				err = fmt.Errorf("pause run %s: %w", r.ID, ErrInside)
			}
			return false, err
		}
	}
	for _, dir := range r.Groups {
		node := limitGroup(r.Layer, dir) // of a scope without the supervisor
		for _, f := range freezers {
			if !exists(filepath.Join(node, f.file)) || writeControl(node, f.file, f.on) != nil {
				continue
			}
			if f.file == "cgroup.freeze" && isGroupEmpty(node) { // the processes are in another hierarchy
				_ = writeControl(node, f.file, f.off)
				continue
			}
			return true, nil
		}
	}
	return false, nil
}

// isGroupEmpty reports whether no process is in a group or below it; false if that cannot be read.
func isGroupEmpty(root string) bool {
	for _, dir := range cgroupfs.Tree(root) {
		if pids, err := cgroupfs.Procs(dir); err != nil || len(pids) > 0 {
			return false
		}
	}
	return true
}

// Paused reports whether a run is frozen as a whole, or its command is stopped, no matter who did it. supervisor is the pid of the process that
// started the run.
func Paused(r Remains, supervisor int) bool {
	if r.hasGroups() {
		for _, dir := range r.Groups {
			node := limitGroup(r.Layer, dir)
			for _, f := range freezers {
				body, err := sysfile.Read(filepath.Join(node, f.file), sysfile.Small)
				if text := strings.TrimSpace(string(body)); err == nil && (text == f.on || text == "FREEZING") {
					return true
				}
			}
		}
	}
	if r.hasGroups() && r.PID <= 0 {
		return false
	}
	p, err := findCommand(r, supervisor)
	return err == nil && p.State == 'T'
}

// IsCommand reports whether pid is the command of the run. supervisor is the pid of the process that started the run.
func (r Remains) IsCommand(pid, supervisor int) bool {
	command, err := findCommand(r, supervisor)
	return err == nil && command.PID == pid
}

// findCommand finds the command of a run by the pid in r, else as the oldest child of its supervisor. The error is [proctree.ErrGone] if the command
// has ended.
func findCommand(r Remains, supervisor int) (first proctree.Process, err error) {
	if r.PID > 0 {
		p, err := proctree.Lookup(r.PID)
		if err == nil && p.Start != r.Start {
			err = proctree.ErrGone
		}
		return p, err
	}
	for _, pid := range listChildren(supervisor) {
		if p, err := proctree.Lookup(pid); err == nil && !p.Zombie() && (first.PID == 0 || p.Start < first.Start) {
			first = p
		}
	}
	if first.PID == 0 {
		return first, proctree.ErrGone
	}
	return first, nil
}

// CPUTime returns the processor time that a run has used since it began. ok is false where no cgroup v2 group counts it.
func CPUTime(r Remains) (used time.Duration, ok bool) {
	if !r.hasGroups() {
		return 0, false
	}
	for _, dir := range r.Groups {
		node := limitGroup(r.Layer, dir)
		body, err := sysfile.Read(filepath.Join(node, "cpu.stat"), sysfile.Small)
		if err == nil && bytes.Contains(body, []byte("usage_usec")) { // v1 has a file of this name without it
			return time.Duration(fieldReader(body).get("usage_usec")) * time.Microsecond, true
		}
	}
	return 0, false
}

// OwnGroup returns the ID of the run whose control group this process is in, in any hierarchy, and that group's path in /proc/self/cgroup;
// "" and "" for none.
func OwnGroup() (run, group string) {
	text, err := sysfile.Read("/proc/self/cgroup", sysfile.Small)
	if err != nil {
		return "", ""
	}
	return parseOwnGroup(text)
}

// parseOwnGroup finds the ID of a run and the path of its group in the text of a /proc/PID/cgroup; both are "" if there is none.
func parseOwnGroup(text []byte) (run, group string) {
	for _, path := range cgroupfs.Groups(text) {
		for element := range strings.SplitSeq(path, "/") {
			id, is := strings.CutPrefix(strings.TrimSuffix(element, " (deleted)"), runPrefix)
			if id = strings.TrimSuffix(id, ".scope"); is && validID(id) && runPrefix+id != supervisorLeaf {
				return id, path
			}
		}
	}
	return "", ""
}

package sandbox

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/internal/process/sysfile"
)

// maxMoved bounds the processes that are remembered as moved, and maxYounger those that are asked at the end.
const maxMoved, maxYounger = 64, 65536

// recordMoved records a process that was in the run's group, lives, and is not in it any more: somebody has put it into another one, as
// systemd-run --scope does, a container engine, or whoever writes to cgroup.procs.
func (w *watcher) recordMoved(m member) {
	if len(w.moved) < maxMoved && !slices.ContainsFunc(w.moved, m.same) && proctree.Alive(m.pid, m.started) && !proctree.Dying(m.pid) && !slices.Contains(allMembers(nil, w.run.cage), m.pid) {
		w.moved = append(w.moved, m)
	}
}

// movedAtEnd adds to the result the processes that have left the groups of the run: those that were seen to leave, and those elsewhere that have
// the run's cookie and are younger than the command. It returns those that still run, without the command.
func (w *watcher) movedAtEnd(res *Result) (alive []Leftover) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tree != nil {
		return nil // there is no group to leave
	}
	carry := w.findByCookie()
	in := allMembers(nil, w.run.cage)
	for _, m := range carry {
		if !slices.Contains(in, m.pid) && len(w.moved) < maxMoved && !slices.ContainsFunc(w.moved, m.same) {
			w.moved = append(w.moved, m)
		}
	}
	for _, m := range w.moved {
		res.Moved = append(res.Moved, m.name)
		if m.pid == w.run.pid {
			res.CommandMoved = true
		} else if proctree.Alive(m.pid, m.started) {
			alive = append(alive, Leftover{PID: m.pid, Name: m.name, Fate: FateMoved})
		}
	}
	return alive
}

// findByCookie returns the processes of this machine that started after the command and have the run's cookie in their environment.
func (w *watcher) findByCookie() (list []member) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(maxYounger)
	// Numbers are given out upwards, so that only those above the command's are younger, until they begin anew.
	last, err := sysfile.Read("/proc/sys/kernel/ns_last_pid", sysfile.Small)
	anew := err == nil && cgroupfs.Number(last) < int64(w.run.pid)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= w.run.pid && !anew || pid == w.run.pid {
			continue
		}
		p, err := proctree.Lookup(pid)
		if err != nil || p.Zombie() || p.Start < w.run.started {
			continue
		}
		if readRunID(pid) == w.run.spec.ID {
			list = append(list, member{pid: pid, name: p.Name, started: p.Start})
		}
	}
	return list
}

// readRunID returns the ID of the run whose cookie a process has in its environment; "" if there is none, or it cannot be read.
func readRunID(pid int) string {
	environ, err := sysfile.Read("/proc/"+strconv.Itoa(pid)+"/environ", maxEnviron)
	if err == nil && len(environ) == 0 { // in the middle of an exec
		environ, err = sysfile.Read("/proc/"+strconv.Itoa(pid)+"/environ", maxEnviron)
	}
	if err != nil {
		return ""
	}
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if id, ok := bytes.CutPrefix(v, []byte(CookieName+"=")); ok {
			return string(id)
		}
	}
	return ""
}

// maxEnviron bounds how much of an environment is read, in bytes.
const maxEnviron = 1 << 20

// readSchedUse reads /proc/PID/schedstat: nanoseconds on a processor, nanoseconds of waiting for one, and a count
// (Documentation/scheduler/sched-stats.rst). It returns false when that can't be read: kernels without CONFIG_SCHED_INFO have none.
func readSchedUse(pid int) (schedUse, bool) {
	var room [128]byte
	body, err := sysfile.ReadProcess(pid, "schedstat", room[:])
	if err != nil {
		return schedUse{}, false
	}
	return parseSchedstat(string(body))
}

// parseSchedstat reads the first two numbers of a schedstat: nanoseconds on a processor, and nanoseconds of waiting for one.
func parseSchedstat(text string) (schedUse, bool) {
	first, rest, _ := strings.Cut(text, " ")
	second, _, _ := strings.Cut(rest, " ")
	ran, err := strconv.ParseInt(first, 10, 64)
	if err != nil || ran < 0 {
		return schedUse{}, false
	}
	waited, err := strconv.ParseInt(second, 10, 64)
	return schedUse{time.Duration(ran), time.Duration(waited)}, err == nil && waited >= 0
}

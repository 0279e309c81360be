package sandbox

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/process/sysfile"
)

// outerGroup is the control group that a container gives and that this program may only read. When its limit is reached the kernel kills in
// it, and no layer of ours is told. The zero value is no group.
type outerGroup struct {
	dir, file string // file counts the kernel's kills; "" where there is nothing to count
	before    int
	usage     *sysfile.File // what the group holds now, bytes: it is read twenty times a second; nil where it cannot be
	limit     int64         // bytes
}

// unlimited is more than any machine has: cgroup v1 writes no limit as the largest number of whole pages.
const unlimited = 1 << 60

// newOuterGroup returns the control group around this process if it has a memory limit and holds nobody but plimsolls and their ancestors;
// else the zero value.
func newOuterGroup() outerGroup {
	own, err := cgroupfs.Own()
	if err != nil {
		return outerGroup{}
	}
	var a outerGroup
	usage, bound := "", ""
	if dir := own.V1["memory"]; dir != "" {
		a, usage, bound = outerGroup{dir: dir, file: "memory.oom_control"}, "memory.usage_in_bytes", "memory.limit_in_bytes"
	} else if own.Unified != "" {
		a, usage, bound = outerGroup{dir: own.Unified, file: "memory.events"}, "memory.current", "memory.max"
	}
	if a.dir == "" {
		return outerGroup{}
	}
	body, err := sysfile.Read(filepath.Join(a.dir, bound), sysfile.Small)
	if err != nil {
		return outerGroup{}
	}
	n, err := number(body)
	if err != nil || n >= unlimited || !onlyOurs(a.dir) {
		return outerGroup{}
	}
	a.limit = n
	a.usage, _ = sysfile.Keep(filepath.Join(a.dir, usage)) // without it the tree is looked at at its own pace
	a.before = a.count()
	return a
}

func number(body []byte) (int64, error) {
	return strconv.ParseInt(strings.TrimSpace(string(body)), 10, 64)
}

// bytesUsed returns the bytes that the group holds, and its limit in bytes; ok is false if they are unknown.
func (a outerGroup) bytesUsed() (used, limit int64, ok bool) {
	if a.usage == nil {
		return 0, 0, false
	}
	body, err := a.usage.Read(sysfile.Small)
	if err != nil {
		return 0, 0, false
	}
	used, err = number(body)
	return used, a.limit, err == nil
}

func (a outerGroup) close() { a.usage.Close() }

// machineSigns are two files that say for the whole machine what the processes of a run cannot do unseen: take memory, and start others.
type machineSigns struct{ meminfo, loadavg *sysfile.File }

func openMachineSigns() (m machineSigns) {
	m.meminfo, _ = sysfile.Keep("/proc/meminfo")
	m.loadavg, _ = sysfile.Keep("/proc/loadavg")
	return m
}

// readState returns the present state, from proc_meminfo(5) and proc_loadavg(5); the zero value if it cannot be read.
func (m machineSigns) readState() machineState {
	if m.meminfo == nil || m.loadavg == nil {
		return machineState{}
	}
	memory, err := m.meminfo.Read(sysfile.Small)
	if err != nil {
		return machineState{}
	}
	_, rest, _ := bytes.Cut(memory, []byte("MemAvailable:"))
	line, _, _ := bytes.Cut(rest, []byte(" kB"))
	kib, err := number(line)
	if err != nil {
		return machineState{}
	}
	load, err := m.loadavg.Read(sysfile.Small)
	if err != nil {
		return machineState{}
	}
	newest, err := number(load[bytes.LastIndexByte(load, ' ')+1:])
	return machineState{available: kib << 10, newest: newest, known: err == nil}
}

func (m machineSigns) close() {
	m.meminfo.Close()
	m.loadavg.Close()
}

// onlyOurs reports whether nobody is in the group but plimsolls and what started them: otherwise a kill in it says nothing about this run.
func onlyOurs(dir string) bool {
	pids, err := cgroupfs.Procs(dir)
	return err == nil && len(strangers(pids)) == 0
}

func (a outerGroup) count() int {
	body, err := sysfile.Read(filepath.Join(a.dir, a.file), sysfile.Small)
	if err != nil {
		return 0
	}
	return int(fieldReader(body).get("oom_kill"))
}

// bounded reports whether there is such a group.
func (a outerGroup) bounded() bool { return a.file != "" }

// kills returns how many processes the kernel has killed in the group since the run began.
func (a outerGroup) kills() int {
	if !a.bounded() {
		return 0
	}
	return max(0, a.count()-a.before)
}

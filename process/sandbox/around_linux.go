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
	n, err := parseNumber(body)
	if err != nil || n >= unlimited || !holdsOnlyOurs(a.dir) {
		return outerGroup{}
	}
	a.limit = n
	a.usage, _ = sysfile.OpenFile(filepath.Join(a.dir, usage)) // without it the tree is looked at at its own pace
	a.before = a.countKills()
	return a
}

// parseNumber reads the number in the text of a control file.
func parseNumber(body []byte) (int64, error) {
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
	used, err = parseNumber(body)
	return used, a.limit, err == nil
}

// close closes the file that is kept open.
func (a outerGroup) close() { a.usage.Close() }

// machineSigns are two files that say for the whole machine what the processes of a run cannot do unseen: take memory, and start others.
type machineSigns struct{ meminfo, loadavg *sysfile.File }

// openMachineSigns opens both files. One that cannot be opened is left out, and readState then returns the zero value.
func openMachineSigns() (m machineSigns) {
	m.meminfo, _ = sysfile.OpenFile("/proc/meminfo")
	m.loadavg, _ = sysfile.OpenFile("/proc/loadavg")
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
	kib, err := parseNumber(line)
	if err != nil {
		return machineState{}
	}
	load, err := m.loadavg.Read(sysfile.Small)
	if err != nil {
		return machineState{}
	}
	newest, err := parseNumber(load[bytes.LastIndexByte(load, ' ')+1:])
	return machineState{available: kib << 10, newest: newest, known: err == nil}
}

// close closes both files.
func (m machineSigns) close() {
	m.meminfo.Close()
	m.loadavg.Close()
}

// holdsOnlyOurs reports whether nobody is in the group but plimsolls and what started them: otherwise a kill in it says nothing about this run.
func holdsOnlyOurs(dir string) bool {
	pids, err := cgroupfs.Procs(dir)
	return err == nil && len(findStrangers(pids)) == 0
}

// countKills returns the kernel's count of kills in the group, which began before the run; 0 if it cannot be read.
func (a outerGroup) countKills() int {
	body, err := sysfile.Read(filepath.Join(a.dir, a.file), sysfile.Small)
	if err != nil {
		return 0
	}
	return int(fieldReader(body).get("oom_kill"))
}

// exists reports whether there is such a group.
func (a outerGroup) exists() bool { return a.file != "" }

// killsSinceStart returns how many processes the kernel has killed in the group since the run began.
func (a outerGroup) killsSinceStart() int {
	if !a.exists() {
		return 0
	}
	return max(0, a.countKills()-a.before)
}

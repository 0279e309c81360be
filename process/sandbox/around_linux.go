package sandbox

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/process/internal/cgroupfs"
	"github.com/plimsoll/plimsoll/process/internal/sysfile"
)

// An around is the control group that a container gives and that this program may only read. When its limit is reached the kernel
// kills in it, and no layer of ours is told.
type around struct {
	dir, file string // file counts the kernel's kills; "" where there is nothing to count
	before    int
	usage     string // the file with what the group holds now, bytes
	limit     int64  // bytes
}

// unlimited is more than any machine has: cgroup v1 writes no limit as the largest number of whole pages.
const unlimited = 1 << 60

// newAround finds the group around this process, if it has a limit of memory.
func newAround() around {
	own, err := cgroupfs.Own()
	if err != nil {
		return around{}
	}
	var a around
	bound := ""
	if dir := own.V1["memory"]; dir != "" {
		a, bound = around{dir: dir, file: "memory.oom_control", usage: "memory.usage_in_bytes"}, "memory.limit_in_bytes"
	} else if own.Unified != "" {
		a, bound = around{dir: own.Unified, file: "memory.events", usage: "memory.current"}, "memory.max"
	}
	if a.dir == "" {
		return around{}
	}
	n, err := a.number(bound)
	if err != nil || n >= unlimited || !onlyOurs(a.dir) {
		return around{}
	}
	a.limit = n
	a.before = a.count()
	return a
}

func (a around) number(file string) (int64, error) {
	body, err := sysfile.Read(filepath.Join(a.dir, file), sysfile.Small)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(body)), 10, 64)
}

// used is what the group holds of its limit, in bytes; ok is false where nobody says so.
func (a around) used() (used, limit int64, ok bool) {
	if !a.bounded() {
		return 0, 0, false
	}
	used, err := a.number(a.usage)
	return used, a.limit, err == nil && a.limit > 0
}

// onlyOurs says whether nobody is in the group but us and what started us: a kill among others says nothing of this run.
func onlyOurs(dir string) bool {
	pids, err := cgroupfs.Procs(dir)
	return err == nil && len(strangers(pids)) == 0
}

func (a around) count() int {
	body, err := sysfile.Read(filepath.Join(a.dir, a.file), sysfile.Small)
	if err != nil {
		return 0
	}
	return int(fieldReader(body).get("oom_kill"))
}

// bounded says whether there is a limit around this program that is ours alone.
func (a around) bounded() bool { return a.file != "" }

// kills counts what the kernel has killed in the group since the run began.
func (a around) kills() int {
	if !a.bounded() {
		return 0
	}
	return max(0, a.count()-a.before)
}

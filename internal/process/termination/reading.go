package termination

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path"
	"strconv"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/sysfile"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// group is the control group that is the container.
type group struct {
	dir     string
	version int
	limit   limit.Bytes
	current *os.File // what it is charged with, kept open because it is read many times a second
}

// findContainer returns the group with the smallest memory limit around this process, with its usage file open; ok is false if there is none. The
// caller closes it.
func findContainer() (g group, ok bool) {
	r, err := headroom.Read(headroom.Source{})
	if err != nil {
		return g, false
	}
	for _, c := range r.Cgroups {
		if c.Limit > 0 && c.Limit < headroom.Unlimited && (!ok || c.Limit < g.limit) {
			g, ok = group{dir: c.Dir, version: c.Version, limit: c.Limit}, true
		}
	}
	if !ok {
		return g, false
	}
	name := "memory.current"
	if g.version == 1 {
		name = "memory.usage_in_bytes"
	}
	g.current, err = os.Open(path.Join(g.dir, name))
	return g, err == nil
}

// close closes the usage file.
func (g group) close() { _ = g.current.Close() }

// readUsage returns the bytes that the group is charged with, including file pages; ok is false if that cannot be read.
func (g group) readUsage() (limit.Bytes, bool) {
	var text [32]byte // a number of 64 bits has 20 digits
	n, err := g.current.ReadAt(text[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, false
	}
	used, err := strconv.ParseInt(string(bytes.TrimSpace(text[:n])), 10, 64)
	return limit.Bytes(used), err == nil
}

// limitFile returns the file with the group's limit.
func (g group) limitFile() string {
	if g.version == 1 {
		return "memory.limit_in_bytes"
	}
	return "memory.max"
}

// readFileMemory returns the group's file pages that the kernel gives back before it kills a process, and the files that live in memory, in bytes;
// 0 if that cannot be read.
func (g group) readFileMemory() (inactive, inMemory limit.Bytes) {
	text, err := sysfile.Read(path.Join(g.dir, "memory.stat"), sysfile.Small)
	if err != nil {
		return 0, 0
	}
	before := ""
	if g.version == 1 {
		before = "total_"
	}
	return limit.Bytes(cgroupfs.Field(text, before+"inactive_file")), limit.Bytes(cgroupfs.Field(text, before+"shmem"))
}

// proc is one process and the anonymous memory that it holds.
type proc struct {
	pid  int
	name string // any bytes
	held limit.Bytes
}

// totalHeld returns the anonymous memory of all processes, in bytes.
func totalHeld(all []proc) (sum limit.Bytes) {
	for _, p := range all {
		sum += p.held
	}
	return sum
}

// maxProcesses bounds how many processes are looked at.
const maxProcesses = 4096

// listProcesses lists the processes of the group and of those below it, the largest first.
func (g group) listProcesses() []proc {
	var list []proc
	for _, dir := range cgroupfs.Tree(g.dir) {
		pids, err := cgroupfs.Procs(dir)
		if err != nil {
			continue
		}
		for _, pid := range pids {
			if len(list) >= maxProcesses {
				break
			}
			text, err := sysfile.Read("/proc/"+strconv.Itoa(pid)+"/status", sysfile.Small)
			if err != nil { // it has ended
				continue
			}
			p := parseStatus(text)
			p.pid = pid
			list = append(list, p)
		}
	}
	sorting.By(list, func(a, b proc) int { return cmp.Or(cmp.Compare(b.held, a.held), cmp.Compare(a.pid, b.pid)) })
	return list
}

// parseStatus reads name and anonymous memory of a /proc/PID/status file (proc_pid_status(5)). Memory of a file that lives in memory is not
// the process's alone, and is told apart.
func parseStatus(text []byte) (p proc) {
	for line := range bytes.Lines(text) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		value = bytes.TrimSpace(value)
		switch string(key) {
		case "Name":
			p.name = string(value)
		case "RssAnon":
			n, err := strconv.ParseInt(string(bytes.TrimSuffix(value, []byte(" kB"))), 10, 64)
			if err == nil && n > 0 && n < 1<<50 {
				p.held = limit.Bytes(n) * limit.KiB
			}
		}
	}
	return p
}

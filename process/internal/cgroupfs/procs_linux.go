package cgroupfs

import (
	"path"

	"github.com/plimsoll/plimsoll/process/internal/sysfile"
)

// AppendProcs is [Procs] for who looks again and again: it appends to pids.
func AppendProcs(pids []int, dir string) ([]int, error) {
	var room [2 << 10]byte // on the stack: some hundred processes
	file := path.Join(dir, "cgroup.procs")
	body, err := sysfile.ReadInto(file, room[:])
	if err == nil && len(body) < len(room) {
		return AppendPids(pids, body), nil
	}
	more, err := readPids(file)
	return append(pids, more...), err
}

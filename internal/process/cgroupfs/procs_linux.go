package cgroupfs

import "github.com/plimsoll/plimsoll/internal/process/sysfile"

// AppendProcs works like [Procs], for callers that look again and again: it appends to pids.
func AppendProcs(pids []int, dir string) ([]int, error) {
	var room [2 << 10]byte // on the stack: some hundred processes
	body, err := sysfile.ReadIn(dir, "cgroup.procs", room[:])
	if err == nil && len(body) < len(room) {
		return AppendPids(pids, body), nil
	}
	more, err := Procs(dir)
	return append(pids, more...), err
}

package agents

import (
	"path/filepath"

	"github.com/plimsoll/plimsoll/process/headroom"
)

// sampleMemory is the use and the limit of the control group with the smallest limit around this process, and the kills that the kernel
// has counted in it, or on the machine where there is no such group.
func sampleMemory() (m mark) {
	r, err := headroom.Read(headroom.Source{})
	if err != nil {
		return m
	}
	for _, c := range r.Cgroups {
		if c.Limit <= 0 || c.Limit >= headroom.Unlimited || m.Limit > 0 && c.Limit >= m.Limit {
			continue
		}
		m.Limit, m.Used = c.Limit, max(0, c.Usage-c.InactiveFile)
		m.Kills, m.Source = 0, ""
		for _, name := range []string{"memory.events", "memory.oom_control"} {
			if n, ok := killsOf(filepath.Join(c.Dir, name)); ok {
				m.Kills, m.Source = n, c.Dir
				break
			}
		}
	}
	if m.Limit == 0 {
		if n, ok := killsOf("/proc/vmstat"); ok {
			m.Kills, m.Source = n, "machine"
		}
	}
	return m
}

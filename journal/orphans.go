package journal

import "slices"

// Orphaned is a descendant that ran on after its parent had ended, as the report lists it.
type Orphaned struct {
	PID        int    `json:"pid"`
	Name       string `json:"name"`
	Bytes      int64  `json:"bytes"`
	ForMS      int64  `json:"for_ms"`
	CPUPercent int    `json:"cpu_percent"`
	Daemon     bool   `json:"daemon"`
	Fate       string `json:"fate"`
}

// orphan adds one, or what became of one that was asked to end.
func (p *Report) orphan(e Orphan) {
	o := Orphaned{
		PID: e.PID, Name: e.Name, Bytes: e.Bytes, ForMS: e.For.Milliseconds(), CPUPercent: e.CPUPercent,
		Daemon: e.Daemon, Fate: e.Fate,
	}
	if i := slices.IndexFunc(p.Orphans, func(l Orphaned) bool { return l.PID == e.PID && l.Fate == "" }); i >= 0 {
		p.Orphans[i] = o
	} else if len(p.Orphans) < maxListed {
		p.Orphans = append(p.Orphans, o)
	}
}

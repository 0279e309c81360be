package journal

import "slices"

// Limit is one limit of a run, as the report lists it under `limits`.
type Limit struct {
	// Name is what is limited: "memory", "swap", "pids", or the key that sets it, such as "time_max".
	Name string `json:"name"`
	// Soft is where Plimsoll warns and Hard where it, or the kernel, acts; 0 means that there is no such line.
	Soft int64 `json:"soft"`
	Hard int64 `json:"hard"`
	// Unit is that of Soft and Hard: "bytes", "ms", "processes", "percent of a CPU".
	Unit string `json:"unit"`
	// EnforcedBy is "kernel", "process", "watched" or "none".
	EnforcedBy string `json:"enforced_by"`
	// Reached is "soft" or "hard" once that line was reached, "" before.
	Reached string `json:"reached"`
}

// The lines of a limit, for [LimitReached].
const (
	LineSoft = "soft"
	LineHard = "hard"
)

type (
	// LimitSet says that a limit is in force for a run. A later one of the same name replaces it.
	LimitSet struct {
		Limit Limit `json:"limit"`
	}
	// LimitReached says that a line of a limit was reached, and what was done.
	LimitReached struct {
		Name string `json:"name"`
		Line string `json:"line"`
		Did  string `json:"did,omitempty"`
	}
)

func (LimitSet) Kind() string     { return "process.limit_set" }
func (LimitReached) Kind() string { return "process.limit_reached" }

// maxLimits bounds the limits of a report; there are about ten kinds.
const maxLimits = 32

func (p *Report) setLimit(l Limit) {
	if i := p.limit(l.Name); i >= 0 {
		p.Limits[i] = l
	} else if len(p.Limits) < maxLimits {
		p.Limits = append(p.Limits, l)
	}
}

func (p *Report) limit(name string) int {
	return slices.IndexFunc(p.Limits, func(l Limit) bool { return l.Name == name })
}

// reachLimit records the strongest line that was reached.
func (p *Report) reachLimit(name, line string) {
	if i := p.limit(name); i >= 0 && p.Limits[i].Reached != LineHard {
		p.Limits[i].Reached = line
	}
}

// layerLimits lists the limits that the layer of the run holds.
func (p *Report) layerLimits(e LayerChosen) {
	for _, l := range []Limit{
		{Name: "memory", Hard: p.LimitBytes, Unit: "bytes", EnforcedBy: e.Memory},
		{Name: "swap", Hard: p.SwapLimitBytes, Unit: "bytes", EnforcedBy: e.Swap},
		{Name: "pids", Hard: int64(p.PidsLimit), Unit: "processes", EnforcedBy: e.Pids},
	} {
		p.setLimit(l)
	}
}

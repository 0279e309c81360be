package journal

import "slices"

// Limit is one limit of a run, as the report lists it under `limits`.
type Limit struct {
	// Name is the limited resource: "memory", "swap", "pids", or the key that sets it, such as "time_max".
	Name string `json:"name"`
	// Soft is the line at which Plimsoll warns and Hard the one at which it, or the kernel, acts; 0 means that there is no such line.
	Soft int64 `json:"soft"`
	Hard int64 `json:"hard"`
	// Unit is that of Soft and Hard: "bytes", "ms", "processes", "percent of a CPU".
	Unit string `json:"unit"`
	// EnforcedBy is "kernel", "process", "watched" or "none".
	EnforcedBy string `json:"enforced_by"`
	// Reached is "soft" or "hard" once that line was reached, "" before.
	Reached string `json:"reached"`
	// Used is the run's use of it, in Unit; 0 also where that is not counted.
	Used int64 `json:"used"`
	// Did is the last action of Plimsoll at the line that was reached.
	Did string `json:"did,omitempty"`
}

// The lines of a limit, for [LimitReached].
const (
	LineSoft = "soft"
	LineHard = "hard"
)

type (
	// LimitSet records that a limit is in force for a run. A later one of the same name replaces it, and keeps what was used of it.
	LimitSet struct {
		Limit Limit `json:"limit"`
	}
	// LimitReached records that a line of a limit was reached, and what was done.
	LimitReached struct {
		Name string `json:"name"`
		Line string `json:"line"`
		Did  string `json:"did,omitempty"`
	}
	// LimitUsed records how much of a limit the run has used so far, in the limit's unit.
	LimitUsed struct {
		Name string `json:"name"`
		Used int64  `json:"used"`
		// Hard is the limit in force, for those of what the run may spend: a person may have raised it.
		Hard int64 `json:"hard,omitempty"`
	}
)

func (LimitSet) Kind() string     { return "process.limit_set" }
func (LimitReached) Kind() string { return "process.limit_reached" }

func (LimitUsed) Kind() string { return "process.limit_used" }

// maxLimits bounds the limits of a report; there are about ten kinds.
const maxLimits = 32

// setLimit replaces the row of a limit, or adds one if there are fewer than maxLimits, else l is dropped. If l.Used is 0, what was used before
// stays; what was reached is forgotten.
func (p *Report) setLimit(l Limit) {
	if i := p.limit(l.Name); i >= 0 {
		if l.Used == 0 { // it was raised
			l.Used = p.Limits[i].Used
		}
		p.Limits[i] = l
	} else if len(p.Limits) < maxLimits {
		p.Limits = append(p.Limits, l)
	}
}

// limit returns the index of the row of a limit, -1 if there is none.
func (p *Report) limit(name string) int {
	return slices.IndexFunc(p.Limits, func(l Limit) bool { return l.Name == name })
}

// reachLimit records the line that was reached, unless the hard one was before. A limit without a row is ignored, as in the two functions below.
func (p *Report) reachLimit(name, line string) {
	if i := p.limit(name); i >= 0 && p.Limits[i].Reached != LineHard {
		p.Limits[i].Reached = line
	}
}

// didAtLimit records what was done at a line, unless a stronger line was reached.
func (p *Report) didAtLimit(e LimitReached) {
	if i := p.limit(e.Name); i >= 0 && e.Did != "" && p.Limits[i].Reached == e.Line {
		p.Limits[i].Did = e.Did
	}
}

// useLimit records what was used, unless more was used before.
func (p *Report) useLimit(e LimitUsed) {
	if i := p.limit(e.Name); i >= 0 {
		p.Limits[i].Used = max(p.Limits[i].Used, e.Used)
	}
}

// setLayerLimits sets the rows of the limits that the layer of the run enforces.
func (p *Report) setLayerLimits(e LayerChosen) {
	for _, l := range []Limit{
		{Name: "memory", Hard: p.LimitBytes, Unit: "bytes", EnforcedBy: e.Memory},
		{Name: "swap", Hard: p.SwapLimitBytes, Unit: "bytes", EnforcedBy: e.Swap},
		{Name: "pids", Hard: int64(p.PidsLimit), Unit: "processes", EnforcedBy: e.Pids},
	} {
		p.setLimit(l)
	}
}

package run

import (
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/disk"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// limitRows returns the limits of the decision as the report lists them, all held by nobody yet.
func (p *decision) limitRows() []journal.Limit {
	rows := []journal.Limit{
		{Name: "memory", Unit: "bytes", Hard: int64(p.Limits.Memory)},
		{Name: "swap", Unit: "bytes", Hard: int64(p.Limits.Swap)},
		{Name: "pids", Unit: "processes", Hard: int64(p.Limits.Pids)},
	}
	if p.Limits.CPUWeight > 0 {
		rows = append(rows, journal.Limit{Name: "cpu_weight", Unit: "weight", Hard: int64(p.Limits.CPUWeight)})
	}
	if p.Limits.CPUs > 0 {
		rows = append(rows, journal.Limit{Name: "cpus", Unit: "percent of a CPU", Hard: int64(100*p.Limits.CPUs + 0.5)})
	}
	if most := p.Limits.Time; most > 0 {
		rows = append(rows, journal.Limit{
			Name: sandbox.LimitTime, Unit: "ms", Soft: sandbox.SoftTime(most).Milliseconds(), Hard: most.Milliseconds(),
		})
	}
	if row, ok := p.idleRow(); ok {
		rows = append(rows, row)
	}
	if lines, ok := p.diskLines(); ok {
		if lines.WriteMax > 0 {
			rows = append(rows, journal.Limit{Name: disk.WriteMax, Unit: "bytes", Soft: int64(lines.WriteMax / 5 * 4), Hard: int64(lines.WriteMax)})
		}
		if lines.FreeMin != 0 { // auto differs from one file system to the next: 0 here
			rows = append(rows, journal.Limit{Name: disk.FreeMin, Unit: "bytes", Soft: int64(2 * max(0, lines.FreeMin)), Hard: int64(max(0, lines.FreeMin))})
		}
	}
	for i := range rows {
		rows[i].EnforcedBy = string(sandbox.ByNobody)
	}
	return rows
}

// noteLimits writes to the journal, once the command runs, who holds the limits that the sandbox has not reported.
func (x *process) noteLimits(held sandbox.Strength) {
	for _, row := range x.decision.limitRows() {
		switch row.Name {
		case "memory", "swap", "pids":
			continue
		}
		switch {
		case row.Name == "cpu_weight":
			row.EnforcedBy = string(held.CPU)
		case row.Name == "cpus":
			row.EnforcedBy = string(held.CPUs)
			if held.CPUs == sandbox.ByNobody && x.decision.Settings.Enforcement != "off" {
				x.report.warn("cpus", "nobody holds --cpus (cpus) here: it takes a control group with the CPU controller; the weight is "+mechanismWords(string(held.CPU)))
			}
		case x.decision.Settings.Enforcement != "off":
			row.EnforcedBy = string(sandbox.ByWatching)
		}
		x.report.journal.Append(journal.LimitSet{Limit: row})
	}
}

// noteUse writes the use of memory, processor and time to the journal, once the run is over, and warns of a run that got too little
// processor.
func (x *process) noteUse() {
	r := &x.result
	x.report.journal.Append(journal.LimitUsed{Name: "memory", Used: int64(r.Peak.Bytes)})
	if r.Duration > 0 {
		x.report.journal.Append(journal.LimitUsed{Name: "cpus", Used: int64(100 * r.CPU / r.Duration)})
	}
	if p := r.Processor; p.Starved() {
		text := fmt.Sprintf("it had %.0f %% of a processor while it could use %.0f %%: other programs kept this machine busy", 100*p.Had, 100*p.Wanted)
		if weight := x.decision.Limits.CPUWeight; weight > 0 && weight < sandbox.NormalWeight {
			text += fmt.Sprintf("; --cpu-weight %d (cpu_weight) gives it as much as each of them", sandbox.NormalWeight)
		}
		x.report.warn("cpu_weight", text)
	}
	x.report.journal.Append(journal.LimitUsed{Name: limitIdle, Used: x.use.Longest().Milliseconds()})
	x.report.journal.Append(journal.LimitUsed{Name: sandbox.LimitTime, Used: r.TimeUsed.Milliseconds()})
}

// onTime warns when nine tenths of the run's time are used, and, when ended is true, that the run is ended because all is.
func (x *process) onTime(used time.Duration, ended bool) {
	most := x.decision.Limits.Time
	e := journal.LimitReached{Name: sandbox.LimitTime, Line: journal.LineSoft}
	text := fmt.Sprintf("%s of the %s that this run may take are used; then it is ended (--time-max, time_max)", roughly(used), roughly(most))
	if ended {
		e.Line, e.Did = journal.LineHard, "ended the run"
		text = fmt.Sprintf("it has taken the %s that it may and is ended; for more: --time-max %s", roughly(most), (2 * most).String())
	}
	x.report.journal.Append(e)
	x.report.warn("time", text)
}

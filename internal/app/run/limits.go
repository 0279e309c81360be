package run

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/disk"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// A limitRow declares a limit of a run for the report: its name, which is that of the configuration's key, its unit and its lines.
type limitRow struct {
	name, unit string
	// lines returns the line at which the run is warned, 0 for none, and the limit in the unit. It is not in force where ok is false.
	lines func(p *decision) (soft, hard int64, ok bool)
	// holder returns who holds it, by what the sandbox has reported; nil for what Plimsoll watches.
	holder func(held sandbox.Strength) sandbox.Mechanism
	// reported is true for those that the sandbox itself writes to the journal.
	reported bool
}

var limitTable = []limitRow{
	{name: "memory", unit: "bytes", reported: true, lines: func(p *decision) (int64, int64, bool) { return 0, int64(p.Limits.Memory), true }},
	{name: "swap", unit: "bytes", reported: true, lines: func(p *decision) (int64, int64, bool) { return 0, int64(p.Limits.Swap), true }},
	{name: "pids", unit: "processes", reported: true, lines: func(p *decision) (int64, int64, bool) { return 0, int64(p.Limits.Pids), true }},
	{
		name: "cpu_weight", unit: "weight", holder: func(h sandbox.Strength) sandbox.Mechanism { return h.CPU },
		lines: func(p *decision) (int64, int64, bool) { return hardLine(int64(p.Limits.CPUWeight)) },
	},
	{
		name: "cpus", unit: "percent of a CPU", holder: func(h sandbox.Strength) sandbox.Mechanism { return h.CPUs },
		lines: func(p *decision) (int64, int64, bool) { return hardLine(int64(100*p.Limits.CPUs + 0.5)) },
	},
	{name: sandbox.LimitTime, unit: "ms", lines: func(p *decision) (int64, int64, bool) {
		most := p.Limits.Time
		return sandbox.SoftTime(most).Milliseconds(), most.Milliseconds(), most > 0
	}},
	{name: limitIdle, unit: "ms", lines: (*decision).idleLines, holder: heldWhereIdle},
	{name: disk.WriteMax, unit: "bytes", lines: func(p *decision) (int64, int64, bool) {
		lines, ok := p.diskLines()
		return int64(lines.WriteMax / 5 * 4), int64(lines.WriteMax), ok && lines.WriteMax > 0
	}},
	{name: disk.FreeMin, unit: "bytes", lines: func(p *decision) (int64, int64, bool) {
		lines, ok := p.diskLines() // auto differs from one file system to the next: 0 here
		return int64(2 * max(0, lines.FreeMin)), int64(max(0, lines.FreeMin)), ok && lines.FreeMin != 0
	}},
	spendLimitRow(spend.LimitTokens, func(l spend.Limits) float64 { return float64(l.Tokens) }),
	spendLimitRow(spend.LimitCost, func(l spend.Limits) float64 { return l.Cost }),
	spendLimitRow(spend.LimitQuota, func(l spend.Limits) float64 { return l.Quota }),
}

// hardLine returns the lines of a limit that warns of nothing, and is not in force at 0.
func hardLine(n int64) (soft, hard int64, ok bool) { return 0, n, n > 0 }

// spendLimitRow returns the row of a limit of what a run may spend; of returns the limit, 0 for none. Such a limit is held by watching.
func spendLimitRow(name string, of func(spend.Limits) float64) limitRow {
	unit := spend.UnitOf(name)
	held := func(sandbox.Strength) sandbox.Mechanism { return sandbox.ByWatching } // --enforcement is about the kernel
	return limitRow{name: name, unit: unit.Unit, holder: held, lines: func(p *decision) (int64, int64, bool) {
		most := of(spendLimits(p.Settings))
		return unit.Number(spend.SoftLine * most), unit.Number(most), most > 0
	}}
}

// limitRows returns the limits of the decision as the report lists them, all held by nobody yet.
func (p *decision) limitRows() []journal.Limit {
	var rows []journal.Limit
	for _, l := range limitTable {
		if soft, hard, ok := l.lines(p); ok {
			rows = append(rows, journal.Limit{Name: l.name, Unit: l.unit, Soft: soft, Hard: hard, EnforcedBy: string(sandbox.ByNobody)})
		}
	}
	return rows
}

// noteLimits writes to the journal, once the command runs, who holds the limits that the sandbox has not reported.
func (x *process) noteLimits(held sandbox.Strength) {
	off := x.decision.Settings.Enforcement == config.EnforcementOff
	for _, row := range x.decision.limitRows() {
		i := slices.IndexFunc(limitTable, func(l limitRow) bool { return l.name == row.Name })
		switch l := limitTable[i]; {
		case l.reported:
			continue
		case l.holder != nil:
			row.EnforcedBy = string(l.holder(held))
		case !off:
			row.EnforcedBy = string(sandbox.ByWatching)
		}
		x.report.journal.Append(journal.LimitSet{Limit: row})
	}
	if x.decision.Limits.CPUs > 0 && held.CPUs == sandbox.ByNobody && !off {
		x.report.warn("cpus", "nobody holds --cpus (cpus) here: it takes a control group with the CPU controller; the weight is "+mechanismWords(string(held.CPU)))
	}
	if x.decision.Limits.Swap > 0 && held.Swap == sandbox.ByNobody && !off { // without one it is 0, which goes with the limit of memory
		x.report.warn("swap", "nobody holds --swap-max (swap_max) here: it takes a control group that counts swap")
	}
}

// noteUse writes the use of memory, processor and time, and the longest time idle, to the journal, once the run is over, and warns of a run that
// got too little processor.
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

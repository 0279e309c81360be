package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/process/orphans"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// watchOrphans watches the processes of the run whose parent has ended, and handles them as on_orphan says, until stop is called. It does nothing
// if that is off, or if the run around this one sees them.
func (x *process) watchOrphans(run *sandbox.Run) (stop func()) {
	s := x.decision.Settings
	if s.OnOrphan == config.OnOrphanOff || s.OrphanMax <= 0 || x.nested && !run.Adopts() {
		return func() {} // the run around this one sees its orphans, but not those that this process adopts
	}
	limit := journal.Limit{Name: "orphan_max", Unit: "ms", EnforcedBy: string(sandbox.ByWatching), Soft: s.OrphanMax.Milliseconds()}
	if s.OnOrphan == config.OnOrphanEnd {
		limit.Soft, limit.Hard = 0, limit.Soft
	}
	x.report.journal.Append(journal.LimitSet{Limit: limit})
	return orphans.Start(orphans.Options{
		Mode: orphans.Mode(s.OnOrphan), Max: s.OrphanMax, Grace: s.Grace,
		Run: orphanedRun{run}, Note: x.noteOrphans,
	})
}

// noteOrphans writes an event to the journal, and warns the user in one line when e.Say is set.
func (x *process) noteOrphans(e orphans.Event) {
	for _, o := range e.Orphans {
		x.report.journal.Append(journal.Orphan{
			PID: o.PID, Start: o.Start, Name: o.Name, Bytes: int64(o.Memory), For: o.For, CPUPercent: int(100*o.Load + 0.5),
			Daemon: o.Daemon, Fate: string(o.Fate),
		})
	}
	words := orphanWords(e)
	if !e.Ended {
		line := journal.LineSoft
		if x.decision.Settings.OnOrphan == config.OnOrphanEnd {
			line = journal.LineHard
		}
		x.report.journal.Append(journal.LimitReached{Name: "orphan_max", Line: line, Did: words})
	}
	if e.Say {
		x.report.warn("orphans", words)
	}
}

// orphanWords returns a line for a person about an event, with the orphans by what happened to them.
func orphanWords(e orphans.Event) string {
	fates := map[orphans.Fate][]orphans.Orphan{}
	for _, o := range e.Orphans {
		fates[o.Fate] = append(fates[o.Fate], o)
	}
	var parts []string
	for _, fate := range slices.Sorted(maps.Keys(fates)) {
		list := fates[fate]
		text := limit.Count(len(list), "process") + " whose parent has ended "
		switch fate {
		case orphans.Warned:
			text += fmt.Sprintf("still run after %s: %s; plimsoll top --tree shows them, on_orphan = \"end\" ends such", roughly(list[0].For), namesOf(list))
		case orphans.Kept:
			text += fmt.Sprintf("are left alone, as daemons: %s; plimsoll top --tree shows them", namesOf(list))
		case orphans.Terminated:
			text += "ended when asked: " + namesOf(list)
		case orphans.Killed:
			text += "had to be killed: " + namesOf(list)
		case orphans.Survived:
			text += "did not end on SIGKILL: " + namesOf(list)
		default:
			text += fmt.Sprintf("are asked to end after %s: %s", roughly(list[0].For), namesOf(list))
		}
		parts = append(parts, text)
	}
	if e.Failed != nil {
		parts = append(parts, "it failed: "+e.Failed.Error())
	}
	return strings.Join(parts, "; ")
}

// namesOf returns the orphans in words, grouped by name, the busiest first and at most four names: "yes ×39 (7.0 CPUs), node (pid 12, idle)".
func namesOf(list []orphans.Orphan) string {
	type group struct {
		name string
		pid  int
		n    int
		load float64
	}
	byName := map[string]*group{}
	var groups []*group
	for _, o := range list {
		g := byName[o.Name]
		if g == nil {
			g = &group{name: o.Name, pid: o.PID}
			byName[o.Name] = g
			groups = append(groups, g)
		}
		g.n++
		g.load += max(0, o.Load)
	}
	sorting.StableBy(groups, func(a, b *group) int { return cmp.Compare(b.load, a.load) })
	var names []string
	for i, g := range groups {
		if i == 4 {
			names = append(names, "…")
			break
		}
		text := printable.Text(g.name)
		who := fmt.Sprintf("pid %d, ", g.pid)
		if g.n > 1 {
			text += fmt.Sprintf(" ×%d", g.n)
			who = ""
		}
		names = append(names, fmt.Sprintf("%s (%s%s)", text, who, loadWords(g.load)))
	}
	return strings.Join(names, ", ")
}

// loadWords describes a load in processors: "idle" below a hundredth, "37 % of a CPU", "7.0 CPUs".
func loadWords(load float64) string {
	switch {
	case load < 0.01:
		return "idle"
	case load < 0.995:
		return fmt.Sprintf("%.0f %% of a CPU", 100*load)
	}
	return fmt.Sprintf("%.1f CPUs", load)
}

// orphanedRun is a [sandbox.Run] as the watch over orphans needs it.
type orphanedRun struct{ *sandbox.Run }

func (r orphanedRun) Family() []orphans.Process {
	members := r.Run.Family()
	list := make([]orphans.Process, len(members))
	for i, m := range members {
		list[i] = orphans.Process{
			PID: m.PID, Parent: m.Parent, Start: m.Start, Name: m.Name, Memory: m.Memory, CPU: m.CPU, State: m.State,
			Command: m.Command, Orphan: m.Orphan, Daemon: m.Daemon,
		}
	}
	return list
}

func (r orphanedRun) End(p orphans.Process, kill bool) error {
	return r.EndMember(sandbox.Member{PID: p.PID, Start: p.Start, Name: p.Name, State: p.State}, kill)
}

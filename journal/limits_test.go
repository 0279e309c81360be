package journal_test

import (
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

// The report lists every limit once, with the strongest line that was reached.
func TestLimitsOfAReport(t *testing.T) {
	reporter := journal.NewReporter(journal.Report{LimitBytes: 1 << 30, PidsLimit: 256})
	j := journal.New(journal.Options{Observers: []journal.Observer{reporter}})
	if got := reporter.Report().Limits; got == nil || len(got) != 0 {
		t.Fatalf("before the run: %#v, want an empty list", got)
	}
	j.Append(journal.LayerChosen{Layer: "cgroup2", Memory: "kernel", Swap: "none", Pids: "kernel"})
	j.Append(journal.LimitSet{Limit: journal.Limit{Name: "time_max", Hard: 1000, Unit: "ms", EnforcedBy: "watched"}})
	j.Append(journal.LimitUsed{Name: "time_max", Used: 900})
	j.Append(journal.LimitSet{Limit: journal.Limit{Name: "time_max", Hard: 2000, Unit: "ms", EnforcedBy: "watched"}})
	j.Append(journal.OOMKills{New: 1, Total: 1})
	j.Append(journal.LimitReached{Name: "time_max", Line: journal.LineHard})
	j.Append(journal.LimitReached{Name: "time_max", Line: journal.LineSoft})
	j.Append(journal.LimitReached{Name: "of nobody", Line: journal.LineHard})
	want := []journal.Limit{
		{Name: "memory", Hard: 1 << 30, Unit: "bytes", EnforcedBy: "kernel", Reached: "hard"},
		{Name: "swap", Unit: "bytes", EnforcedBy: "none"},
		{Name: "pids", Hard: 256, Unit: "processes", EnforcedBy: "kernel"},
		{Name: "time_max", Hard: 2000, Unit: "ms", EnforcedBy: "watched", Reached: "hard", Used: 900},
	}
	if got := reporter.Report().Limits; !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

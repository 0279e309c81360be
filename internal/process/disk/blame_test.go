package disk_test

import (
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/disk"
	"github.com/plimsoll/plimsoll/limit"
)

// A run whose agent (1) has started a loop (2), which starts one writer after the other.
type loop struct {
	policy  disk.Policy
	written limit.Bytes
	next    int
	agent   bool // the loop is the agent itself
}

// look is one look, with the writer that lives then, if any.
func (l *loop) look(change func(loop, writer *disk.Process)) []disk.Event {
	l.next++
	l.written += 80 * limit.MiB
	processes := []disk.Process{
		{PID: 1, Name: "agent", Agent: true},
		{PID: 2, Parent: 1, Name: "sh", Agent: l.agent},
		{PID: 100 + l.next, Parent: 2, Name: "tail", Recent: 40 * limit.MiB},
	}
	change(&processes[1], &processes[2])
	r := reading(50*gib-l.written, l.written, processes[2])
	r.Processes = processes
	return l.policy.Look(r)
}

// victimsOf makes looks until so many were ended.
func (l *loop) victimsOf(n int, change func(loop, writer *disk.Process)) (names []string) {
	for range 400 {
		for _, e := range l.look(change) {
			if e.Victim != nil {
				names = append(names, e.Victim.Name)
			}
		}
		if len(names) >= n {
			break
		}
	}
	return names
}

func TestTheLoopBehindShortWriters(t *testing.T) {
	lines := disk.Lines{WriteMax: 100 * limit.MiB}
	none := func(_, _ *disk.Process) {}
	keeps := func(_, w *disk.Process) { w.Keeper = 2 }
	unseen := func(p, w *disk.Process) { p.Collected, w.Recent = 40*limit.MiB, 0 }
	for name, c := range map[string]struct {
		agent  bool
		change func(loop, writer *disk.Process)
		want   []string
	}{
		"it keeps their file":                   {false, keeps, []string{"sh"}},
		"the agent keeps it":                    {true, keeps, []string{"tail", "sh"}},
		"each has its own":                      {false, none, []string{"tail", "sh"}},
		"the agent starts them":                 {true, none, []string{"tail", "tail", "tail", "sh"}},
		"nobody lives long enough to be seen":   {false, unseen, []string{"sh"}},
		"and the agent itself waits for them":   {true, unseen, []string{"sh"}},
		"what the agent itself writes is least": {false, func(_, w *disk.Process) { w.Recent = limit.MiB }, []string{"tail", "sh"}},
	} {
		l := &loop{policy: disk.Policy{Lines: lines}, agent: c.agent}
		if got := l.victimsOf(len(c.want), c.change); !slices.Equal(got, c.want) {
			t.Errorf("%s: ended %q, want %q", name, got, c.want)
		}
	}
}

func TestTheAgentIsEndedLast(t *testing.T) {
	agent := disk.Process{PID: 1, Agent: true, Recent: 900 * limit.MiB}
	tool := disk.Process{PID: 2, Recent: 100 * limit.MiB}
	p := disk.Policy{Lines: disk.Lines{WriteMax: 10 * gib}}
	if e := p.Look(reading(39*gib, 11*gib, agent, tool)); !slices.Equal(victims(e), []int{2}) {
		t.Errorf("beside an agent that writes more: %+v", e)
	}
	tool.Recent = limit.MiB // is not what fills the disk
	p = disk.Policy{Lines: disk.Lines{WriteMax: 10 * gib}}
	if e := p.Look(reading(39*gib, 11*gib, agent, tool)); !slices.Equal(victims(e), []int{1}) {
		t.Errorf("beside an agent that writes all: %+v", e)
	}
}

// The log of one agent grew to 219 GB before anybody looked.
func TestWhatTheAgentWritesItselfIsToldLongBefore(t *testing.T) {
	told := func(lines disk.Lines, until, step limit.Bytes) (at []limit.Bytes) {
		p := disk.Policy{Lines: lines}
		for own := limit.Bytes(0); own <= until; own += step {
			r := reading(50*gib, 0)
			r.Own, r.OwnFile = own, "/home/u/debug.log"
			for _, e := range p.Look(r) {
				if !e.Own || e.Path != r.OwnFile || e.Victim != nil {
					t.Errorf("told %+v", e)
				}
				at = append(at, e.Used/gib)
			}
		}
		return at
	}
	if got := told(disk.Lines{}, 219*gib, gib); !slices.Equal(got, []limit.Bytes{2, 8, 32, 128}) {
		t.Errorf("told at %d GiB", got)
	}
	if got := told(disk.Lines{WriteMax: 4 * gib}, gib, gib); !slices.Equal(got, []limit.Bytes{1}) {
		t.Errorf("with a limit told at %d GiB", got)
	}
}

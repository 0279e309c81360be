package run

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/process/disk"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// diskLines returns the limits on writing and on free space; ok is false when nothing is to be watched.
func (p *decision) diskLines() (lines disk.Lines, ok bool) {
	s := p.Settings
	lines = disk.Lines{WriteMax: s.WriteMax, FreeMin: s.FreeMin}
	if s.FreeMin == config.Auto {
		lines.FreeMin = disk.Auto
	}
	return lines, disk.Supported && s.Enforcement != config.EnforcementOff && (lines.WriteMax > 0 || lines.FreeMin != 0)
}

// withDisk watches what the run writes, until stop is called. A run inside another one is watched by the outer one.
func (x *process) withDisk(run *sandbox.Run) (stop func()) {
	lines, ok := x.decision.diskLines()
	if !ok || x.nested { // the run around this one watches the same processes
		return func() {}
	}
	dirs := []string{os.TempDir()}
	if dir, err := os.Getwd(); err == nil {
		dirs = append(dirs, dir)
	}
	used := writeUse{note: func(u int64) { x.report.journal.Append(journal.LimitUsed{Name: disk.WriteMax, Used: u}) }}
	end := disk.Start(disk.Options{
		Lines: lines, Dirs: dirs, Run: &writingRun{Run: run, grace: x.decision.Settings.Grace}, CPU: run.CPUTime, Note: x.noteDisk,
		Used: func(growth, _ limit.Bytes) { used.add(int64(growth)) },
	})
	return func() {
		end()
		used.noteLast()
	}
}

// writeUse notes how much a run has written. The watch looks several times a second, so a figure is noted only when it is more than the
// last one by a sixteenth and 1 MiB, and at the end.
type writeUse struct {
	note        func(int64)
	mu          sync.Mutex
	most, noted int64
}

// add takes over what the run has written so far, and notes it when it has grown by a sixteenth and a MiB since the last note.
func (u *writeUse) add(growth int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.most = max(u.most, growth); u.most-u.noted > u.noted/16+int64(limit.MiB) {
		u.noted = u.most
		u.note(u.most)
	}
}

// noteLast notes the most that the run has written, unless it was noted already.
func (u *writeUse) noteLast() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.most > u.noted {
		u.noted = u.most
		u.note(u.most)
	}
}

// noteDisk writes an event to the journal and warns the user. One about what the agent itself writes is no limit that was reached, but only a
// warning.
func (x *process) noteDisk(e disk.Event) {
	if e.Own {
		x.report.warn("disk", ownWords(e, x.decision.Tool))
		return
	}
	line := journal.LimitReached{Name: e.Limit, Line: journal.LineSoft}
	where := fmt.Sprintf("the run has written %s, and at %s its largest writer is ended", e.Used.Human(), e.Line.Human())
	if e.Limit == disk.FreeMin {
		where = fmt.Sprintf("%s are free where %s lies, and below %s the run's largest writer is ended", e.Used.Human(), printable.Text(e.Path), e.Line.Human())
	}
	flag := "--write-max, write_max"
	if e.Limit == disk.FreeMin {
		flag = "--free-min, free_min"
	}
	switch {
	case e.Hard && e.Foreign:
		line.Line, line.Did = journal.LineHard, "warned"
		where += "; but others write the most, so nothing is ended"
	case e.Hard && e.Victim != nil:
		line.Line, line.Did = journal.LineHard, fmt.Sprintf("ended %s (pid %d)", e.Victim.Name, e.Victim.PID)
		where = fmt.Sprintf("%s is ended: the run has written %s of the %s that it may", victimWords(e), e.Used.Human(), e.Line.Human())
		if e.Limit == disk.FreeMin {
			where = fmt.Sprintf("%s is ended: only %s are free where %s lies, and this run wrote most of what has gone", victimWords(e), e.Used.Human(), printable.Text(e.Path))
		}
	case e.Hard:
		line.Line, line.Did = journal.LineHard, "warned"
	}
	x.report.journal.Append(line)
	x.report.warn("disk", where+" ("+flag+")")
}

// victimWords returns words for the process that is ended at a limit of the disk, with the name of the writer that it started if that is
// another process.
func victimWords(e disk.Event) string {
	who := fmt.Sprintf("%s (pid %d)", printable.Text(e.Victim.Name), e.Victim.PID)
	switch {
	case e.Writer == nil:
		return who + ", which starts one writer after the other,"
	case e.Writer.PID != e.Victim.PID:
		return who + ", which starts writers such as " + printable.Text(e.Writer.Name) + ","
	}
	return who
}

// ownWords returns the warning about files that the agent itself lets grow, such as its log.
func ownWords(e disk.Event, tool string) string {
	text := fmt.Sprintf("%s itself has written %s in this run", tool, e.Used.Human())
	if e.Path != "" {
		text += ", most of it to " + printable.Text(e.Path)
	}
	return text + ": look whether that is meant (a log?); at write_max or free_min it is ended last, and the run with it"
}

// writingRun is a [sandbox.Run] as the watch over the disks needs it.
type writingRun struct {
	*sandbox.Run
	grace time.Duration
	list  []disk.Process // of the last look
}

// Processes returns the processes of the run, in memory that the next call uses again.
func (r *writingRun) Processes() []disk.Process {
	r.list = r.list[:0]
	r.EachProcess(func(m sandbox.Member) {
		r.list = append(r.list, disk.Process{PID: m.PID, Parent: m.Parent, Start: m.Start, Name: m.Name, Agent: m.Command})
	})
	return r.list
}

// End asks one process to end, and kills it after the grace; for the agent it ends the whole run, at the limit name.
func (r *writingRun) End(p disk.Process, name string) {
	if p.Agent {
		r.Run.End(name)
		return
	}
	m := sandbox.Member{PID: p.PID, Start: p.Start, Name: p.Name}
	_ = r.EndMember(m, false)
	time.AfterFunc(r.grace, func() { _ = r.EndMember(m, true) })
}

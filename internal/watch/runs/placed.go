package runs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Lost is the outcome of a job that its engine no longer knows and that left no report.
const Lost = "lost"

// placed are the jobs that were submitted, as they were last told. A job is shown until there is a run of it here, which knows more: that is
// so in the queue of this host, and where a cluster's home directories are shared.
type placed struct {
	store *jobs.Store
	seen  map[string]*seenJob
}

type seenJob struct {
	changed time.Time
	over    bool
	run     *Run
}

// poll reads the records of jobs that have changed since the last call, and reports whether there were any. The record of a job that is over
// is read once.
func (p *placed) poll() (changed bool) {
	ids, err := p.store.IDs()
	if err != nil {
		return false // who lists and submits jobs is told
	}
	here := make(map[string]bool, len(ids))
	for _, id := range ids {
		here[id] = true
		before := p.seen[id]
		if before != nil && before.over {
			continue
		}
		info, err := os.Lstat(filepath.Join(p.store.Folder(id), jobs.RecordName))
		if err != nil || before != nil && info.ModTime().Equal(before.changed) {
			continue
		}
		r, err := p.store.Get(id)
		if err != nil {
			continue
		}
		if r.Status.Phase.Over() {
			r.Status.Report = p.store.Report(id)
		}
		p.seen[id], changed = &seenJob{info.ModTime(), r.Status.Phase.Over(), runOfJob(&r)}, true
	}
	for id := range p.seen {
		if !here[id] {
			delete(p.seen, id)
			changed = true
		}
	}
	return changed
}

// runOfJob returns a job in the form of a run: its state is that of the engine, its report the one that the job left, if there is one.
func runOfJob(r *jobs.Record) *Run {
	report := journal.Report{
		Tool: r.Tool, Variant: r.Variant, Project: r.Project, Command: r.Command, ReservationBytes: int64(r.Memory), LimitBytes: int64(r.MemoryLimit),
	}
	s := &r.Status
	if s.Report != nil {
		report = *s.Report
	} else if s.Phase == jobs.Ended {
		report.Outcome, report.ExitCode, report.Signal = s.Outcome(), s.ExitCode, s.Signal
		if !s.Started.IsZero() {
			report.DurationMS = max(0, s.Ended.Sub(s.Started).Milliseconds())
		}
	}
	run := newRun()
	run.Header = Header{ID: r.ID, Kind: KindJob, Job: r.ID, Started: r.Submitted, Report: report}
	run.Report, run.Seen = report, r.Submitted
	run.Entry = newEntry(&run.Header, &report, "")
	e := &run.Entry
	e.Engine, e.Node = r.Engine, s.Node
	var reasons []string
	switch {
	case s.Phase == jobs.Lost:
		e.Outcome = Lost
	case s.Phase == jobs.Ended:
		reasons = append(reasons, endReason(&report, ""))
	case s.Phase == jobs.Running:
		e.Outcome = Running
	default:
		e.Outcome = Waiting
	}
	if words := s.FullReason(); words != "" && !slices.Contains(reasons, words) && (s.Phase != jobs.Ended || !plain[s.Reason] || s.Detail != "") {
		reasons = append(reasons, r.Engine+": "+words)
	}
	reasons = append(reasons, r.Unanswered)
	e.Reason = limit.Short(strings.Join(nonEmpty(reasons), "; "), maxReason)
	if e.State = e.Outcome; s.Phase.Over() {
		ended := s.Ended
		e.State, e.Ended = "", &ended
		run.ended = true
	}
	return run
}

// plain are the engines' words that say no more than the exit status does.
var plain = map[string]bool{"COMPLETED": true, "FAILED": true, "Completed": true, "Complete": true, "Error": true}

// nonEmpty returns the texts that are not "".
func nonEmpty(list []string) (kept []string) {
	for _, text := range list {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

// unplacedJobs returns the jobs that have no run in the store, or that wait again, as after a requeue, while their run is over.
func (s *Store) unplacedJobs() []*Run {
	if len(s.placed.seen) == 0 {
		return nil
	}
	type known struct {
		lives bool
		ended time.Time // of the run that ended last
	}
	found := map[string]known{}
	add := func(e *Entry) {
		k, ended := found[e.Job], e.Started
		if e.Ended != nil {
			ended = *e.Ended
		}
		k.lives = k.lives || e.Live()
		if ended.After(k.ended) {
			k.ended = ended
		}
		found[e.Job] = k
	}
	for _, e := range s.index {
		add(e)
	}
	for id, t := range s.live {
		if s.index[id] == nil && t.run.reporter != nil {
			add(&t.run.Entry)
		}
	}
	var list []*Run
	for id, j := range s.placed.seen {
		k, has := found[id]
		if has && (k.lives || j.run.Outcome != Waiting) {
			continue
		}
		if j.run.Live() {
			if k.ended.After(j.run.Started) { // it waits again since then
				j.run.Started = k.ended
			}
			j.run.updateDuration()
		}
		list = append(list, j.run)
	}
	return list
}

// addJob adds to the entry of a run what is known of its job. If the run died with its plimsoll, or was asked to end, the engine may know
// why.
func (s *Store) addJob(e *Entry) {
	j := s.placed.seen[e.Job]
	if j == nil || e.Kind == KindJob {
		return
	}
	e.Engine, e.Node = j.run.Engine, j.run.Node
	if (e.Outcome == Died || e.Outcome == string(journal.OutcomeSignalled) && j.run.ended) && j.run.Reason != "" {
		e.Reason = j.run.Reason
	}
}

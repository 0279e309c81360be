package core

import (
	"os"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// RunStore returns where what happens in runs is kept. ok is false when the user wants none kept, or there is no place for it, which
// the user is told.
func (c *Core) RunStore(s config.Settings) (o runs.Options, ok bool) {
	if !s.Watch.Runs {
		return o, false
	}
	dir, err := c.Dirs.EnsureState()
	if err != nil {
		c.Warn("what happens is not kept: " + err.Error())
		return o, false
	}
	return runs.Options{Dir: dir, Environ: os.Environ()}, true
}

// RunRecord keeps what happens in this process, where that is no command under [internal/app/run]: a gateway, the daemon, a question. nil
// keeps nothing.
type RunRecord struct {
	daily   *runs.Daily // nil when nothing is kept
	notices *OwnNotices
}

// KeepRun begins to keep, and to tell of it where the user wants that. start says what the process does: at least Tool. A daemon does
// not tell of itself here: it watches all runs.
func (c *Core) KeepRun(s config.Settings, kind string, start journal.Report) *RunRecord {
	if start.Project == "" {
		start.Project = config.ProjectOf("").Name
	}
	h := runs.Header{ID: admission.NewID(), Kind: kind, Parent: InsideRun(), Report: start}
	r := &RunRecord{}
	if kind != runs.KindServe {
		r.notices = NotifyOf(s, &h, c.Warn)
	}
	if o, ok := c.RunStore(s); ok {
		r.daily = runs.BeginDaily(o, h, admission.NewID, func(err error) { c.Warn(err.Error()) })
	}
	return r
}

// Observers returns what the journal is to have.
func (r *RunRecord) Observers() []journal.Observer {
	if r == nil {
		return nil
	}
	observers := r.notices.Observers()
	if r.daily != nil {
		observers = append(observers, r.daily)
	}
	return observers
}

// End writes how it ended: failed when err is an error. It comes after everything that still may say something.
func (r *RunRecord) End(err error) {
	if r == nil {
		return
	}
	outcome := journal.OutcomeOK
	if err != nil {
		outcome = journal.OutcomeFailed
	}
	if r.daily != nil {
		r.daily.End(outcome)
	}
	r.notices.Close()
}

// InsideRun returns the ID of the run that this process is in by its own word, the environment, "" for none. It is for records and notices: who decides what
// an agent may do asks [Core.Fence].
func InsideRun() string {
	if id := os.Getenv(sandbox.CookieName); admission.ValidID(id) {
		return id
	}
	return ""
}

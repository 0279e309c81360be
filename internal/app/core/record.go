package core

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/watch/notify"
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

// NoticeWait bounds the time that the end of a run waits for a notice that is on its way. Without one it does not wait.
const NoticeWait = 2 * time.Second

// OpenNotices opens the way by which this user is told of runs. check makes a way that cannot work an error now, and not with
// the first notice. warn is called with notices that could not be given.
func OpenNotices(way config.NoticeWay, check bool, warn func(string)) (*notify.Sender, error) {
	w, err := notify.Open(way, notify.Options{Terminal: terminal()})
	if err == nil && check {
		err = w.Check()
	}
	if err != nil {
		return nil, err
	}
	return notify.NewSender(w, notify.SenderOptions{Environ: os.Environ(), Fail: func(err error) { warn(err.Error()) }}), nil
}

// terminal returns where this process shows something to a person; nil for nowhere.
func terminal() io.Writer {
	for _, f := range []*os.File{os.Stderr, os.Stdout} {
		if term.IsTerminal(int(f.Fd())) {
			return f
		}
	}
	return nil
}

// OwnNotices sends notices of this process's own run, where the user wants that. nil sends nothing.
type OwnNotices struct{ own *notify.Own }

// NotifyOf begins to tell of a run, and writes into its header that it does.
func NotifyOf(s config.Settings, h *runs.Header, warn func(string)) *OwnNotices {
	if notify.Inside(os.Getenv) {
		h.Notifies = notify.Nobody
		return nil
	}
	if len(s.Watch.Notify) == 0 {
		return nil
	}
	sender, err := OpenNotices(s.Watch.Notify, false, warn)
	if err != nil {
		warn("nobody will be told of this run: " + err.Error())
		return nil
	}
	h.Notifies = notify.ID(s.Watch.Notify)
	return &OwnNotices{notify.NewOwn(sender, *h)}
}

// Observers returns what the journal is to have.
func (n *OwnNotices) Observers() []journal.Observer {
	if n == nil {
		return nil
	}
	return []journal.Observer{n.own}
}

// Close waits for notices that are on their way, at most for [NoticeWait].
func (n *OwnNotices) Close() {
	if n != nil {
		n.own.Close(NoticeWait)
	}
}

// AtTerminal reports whether standard input is a terminal, at which a person may type.
func AtTerminal() bool { return term.IsTerminal(int(os.Stdin.Fd())) }

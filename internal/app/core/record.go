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

// RunStore returns the options of the store of runs. ok is false if the settings want none kept, or if there is no directory for it, which is
// a warning.
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

// KeepRun begins the record of a run of a kind, and the notices about it, as far as the settings want them. start has at least Tool; an empty
// Project becomes that of the working directory. For a daemon there are no notices here, because it watches all runs.
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

// Observers returns the observers that write the record and give the notices; the journal of the run needs them. A nil RunRecord has none.
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

// End closes the record with the outcome: failed if err is not nil, else OK. Call it after the last event. A nil RunRecord does nothing.
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

// InsideRun returns the ID of the run that this process is in by its own word, the environment, "" for none. It is for records and notices: who
// decides what an agent may do asks [Core.Fence].
func InsideRun() string {
	if id := os.Getenv(sandbox.CookieName); admission.ValidID(id) {
		return id
	}
	return ""
}

// NoticeWait bounds the time that the end of a run waits for a notice that is on its way. Without one it does not wait.
const NoticeWait = 2 * time.Second

// OpenNotices opens a sender of notices about runs. With check, a way that cannot work is an error now and not at the first notice. warn gets
// the error of each notice that could not be sent.
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

// terminal returns standard error or standard output, the first of them that is a terminal; nil if neither is.
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

// NotifyOf starts the notices about a run, and notes in its header h who gives them. It returns nil if no notices are configured, if they
// cannot be opened, which is a warning, and inside a command that gives a notice.
func NotifyOf(s config.Settings, h *runs.Header, warn func(string)) *OwnNotices {
	if notify.FromNotice(os.Getenv) {
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

// Observers returns what the journal is to have; nil OwnNotices have none.
func (n *OwnNotices) Observers() []journal.Observer {
	if n == nil {
		return nil
	}
	return []journal.Observer{n.own}
}

// Close waits for notices that are on their way, at most for [NoticeWait]. On nil it does nothing.
func (n *OwnNotices) Close() {
	if n != nil {
		n.own.Close(NoticeWait)
	}
}

// AtTerminal reports whether standard input is a terminal, at which a person may type.
func AtTerminal() bool { return term.IsTerminal(int(os.Stdin.Fd())) }

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
)

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

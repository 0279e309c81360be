package tasklog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/journal"
)

// told is a set of logs with all it tells.
type told struct {
	*tasklog.Logs
	journal *journal.Journal
	text    *bytes.Buffer
}

func newLogs(o tasklog.Options) told {
	t := told{journal: journal.New(journal.Options{}), text: &bytes.Buffer{}}
	o.Name, o.Journal = "argocd", t.journal
	o.Logger = slog.New(slog.NewTextHandler(t.text, nil))
	t.Logs = tasklog.New(o)
	return t
}

func (l told) events() (list []journal.Event) {
	for rec := range l.journal.Since(0) {
		e := rec.Event
		if r, ok := e.(journal.AgentQueueReopened); ok {
			r.Closed = 0
			e = r
		}
		list = append(list, e)
	}
	return list
}

// expect holds what was told, in the journal and, a line each, in the program's log.
func (l told) expect(t *testing.T, want ...journal.Event) {
	t.Helper()
	if got := l.events(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("told\n%#v\nwant\n%#v", got, want)
	}
	if lines := strings.Count(l.text.String(), "\n"); lines != len(want) {
		t.Errorf("%d lines, want %d:\n%s", lines, len(want), l.text)
	}
}

func open(t *testing.T, logs *tasklog.Logs, task string) *tasklog.Log {
	t.Helper()
	l, err := logs.Open(task, 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func read(t *testing.T, l *tasklog.Log, after uint64) *tasklog.Reader {
	t.Helper()
	r, err := l.Read(after)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// appends adds n events.
func appends(l *tasklog.Log, n int) {
	for range n {
		l.Append([]byte("event"), false)
	}
}

// rest reads what is there now, as "1 2 gap(3-4) 5 end".
func rest(t *testing.T, l *tasklog.Log, r *tasklog.Reader) string {
	t.Helper()
	var words []string
	for r.Position() < l.Last() || l.State() == tasklog.Ended {
		rec, gap, err := r.Next(t.Context())
		switch {
		case errors.Is(err, io.EOF):
			return strings.Join(append(words, "end"), " ")
		case err != nil:
			t.Fatal(err)
		case gap.Count() > 0:
			words = append(words, fmt.Sprintf("gap(%d-%d)", gap.From, gap.To))
		default:
			words = append(words, fmt.Sprint(rec.Seq))
		}
	}
	return strings.Join(words, " ")
}

func TestEventsAreReadInOrderToTheEnd(t *testing.T) {
	t.Parallel()
	logs := newLogs(tasklog.Options{})
	l := open(t, logs.Logs, "t")
	r := read(t, l, 0)
	appends(l, 3)
	if seq := l.Append([]byte("done"), true); seq != 4 {
		t.Errorf("the fourth event has the number %d", seq)
	}
	if got := rest(t, l, r); got != "1 2 3 4 end" {
		t.Errorf("read %q", got)
	}
	r.Close()
	r.Close()
	// All clients leave after the end: nothing is to be said about that.
	logs.expect(t)

	again := read(t, l, 2)
	rec, _, err := again.Next(t.Context())
	if err != nil || rec.Seq != 3 || string(rec.Payload) != "event" || rec.Terminal {
		t.Errorf("behind 2 there is %+v, %v", rec, err)
	}
	rec, _, err = again.Next(t.Context())
	if err != nil || rec.Seq != 4 || string(rec.Payload) != "done" || !rec.Terminal {
		t.Errorf("behind 3 there is %+v, %v", rec, err)
	}
	if _, err := l.Read(5); !errors.Is(err, tasklog.ErrAhead) {
		t.Errorf("a reader behind an event that never was: %v", err)
	}
}

func TestOldEventsMakeRoom(t *testing.T) {
	t.Parallel()
	logs := newLogs(tasklog.Options{MaxEvents: 4})
	l := open(t, logs.Logs, "t")
	slow := read(t, l, 0)
	appends(l, 2)
	if _, _, err := slow.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	appends(l, 8)
	if got := rest(t, l, slow); got != "gap(2-6) 7 8 9 10" {
		t.Errorf("a slow reader gets %q", got)
	}
	s := l.Stats()
	if s.First != 7 || s.Last != 10 || s.Events != 4 || s.Evicted != 6 || s.Missed != 0 || s.Dropped != 0 {
		t.Errorf("counts %+v", s)
	}
	logs.expect(t)

	// In bytes: 100 and 64 each, so three of them fit into 500.
	logs = newLogs(tasklog.Options{MaxBytes: 500})
	l = open(t, logs.Logs, "t")
	r := read(t, l, 0)
	for range 5 {
		l.Append(make([]byte, 100), false)
	}
	if got := rest(t, l, r); got != "gap(1-2) 3 4 5" {
		t.Errorf("bounded in bytes, %q is left", got)
	}
	if s := l.Stats(); s.Bytes != 3*164 || logs.Stats().Bytes != s.Bytes {
		t.Errorf("counts %+v, in all %+v", s, logs.Stats())
	}
	// One that fits nowhere is a gap, and takes nothing else with it; the last one is kept.
	l.Append(make([]byte, 500), false)
	if got := rest(t, l, r); got != "gap(6-6)" {
		t.Errorf("of an event that is too large, %q is left", got)
	}
	l.Append(make([]byte, 5000), true)
	if got := rest(t, l, r); got != "7 end" {
		t.Errorf("of a last event that is too large, %q is left", got)
	}
	if s := l.Stats(); s.TooLarge != 1 || s.Events != 1 || s.Dropped != 0 {
		t.Errorf("counts %+v", s)
	}
}

func TestDisconnectIsToldOnceAndCounted(t *testing.T) {
	t.Parallel()
	logs := newLogs(tasklog.Options{})
	l := open(t, logs.Logs, "t")
	r := read(t, l, 0)
	appends(l, 3)
	if got := rest(t, l, r); got != "1 2 3" {
		t.Errorf("read %q", got)
	}
	r.Close()
	if l.State() != tasklog.Unread {
		t.Errorf("without readers it is %s", l.State())
	}
	logs.expect(t) // nothing has happened that anybody missed
	appends(l, 40)
	closed := journal.AgentQueueClosed{Agent: "argocd", Task: "t", Why: "unread", Seq: 4}
	logs.expect(t, closed)

	// Whoever comes back with the number of the last event misses none.
	r = read(t, l, 3)
	var want strings.Builder
	want.WriteString("4")
	for i := 5; i <= 43; i++ {
		want.WriteString(fmt.Sprint(" ", i))
	}
	if got := rest(t, l, r); got != want.String() {
		t.Errorf("come back: %q", got)
	}
	reopened := journal.AgentQueueReopened{Agent: "argocd", Task: "t", Why: "unread", Missed: 40}
	logs.expect(t, closed, reopened)

	// A second episode of the same task, ended by the task's end.
	r.Close()
	l.Append(nil, true)
	r = read(t, l, 43)
	if got := rest(t, l, r); got != "44 end" {
		t.Errorf("after the end: %q", got)
	}
	logs.expect(t, closed, reopened,
		journal.AgentQueueClosed{Agent: "argocd", Task: "t", Why: "unread", Seq: 44},
		journal.AgentQueueReopened{Agent: "argocd", Task: "t", Why: "unread", Missed: 1})
	if s := logs.Stats(); s.Episodes != 2 || s.Missed != 41 || s.Dropped != 0 {
		t.Errorf("counts %+v", s)
	}
}

func TestDropsOfAnEpisodeAreExact(t *testing.T) {
	t.Parallel()
	logs := newLogs(tasklog.Options{MaxEvents: 16})
	l := open(t, logs.Logs, "t")
	appends(l, 10) // nobody has read yet: nobody misses anything
	r := read(t, l, 10)
	r.Close()
	appends(l, 40)
	r, err := l.Subscribe(func(last uint64) {
		if last != 50 {
			t.Errorf("the snapshot is of %d", last)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	appends(l, 20) // evicted in front of a reader: no episode
	logs.expect(t, journal.AgentQueueClosed{Agent: "argocd", Task: "t", Why: "unread", Seq: 11},
		journal.AgentQueueReopened{Agent: "argocd", Task: "t", Why: "unread", Missed: 40, Dropped: 24})
	if got := rest(t, l, r); got != "gap(51-54) 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70" {
		t.Errorf("read %q", got)
	}
	if s := logs.Stats(); s.Dropped != 24 || s.Missed != 40 || s.Gaps != 1 {
		t.Errorf("counts %+v", s)
	}
}

func TestReadersAreBounded(t *testing.T) {
	t.Parallel()
	logs := newLogs(tasklog.Options{MaxReaders: 2})
	l := open(t, logs.Logs, "t")
	a, b := read(t, l, 0), read(t, l, 0)
	if _, err := l.Subscribe(nil); !errors.Is(err, tasklog.ErrReaders) {
		t.Errorf("a third reader: %v", err)
	}
	a.Close()
	if _, _, err := a.Next(t.Context()); !errors.Is(err, tasklog.ErrRemoved) {
		t.Errorf("a closed reader reads: %v", err)
	}
	c, err := l.Subscribe(nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := logs.Stats(); s.Readers != 2 || s.ReadersRefused != 1 || l.Stats().Refused != 1 {
		t.Errorf("counts %+v", s)
	}
	b.Close()
	c.Close()
	if s := logs.Stats(); s.Readers != 0 {
		t.Errorf("counts %+v", s)
	}
}

func TestPanicOfACallerLeavesTheLogUsable(t *testing.T) {
	t.Parallel()
	logs := newLogs(tasklog.Options{})
	l := open(t, logs.Logs, "t")
	panics := func(f func()) {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		f()
	}
	panics(func() { l.Publish(func(uint64) ([]byte, bool) { panic("event") }) })
	panics(func() { _, _ = l.Subscribe(func(uint64) { panic("snapshot") }) })
	r := read(t, l, 0)
	panics(func() { _ = r.Snapshot(func(uint64) { panic("snapshot") }) })
	appends(l, 1)
	if got := rest(t, l, r); got != "1" {
		t.Errorf("read %q", got)
	}
	if s := l.Stats(); s.Readers != 1 {
		t.Errorf("counts %+v", s)
	}
}

package tasklog_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/journal"
)

func TestClosedLogDropsAllButTheEnd(t *testing.T) {
	t.Parallel()
	logs := newLogs(tasklog.Options{})
	l := open(t, logs.Logs, "t")
	r := read(t, l, 0)
	appends(l, 1)
	l.Close()
	l.Close()
	if l.State() != tasklog.Closed {
		t.Errorf("closed, it is %s", l.State())
	}
	logs.expect(t)
	for range 2 { // two episodes
		appends(l, 40)
		read(t, l, 0).Close() // a reader does not reopen what was closed
		if got := l.Reopen(); got != 40 {
			t.Errorf("reopened, %d were dropped", got)
		}
		l.Close()
	}
	if got := l.Reopen(); got != 0 {
		t.Errorf("reopened without an event, %d were dropped", got)
	}
	if got := rest(t, l, r); got != "1 gap(2-81)" {
		t.Errorf("read %q", got)
	}
	l.Close()
	appends(l, 2)
	if seq := l.Append([]byte("done"), true); seq != 84 {
		t.Errorf("the last event has the number %d", seq)
	}
	if got := rest(t, l, r); got != "gap(82-83) 84 end" {
		t.Errorf("read %q", got)
	}
	r.Close()
	logs.Remove("t")
	logs.expect(t,
		journal.AgentQueueClosed{Agent: "argocd", Task: "t", Why: "closed", Seq: 2},
		journal.AgentQueueReopened{Agent: "argocd", Task: "t", Why: "closed", Missed: 40, Dropped: 40},
		journal.AgentQueueClosed{Agent: "argocd", Task: "t", Why: "closed", Seq: 42},
		journal.AgentQueueReopened{Agent: "argocd", Task: "t", Why: "closed", Missed: 40, Dropped: 40},
		journal.AgentQueueClosed{Agent: "argocd", Task: "t", Why: "closed", Seq: 82},
		journal.AgentQueueRemoved{Agent: "argocd", Task: "t", Why: "closed", Missed: 2, Dropped: 2})
}

func TestEventsAfterTheEndAreCounted(t *testing.T) {
	t.Parallel()
	logs := newLogs(tasklog.Options{})
	l := open(t, logs.Logs, "t")
	l.Append([]byte("done"), true)
	called := false
	for range 36 {
		if seq := l.Publish(func(uint64) ([]byte, bool) { called = true; return nil, true }); seq != 0 {
			t.Errorf("an event after the end has the number %d", seq)
		}
	}
	if called {
		t.Error("an event after the end was applied to the task")
	}
	closed := journal.AgentQueueClosed{Agent: "argocd", Task: "t", Why: "ended"}
	logs.expect(t, closed)
	r := read(t, l, 0)
	if got := rest(t, l, r); got != "1 end" {
		t.Errorf("read %q", got)
	}
	l.Close()
	if l.Reopen() != 0 || l.State() != tasklog.Ended {
		t.Error("an ended log was reopened")
	}
	logs.Remove("t")
	if l.Append(nil, false) != 0 {
		t.Error("a log that is gone took an event")
	}
	logs.expect(t, closed, journal.AgentQueueRemoved{Agent: "argocd", Task: "t", Why: "ended", Missed: 36, Dropped: 36})
	if s := logs.Stats(); s.Late != 37 || s.Dropped != 36 || s.Bytes != 0 || s.Logs != 0 {
		t.Errorf("counts %+v", s)
	}
}

func TestWhatNobodyCameBackForIsToldAtRemoval(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63) + "é, and more"
	logs := newLogs(tasklog.Options{MaxEvents: 8})
	l := open(t, logs.Logs, long)
	r := read(t, l, 0)
	r.Close()
	appends(l, 35)
	logs.Remove(long)
	name := strings.Repeat("a", 63) // cut at 64 bytes, which is inside a character
	logs.expect(t, journal.AgentQueueClosed{Agent: "argocd", Task: name, Why: "unread", Seq: 1},
		journal.AgentQueueRemoved{Agent: "argocd", Task: name, Why: "unread", Missed: 35, Dropped: 35})
	if s := logs.Stats(); s.Dropped != 35 || s.Evicted != 27 {
		t.Errorf("counts %+v", s)
	}
}

func TestNumbersGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	l, err := newLogs(tasklog.Options{}).Open("t", 100)
	if err != nil {
		t.Fatal(err)
	}
	r := read(t, l, 97)
	if got := rest(t, l, r); got != "gap(98-100)" {
		t.Errorf("of the process before, %q is left", got)
	}
	appends(l, 1)
	if got := rest(t, l, r); got != "101" {
		t.Errorf("read %q", got)
	}
}

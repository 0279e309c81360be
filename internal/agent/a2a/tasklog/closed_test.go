package tasklog_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/journal"
)

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

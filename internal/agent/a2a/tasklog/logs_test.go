package tasklog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/journal"
)

func TestStalledReadersHoldUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs := newLogs(tasklog.Options{MaxEvents: 16, MaxReaders: 1001})
		l, other := open(t, logs.Logs, "t"), open(t, logs.Logs, "other")
		for range 1000 { // they never read
			defer read(t, l, 0).Close()
		}
		got := make(chan string, 1)
		quick := read(t, l, 0)
		go func() {
			var text string
			for {
				rec, gap, err := quick.Next(t.Context())
				if err != nil {
					got <- text + fmt.Sprint(err)
					return
				}
				text += fmt.Sprint(rec.Seq, gap.Count(), " ")
			}
		}()
		for range 100 {
			l.Append([]byte("event"), false)
			other.Append([]byte("event"), false)
			synctest.Wait() // the quick one gets each at once
		}
		l.Append(nil, true)
		var want strings.Builder
		for i := 1; i <= 101; i++ {
			want.WriteString(fmt.Sprint(i, 0, " "))
		}
		if text := <-got; text != want.String()+io.EOF.Error() {
			t.Errorf("beside stalled readers: %s", text)
		}
		if s := other.Stats(); s.Appended != 100 {
			t.Errorf("another task: %+v", s)
		}
		quick.Close()
	})
}

func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs := newLogs(tasklog.Options{})
		l := open(t, logs.Logs, "t")
		wait := func(r *tasklog.Reader, ctx context.Context) <-chan error {
			done := make(chan error, 1)
			go func() {
				_, gap, err := r.Next(ctx)
				if gap.Count() > 0 {
					err = fmt.Errorf("a gap of %d", gap.Count())
				}
				done <- err
			}()
			synctest.Wait()
			return done
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := read(t, l, 0)
		began := time.Now()
		if err := <-wait(r, ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("a deadline: %v after %v", err, time.Since(began))
		}

		removed := wait(r, t.Context())
		logs.Close()
		if err := <-removed; !errors.Is(err, tasklog.ErrRemoved) {
			t.Errorf("of a removed log: %v", err)
		}
		if _, err := l.Read(0); !errors.Is(err, tasklog.ErrRemoved) {
			t.Errorf("a new reader of a removed log: %v", err)
		}
		if _, err := logs.Open("u", 0); !errors.Is(err, tasklog.ErrRemoved) {
			t.Errorf("a new log in a closed set: %v", err)
		}
	})
}

// slow is a program's log on a terminal that was stopped.
type slow struct {
	slog.Handler
	until chan struct{}
	order chan string
}

func (s *slow) Handle(_ context.Context, r slog.Record) error {
	<-s.until
	s.order <- r.Message
	return nil
}

func TestSlowLoggerHoldsUpOnlyWhoTells(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := &slow{slog.DiscardHandler, make(chan struct{}), make(chan string, 1000)}
		handler.Handler = slog.NewTextHandler(io.Discard, nil)
		logs := tasklog.New(tasklog.Options{Logger: slog.New(handler)})
		l := open(t, logs, "t")
		read(t, l, 0).Close()
		go appends(l, 1) // begins an episode and hangs in the logger
		synctest.Wait()
		for range 100 { // which is nobody else's trouble
			appends(l, 3)
			read(t, l, 0).Close()
		}
		if s := logs.Stats(); s.Appended != 301 || s.Episodes != 100 || s.Untold == 0 {
			t.Errorf("counts %+v", s)
		}
		untold := logs.Stats().Untold
		close(handler.until)
		synctest.Wait()
		close(handler.order)
		n, last := uint64(0), ""
		for text := range handler.order {
			if text == last {
				t.Errorf("line %d says again: %s", n, text)
			}
			last = text
			n++
		}
		if n+untold != 200 {
			t.Errorf("%d lines and %d untold of 200", n, untold)
		}
	})
}

func TestEndedLogsMakeRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs := newLogs(tasklog.Options{MaxLogs: 3, Keep: time.Hour})
		var open3 []*tasklog.Log
		for i := range 3 {
			open3 = append(open3, open(t, logs.Logs, fmt.Sprint(i)))
		}
		if _, err := logs.Open("3", 0); !errors.Is(err, tasklog.ErrFull) {
			t.Fatalf("beside three that run: %v", err)
		}
		if again := open(t, logs.Logs, "1"); again != open3[1] {
			t.Error("an open log was opened anew")
		}
		open3[0].Append(nil, true)
		time.Sleep(time.Minute)
		open3[1].Append(nil, true)
		reader := read(t, open3[0], 0)
		// 1 ended later, but somebody reads 0.
		open(t, logs.Logs, "3")
		if logs.Find("1") != nil || logs.Find("0") == nil {
			t.Error("a log that is read made room for another")
		}
		open(t, logs.Logs, "4")
		if logs.Find("0") != nil {
			t.Error("an ended log did not make room")
		}
		if _, _, err := reader.Next(t.Context()); !errors.Is(err, tasklog.ErrRemoved) {
			t.Errorf("its reader: %v", err)
		}
		logs.Find("4").Append(nil, true)
		time.Sleep(time.Hour)
		open(t, logs.Logs, "3")
		if logs.Find("4") != nil || logs.Find("2") == nil {
			t.Error("what ended an hour ago is kept, or what runs is not")
		}
		if s := logs.Stats(); s.LogsEvicted != 3 || s.LogsRefused != 1 || s.Logs != 2 {
			t.Errorf("counts %+v", s)
		}
	})
}

func TestAllLogsTogetherAreBounded(t *testing.T) {
	t.Parallel()
	logs := newLogs(tasklog.Options{MaxBytes: 10_000, MaxTotal: 30_000})
	payload := make([]byte, 936) // 1000 with what a record costs
	ended := open(t, logs.Logs, "ended")
	ended.Append(payload, true)
	for i := range 100 {
		l := open(t, logs.Logs, fmt.Sprint(i))
		for range 12 {
			l.Append(payload, false)
			if s := logs.Stats(); s.Bytes > 30_000 {
				t.Fatalf("%d bytes in all logs", s.Bytes)
			}
		}
	}
	if logs.Find("ended") != nil {
		t.Error("running tasks lost events before an ended one")
	}
	// Whoever was first is as it was: one that came later got only what was left.
	if s := logs.Find("0").Stats(); s.Events != 10 {
		t.Errorf("the first one has %+v", s)
	}
	last := logs.Find("99")
	r := read(t, last, 0)
	last.Append(nil, true)
	if got := rest(t, last, r); got != "gap(1-12) 13 end" {
		t.Errorf("the last one gives %q", got)
	}
	for i := range 100 {
		logs.Remove(fmt.Sprint(i))
	}
	if s := logs.Stats(); s.Bytes != 0 {
		t.Errorf("nothing is left, and %+v", s)
	}
}

func TestNilJournalAndLogger(t *testing.T) {
	t.Parallel()
	logs := tasklog.New(tasklog.Options{})
	l := open(t, logs, "t")
	read(t, l, 0).Close()
	appends(l, 2)
	read(t, l, 0).Close()
	if s := logs.Stats(); s.Episodes != 1 || s.Missed != 2 {
		t.Errorf("counts %+v", s)
	}
	var _ journal.Event = journal.AgentQueueClosed{}
}

package core

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/journal"
)

const (
	// logLines bounds the events that wait for a slow reader. A line has a few hundred
	// bytes, so they take some 200 KB.
	logLines = 512
	// logFlush is the time that the reader gets at the end to take those that wait.
	logFlush = time.Second
)

// EventLog writes every event as one line of JSON. A reader that takes its time, or none at all, never holds up a request: what finds no room is
// left out, and the gap shows in the sequence numbers.
type EventLog struct {
	line  func(journal.Record) []byte // with its end; empty is none
	lines chan []byte
	end   chan struct{} // closed by Close
	done  chan struct{} // closed when nothing is written any more
	lost  atomic.Int64
}

// NewEventLog begins to write events to w. Its owner closes it.
//
// Credentials in their texts are masked, as in the store of runs.
func NewEventLog(w io.Writer) *EventLog {
	values := secrets.Environ(os.Environ())
	return newEventLog(w, func(r journal.Record) []byte { return eventLine(values, r) })
}

func newEventLog(w io.Writer, line func(journal.Record) []byte) *EventLog {
	l := &EventLog{line: line, lines: make(chan []byte, logLines), end: make(chan struct{}), done: make(chan struct{})}
	go l.write(w)
	return l
}

// write writes lines to w until Close was called and none waits any more. After the first line that cannot be written it only counts the rest
// as lost.
func (l *EventLog) write(w io.Writer) {
	defer close(l.done)
	var gone bool
	put := func(line []byte) {
		if !gone {
			_, err := w.Write(line)
			gone = err != nil
		}
		if gone {
			l.lost.Add(1)
		}
	}
	for {
		select {
		case line := <-l.lines:
			put(line)
		case <-l.end:
			for {
				select {
				case line := <-l.lines:
					put(line)
				default:
					return
				}
			}
		}
	}
}

// eventLine returns a record as one line of JSON with secrets masked; nil if it cannot be encoded.
func eventLine(values *secrets.Values, r journal.Record) []byte {
	r.Event = secrets.Masked(values, r.Event)
	line, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	return append(printable.EscapeJSON(line), '\n')
}

// Observe implements [journal.Observer]. It never waits: if the queue is full, the line is counted as lost.
func (l *EventLog) Observe(r journal.Record) {
	line := l.line(r)
	if len(line) == 0 {
		return
	}
	select {
	case l.lines <- line:
	default:
		l.lost.Add(1)
	}
}

// Close waits at most logFlush until the waiting lines are written. Its error says how many events were not printed. An event that is
// observed after Close is lost and not counted.
func (l *EventLog) Close() error {
	close(l.end)
	late := time.NewTimer(logFlush)
	defer late.Stop()
	waiting := 0
	select {
	case <-l.done:
	case <-late.C: // its writer is stuck, and ends with the process
		waiting = len(l.lines) + 1
	}
	if lost := l.lost.Load() + int64(waiting); lost > 0 {
		return fmt.Errorf("%d events were not printed: their reader was too slow or is gone", lost)
	}
	return nil
}

// Log returns a logger whose warnings and errors the user is told; the rest is dropped.
func (c *Core) Log() *slog.Logger { return slog.New(warner{tell: c.Warn}) }

// warner is a slog.Handler that makes one sentence of a record.
type warner struct {
	tell  func(string)
	attrs []slog.Attr
}

func (w warner) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements [slog.Handler]. It passes the message and its attributes to w.tell as one line, without secrets.
func (w warner) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		b.WriteString("; " + a.Key + " " + a.Value.String())
		return true
	}
	for _, a := range w.attrs {
		add(a)
	}
	r.Attrs(add)
	w.tell(printable.Text(secrets.Text(b.String())))
	return nil
}

func (w warner) WithAttrs(attrs []slog.Attr) slog.Handler {
	w.attrs = append(w.attrs[:len(w.attrs):len(w.attrs)], attrs...)
	return w
}

func (w warner) WithGroup(string) slog.Handler { return w }

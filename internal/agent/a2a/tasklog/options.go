package tasklog

import (
	"errors"
	"log/slog"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Defaults of [Options].
const (
	DefaultMaxEvents  = 1024
	DefaultMaxBytes   = limit.MiB
	DefaultMaxReaders = 64
	DefaultMaxLogs    = 1024
	DefaultMaxTotal   = 64 * limit.MiB
	DefaultKeep       = 5 * time.Minute
)

// recordBytes is the size of a record beside its payload.
const recordBytes = 64

// The errors of logs and readers.
var (
	// ErrFull means that there are MaxLogs logs and none of them has ended.
	ErrFull = errors.New("too many tasks run at once; wait for one to end, or raise the limit of tasks")
	// ErrReaders means that a log has MaxReaders readers.
	ErrReaders = errors.New("too many clients read this task; close one of its streams")
	// ErrAhead means that a reader wants to begin behind a number that this log has not reached:
	// it comes from another log, before a restart.
	ErrAhead = errors.New("the number of the last event is higher than any event's; begin with a snapshot")
	// ErrRemoved means that the log was removed, or the reader closed.
	ErrRemoved = errors.New("the task's events are not kept any more; ask for the task")
)

// Options configure [Logs]; nil and zero mean the defaults.
type Options struct {
	// Name is the name of the agent, for the journal.
	Name string
	// MaxEvents and MaxBytes bound what one log keeps: events, and their payloads with 64
	// bytes for each. An event that is larger than MaxBytes is not kept, unless it is terminal.
	MaxEvents int
	MaxBytes  limit.Bytes
	// MaxReaders bounds the readers of one log.
	MaxReaders int
	// MaxLogs and MaxTotal bound all logs together. Logs that have ended go first, then events
	// of the log that is appended to: no running task costs another one its events.
	MaxLogs  int
	MaxTotal limit.Bytes
	// Keep is the time that a log is kept after its end.
	Keep time.Duration
	// Journal gets AgentQueueClosed, AgentQueueReopened and AgentQueueRemoved; it may be nil.
	Journal *journal.Journal
	// Logger gets the same as log records; it may be nil.
	Logger *slog.Logger
}

func (o *Options) defaults() {
	if o.MaxEvents <= 0 {
		o.MaxEvents = DefaultMaxEvents
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxReaders <= 0 {
		o.MaxReaders = DefaultMaxReaders
	}
	if o.MaxLogs <= 0 {
		o.MaxLogs = DefaultMaxLogs
	}
	if o.MaxTotal <= 0 {
		o.MaxTotal = DefaultMaxTotal
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
}

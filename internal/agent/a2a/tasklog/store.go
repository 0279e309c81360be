// Package tasklog keeps the events of each A2A task, numbered, for clients that read slowly, leave and come back, and the tasks themselves
// across restarts. The servers of package a2a use it.
//
// A [Log] keeps the last events, bounded in number and bytes. A [Reader] is a position and nothing else: a client that does not read costs
// neither memory nor time, and is told of the numbers that are gone as a [Gap]. [Log.Publish] changes a task and appends the event in one
// step, so that a snapshot ([Reader.Snapshot]) and the events behind it fit together. The terminal event is the last and is never dropped.
// Events that reach nobody make an episode, which is journalled once when it begins and once when it ends, see [State].
//
// A [Store] keeps tasks as JSON that it does not look into, one file of 0600 each, replaced as a whole, bounded in number, bytes and age:
// ended tasks go first. Only those are forced to the disk. A disk that is full costs the persistence, not the task.
//
// All may be used from any goroutine, a Reader by one at a time. An append waits for other appends and snapshots of its log alone. Memory
// is at most [Options].MaxTotal, and about 1 KiB for each log and each stored task.
package tasklog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Defaults of [StoreOptions].
const (
	DefaultMaxTasks = 1024
	DefaultMaxStore = 64 * limit.MiB
	DefaultMaxTask  = 4 * limit.MiB
	DefaultMaxAge   = 7 * 24 * time.Hour
)

// MaxName bounds each of a task's names: its id, context, owner and state, in bytes.
const MaxName = 512

// Errors of a [Store]. Those that it returns wrap one of them and say more.
var (
	ErrNotFound = errors.New("no such task")
	ErrExists   = errors.New("a task with this id is there already")
	ErrConflict = errors.New("the task was changed by somebody else; read it again")
	ErrTooLarge = errors.New("the task is larger than a task may be")
	ErrName     = errors.New("not a name that a task may have")
	ErrToken    = errors.New("the page token is not one of a list; begin without one")
	ErrLocked   = errors.New("another process has the store of tasks open; stop it, or give this one a folder of its own")
	ErrClosed   = errors.New("the store of tasks is closed")
)

// StoreOptions configure a [Store]; nil and zero mean the defaults.
type StoreOptions struct {
	// Name is the name of the agent, for the journal.
	Name string
	// Dir is the folder of the tasks; it is made (0700). One process may have it open. Without
	// one they are in memory.
	Dir string
	// MaxTasks and MaxBytes bound all tasks, MaxTask the body of one, MaxAge how long an ended
	// one is kept after it changed last.
	MaxTasks int
	MaxBytes limit.Bytes
	MaxTask  limit.Bytes
	MaxAge   time.Duration
	// Journal gets AgentTasksEvicted; it may be nil.
	Journal *journal.Journal
	// Logger gets warnings of damaged files and of a failing disk; it may be nil.
	Logger *slog.Logger
}

func (o *StoreOptions) setDefaults() {
	o.MaxTasks = cmp.Or(max(o.MaxTasks, 0), DefaultMaxTasks)
	o.MaxBytes = cmp.Or(max(o.MaxBytes, 0), DefaultMaxStore)
	o.MaxTask = cmp.Or(max(o.MaxTask, 0), DefaultMaxTask)
	o.MaxTask = min(o.MaxTask, o.MaxBytes)
	if o.MaxAge <= 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Task is a task as the store keeps it.
type Task struct {
	ID      string
	Context string
	Owner   string // whoever may list it
	State   string
	// Ended is set when State is one of those that end a task.
	Ended bool
	// Time is the time of the task's state, as the task says.
	Time time.Time
	// Seq is the number of the last event that is in Body, see [Log].
	Seq uint64
	// Body is the task as JSON. The store does not parse it.
	Body json.RawMessage

	// Version counts from 1 with every change, Changed is the time of the last one: the store's,
	// no two of which are the same. Both are set by the store.
	Version int64
	Changed time.Time
}

// StoreStats are counts since the store was opened. Tasks, Running, Bytes (as on the disk) and Unsaved (tasks that a failing disk left in
// memory) are current values.
type StoreStats struct {
	Tasks, Running, Unsaved    int
	Bytes                      int64
	Created, Updated, Conflict uint64
	// Evicted counts tasks removed for room, EvictedRunning those of them that had not ended,
	// Expired ended tasks removed by age.
	Evicted, EvictedRunning, Expired uint64
	// Damaged counts files that were set aside, WriteErrors writes that the disk refused.
	Damaged, WriteErrors uint64
}

// Store keeps tasks across restarts, within bounds. The package comment says more.
type Store struct {
	o    StoreOptions
	root *os.Root // nil: in memory
	lock *os.File

	mu      sync.Mutex
	tasks   map[string]*entry // by id
	bytes   int64
	unsaved int
	clock   int64 // the last Changed that was given out, in nanoseconds
	swept   time.Time
	failing bool // the last write failed
	shut    bool
	stats   StoreStats
}

// entry is the record of a task in memory.
type entry struct {
	// writing is held while a version is written; it is taken before Store.mu.
	writing sync.Mutex

	task Task   // without its body; Version 0 while it is created
	key  string // the file's name, without its ending
	size int64
	raw  []byte // the file, when it is not on the disk
	busy bool   // it is being written, and must not be evicted
}

func (e *entry) fileName() string { return e.key + taskSuffix }

// OpenStore opens the store in o.Dir and reads the headers of its tasks. Damaged files are set aside and counted. An [ErrLocked] means that
// another process has it open.
func OpenStore(o StoreOptions) (*Store, error) {
	o.setDefaults()
	s := &Store{o: o, tasks: map[string]*entry{}}
	if o.Dir == "" {
		return s, nil
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for tasks: %w", err)
	}
	var err error
	if s.lock, err = statefile.Open(filepath.Join(o.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("the lock of the folder for tasks: %w", err)
	}
	if locked, err := filelock.Try(s.lock, filelock.Exclusive); err != nil || !locked {
		_ = s.lock.Close()
		if err != nil {
			return nil, fmt.Errorf("the lock of the folder for tasks: %w", err)
		}
		return nil, fmt.Errorf("%s: %w", o.Dir, ErrLocked)
	}
	if s.root, err = statefile.OpenRoot(o.Dir); err == nil {
		err = s.loadFolder()
	}
	if err != nil {
		s.closeFolder()
		return nil, fmt.Errorf("the folder for tasks: %w", err)
	}
	var out evictions
	s.mu.Lock()
	s.sweep(&out)
	s.makeRoom(0, nil, &out)
	s.mu.Unlock()
	s.journalEvictions(&out)
	return s, nil
}

// Close writes what is not on the disk yet and unlocks the folder. Its error says how many tasks could not be written.
func (s *Store) Close() error {
	err := s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil
	}
	s.shut = true
	if s.unsaved > 0 {
		if err == nil {
			err = errors.New("they were being written")
		}
		err = fmt.Errorf("%d tasks could not be written to %s and are lost: %w", s.unsaved, s.o.Dir, err)
	}
	s.closeFolder()
	return err
}

// closeFolder closes the folder and releases its lock, as far as they are open.
func (s *Store) closeFolder() {
	if s.root != nil {
		_ = s.root.Close()
	}
	if s.lock != nil {
		_ = filelock.Release(s.lock)
	}
}

// Stats returns the store's counts.
func (s *Store) Stats() StoreStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.stats
	n.Tasks, n.Bytes, n.Unsaved = len(s.tasks), s.bytes, s.unsaved
	for _, e := range s.tasks {
		if !e.task.Ended {
			n.Running++
		}
	}
	return n
}

// tick returns the current time, or a later one: no two calls return the same time, whatever the system's clock does. The caller holds mu.
func (s *Store) tick() time.Time {
	s.clock = max(s.clock+1, time.Now().UnixNano())
	return time.Unix(0, s.clock)
}

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

func (o *Options) setDefaults() {
	o.MaxEvents = cmp.Or(max(o.MaxEvents, 0), DefaultMaxEvents)
	o.MaxBytes = cmp.Or(max(o.MaxBytes, 0), DefaultMaxBytes)
	o.MaxReaders = cmp.Or(max(o.MaxReaders, 0), DefaultMaxReaders)
	o.MaxLogs = cmp.Or(max(o.MaxLogs, 0), DefaultMaxLogs)
	o.MaxTotal = cmp.Or(max(o.MaxTotal, 0), DefaultMaxTotal)
	o.Keep = cmp.Or(max(o.Keep, 0), DefaultKeep)
}

// LogStats are the counts of one log. Events and Bytes count its records, First and Last are the
// lowest number that is kept and the highest that was given out.
type LogStats struct {
	State       State
	First, Last uint64
	Events      int
	Bytes       int64
	Readers     int
	// Appended counts events that got a number, Late those after the end, which got none.
	Appended, Late uint64
	// Missed counts events that had no reader when they came, Dropped those of them that
	// are no longer kept, Episodes how often that began.
	Missed, Dropped, Episodes uint64
	// Evicted counts records that made room, TooLarge events larger than all the room.
	Evicted, TooLarge uint64
	// Refused counts readers beyond MaxReaders.
	Refused uint64
}

// Stats are the counts of all logs since the beginning, of removed ones too.
type Stats struct {
	Logs    int
	Bytes   int64
	Readers int64

	Appended, Late            uint64
	Missed, Dropped, Episodes uint64
	Evicted, TooLarge         uint64
	// Gaps counts how often a reader got a gap instead of events.
	Gaps           uint64
	ReadersRefused uint64
	// LogsEvicted counts ended logs that were removed for room or by age, LogsRefused
	// those that could not be opened for lack of room.
	LogsEvicted, LogsRefused uint64
	// Untold counts events of the journal that were not written because its readers were slow.
	Untold uint64
}

// counts are the counters behind [Stats].
type counts struct {
	readers                                              atomic.Int64
	appended, late, missed, dropped, episodes            atomic.Uint64
	evicted, tooLarge, gaps, readersRefused, logsEvicted atomic.Uint64
	logsRefused, untold                                  atomic.Uint64
}

// Stats returns the counts of all logs together.
func (s *Logs) Stats() Stats {
	s.mu.Lock()
	logs := len(s.logs)
	s.mu.Unlock()
	c := &s.counts
	return Stats{
		Logs: logs, Bytes: s.total.Load(), Readers: c.readers.Load(),
		Appended: c.appended.Load(), Late: c.late.Load(),
		Missed: c.missed.Load(), Dropped: c.dropped.Load(), Episodes: c.episodes.Load(),
		Evicted: c.evicted.Load(), TooLarge: c.tooLarge.Load(), Gaps: c.gaps.Load(),
		ReadersRefused: c.readersRefused.Load(), LogsEvicted: c.logsEvicted.Load(),
		LogsRefused: c.logsRefused.Load(), Untold: c.untold.Load(),
	}
}

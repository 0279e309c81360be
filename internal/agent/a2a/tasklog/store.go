package tasklog

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
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

func (o *StoreOptions) defaults() {
	if o.MaxTasks <= 0 {
		o.MaxTasks = DefaultMaxTasks
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxStore
	}
	if o.MaxTask <= 0 {
		o.MaxTask = DefaultMaxTask
	}
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

func (e *entry) name() string { return e.key + taskSuffix }

// OpenStore opens the store in o.Dir and reads the headers of its tasks. Damaged files are set aside and counted. An [ErrLocked] means that
// another process has it open.
func OpenStore(o StoreOptions) (*Store, error) {
	o.defaults()
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
		err = s.read()
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
	s.tell(&out)
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

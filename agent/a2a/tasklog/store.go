package tasklog

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

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

// The errors of a [Store].
var (
	ErrNotFound = errors.New("no such task")
	ErrExists   = errors.New("a task with this id is there already")
	ErrConflict = errors.New("the task was changed by somebody else; read it again")
	ErrTooLarge = errors.New("the task is larger than a task may be")
	ErrToken    = errors.New("the page token is not one of a list; begin without one")
	ErrLocked   = errors.New("another process has the store of tasks open; stop it, or give this one a folder of its own")
	ErrClosed   = errors.New("the store of tasks is closed")
)

// StoreOptions configure a [Store]; nil and zero mean the defaults.
type StoreOptions struct {
	// Name is the agent's, for the journal.
	Name string
	// Dir is where tasks are kept; it is made (0700). One process may have it open. Without
	// one they are in memory.
	Dir string
	// MaxTasks and MaxBytes bound all tasks, MaxTask one, MaxAge how long an ended one is
	// kept after it changed last.
	MaxTasks int
	MaxBytes limit.Bytes
	MaxTask  limit.Bytes
	MaxAge   time.Duration
	// Journal takes AgentTasksEvicted; nil drops them.
	Journal *journal.Journal
	// Logger is told of damaged files and of a disk that takes nothing; nil says nothing.
	Logger *slog.Logger
}

// Task is a task as it is kept.
type Task struct {
	ID      string
	Context string
	Owner   string // whoever may list it
	State   string
	// Ended says that State is one of those that end a task.
	Ended bool
	// Time is the task's own, of its state.
	Time time.Time
	// Seq is the number of the last event that is in Body, see [Log].
	Seq uint64
	// Body is the task: JSON that is not looked into.
	Body json.RawMessage

	// Version counts from 1 with every change, Changed is when the last one was: the store's,
	// no two of which are the same. Both are set by the store.
	Version int64
	Changed time.Time
}

// Query says what [Store.List] gives.
type Query struct {
	// Context, Owner and State must be equal, where they are not empty.
	Context, Owner, State string
	// Running leaves out tasks that have ended.
	Running bool
	// After leaves out tasks whose Time is not after it, unless it is zero.
	After time.Time
	// Limit bounds the tasks of a page (50), MaxBytes their bodies (8 MiB); one is always given.
	Limit    int
	MaxBytes limit.Bytes
	// Token is the Next of the page before.
	Token string
}

// Page is a part of a list, the task that changed last first.
type Page struct {
	Tasks []Task
	Total int    // that fit the query, on all pages
	Next  string // "" on the last page
}

// Store keeps tasks across restarts.
type Store struct{}

// OpenStore opens the store in o.Dir and reads what is there.
func OpenStore(o StoreOptions) (*Store, error) { return nil, errors.ErrUnsupported }

// Create keeps a new task and returns its version, or [ErrExists].
func (s *Store) Create(ctx context.Context, t Task) (int64, error) { return 0, errors.ErrUnsupported }

// Update replaces a task whose version is still t.Version (0: whatever it is) and returns the
// new version, or [ErrNotFound] or [ErrConflict].
func (s *Store) Update(ctx context.Context, t Task) (int64, error) { return 0, errors.ErrUnsupported }

// Get returns a task, or [ErrNotFound].
func (s *Store) Get(ctx context.Context, id string) (Task, error) {
	return Task{}, errors.ErrUnsupported
}

// List returns a page of the tasks that fit.
func (s *Store) List(ctx context.Context, q Query) (Page, error) {
	return Page{}, errors.ErrUnsupported
}

// Remove forgets a task, and returns whether there was one.
func (s *Store) Remove(id string) bool { return false }

// Close writes what is not on the disk yet and lets the folder go.
func (s *Store) Close() error { return nil }

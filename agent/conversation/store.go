package conversation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/diskspace"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Extensions of file names, which begin with a key. Temporary and damaged files have more behind it.
const (
	fileExt    = ".jsonl"
	lockExt    = ".lock"
	tempExt    = ".tmp-"
	damagedExt = ".damaged-"
)

// keyOf returns the beginning of the names of a session's files: 128 bits of a digest, because an id may be any text.
func keyOf(session string) string {
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:16])
}

// Store keeps conversations in a directory. Its methods may be called from any goroutine,
// and other processes may have the same directory open.
type Store struct {
	o    Options
	root *os.Root

	closing context.Context // done when the store is closed: ends the waits for locks
	end     context.CancelFunc

	mu       sync.Mutex
	closed   bool
	reserved map[string]chan struct{} // keys whose lock this process holds or waits for
	total    int64                    // bytes of all files at the last survey, and what this process added since
	grown    int64                    // bytes that this process added since the last survey
	stats    Stats
}

var _ agent.Conversations = (*Store)(nil)

// Stats are counts since [Open], and the current sessions and bytes as far as this process knows.
type Stats struct {
	Sessions int         `json:"sessions"`
	Bytes    limit.Bytes `json:"bytes"`   // of all files, also those set aside
	Evicted  int64       `json:"evicted"` // sessions removed for room or by age
	Cut      int64       `json:"cut"`     // messages dropped from sessions at their bound
	Parts    int64       `json:"parts"`   // messages stored in part because they were too large
	Damaged  int64       `json:"damaged"` // files set aside
	Torn     int64       `json:"torn"`    // unfinished records of dead processes, dropped
}

// Open opens the store in a directory and makes it when it is missing. It removes files that dead processes have left, and sessions that
// are too old.
func Open(o Options) (*Store, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of conversations: %w", err)
	}
	root, err := statefile.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("directory of conversations: %w", err)
	}
	s := &Store{o: o, root: root, reserved: map[string]chan struct{}{}}
	s.closing, s.end = context.WithCancel(context.Background())
	if err := s.removeLeftovers(); err != nil {
		s.end()
		_ = root.Close()
		return nil, err
	}
	return s, nil
}

// Open opens a session for writing, and creates it unless existing is set; a missing session is then an agent.ErrNoSession. While another
// query or process has it, Open waits; if ctx ends first, the error names the session and wraps [ErrLocked] and the cause of ctx. A session
// has a file from its first message on.
func (s *Store) Open(ctx context.Context, session string, existing bool) (agent.Conversation, error) {
	if err := checkID(session); err != nil {
		return nil, err
	}
	key := keyOf(session)
	lock, err := s.lock(ctx, key, session)
	if err != nil {
		return nil, err
	}
	c := &conversation{s: s, session: session, key: key, lock: lock, head: headerRecord{Format: format, Version: version, Session: session}}
	err = c.load()
	if err == nil && c.size == 0 && existing {
		err = fmt.Errorf("session %q: %w", session, agent.ErrNoSession)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Remove removes a session. It waits as [Store.Open] does; a missing session is an agent.ErrNoSession.
func (s *Store) Remove(ctx context.Context, session string) error {
	if err := checkID(session); err != nil {
		return err
	}
	key := keyOf(session)
	lock, err := s.lock(ctx, key, session)
	if err != nil {
		return err
	}
	defer func() {
		s.unlock(key, lock)
		s.release(key)
	}()
	fi, err := s.root.Lstat(key + fileExt)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session %q: %w", session, agent.ErrNoSession)
	}
	if err == nil {
		err = s.root.Remove(key + fileExt)
	}
	if err != nil {
		return s.withAdvice("remove", err)
	}
	atomicfile.SyncDir(s.root)
	s.addTotals(-fi.Size(), -1)
	return nil
}

// Stats returns the counts, without reading the directory.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Bytes = limit.Bytes(s.total)
	return out
}

// Close lets no more sessions be opened. The directory is closed with the last open session. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.end()
	if len(s.reserved) == 0 {
		return s.root.Close()
	}
	return nil
}

// addTotals adds to the counts of bytes and sessions in the directory; both may be negative.
func (s *Store) addTotals(bytes int64, sessions int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total = max(s.total+bytes, 0)
	s.stats.Sessions = max(s.stats.Sessions+sessions, 0)
}

// addToStats has add change the counts, and appends e to the journal.
func (s *Store) addToStats(add func(*Stats), e journal.Event) {
	s.mu.Lock()
	add(&s.stats)
	s.mu.Unlock()
	s.o.Journal.Append(e)
}

// withAdvice returns err with the operation that failed, the directory, and what the user can do.
func (s *Store) withAdvice(what string, err error) error {
	fix := "see that " + s.o.Dir + " can be written"
	if diskspace.IsFull(err) {
		fix = "make room on the disk of " + s.o.Dir
	}
	return fmt.Errorf("%s a conversation in %s: %w; %s", what, s.o.Dir, err, fix)
}

// expired reports whether a session was last written too long ago.
func (s *Store) expired(written time.Time) bool {
	return s.o.MaxAge > 0 && time.Since(written) > s.o.MaxAge
}

// fullPath returns the full path of a file, for messages.
func (s *Store) fullPath(name string) string { return filepath.Join(s.o.Dir, name) }

// Defaults of [Options].
const (
	DefaultMaxSessions = 256
	DefaultMaxBytes    = 64 * limit.MiB
	DefaultMaxSession  = 4 * limit.MiB
	DefaultMaxAge      = 90 * 24 * time.Hour
)

// minSession is the smallest bound of a session: its head and a few short messages.
const minSession = 4 * limit.KiB

// MaxID bounds the id of a session, in bytes.
const MaxID = 256

// Options configure a [Store]. Dir is required; zero values of the others mean the defaults.
type Options struct {
	Dir         string        // made when it is missing, 0700
	MaxSessions int           // (DefaultMaxSessions)
	MaxBytes    limit.Bytes   // of all files (DefaultMaxBytes)
	MaxSession  limit.Bytes   // of one file (DefaultMaxSession), at least 4K and at most MaxBytes
	MaxAge      time.Duration // since a session was written (DefaultMaxAge); negative means no bound
	// Journal gets an event for each act of the bounds; it may be nil.
	Journal *journal.Journal
	// Log gets warnings, as of damaged files; nil means slog.Default.
	Log *slog.Logger
}

// ErrLocked means that a session is in use, by another process or by a query of this one.
var ErrLocked = errors.New("the session is in use")

// ErrFull means that there is no room: all sessions that could be removed are in use.
var ErrFull = errors.New("no room for conversations")

// ErrClosed means that the store was closed.
var ErrClosed = errors.New("the store of conversations is closed")

// ErrSession means that a text cannot be the id of a session.
var ErrSession = errors.New("not the id of a session")

// setDefaults fills in the defaults, and returns an error for a missing directory or bounds that contradict each other.
func (o *Options) setDefaults() error {
	if o.Dir == "" {
		return errors.New("a store of conversations needs a directory; set Options.Dir")
	}
	o.MaxSessions = cmp.Or(o.MaxSessions, DefaultMaxSessions)
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.MaxSession = cmp.Or(o.MaxSession, min(DefaultMaxSession, o.MaxBytes))
	o.MaxAge = cmp.Or(o.MaxAge, DefaultMaxAge)
	if o.Journal == nil {
		o.Journal = journal.New(journal.Options{MaxRecords: 1})
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	switch {
	case o.MaxSessions < 0:
		return fmt.Errorf("at most %d conversations cannot be kept; set MaxSessions to 1 or more", o.MaxSessions)
	case o.MaxSession < minSession:
		return fmt.Errorf("%s is no bound for a conversation; set MaxSession to %s or more", o.MaxSession, minSession)
	case o.MaxBytes < o.MaxSession:
		return fmt.Errorf("conversations of up to %s do not fit into %s together; lower MaxSession or raise MaxBytes", o.MaxSession, o.MaxBytes)
	}
	return nil
}

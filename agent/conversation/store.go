package conversation

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/limit"
)

// Options configure a [Store]. Dir is required; zero values of the others mean the defaults.
type Options struct {
	Dir         string        // made when it is missing, 0700
	MaxSessions int           // (256)
	MaxBytes    limit.Bytes   // of all files (64 MiB)
	MaxSession  limit.Bytes   // of one file (4 MiB)
	MaxAge      time.Duration // since a session was last written (30 days)
	Log         *slog.Logger  // nil means slog.Default
}

// ErrLocked says that another query or process holds a session.
var ErrLocked = errors.New("the session is in use")

// Store keeps conversations in a directory. Its methods may be called from any goroutine.
type Store struct{ o Options }

// Info is what [Store.List] tells of a session.
type Info struct {
	Session  string      `json:"session"`
	Title    string      `json:"title"`
	Messages int         `json:"messages"`
	Bytes    limit.Bytes `json:"bytes"`
	Created  time.Time   `json:"created"`
	Updated  time.Time   `json:"updated"`
}

// Stats counts since [Open].
type Stats struct {
	Sessions int         `json:"sessions"`
	Bytes    limit.Bytes `json:"bytes"`
	Evicted  int64       `json:"evicted"` // sessions that went to make room, or by age
	Cut      int64       `json:"cut"`     // messages that left sessions at their bound
	Damaged  int64       `json:"damaged"` // files set aside
	Torn     int64       `json:"torn"`    // records that a dead process had not finished
}

var _ agent.Conversations = (*Store)(nil)

// Open opens the store in a directory.
func Open(o Options) (*Store, error) { return nil, errors.New("conversation: not there yet") }

// Open begins to write a session.
func (s *Store) Open(ctx context.Context, session string, existing bool) (agent.Conversation, error) {
	return nil, agent.ErrNoSession
}

// List tells the sessions, the last written first, at most MaxSessions.
func (s *Store) List() ([]Info, error) { return nil, nil }

// Remove removes a session.
func (s *Store) Remove(ctx context.Context, session string) error { return nil }

// Stats tells the counts.
func (s *Store) Stats() Stats { return Stats{} }

// Close releases the directory.
func (s *Store) Close() error { return nil }

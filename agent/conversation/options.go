package conversation

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

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

func (o *Options) fill() error {
	if o.Dir == "" {
		return errors.New("a store of conversations needs a directory; set Options.Dir")
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = DefaultMaxSessions
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxSession == 0 {
		o.MaxSession = min(DefaultMaxSession, o.MaxBytes)
	}
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
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

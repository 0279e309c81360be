package memory

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory/embed"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Defaults of [Options].
const (
	DefaultMaxNamespace = 64 * limit.MiB
	DefaultMaxRecords   = 100_000
	DefaultMaxBytes     = 256 * limit.MiB
	DefaultMaxAge       = 90 * 24 * time.Hour
	DefaultMaxPins      = 2 * limit.KiB
	DefaultMaxVectors   = 128 * limit.MiB
	DefaultEmbedWait    = 2 * time.Second
)

// Options configure a [Store]. Dir is required; zero values of the others mean the defaults.
type Options struct {
	Dir          string        // made when it is missing, 0700
	MaxNamespace limit.Bytes   // of the files of one namespace (DefaultMaxNamespace)
	MaxRecords   int           // of one namespace (DefaultMaxRecords)
	MaxBytes     limit.Bytes   // of all files (DefaultMaxBytes)
	MaxAge       time.Duration // of episodes, since they were recorded (DefaultMaxAge); negative means no bound
	MaxPins      limit.Bytes   // of the texts of all pins of a namespace (DefaultMaxPins)
	// Guest is set where an agent may be behind this process, who has chosen the bounds: they remove nothing of the user's own. Another process does.
	Guest bool
	// Journal gets an event for each act of the bounds; it may be nil.
	Journal *journal.Journal
	// Log gets warnings, as of damaged files; nil means slog.Default.
	Log *slog.Logger
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time
	// Embed turns texts into vectors, so that a search also finds what means the same in other words; nil searches by words only. The texts of the records of the
	// namespaces that are searched, and the questions, are sent to that service.
	Embed *embed.Client
	// EmbedEvery is the interval of making vectors of new records in the background, also after each search; 0 means only in [Store.MakeVectors].
	EmbedEvery time.Duration
	// EmbedWait limits the wait of a search for the vector of its question before it does without (DefaultEmbedWait).
	EmbedWait time.Duration
	// MaxVectors bounds the files of all vectors together (DefaultMaxVectors); a namespace has at most half of it.
	MaxVectors limit.Bytes
	// Elsewhere are other stores that may hold the words of a record. Forget asks all of them.
	Elsewhere []Elsewhere
}

// Errors of a [Store].
var (
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("the memory is closed")
	// ErrTooLarge means that a text is larger than a record may be.
	ErrTooLarge = errors.New("too large to remember")
	// ErrNotFound means that there is no record with an id.
	ErrNotFound = errors.New("no such record")
	// ErrForgotten means that a record, or what it is drawn from, was forgotten with Forget.
	ErrForgotten = errors.New("it was forgotten")
	// ErrOrigin means that a record is not the user's own words, and so must not be pinned.
	ErrOrigin = errors.New("only the user's own words may be pinned")
	// ErrPins means that there is no room for another pin; the error lists those that could be removed.
	ErrPins = errors.New("no room for another pin")
)

// setDefaults fills in the defaults, and returns an error for a missing directory or bounds that contradict each other.
func (o *Options) setDefaults() error {
	if o.Dir == "" {
		return errors.New("a memory needs a directory; set Options.Dir")
	}
	o.MaxNamespace = cmp.Or(o.MaxNamespace, DefaultMaxNamespace)
	o.MaxRecords = cmp.Or(o.MaxRecords, DefaultMaxRecords)
	o.MaxBytes = cmp.Or(o.MaxBytes, max(DefaultMaxBytes, o.MaxNamespace))
	o.MaxAge = cmp.Or(o.MaxAge, DefaultMaxAge)
	o.MaxPins = cmp.Or(o.MaxPins, DefaultMaxPins)
	o.MaxVectors = cmp.Or(o.MaxVectors, DefaultMaxVectors)
	o.EmbedWait = cmp.Or(max(o.EmbedWait, 0), DefaultEmbedWait)
	if o.Journal == nil {
		o.Journal = journal.New(journal.Options{MaxRecords: 1})
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	const least = 256 * limit.KiB
	switch {
	case o.MaxNamespace < least:
		return fmt.Errorf("%s is no bound for a namespace of the memory; set MaxNamespace to %s or more", o.MaxNamespace, limit.Bytes(least))
	case o.MaxBytes < o.MaxNamespace:
		return fmt.Errorf("a namespace of up to %s does not fit into a memory of %s; lower MaxNamespace or raise MaxBytes", o.MaxNamespace, o.MaxBytes)
	case o.MaxRecords < 16:
		return fmt.Errorf("at most %d records cannot be kept; set MaxRecords to 16 or more", o.MaxRecords)
	case o.MaxVectors < least:
		return fmt.Errorf("%s is no bound for the vectors of the memory; set MaxVectors to %s or more", o.MaxVectors, limit.Bytes(least))
	}
	return nil
}

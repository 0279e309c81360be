// Package checkpoint is the log of what was done to a conversation, so that the proxy and the agent send the same bytes again with each
// request: cuts, each the result of one compaction, and decisions, each about a message that was sent for the first time; the text that was
// recalled for a prompt stands with the decision about it.
//
// An entry is patches over the client's own messages, stored under the digest of the messages that it covers and the credential's [Scope].
// Stores with one directory share what they keep: the first entry of two wins, and [Store.Put] and [Store.Freeze] give the other writer the
// winner's. A cut of a later [Checkpoint].Generation, or one that is clearly smaller, replaces an earlier one.
//
//	DIR/key                       the key of the HMAC that turns a credential into a scope
//	DIR/SCOPE/DIGEST.ck           an entry; DIGEST-GEN.cut the text that a cut took out, to be shown
//	DIR/SCOPE/NAME.damaged-TIME   a file that failed its checksum, set aside
//
// Files are 0600, written as a whole, with a checksum, and bounded in bytes, number and age. A disk that is full costs the persistence, not
// the request. Without a Dir all is in memory; a nil *Store keeps nothing. A [Store] may be used from any goroutine.
package checkpoint

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/journal"
)

// Options configure a store. Zero values mean the defaults.
type Options struct {
	// Dir is created if it does not exist. Empty means memory only.
	Dir string
	// MaxBytes and MaxFiles bound the directory, MaxAge the time since a file was last
	// used.
	MaxBytes int64
	MaxFiles int
	MaxAge   time.Duration
	// MemoryBytes bounds the checkpoints held in memory. The one used last stays even if it alone
	// is larger.
	MemoryBytes int64
	// Journal gets an event whenever a bound removes something, a file is damaged or a write fails; nil drops them.
	Journal *journal.Journal
}

// The defaults of [Options].
const (
	DefaultMaxBytes    = 256 << 20
	DefaultMaxFiles    = 10_000
	DefaultMaxAge      = 7 * 24 * time.Hour
	DefaultMemoryBytes = 32 << 20
)

// Scope names a credential without giving it away. Checkpoints of different credentials
// never meet.
type Scope [16]byte

// decisions returns the scope under which a scope's decisions are stored: a decision and a cut may be about the same messages.
func (s Scope) decisions() (d Scope) {
	sum := sha256.Sum256(append([]byte("decisions\x00"), s[:]...))
	copy(d[:], sum[:])
	return d
}

// String returns the name of the scope's directory: it in hexadecimal.
func (s Scope) String() string { return hex.EncodeToString(s[:]) }

// A Store keeps checkpoints. See the package comment. Close is not needed: nothing is
// open between calls. A nil Store keeps nothing and finds nothing.
type Store struct {
	o          Options
	key        []byte
	hashes     sync.Pool // of HMACs with the key, which take long to make
	compacting keyedMutex

	mu      sync.Mutex
	memory  memory
	listing map[Scope]*listing
	disk    usage
	failing bool // the last write failed
	stats   Stats
}

// Stats count what a store did since it was opened.
type Stats struct {
	Hits, Misses int64 // of Lookup
	Stored       int64
	Evicted      int64 // files, by any bound
	EvictedBytes int64
	Damaged      int64 // files set aside
	Failed       int64 // writes
}

// Open returns the store in a directory, which it creates, with its key, if need be and brings within its bounds.
func Open(o Options) (*Store, error) {
	o.MaxBytes = cmp.Or(max(o.MaxBytes, 0), DefaultMaxBytes)
	o.MaxFiles = cmp.Or(max(o.MaxFiles, 0), DefaultMaxFiles)
	o.MaxAge = cmp.Or(max(o.MaxAge, 0), DefaultMaxAge)
	o.MemoryBytes = cmp.Or(max(o.MemoryBytes, 0), DefaultMemoryBytes)
	s := &Store{o: o, memory: memory{max: o.MemoryBytes}, listing: map[Scope]*listing{}}
	if o.Dir == "" {
		s.key = make([]byte, keyBytes)
		_, _ = rand.Read(s.key) // never fails
		return s, nil
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("checkpoint: make the directory of conversations: %w; choose another one or turn the store off", err)
	}
	var err error
	if s.key, err = readKey(filepath.Join(o.Dir, "key")); err != nil {
		return nil, fmt.Errorf("checkpoint: the key of the directory of conversations: %w", err)
	}
	s.keepWithinBounds()
	return s, nil
}

// Scope returns the HMAC of a credential under the directory's own key; the zero Scope for a nil Store.
func (s *Store) Scope(credential []byte) (scope Scope) {
	if s == nil {
		return scope
	}
	h, ok := s.hashes.Get().(hash.Hash)
	if !ok {
		h = hmac.New(sha256.New, s.key)
	}
	h.Write(credential)
	var sum [sha256.Size]byte
	copy(scope[:], h.Sum(sum[:0]))
	h.Reset() // nothing of the credential stays
	s.hashes.Put(h)
	return scope
}

// Lookup returns the checkpoint of a cut that covers most of a conversation; nil when there is none. chain[i] is the digest of the client's
// messages 0..i.
func Lookup[D ~[16]byte](s *Store, scope Scope, chain []D) *Checkpoint {
	return lookupFrom(s, scope, chain, 0)
}

// lookupFrom is Lookup for a caller that knows that no checkpoint covers only the first untouched messages or fewer.
func lookupFrom[D ~[16]byte](s *Store, scope Scope, chain []D, untouched int) *Checkpoint {
	if s == nil {
		return nil
	}
	known := s.diskListing(scope)
	for i := len(chain) - 1; i >= untouched; i-- {
		var h *held
		if i, h = findInChain(s, scope, known, chain, i, untouched-1, -1); i < untouched {
			break
		}
		if c := s.loadCheckpoint(key{scope, Digest(chain[i])}, h); c != nil && c.Covers == i+1 {
			s.countStats(func(t *Stats) { t.Hits++ })
			return c
		}
	}
	s.countStats(func(t *Stats) { t.Misses++ })
	return nil
}

// Log returns the log of a conversation: the cut that covers most of it, where there is one, and behind it the decisions about messages
// that the cut does not cover, in their order. The caller knows that there is nothing about the first untouched messages, which are not
// looked up. chain is that of [Lookup].
func Log[D ~[16]byte](s *Store, scope Scope, chain []D, untouched int) (log []*Checkpoint) {
	if s == nil {
		return nil
	}
	from := 0
	if cut := lookupFrom(s, scope, chain, untouched); cut != nil {
		log, from = append(log, cut), cut.Covers
	}
	scope = scope.decisions()
	known := s.diskListing(scope)
	for i := max(from, untouched); i < len(chain); i++ {
		var h *held
		if i, h = findInChain(s, scope, known, chain, i, len(chain), 1); i == len(chain) {
			break
		}
		if c := s.loadCheckpoint(key{scope, Digest(chain[i])}, h); c != nil && c.Covers == i+1 && startsAt(c, from) {
			log, from = append(log, c), c.Covers
		}
	}
	return log
}

// startsAt reports whether a decision changes no message before message from.
func startsAt(c *Checkpoint, from int) bool { return len(c.Patches) > 0 && c.Patches[0].From >= from }

// Put stores a checkpoint with the text it cut, which may be empty; a cut without a time gets the present one. It returns the checkpoint
// that applies now, never nil: another one if it has the same generation and was stored first, or a later one. An error means that the
// checkpoint is in memory only.
func (s *Store) Put(scope Scope, c *Checkpoint, cut Cut) (*Checkpoint, error) {
	if cut.Time.IsZero() {
		cut.Time = time.Now().UTC()
	}
	return s.storeUnlessSuperseded(scope, c, &cut)
}

// Freeze stores a decision, a checkpoint of generation 0 about the last messages that it covers, with the text it cut; cut is nil if there
// is none to show. It returns the one that is in force, as Put does. Without a cut it does not wait for the disk: after a power cut the
// decision may be gone, and then the provider's cache misses once.
func (s *Store) Freeze(scope Scope, c *Checkpoint, cut *Cut) (*Checkpoint, error) {
	if cut != nil && cut.Time.IsZero() {
		cut.Time = time.Now().UTC()
	}
	return s.storeUnlessSuperseded(scope.decisions(), c, cut)
}

// storeUnlessSuperseded stores c with its cut, unless there is a checkpoint for the same messages that c does not supersede. It returns the
// one that is stored now. The error is that of the disk; c is in memory all the same.
func (s *Store) storeUnlessSuperseded(scope Scope, c *Checkpoint, cut *Cut) (*Checkpoint, error) {
	if s == nil {
		return c, nil
	}
	k := key{scope, c.Chain}
	s.mu.Lock()
	h := s.memory.get(k)
	s.mu.Unlock()
	if old := s.loadCheckpoint(k, h); !c.supersedes(old) {
		return old, nil
	}
	fresh := &held{key: k, c: c}
	var err error
	if s.o.Dir != "" {
		err = s.writeFiles(fresh, cut)
	}
	s.mu.Lock()
	evicted, freed := s.memory.put(fresh)
	s.stats.Stored++
	over := s.disk.bytes > s.o.MaxBytes || s.disk.files > s.o.MaxFiles || time.Since(s.disk.swept) > sweepEvery
	s.mu.Unlock()
	if evicted > 0 && s.o.Dir == "" {
		s.countAndJournal("bytes", evicted, freed) // with a directory they are only out of memory
	}
	if s.o.Dir != "" && over {
		s.keepWithinBounds()
	}
	return fresh.c, err
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	if s == nil {
		return Stats{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// countStats calls f to change the counters.
func (s *Store) countStats(f func(*Stats)) {
	s.mu.Lock()
	f(&s.stats)
	s.mu.Unlock()
}

// countAndJournal counts and journals that files or entries were evicted, that a file was damaged, or that a write failed ("full"), as reason says.
func (s *Store) countAndJournal(reason string, evicted int, bytes int64) {
	s.countStats(func(t *Stats) {
		switch reason {
		case "damaged":
			t.Damaged += int64(evicted)
		case "full":
		default:
			t.Evicted += int64(evicted)
			t.EvictedBytes += bytes
		}
	})
	if s.o.Journal != nil {
		s.o.Journal.Append(journal.WindowStore{Evicted: evicted, Bytes: bytes, Reason: reason})
	}
}

const (
	keyBytes = 32
	// maxKeyFile bounds the bytes read of a key file; one of another length is damaged.
	maxKeyFile = 64 << 10
)

// readKey returns the key in a file, which it makes if there is none. Of several processes that make one at a time, the first one's stays.
// A damaged key file is renamed.
func readKey(path string) ([]byte, error) {
	for range 3 {
		k, err := statefile.Read(path, maxKeyFile)
		switch {
		case err == nil && len(k) == keyBytes:
			return k, nil
		case err == nil:
			// Without its key nothing in the directory can be found again anyway.
			if _, err := store.SetAsidePath(path); err != nil {
				return nil, err
			}
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		}
		fresh := make([]byte, keyBytes)
		_, _ = rand.Read(fresh) // never fails
		if _, err := (atomicfile.Replacement{Name: path, Perm: 0o600, Kept: atomicfile.Durable}).Create(fresh); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s changes all the time", path)
}

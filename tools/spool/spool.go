package spool

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/diskspace"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Spool keeps results on disk.
type Spool struct {
	o    Options
	root *os.Root
	// unusable is the error why there is no directory; then nothing is kept and nothing found.
	unusable error

	mu       sync.Mutex
	lock     *os.File
	closed   bool
	gone     []string // directories to remove once the lock between processes is released
	freeLine int64    // how many bytes stay free on the file system
	live     map[id]*Writer
	searches []*searchResult // the last ones, oldest first
}

// Open opens the spool in o.Dir, which it creates if needed, and removes expired results and those that a dead process left unfinished.
func Open(o Options) (*Spool, error) {
	if o.Dir == "" {
		return nil, errors.New("spool: no directory is given")
	}
	o.setDefaults()
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	root, err := statefile.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	lock, err := statefile.OpenIn(root, ledgerLock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("spool %s: %w", o.Dir, err)
	}
	s := &Spool{o: o, root: root, lock: lock, live: map[id]*Writer{}, freeLine: minimumFree(o)}
	if err := s.Sweep(); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("spool %s: %w", o.Dir, err)
	}
	return s, nil
}

// Unusable returns a spool for when none could be opened: Create and Sweep fail with err, and Read finds nothing.
func Unusable(err error) *Spool { return &Spool{unusable: err, closed: true} }

// Dir returns the folder of the spool.
func (s *Spool) Dir() string { return s.o.Dir }

// Close ends the use of the spool. Results that are open can still be read; the stored ones stay.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.lock.Close(), s.root.Close())
}

// Sweep removes expired results, unfinished ones of dead writers and unreadable ones, and makes the ledger agree with the directories. Open
// does it; Create only does it in part.
func (s *Spool) Sweep() error {
	if s.unusable != nil {
		return s.unusable
	}
	return s.withLedger(func(l *ledger) error {
		known := map[id]bool{}
		for _, a := range l.accounts {
			known[a.id] = true
		}
		there := map[id]bool{}
		for _, name := range s.names() {
			i, ok := parseID(name)
			switch {
			case ok && !known[i]:
				l.accounts = append(l.accounts, s.readAccount(i))
				l.changed = true
			case strings.HasPrefix(name, goneProlog):
				s.gone = append(s.gone, name)
			}
			there[i] = there[i] || ok
		}
		for _, a := range slices.Clone(l.accounts) {
			if !there[a.id] {
				l.remove(a.id)
				continue
			}
			// An entry that the ledger has as complete and that has no readable meta file is damaged.
			if !a.writing {
				if _, err := readMeta(s.root, a.id.String()); err != nil {
					l.find(a.id).writing, l.changed = true, true
				}
			}
		}
		s.sweep(l)
		return nil
	})
}

// sweep evicts the entries that have expired, and those that a dead writer left unfinished. The caller has the ledger locked.
func (s *Spool) sweep(l *ledger) {
	var old, crashed tally
	for _, a := range slices.Clone(l.accounts) {
		switch {
		case s.live[a.id] != nil:
		case a.writing:
			// A writer of another process holds a lock. It may have ended since, too.
			if m, err := readMeta(s.root, a.id.String()); err == nil && m != nil {
				b := l.find(a.id)
				b.writing, b.bytes, l.changed = false, s.diskUse(a.id.String()), true
			} else if s.evict(l, a) {
				crashed.add(a)
			}
		case s.expired(a.created):
			if s.evict(l, a) {
				old.add(a)
			}
		}
	}
	old.record(s, "age")
	crashed.record(s, "crash")
}

// tally counts the entries that are evicted for one reason, for the event.
type tally struct {
	results int
	bytes   int64
}

func (t *tally) add(a account) { t.results++; t.bytes += a.bytes }

// record journals the counted entries with the reason why they were evicted; none if there are none.
func (t *tally) record(s *Spool, why string) {
	if t.results > 0 {
		s.o.Journal.Append(journal.SpoolEvicted{Results: t.results, Bytes: t.bytes, Why: why})
	}
}

// evict removes an entry and its account, unless the entry is being read or written; it reports whether it did. The files are deleted once
// the lock is released.
func (s *Spool) evict(l *ledger, a account) bool {
	name := a.id.String()
	if f, err := statefile.OpenIn(s.root, name+"/"+lockName, os.O_RDWR, 0); err == nil {
		ok, err := filelock.Try(f, filelock.Exclusive)
		defer f.Close()
		if !ok || err != nil {
			return false
		}
	}
	aside := goneProlog + rand.Text()
	if err := s.root.Rename(name, aside); err == nil {
		s.gone = append(s.gone, aside)
	} else if err := s.root.RemoveAll(name); err != nil {
		return false
	}
	l.remove(a.id)
	return true
}

// freeDisk evicts the least recently used entry that is not in use, because the disk is full; it reports whether there was one.
func (s *Spool) freeDisk() (freed bool) {
	_ = s.withLedger(func(l *ledger) error {
		freed = s.evictOldest(l)
		return nil
	})
	return freed
}

// evictOldest removes the result that was not used for longest, and reports whether there was one: those that are being read or written stay.
func (s *Spool) evictOldest(l *ledger) bool {
	order := slices.Clone(l.accounts)
	sorting.StableBy(order, func(a, b account) int { return cmp.Compare(a.used, b.used) })
	for _, a := range order {
		if !a.writing && s.live[a.id] == nil && s.evict(l, a) {
			var t tally
			t.add(a)
			t.record(s, "bytes")
			return true
		}
	}
	return false
}

// full returns a *[Full] in the place of the system's error for a full disk, and any other error unchanged.
func (s *Spool) full(err error) error {
	if diskspace.IsFull(err) {
		return &Full{Dir: s.o.Dir, Why: "disk", Err: err}
	}
	return err
}

// handleLength is "r_" and the 26 letters and digits of rand.Text: more than 128 bits.
const (
	handleProlog = "r_"
	handleLength = len(handleProlog) + 26
)

func newHandle() string { return handleProlog + strings.ToLower(rand.Text()) }

// digest returns the hash that is stored in the place of a handle or a principal; kind tells these apart.
func digest(kind, text string) [sha256.Size]byte {
	return sha256.Sum256([]byte("plimsoll spool " + kind + "\x00" + text))
}

// idOf returns the id of the entry whose handle has that digest.
func idOf(handle [sha256.Size]byte) id { return id(handle[:len(id{})]) }

func nowMillis() int64 { return time.Now().UnixMilli() }

// NotFound reports that nobody with this principal can read a result by this handle. It does not say why: whether there never was one, it
// is somebody else's, it expired or it was evicted.
type NotFound struct{}

func (*NotFound) Error() string {
	return "there is no result with this handle: it may have expired or made room for newer ones; call the tool again to get a new result and its handle"
}

// Full reports that there is no room for a result, or for more of it.
type Full struct {
	// Dir is the spool's folder. Why is the bound that was reached: "disk" (also Options.FreeMin), "quota" (Options.MaxBytes,
	// and nothing can be evicted), "result" (Options.MaxResult) or "count" (Options.MaxResults).
	Dir, Why string
	// Limit is the bound in bytes or results; 0 for a full disk.
	Limit int64
	// Err is the system's error for a full disk, or says how many bytes are free and how many must stay free; else nil.
	Err error
}

func (e *Full) Error() string {
	switch e.Why {
	case "disk":
		return fmt.Sprintf("the disk of the spool %s is full (%v): make room there, or ask for less", e.Dir, e.Err)
	case "result":
		return fmt.Sprintf("the result is larger than a single one may be in the spool %s (%s): ask for less, or raise the limit of one result",
			e.Dir, limit.Bytes(e.Limit).Human())
	case "count":
		return fmt.Sprintf("the spool %s has %d results and all of them are being read or written: try again later", e.Dir, e.Limit)
	}
	return fmt.Sprintf("the spool %s is full (%s) and all of it is being read or written: try again later, ask for less, or raise its limit",
		e.Dir, limit.Bytes(e.Limit).Human())
}

func (e *Full) Unwrap() error { return e.Err }

// NoPage reports that a page number is out of range.
type NoPage struct {
	Page, Pages int64
	Size        int
	Noun        string // "items", "lines"
	Items       int64
}

func (e *NoPage) Error() string {
	if e.Pages == 0 {
		return fmt.Sprintf("there is no page %d: the result has no %s", e.Page, e.Noun)
	}
	return fmt.Sprintf("there is no page %d: the result has %d %s, which are pages 1 to %d with at most %d %s each",
		e.Page, e.Items, e.Noun, e.Pages, e.Size, e.Noun)
}

// NoRange reports that an offset lies beyond what is stored.
type NoRange struct{ Offset, Total int64 }

func (e *NoRange) Error() string {
	return fmt.Sprintf("there is nothing at offset %d: the result has %d bytes, offsets 0 to %d", e.Offset, e.Total, max(0, e.Total-1))
}

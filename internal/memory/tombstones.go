package memory

import (
	"context"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// forgottenNamespace is the namespace of the tombstones. No record can be in it.
const forgottenNamespace = "forgotten"

// forgotten are the tombstones that this process has read.
type forgotten struct {
	mu   sync.Mutex
	at   archive.Cursor
	ids  map[string]time.Time
	keys map[archive.Key]struct{}
}

// readForgotten reads the tombstones that this process does not know yet.
func (s *Store) readForgotten() error {
	s.mu.Lock()
	err := s.checkOpen()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	f := &s.forgotten
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ids == nil {
		f.ids, f.keys = map[string]time.Time{}, map[archive.Key]struct{}{}
	}
	_, err = s.archive.Read(forgottenNamespace, &f.at, func(_ archive.Position, l archive.Line) error {
		b, err := decodeBody(l.Body)
		if err == nil && b.ID != "" {
			f.ids[b.ID] = timeFromMillis(b.Recalled)
			f.keys[l.Key] = struct{}{}
		}
		return nil
	})
	return err
}

// isForgotten reports whether the words of a record, or a record that it is derived from, were forgotten.
func (s *Store) isForgotten(r *Record) bool {
	s.forgotten.mu.Lock()
	defer s.forgotten.mu.Unlock()
	if len(s.forgotten.keys) == 0 {
		return false
	}
	if _, ok := s.forgotten.keys[s.forgottenKey(r.Text)]; ok {
		return true
	}
	return s.forgotten.isDerived(r.From, r.Fact)
}

// isDerived reports whether one of the records in from, or the episode of fact, was forgotten. The caller holds f.mu.
func (f *forgotten) isDerived(from []string, fact *Fact) bool {
	for _, id := range from {
		if _, ok := f.ids[id]; ok {
			return true
		}
	}
	if fact == nil {
		return false
	}
	_, ok := f.ids[fact.Episode]
	return ok
}

// isLineForgotten reports whether the record in a line was forgotten: by its id, by its words, or because a record that it is derived from was.
func (s *Store) isLineForgotten(b *entryBody) bool {
	s.forgotten.mu.Lock()
	defer s.forgotten.mu.Unlock()
	if len(s.forgotten.ids) == 0 {
		return false
	}
	if _, ok := s.forgotten.ids[b.ID]; ok || s.forgotten.isDerived(b.From, b.Fact) {
		return true
	}
	_, ok := s.forgotten.keys[s.forgottenKey(b.Text)]
	return ok
}

// lacksTombstone reports whether there is no tombstone for the id of a forgotten record, or none for these words of it.
func (s *Store) lacksTombstone(b *entryBody) bool {
	s.forgotten.mu.Lock()
	defer s.forgotten.mu.Unlock()
	_, id := s.forgotten.ids[b.ID]
	_, key := s.forgotten.keys[s.forgottenKey(b.Text)]
	return !id || !key
}

// addingLock is the name of a lock file. Whoever adds records holds it, shared, from before reading the tombstones until the lines are
// written; so whoever has written tombstones and then gets it exclusively knows that all lines that were not checked against them are on
// the disk.
const addingLock = "adding.lock"

// lockAdding takes the lock that those who add records share, and that a Forget takes exclusively to wait for them. The caller calls
// release.
func (s *Store) lockAdding(ctx context.Context, mode filelock.Mode) (release func(), err error) {
	s.mu.Lock()
	err = s.checkOpen()
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	f, err := statefile.OpenIn(s.archive.Root(), addingLock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the lock of the memory in %s: %w", s.o.Dir, err)
	}
	if err := filelock.Lock(ctx, f, mode); err != nil {
		return nil, fmt.Errorf("the lock %s of the memory in %s: %w", addingLock, s.o.Dir, err)
	}
	return func() { _ = filelock.Release(f) }, nil
}

// isIDForgotten reports whether there is a tombstone for the record with an id.
func (s *Store) isIDForgotten(id string) bool {
	s.forgotten.mu.Lock()
	defer s.forgotten.mu.Unlock()
	_, ok := s.forgotten.ids[id]
	return ok
}

// notFoundError returns the [ErrNotFound] for an id, which is also an [ErrForgotten] if the record was forgotten.
func (s *Store) notFoundError(id string) error {
	s.forgotten.mu.Lock()
	defer s.forgotten.mu.Unlock()
	if at, ok := s.forgotten.ids[id]; ok {
		return fmt.Errorf("%w: %s: %w on %s", ErrNotFound, id, ErrForgotten, at.Format(time.DateOnly))
	}
	return fmt.Errorf("%w: %s", ErrNotFound, limit.Short(id, 40))
}

// maxForgotten bounds the tombstones. Beyond it the oldest half is removed, and the words of those may be remembered again.
const maxForgotten = 100_000

// pruneTombstones removes the older half of the tombstones from the disk if there are more than maxForgotten.
func (s *Store) pruneTombstones(ctx context.Context) error {
	f := &s.forgotten
	f.mu.Lock()
	var times []time.Time
	if len(f.ids) > maxForgotten {
		times = sorting.CollectBy(maps.Values(f.ids), time.Time.Compare)
	}
	f.mu.Unlock()
	if times == nil {
		return nil
	}
	oldest := times[len(times)/2].UnixMilli()
	_, err := s.archive.Rewrite(ctx, forgottenNamespace, true, func(l archive.Line) ([]byte, bool) {
		if b, err := decodeBody(l.Body); err == nil && b.ID != "" && b.Recalled < oldest {
			return nil, true
		}
		return l.Body, false
	})
	return err
}

// Package memory keeps what was said to agents and by them, and what was drawn from it, on the user's own disk and within bounds.
//
//	store, err := memory.Open(memory.Options{Dir: dir})
//	_, err = store.Add(ctx, memory.Record{Namespace: "project/x", Origin: memory.OriginUser, Text: "We ship on Fridays, never on Mondays."})
//	found, err := store.Search(ctx, memory.Query{Text: "when do we ship?"})
//	_, err = store.Forget(ctx, memory.Filter{IDs: []string{found.Items[0].ID}})
//
// A [Record] is an episode (a passage, word for word), a fact, a note or a pin, with an origin: the user's own words, an agent's, or a tool's. It
// lies in a namespace (user, project/ID, agent/NAME) and in the scope of the credential that it was said with. Adding only appends to the
// archive; a search opens an index of each namespace (package index) and goes by meaning too with Options.Embed (package embed).
//
// What [Store.Add] has returned for survives the process; facts, notes and pins also a power cut. A killed [Store.Forget] has written its
// tombstones: the next one, or [Store.GC], finishes it. A Store may be used by many goroutines, its directory by many processes.
package memory

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// Store keeps records in a directory. Its methods may be called from any goroutine, and other processes may have the same directory open.
type Store struct {
	o       Options
	archive *archive.Archive
	key     []byte
	ids     idSource

	mu         sync.Mutex
	closed     bool
	namespaces map[string]*namespace
	shelves    map[string]*shelf
	forgotten  forgotten
	withheld   withheld
	stats      Stats // only its counters are used

	embedding *embedding // nil where no service makes vectors
}

// Open opens the memory in a directory and makes it when it is missing. The first Add and the first Search in a namespace read its records.
func Open(o Options) (*Store, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	tooLarge := func(file string, size, read limit.Bytes) {
		o.Log.Warn("a file of the memory is larger than any that was written: only its beginning is read, and plimsoll gc cuts off the rest",
			"file", file, "size", size.Human(), "read", read.Human())
	}
	a, err := archive.Open(archive.Options{Dir: o.Dir, TooLarge: tooLarge})
	if err != nil {
		return nil, err
	}
	key, err := loadKey(a.Root())
	if err != nil {
		_ = a.Close()
		return nil, fmt.Errorf("the key of the memory in %s: %w", o.Dir, err)
	}
	s := &Store{o: o, archive: a, key: key, namespaces: map[string]*namespace{}, shelves: map[string]*shelf{}}
	if o.Embed != nil {
		s.startEmbedding()
	}
	return s, nil
}

const (
	keyFile  = "key"
	keyBytes = 32
)

// loadKey reads the key of the digests, or makes it. If several processes make it at once, all use the first one's.
func loadKey(root *os.Root) ([]byte, error) {
	for range 2 {
		f, err := statefile.OpenIn(root, keyFile, os.O_RDONLY, 0)
		if err == nil {
			key, err := io.ReadAll(io.LimitReader(f, keyBytes+1))
			_ = f.Close()
			if err == nil && len(key) != keyBytes {
				err = fmt.Errorf("the file %s has not %d bytes; remove it, and what was forgotten can be remembered again", keyFile, keyBytes)
			}
			return key, err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		key := make([]byte, keyBytes)
		_, _ = rand.Read(key) // never fails
		if _, err := (atomicfile.Replacement{Root: root, Name: keyFile, Perm: 0o600, Kept: atomicfile.Durable}).Create(key); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("it was removed while it was made")
}

// Close stops the background work, syncs what was added, and closes the store.
func (s *Store) Close() error {
	s.embedding.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.archive.Close()
}

// checkOpen returns [ErrClosed] when the store was closed, else nil. The caller holds s.mu.
func (s *Store) checkOpen() error {
	if s.closed {
		return ErrClosed
	}
	return nil
}

// Tail is the position up to which [Store.Follow] has read the records of all namespaces. The zero value is the beginning.
type Tail struct {
	at map[string]*archive.Cursor
}

// Follow calls each for the records that any process has written since the last call with the same tail, in the order of their files. It
// leaves out forgotten and expired records, but not those that were changed or removed later. After a rewrite some records come again. An
// error of each ends it; the next call goes on behind that record.
func (s *Store) Follow(ctx context.Context, t *Tail, each func(Record) error) error {
	names, err := s.Namespaces()
	if err != nil {
		return err
	}
	if err := s.readForgotten(); err != nil {
		return err
	}
	if t.at == nil {
		t.at = map[string]*archive.Cursor{}
	}
	for _, name := range names {
		if t.at[name] == nil {
			t.at[name] = &archive.Cursor{}
		}
		var failed error
		_, err := s.archive.Read(name, t.at[name], func(_ archive.Position, l archive.Line) error {
			if failed != nil {
				return failed
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			b, err := decodeBody(l.Body)
			if err != nil || b.ID == "" || s.isIDForgotten(b.ID) {
				return nil
			}
			shared, err := decodeShared(l.Shared)
			if err != nil {
				return nil
			}
			r, err := b.toRecord(name, &shared)
			if err != nil || s.isExpired(&r) {
				return nil
			}
			failed = each(r) // told with the next line, so that this one is behind the cursor
			return nil
		})
		if err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

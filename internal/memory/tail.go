package memory

import (
	"context"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
)

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
		_, err := s.archive.Read(name, t.at[name], func(_ archive.Place, l archive.Line) error {
			if failed != nil {
				return failed
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			b, err := decodeBody(l.Body)
			if err != nil || b.ID == "" || s.wasForgotten(b.ID) {
				return nil
			}
			shared, err := decodeShared(l.Shared)
			if err != nil {
				return nil
			}
			r, err := b.record(name, &shared)
			if err != nil || s.expired(&r) {
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

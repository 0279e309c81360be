package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/memory/archive"
)

// Update replaces the record with r.ID by r: its text, its fact, whether it is quarantined, its namespace, and its origin, which can only become
// less trusted. The old version is no longer found, and leaves the disk when its segment is next rewritten. It returns an [ErrNotFound] for an
// unknown id and an [ErrForgotten] for words that were forgotten. A record does not come back into a namespace that it was moved out of.
func (s *Store) Update(ctx context.Context, r Record) error {
	if err := r.check(); err != nil {
		return err
	}
	release, err := s.adding(ctx, filelock.Shared)
	if err != nil {
		return err
	}
	defer release()
	if err := s.readForgotten(); err != nil {
		return err
	}
	if s.isForgotten(&r) {
		return fmt.Errorf("exactly these words, or what they are drawn from, are not kept again: %w; say it in other words", ErrForgotten)
	}
	found, err := s.Get(ctx, r.ID, 0)
	if err != nil {
		return err
	}
	old := &found[0]
	if r.Said.IsZero() {
		r.Said = old.Said
	}
	r.Origin = Lowest(r.Origin, old.Origin) // words do not become more trusted by being edited
	r.Recorded, r.Count, r.Recalled = old.Recorded, old.Count, old.Recalled
	version, _, err := s.versionOf(old.Namespace, r.ID)
	if err != nil {
		return err
	}
	_, uses, _, err := s.find(ctx, old.Namespace, r.ID)
	if err != nil {
		return err
	}
	line, err := s.encode(&r, version+1, uses...)
	if err != nil {
		return err
	}
	if r.Namespace != old.Namespace {
		_, left, err := s.versionOf(r.Namespace, r.ID)
		if err != nil {
			return err
		}
		if left {
			return fmt.Errorf("%s was moved out of %s once and does not come back: add its words anew", r.ID, r.Namespace)
		}
		// A crash in between leaves it in both, never in none.
		if err := s.archive.Append(ctx, r.Namespace, true, line); err != nil {
			return err
		}
		return s.drop(ctx, old)
	}
	lines := []archive.Line{line}
	if before := s.identity(old); before != line.Key { // the old words may come again
		body, err := marshal(entryBody{Drop: []string{""}})
		if err != nil {
			return err
		}
		lines = append(lines, archive.Line{Key: before, Body: body})
	}
	return s.archive.Append(ctx, r.Namespace, true, lines...)
}

// versionOf returns the highest version of a record in a namespace, and whether it was dropped there.
func (s *Store) versionOf(name, id string) (version int, dropped bool, err error) {
	var at archive.Cursor
	_, err = s.archive.Read(name, &at, func(_ archive.Place, l archive.Line) error {
		b, err := decodeBody(l.Body)
		if err == nil && b.ID == id {
			version = max(version, b.Version)
		}
		dropped = dropped || err == nil && slices.Contains(b.Drop, id)
		return nil
	})
	return version, dropped, err
}

// Remove removes one record. Searches no longer find it, and its bytes leave the disk when its segment is next rewritten. Unlike with
// [Store.Forget] the same words may be added again, and records derived from it stay. An unknown id is an [ErrNotFound].
func (s *Store) Remove(ctx context.Context, id string) error {
	found, err := s.Get(ctx, id, 0)
	if err != nil {
		return err
	}
	return s.drop(ctx, &found[0])
}

package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// Get returns the record with an id and, from the same conversation and scope, up to around records before and after it, in the order in
// which they were said. An unknown id is an [ErrNotFound], and also an [ErrForgotten] if the record was forgotten.
func (s *Store) Get(ctx context.Context, id string, around int) ([]Record, error) {
	if _, err := parseID(id); err != nil {
		return nil, err
	}
	if err := s.readForgotten(); err != nil {
		return nil, err
	}
	names, err := s.Namespaces()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		one, _, ok, err := s.findRecord(ctx, name, id)
		if err != nil {
			return nil, err
		}
		if !ok || s.isIDForgotten(id) || s.isExpired(&one) {
			continue
		}
		if around <= 0 || one.Source.Conversation == "" {
			alone := []Record{one}
			return alone, s.markRecords(alone)
		}
		talk, err := s.loadRecords(ctx, name, func(r *Record) bool {
			return r.Source.Conversation == one.Source.Conversation && r.Scope == one.Scope
		})
		if err != nil {
			return nil, err
		}
		sorting.StableBy(talk, func(a, b Record) int { return cmp.Compare(a.Source.Turn, b.Source.Turn) })
		i := slices.IndexFunc(talk, func(r Record) bool { return r.ID == id })
		if i < 0 { // it went in between, or another id stands for the passage
			talk, i = []Record{one}, 0
		}
		talk = talk[max(0, i-around):min(len(talk), i+around+1)]
		return talk, s.markRecords(talk)
	}
	return nil, s.notFoundError(id)
}

// findRecord reads one record of a namespace and its uses, the oldest first. ok is false when there is none. Only its lines are parsed.
func (s *Store) findRecord(ctx context.Context, name, id string) (r Record, uses []storedUse, ok bool, err error) {
	begin := []byte(`{"id":"` + id + `"`)
	var newest entryBody
	var key archive.Key
	var shared []byte
	var recalled int64
	var later []storedUse // that are not in the record's own line
	dropped := false
	seen := map[archive.Key]int{}
	var at archive.Cursor
	_, err = s.archive.Read(name, &at, func(_ archive.Position, l archive.Line) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if bytes.HasPrefix(l.Body, []byte(`{"id":`)) {
			if !bytes.HasPrefix(l.Body, begin) {
				return nil
			}
			if b, err := decodeBody(l.Body); err == nil && (!ok || b.Version >= newest.Version) {
				newest, key, shared, ok = b, l.Key, bytes.Clone(l.Shared), true
			}
			return nil
		}
		b, err := decodeBody(l.Body)
		switch {
		case err != nil:
		case b.Seen > 0:
			seen[l.Key] += b.Seen
		case slices.Contains(b.Drop, id):
			dropped = true
		case slices.Contains(b.Recall, id):
			recalled = max(recalled, b.Recalled)
			if b.Use != nil {
				later = addUse(later, *b.Use)
			}
		}
		return nil
	})
	if err != nil || !ok || dropped {
		return Record{}, nil, false, err
	}
	common, err := decodeShared(shared)
	if err != nil {
		return Record{}, nil, false, err
	}
	if r, err = newest.toRecord(name, &common); err != nil {
		return Record{}, nil, false, nil // of a newer version
	}
	r.Count += seen[key]
	if recalled = max(recalled, newest.Recalled); recalled > 0 {
		r.Recalled = timeFromMillis(recalled)
	}
	for _, u := range slices.Concat(newest.Uses, later) {
		uses = addUse(uses, u)
	}
	return r, uses, true, nil
}

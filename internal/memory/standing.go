package memory

import (
	"context"
	"slices"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// Standing returns the standing instructions that count, the latest first: of those about one thing, whatever namespace they are in, the one that was
// said last, and none that was taken back. Of the query Namespaces, Scope and AllScopes are used. It opens the index of each namespace, as a search does.
func (s *Store) Standing(ctx context.Context, q Query) ([]Record, error) {
	if err := s.readForgotten(); err != nil {
		return nil, err
	}
	names, err := s.chosen(q.Namespaces)
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if err := checkNamespace(name); err != nil {
			return nil, err
		}
		some, err := s.standingIn(ctx, name, q)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if err := s.mark(all); err != nil {
		return nil, err
	}
	sorting.StableBy(all, func(a, b Record) int { return b.Said.Compare(a.Said) })
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(r Record) bool {
		again := seen[r.Fact.Attribute]
		seen[r.Fact.Attribute] = true
		return again || r.Withheld
	}), nil
}

func (s *Store) standingIn(ctx context.Context, name string, q Query) ([]Record, error) {
	h, err := s.shelf(name)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for range 3 { // a segment that is written anew meanwhile is read again
		if err := h.catchUp(ctx, s); err != nil {
			return nil, err
		}
		if len(h.standing) == 0 {
			return nil, nil
		}
		from, err := s.archive.Fetcher(name)
		if err != nil {
			return nil, err
		}
		all, whole, err := h.standingNow(s, from, q)
		from.Close()
		if err != nil || whole {
			return all, err
		}
	}
	return nil, nil
}

// standingNow reads the standing instructions of the shelf; whole is false when one was not where it had been.
func (h *shelf) standingNow(s *Store, from *archive.Fetcher, q Query) (all []Record, whole bool, err error) {
	f := h.filter(&Query{Scope: q.Scope, AllScopes: q.AllScopes}, s.o.Clock(), s.o.MaxAge)
	whole = true
	for _, n := range h.standing {
		if !f.keeps(int(n)) {
			continue
		}
		r, ok, err := h.fetch(from, int(n))
		if err != nil {
			return nil, false, err
		}
		if ok && r.Standing() && !s.wasForgotten(r.ID) {
			all = append(all, r)
		}
		whole = whole && ok
	}
	return all, whole, nil
}

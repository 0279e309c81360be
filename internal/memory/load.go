package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// loadRecords returns the records of a namespace for which keep returns true, the oldest first: of each the newest version, of a passage that was
// written twice one record, and none that was dropped, forgotten or has expired.
func (s *Store) loadRecords(ctx context.Context, name string, keep func(*Record) bool) ([]Record, error) {
	if err := s.readForgotten(); err != nil {
		return nil, err
	}
	type stored struct {
		record  Record
		version int
		key     archive.Key
	}
	byID := map[string]*stored{}
	seen := map[archive.Key]int{}
	recalled := map[string]int64{}
	dropped := map[string]bool{}
	var at archive.Cursor
	for {
		found, err := s.archive.Read(name, &at, func(_ archive.Position, l archive.Line) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			b, err := decodeBody(l.Body)
			if err != nil {
				return nil // of a newer version
			}
			switch {
			case b.Seen > 0:
				seen[l.Key] += b.Seen
				return nil
			case len(b.Recall) > 0:
				for _, id := range b.Recall {
					recalled[id] = max(recalled[id], b.Recalled)
				}
				return nil
			case len(b.Drop) > 0:
				for _, id := range b.Drop {
					dropped[id] = true
				}
				return nil
			}
			shared, err := decodeShared(l.Shared)
			if err != nil {
				return nil
			}
			if old := byID[b.ID]; old != nil && old.version > b.Version {
				return nil
			}
			r, err := b.toRecord(name, &shared)
			if err != nil || s.isIDForgotten(r.ID) {
				return nil
			}
			byID[b.ID] = &stored{r, b.Version, l.Key}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(found.Gone) == 0 {
			break
		}
		clear(byID)
		clear(seen)
		at = archive.Cursor{}
	}
	all := make([]*stored, 0, len(byID))
	for id, st := range byID {
		if !dropped[id] && !s.isExpired(&st.record) {
			all = append(all, st)
		}
	}
	sorting.By(all, func(a, b *stored) int { return cmp.Compare(a.record.ID, b.record.ID) })
	first := map[archive.Key]*stored{}
	var unique []*stored
	for _, st := range all {
		if ms := recalled[st.record.ID]; ms > 0 {
			st.record.Recalled = timeFromMillis(ms)
		}
		if other := first[st.key]; other != nil {
			other.record.Count += st.record.Count
			continue
		}
		st.record.Count += seen[st.key]
		first[st.key] = st
		unique = append(unique, st)
	}
	var out []Record
	for _, st := range unique {
		if keep(&st.record) {
			out = append(out, st.record)
		}
	}
	return out, nil
}

// isExpired reports whether a record is an episode older than MaxAge.
func (s *Store) isExpired(r *Record) bool {
	return r.Kind == KindEpisode && s.o.MaxAge > 0 && s.o.Clock().Sub(r.Recorded) > s.o.MaxAge
}

// namespacesOrAll returns names, or all namespaces if names is empty.
func (s *Store) namespacesOrAll(names []string) ([]string, error) {
	if len(names) > 0 {
		return names, nil
	}
	return s.Namespaces()
}

// Namespaces returns all namespaces that have ever had a record, sorted.
func (s *Store) Namespaces() ([]string, error) {
	all, err := s.archive.Namespaces()
	return slices.DeleteFunc(all, func(name string) bool { return checkNamespace(name) != nil }), err
}

// recordsMatching returns the records that match a filter, of all its namespaces, the oldest first.
func (s *Store) recordsMatching(ctx context.Context, f *Filter) ([]Record, error) {
	names, err := s.namespacesOrAll(f.Namespaces)
	if err != nil {
		return nil, err
	}
	var out []Record
	for _, name := range names {
		some, err := s.loadRecords(ctx, name, f.matches)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	sorting.By(out, func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// Each calls give for all records that match a filter, the oldest first. It stops at the first error and returns it.
func (s *Store) Each(ctx context.Context, f Filter, give func(Record) error) error {
	all, err := s.recordsMatching(ctx, &f)
	if err != nil {
		return err
	}
	for i := range all {
		if err := give(all[i]); err != nil {
			return err
		}
	}
	return nil
}

// List returns a page of the records that match a filter, the newest first unless f.Oldest is set.
func (s *Store) List(ctx context.Context, f Filter) (Page, error) {
	all, err := s.recordsMatching(ctx, &f)
	if err != nil {
		return Page{}, err
	}
	if !f.Oldest {
		slices.Reverse(all)
	}
	from, to := pageBounds(len(all), f.Limit, f.Offset)
	return Page{Records: all[from:to], Total: len(all), Offset: from}, s.markRecords(all[from:to])
}

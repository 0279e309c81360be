package memory

import (
	"context"
	"errors"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/memory/embed"
	"github.com/plimsoll/plimsoll/limit"
)

// Stats holds the current contents, and counts since [Open].
type Stats struct {
	Namespaces []NamespaceStats `json:"namespaces"`
	Bytes      limit.Bytes      `json:"bytes"`     // of the segments of all namespaces; vectors not included
	Forgotten  int              `json:"forgotten"` // tombstones
	Torn       int64            `json:"torn"`      // entries that a dead process had not finished, cut off
	Damaged    int64            `json:"damaged"`   // invalid lines
	Evicted    int64            `json:"evicted"`   // records that evictions removed
	Refused    int64            `json:"refused"`   // records not added because they were forgotten once
	Merged     int64            `json:"merged"`    // passages counted because they were there already
	Embedding  VectorStats      `json:"embedding,omitzero"`
}

// NamespaceStats describes the contents of a namespace.
type NamespaceStats struct {
	Name    string       `json:"name"`
	Bytes   limit.Bytes  `json:"bytes"`
	Records int          `json:"records"`
	Kinds   map[Kind]int `json:"kinds"`
	Oldest  time.Time    `json:"oldest,omitzero"`
	Newest  time.Time    `json:"newest,omitzero"`
	// Vectors is the number of vectors, made by VectorModel, and VectorBytes the size of their file.
	Vectors     int         `json:"vectors,omitempty"`
	VectorModel string      `json:"vector_model,omitempty"`
	VectorBytes limit.Bytes `json:"vector_bytes,omitempty"`
}

// Stats returns the current contents and the counts since Open. It reads all segments and vectors.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	names, err := s.Namespaces()
	if err != nil {
		return Stats{}, err
	}
	if err := s.readForgotten(); err != nil {
		return Stats{}, err
	}
	s.mu.Lock()
	out := s.stats
	s.mu.Unlock()
	s.forgotten.mu.Lock()
	out.Forgotten = len(s.forgotten.ids)
	s.forgotten.mu.Unlock()
	out.Torn = s.archive.Torn()
	if e := s.embedding; e != nil {
		e.mu.Lock()
		out.Embedding = e.counters
		e.mu.Unlock()
	}
	for _, name := range names {
		n := NamespaceStats{Name: name, Kinds: map[Kind]int{}}
		segments, err := s.archive.Segments(name)
		if err != nil {
			return Stats{}, err
		}
		for _, seg := range segments {
			n.Bytes += limit.Bytes(seg.Size)
		}
		_, err = s.loadRecords(ctx, name, func(r *Record) bool {
			n.Records++
			n.Kinds[r.Kind]++
			if n.Oldest.IsZero() || r.Recorded.Before(n.Oldest) {
				n.Oldest = r.Recorded
			}
			if r.Recorded.After(n.Newest) {
				n.Newest = r.Recorded
			}
			return false
		})
		if err != nil {
			return Stats{}, err
		}
		seen, err := s.vectorFile(name).Scan(ctx, "", func(embed.Entry) {})
		if err != nil && !errors.Is(err, embed.ErrNewer) {
			return Stats{}, err
		}
		n.Vectors, n.VectorModel, n.VectorBytes = seen.Entries, seen.Model, limit.Bytes(seen.Bytes)
		out.Namespaces = append(out.Namespaces, n)
		out.Bytes += n.Bytes
	}
	return out, nil
}

// Collected reports the outcome of [Store.GC].
type Collected struct {
	Records int   `json:"records"` // that were removed
	Bytes   int64 `json:"bytes"`   // that became free
	// Elsewhere is the number of things removed from other stores, of a Forget that had ended early.
	Elsewhere int `json:"elsewhere,omitempty"`
}

// WouldGC returns what GC would remove now. It changes nothing.
func (s *Store) WouldGC(ctx context.Context) (Collected, error) {
	var out Collected
	names, err := s.Namespaces()
	if err != nil {
		return out, err
	}
	if err := s.readForgotten(); err != nil {
		return out, err
	}
	rest, err := s.findRemains(ctx)
	if err != nil {
		return out, err
	}
	if out.Records = len(rest.match.IDs); out.Records > 0 {
		places, err := s.forgetElsewhere(ctx, rest.match, true)
		if err != nil {
			return out, err
		}
		out.Elsewhere = len(places)
	}
	for _, name := range names {
		edit, removed, err := s.compactionEdit(ctx, name, nil)
		if err != nil {
			return out, err
		}
		done, err := s.archive.WouldRewrite(ctx, name, true, func(l archive.Line) ([]byte, bool) {
			if len(rest.match.IDs) > 0 {
				if b, err := decodeBody(l.Body); err == nil && b.ID != "" && s.isLineForgotten(&b) {
					return nil, true
				}
			}
			return edit(l)
		})
		if err != nil {
			return out, err
		}
		out.Bytes += done.Bytes
		out.Records += len(removed)
	}
	return out, nil
}

// GC removes from the disk old versions, records that were dropped or have expired, what dead processes have left, and what a Forget that
// ended early has left, here and in the stores of Options.Elsewhere.
func (s *Store) GC(ctx context.Context) (Collected, error) {
	var out Collected
	names, err := s.Namespaces()
	if err != nil {
		return out, err
	}
	if err := s.readForgotten(); err != nil {
		return out, err
	}
	rest, err := s.findRemains(ctx)
	if err != nil {
		return out, err
	}
	if len(rest.match.IDs) > 0 {
		gone, err := s.finishForgetting(ctx, nil)
		out.Records, out.Bytes, out.Elsewhere = len(rest.match.IDs), gone.Bytes, gone.Elsewhere
		if err != nil {
			return out, err
		}
	}
	if err := s.pruneWithheld(ctx); err != nil {
		return out, err
	}
	for _, name := range names {
		done, err := s.compactNamespace(ctx, name, nil)
		out.Bytes += done.Bytes
		out.Records += done.Records
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

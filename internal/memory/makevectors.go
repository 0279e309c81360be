package memory

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"github.com/plimsoll/plimsoll/internal/memory/embed"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/journal"
)

// VectorsMade reports the outcome of [Store.MakeVectors].
type VectorsMade struct {
	Made    int `json:"made"`
	Refused int `json:"refused"` // texts that the service rejected; this store does not send them again
	Missing int `json:"missing"` // records that still have no vector
}

// MakeVectors makes the vectors that records of the namespaces (none means all) lack, the newest first: it sends their texts to the service
// of Options.Embed. It returns when all are made, when ctx ends, or at the first failure of the service. A namespace for which another
// process is making vectors is left to that.
func (s *Store) MakeVectors(ctx context.Context, namespaces ...string) (VectorsMade, error) {
	var out VectorsMade
	if s.o.Embed == nil {
		return out, errors.New("no service makes vectors for this memory; set Options.Embed")
	}
	if err := s.readForgotten(); err != nil {
		return out, err
	}
	names, err := s.namespacesOrAll(namespaces)
	if err != nil {
		return out, err
	}
	for _, name := range names {
		h, err := s.shelf(name)
		if err == nil {
			err = s.makeMissing(ctx, h, &out)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// makeMissing makes the missing vectors of one namespace and counts them in out. It does nothing if none is missing or another process is making
// them.
func (s *Store) makeMissing(ctx context.Context, h *shelf, out *VectorsMade) error {
	f := s.vectorFile(h.name)
	h.mu.Lock()
	err := h.catchUp(ctx, s)
	todo := h.wantsVectors(f)
	h.mu.Unlock()
	if err != nil || !todo {
		return err
	}
	release, ok, err := f.Claim()
	if errors.Is(err, fs.ErrNotExist) || err == nil && !ok { // nothing was added yet, or somebody else is at it
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	b, err := s.readVectors(ctx, h, f)
	if err != nil {
		return err
	}
	made := 0
	defer func() {
		h.mu.Lock()
		out.Missing += h.missingVectors()
		h.mu.Unlock()
		if made > 0 {
			s.o.Journal.Append(journal.MemoryVectorsMade{Records: made, Bytes: f.Size()})
		}
	}()
	for {
		n, refused, err := s.makeBatch(ctx, h, f, b)
		made += n
		out.Made += n
		out.Refused += refused
		if err != nil || n+refused == 0 {
			return err
		}
	}
}

// vectorState describes the vectors of a namespace while more are made.
type vectorState struct {
	count      int
	dimensions int
	oldest     recordID // of its vectors
	others     int64    // bytes of the files of other namespaces
}

// readVectors reads a file of vectors, marks the records that have one, and removes from the file those whose record no longer exists.
func (s *Store) readVectors(ctx context.Context, h *shelf, f embed.File) (*vectorState, error) {
	var keys []embed.Key
	seen, err := f.Scan(ctx, s.o.Embed.Model(), func(e embed.Entry) { keys = append(keys, e.Key) })
	if err != nil && !errors.Is(err, embed.ErrNewer) { // that is replaced
		return nil, err
	}
	b := &vectorState{dimensions: seen.Dimensions}
	if len(keys) == 0 {
		b.dimensions = 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.catchUp(ctx, s); err != nil { // after the file was read: a vector is written after its record
		return nil, err
	}
	for n := range h.slots {
		h.slots[n].flags &^= embedded
	}
	gone := seen.Damaged
	for _, k := range keys {
		n, ok := h.byID.findID(h, k.ID)
		if !ok || h.slots[n].version != k.Version {
			gone++
			continue
		}
		h.slots[n].flags |= embedded
		if b.count++; b.count == 1 || bytes.Compare(k.ID[:], b.oldest[:]) < 0 {
			b.oldest = k.ID
		}
	}
	if gone > 0 {
		if _, err := f.Prune(ctx, h.hasVector); err != nil {
			return nil, err
		}
	}
	names, err := s.Namespaces()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name != h.name {
			b.others += s.vectorFile(name).Size()
		}
	}
	h.vectors, _ = f.Root.Lstat(f.Name)
	return b, nil
}

// hasVector reports whether the record of a vector exists, in this version, and is marked as embedded. The caller holds h.mu.
func (h *shelf) hasVector(k embed.Key) bool {
	n, ok := h.byID.findID(h, k.ID)
	return ok && h.slots[n].version == k.Version && h.slots[n].flags&embedded != 0
}

// unmarkVectors marks all records as having no vector, because the file is written anew.
func (h *shelf) unmarkVectors() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range h.slots {
		h.slots[n].flags &^= embedded
	}
}

// wantsVectors reports whether there may be vectors to make: the file has changed since the slots were last marked, or records have none. The caller
// holds h.mu.
func (h *shelf) wantsVectors(f embed.File) bool {
	now, err := f.Root.Lstat(f.Name)
	if err != nil || h.vectors == nil || now.Size() != h.vectors.Size() || !now.ModTime().Equal(h.vectors.ModTime()) {
		return true
	}
	return h.missingVectors() > 0
}

// missingVectors counts the records without a vector that could have one. The caller holds h.mu.
func (h *shelf) missingVectors() (n int) {
	for i := range h.slots {
		if h.slots[i].flags == 0 {
			n++
		}
	}
	return n
}

// makeBatch makes and stores the vectors of the next batch of records. It returns how many it made and how many texts the service rejected; both are
// 0 when there is nothing left to do.
func (s *Store) makeBatch(ctx context.Context, h *shelf, f embed.File, b *vectorState) (made, refused int, err error) {
	keys, texts, err := s.nextBatch(h, b)
	if err != nil || len(keys) == 0 {
		return 0, 0, err
	}
	entries, err := s.requestVectors(ctx, keys, texts)
	if ctx.Err() == nil {
		s.reportService("records", err)
	}
	if err != nil {
		return 0, 0, err
	}
	if len(entries) > 0 {
		if b.dimensions != len(entries[0].Values) { // the first ones, or the service has changed
			*b = vectorState{dimensions: len(entries[0].Values), others: b.others}
			h.unmarkVectors()
		}
		room, err := s.makeRoom(ctx, h, f, b, len(entries))
		if err != nil {
			return 0, 0, err
		}
		entries = entries[:min(room, len(entries))]
	}
	if err := s.readForgotten(); err != nil {
		return 0, 0, err
	}
	if err := f.Append(ctx, s.o.Embed.Model(), entries, func(k embed.Key) bool {
		_ = s.readForgotten() // what was forgotten while the service was asked
		return !s.isIDForgotten(recordID(k.ID).String())
	}); err != nil {
		return 0, 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	has := map[embed.Key]bool{}
	for _, e := range entries {
		has[e.Key] = true
		if b.count++; b.count == 1 || bytes.Compare(e.ID[:], b.oldest[:]) < 0 {
			b.oldest = e.ID
		}
	}
	for _, k := range keys {
		flag := uint8(unembedded)
		if has[k] {
			flag = embedded
			made++
		} else {
			refused++
		}
		if n, ok := h.byID.findID(h, k.ID); ok && h.slots[n].version == k.Version {
			h.slots[n].flags |= flag
		}
	}
	h.vectors, _ = f.Root.Lstat(f.Name)
	s.embedding.mu.Lock()
	s.embedding.counters.Made += int64(made)
	s.embedding.counters.Refused += int64(refused)
	s.embedding.mu.Unlock()
	return made, refused, nil
}

// nextBatch returns the keys and texts of the newest records without a vector, at most embed.MaxBatch. If there is little room, records
// older than all those with a vector are marked to get none.
func (s *Store) nextBatch(h *shelf, b *vectorState) (keys []embed.Key, texts []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	from, err := s.archive.Fetcher(h.name)
	if err != nil {
		return nil, nil, err
	}
	defer from.Close()
	roomy := b.dimensions == 0 || b.count < s.maxVectors(b)*keptPercent/100
	for n := len(h.slots) - 1; n >= 0 && len(keys) < embed.MaxBatch; n-- {
		one := &h.slots[n]
		if one.flags != 0 {
			continue
		}
		if !roomy && bytes.Compare(one.id[:], b.oldest[:]) < 0 {
			one.flags |= unembedded
			continue
		}
		r, ok, err := h.readRecord(from, n)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			continue // rewritten just now; the next catchUp finds it
		}
		keys = append(keys, embed.Key{ID: one.id, Version: one.version})
		texts = append(texts, r.Text)
	}
	return keys, texts, nil
}

// requestVectors asks for the vectors of texts, one by one if the service rejects them together; texts that it rejects alone have no entry
// in the result. If it rejects the first four, that is the error.
func (s *Store) requestVectors(ctx context.Context, keys []embed.Key, texts []string) ([]embed.Entry, error) {
	var out []embed.Entry
	vectors, err := s.o.Embed.Embed(ctx, texts)
	if err == nil {
		for i, v := range vectors {
			out = append(out, embed.Entry{Key: keys[i], Vector: v})
		}
		return out, nil
	}
	if !errors.Is(err, embed.ErrRefused) {
		return nil, err
	}
	for i, text := range texts {
		vectors, err := s.o.Embed.Embed(ctx, []string{text})
		switch {
		case errors.Is(err, embed.ErrRefused):
			if i >= 3 && len(out) == 0 {
				return nil, err
			}
		case err != nil:
			return nil, err
		case len(out) > 0 && len(vectors[0].Values) != len(out[0].Values):
			return nil, errors.New("it gave vectors of different dimensions")
		default:
			out = append(out, embed.Entry{Key: keys[i], Vector: vectors[0]})
		}
	}
	return out, nil
}

// maxVectors returns how many vectors a namespace may have: they take at most half of MaxVectors, and no more than other namespaces leave.
func (s *Store) maxVectors(b *vectorState) int {
	most := int64(s.o.MaxVectors)
	return int(max(min(most/2, most-b.others), 0) / int64(embed.RecordSize(max(b.dimensions, 1))))
}

// makeRoom removes the oldest vectors of a namespace if n more do not fit, and returns how many there is room for.
func (s *Store) makeRoom(ctx context.Context, h *shelf, f embed.File, b *vectorState, n int) (room int, err error) {
	most := s.maxVectors(b)
	if b.count+n <= most {
		return n, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []candidate // as eviction has them: another type to sort would cost 14 KB of program
	for i := range h.slots {
		if one := &h.slots[i]; one.flags&(removed|embedded) == embedded {
			all = append(all, candidate{id: one.id})
		}
	}
	sorting.By(all, func(a, b candidate) int { return bytes.Compare(a.id[:], b.id[:]) })
	goal := min(most*keptPercent/100, max(most-n, 0))
	cut := all[:max(len(all)-goal, 0)]
	for i := range cut {
		if n, ok := h.byID.findID(h, cut[i].id); ok {
			h.slots[n].flags &^= embedded
		}
	}
	if len(cut) > 0 {
		if _, err := f.Prune(ctx, h.hasVector); err != nil {
			return 0, err
		}
	}
	b.count = len(all) - len(cut)
	b.oldest = recordID{}
	if b.count > 0 {
		b.oldest = all[len(cut)].id
	}
	s.embedding.mu.Lock()
	first := !s.embedding.full[h.name]
	s.embedding.full[h.name] = true
	s.embedding.mu.Unlock()
	if first {
		s.o.Journal.Append(journal.MemoryVectorsFull{Gone: len(cut), Kept: b.count, Bytes: f.Size()})
		s.o.Log.Warn("the vectors of the memory are at their bound: old records are found by words only", "kept", b.count, "bound", s.o.MaxVectors)
	}
	return max(most-b.count, 0), nil
}

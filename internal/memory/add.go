package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/journal"
)

// Added reports the outcome of an [Store.Add].
type Added struct {
	// IDs holds one id for each record, in their order: for a passage that was stored already its old id, for a refused record "".
	IDs []string `json:"ids"`
	// New records were stored, Merged ones only counted, because they are there already, and Refused ones were forgotten once.
	New     int `json:"new"`
	Merged  int `json:"merged"`
	Refused int `json:"refused"`
}

// namespace is this process's state of a namespace it adds to.
type namespace struct {
	name  string
	mu    sync.Mutex
	at    archive.Cursor
	known map[archive.Key]struct{}

	surveyed bool  // this process has checked the bounds
	grown    usage // what was added since the last check
}

// namespace returns what this process knows of a namespace, nothing at first. It touches no file.
func (s *Store) namespace(name string) (*namespace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(); err != nil {
		return nil, err
	}
	n := s.namespaces[name]
	if n == nil {
		n = &namespace{name: name, known: map[archive.Key]struct{}{}}
		s.namespaces[name] = n
	}
	return n, nil
}

// catchUp reads the lines that this process has not read yet and adds the keys of their passages to n.known. The caller holds n.mu.
func (n *namespace) catchUp(s *Store) error {
	for range 2 {
		seen, err := s.archive.Read(n.name, &n.at, func(_ archive.Position, l archive.Line) error {
			switch {
			case l.Key == archive.Key{}:
			case bytes.HasPrefix(l.Body, []byte(`{"drop":`)):
				delete(n.known, l.Key)
			case !bytes.HasPrefix(l.Body, []byte(`{"seen":`)):
				n.known[l.Key] = struct{}{}
			}
			return nil
		})
		if err != nil || len(seen.Gone) == 0 {
			return err
		}
		clear(n.known) // segments were rewritten: what was in them may be there no longer
		n.at = archive.Cursor{}
	}
	return nil
}

// Add stores records: all of them, or none when there is an error. It ignores their IDs, Recorded, Count and Recalled. The origin of a
// record is at most that of the least trusted record it is derived from, whatever it claims. A passage that its namespace has already, with
// the same words, kind, origin and scope, is only counted; one that was forgotten is refused. Facts, notes and pins are on the disk when
// Add returns; for episodes see [archive.Archive.Append].
func (s *Store) Add(ctx context.Context, records ...Record) (Added, error) {
	out := Added{IDs: make([]string, len(records))}
	byNamespace := map[string][]int{}
	records = slices.Clone(records)
	for i := range records {
		r := &records[i]
		r.Kind = cmp.Or(r.Kind, KindEpisode)
		r.Origin = cmp.Or(r.Origin, OriginTool)
		if err := r.check(); err != nil {
			return Added{}, fmt.Errorf("record %d of %d: %w", i+1, len(records), err)
		}
		byNamespace[r.Namespace] = append(byNamespace[r.Namespace], i)
	}
	release, err := s.lockAdding(ctx, filelock.Shared)
	if err != nil {
		return Added{}, err
	}
	defer release()
	if err := s.readForgotten(); err != nil {
		return Added{}, err
	}
	if err := s.inheritOrigin(ctx, records); err != nil {
		return Added{}, err
	}
	var failed error
	for _, name := range slices.Sorted(maps.Keys(byNamespace)) {
		if failed = s.addToNamespace(ctx, name, records, byNamespace[name], &out); failed != nil {
			break
		}
	}
	s.mu.Lock()
	s.stats.Refused += int64(out.Refused)
	s.stats.Merged += int64(out.Merged)
	s.mu.Unlock()
	if out.Refused > 0 {
		s.o.Journal.Append(journal.MemoryRefused{Records: out.Refused})
	}
	return out, failed
}

// inheritOrigin lowers the origin of each record that is derived from others to the least trusted of its own and theirs. A source that does
// not exist, or no longer, counts as a tool's.
func (s *Store) inheritOrigin(ctx context.Context, records []Record) error {
	known := map[string]Origin{}
	for i := range records {
		r := &records[i]
		for _, id := range r.From {
			origin, ok := known[id]
			if !ok {
				source, err := s.Get(ctx, id, 0)
				switch {
				case err == nil:
					origin = source[0].Origin
				case ctx.Err() != nil || !errors.Is(err, ErrNotFound):
					return fmt.Errorf("record %d of %d is derived from %q: %w", i+1, len(records), id, err)
				default:
					origin = OriginTool
				}
				known[id] = origin
			}
			r.Origin = Lowest(r.Origin, origin)
		}
	}
	return nil
}

// addToNamespace adds the records at the given positions to a namespace, and enters the outcome into out: the ids at the same positions, and the
// counts.
func (s *Store) addToNamespace(ctx context.Context, name string, records []Record, positions []int, out *Added) error {
	n, err := s.namespace(name)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.catchUp(s); err != nil {
		return err
	}
	var lines []archive.Line
	durable := false
	fresh := map[archive.Key]string{} // ids of passages that this call adds
	again := map[archive.Key]int{}    // how often others come again
	wanted := map[archive.Key][]int{} // and which of the records they are
	now := s.o.Clock()
	for _, i := range positions {
		r := &records[i]
		key := s.passageKey(r)
		if s.isForgotten(r) {
			out.Refused++
			continue
		}
		_, known := n.known[key]
		if known || fresh[key] != "" {
			out.Merged++
			again[key]++
			if out.IDs[i] = fresh[key]; out.IDs[i] == "" {
				wanted[key] = append(wanted[key], i)
			}
			continue
		}
		id := s.ids.next(now)
		r.ID, r.Recorded, r.Count = id.String(), id.time(), 1
		if r.Said.IsZero() {
			r.Said = r.Recorded
		}
		line, err := s.encodeRecord(r, 0)
		if err != nil {
			return err
		}
		lines = append(lines, line)
		fresh[key], out.IDs[i] = r.ID, r.ID
		out.New++
		durable = durable || r.Kind != KindEpisode
	}
	for key, times := range again {
		body, err := marshalPlain(entryBody{Seen: times})
		if err != nil {
			return err
		}
		lines = append(lines, archive.Line{Key: key, Body: body})
	}
	if err := s.archive.Append(ctx, name, durable, lines...); err != nil {
		return err
	}
	if err := n.catchUp(s); err != nil { // what is known is what was read: a segment may be rewritten at any time
		return err
	}
	if err := s.findKeys(name, wanted, out.IDs); err != nil {
		return err
	}
	var grown usage
	for _, l := range lines {
		grown.Bytes += int64(len(l.Body)) + minLine/2
	}
	grown.Records = int64(len(lines))
	return s.keepWithinBounds(ctx, n, grown)
}

// findKeys sets ids[i] to the id of the stored passage for each i in wanted[key]; of several records with the key the lowest id.
func (s *Store) findKeys(name string, wanted map[archive.Key][]int, ids []string) error {
	if len(wanted) == 0 {
		return nil
	}
	var at archive.Cursor
	_, err := s.archive.Read(name, &at, func(_ archive.Position, l archive.Line) error {
		places := wanted[l.Key]
		if len(places) == 0 {
			return nil
		}
		b, err := decodeBody(l.Body)
		if err != nil || b.ID == "" {
			return nil
		}
		for _, i := range places {
			if ids[i] == "" || b.ID < ids[i] {
				ids[i] = b.ID
			}
		}
		return nil
	})
	return err
}

// Update replaces the record with r.ID by r: its text, its fact, whether it is quarantined, its namespace, and its origin, which can only become
// less trusted. The old version is no longer found, and leaves the disk when its segment is next rewritten. It returns an [ErrNotFound] for an
// unknown id and an [ErrForgotten] for words that were forgotten. A record does not come back into a namespace that it was moved out of.
func (s *Store) Update(ctx context.Context, r Record) error {
	if err := r.check(); err != nil {
		return err
	}
	release, err := s.lockAdding(ctx, filelock.Shared)
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
	version, _, err := s.latestVersion(old.Namespace, r.ID)
	if err != nil {
		return err
	}
	_, uses, _, err := s.findRecord(ctx, old.Namespace, r.ID)
	if err != nil {
		return err
	}
	line, err := s.encodeRecord(&r, version+1, uses...)
	if err != nil {
		return err
	}
	if r.Namespace != old.Namespace {
		_, left, err := s.latestVersion(r.Namespace, r.ID)
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
		return s.dropRecord(ctx, old)
	}
	lines := []archive.Line{line}
	if before := s.passageKey(old); before != line.Key { // the old words may come again
		body, err := marshalPlain(entryBody{Drop: []string{""}})
		if err != nil {
			return err
		}
		lines = append(lines, archive.Line{Key: before, Body: body})
	}
	return s.archive.Append(ctx, r.Namespace, true, lines...)
}

// latestVersion returns the highest version of a record in a namespace, 0 if it is not there, and whether it was dropped there.
func (s *Store) latestVersion(name, id string) (version int, dropped bool, err error) {
	var at archive.Cursor
	_, err = s.archive.Read(name, &at, func(_ archive.Position, l archive.Line) error {
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
	return s.dropRecord(ctx, &found[0])
}

package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Where the bounds act, as shares of them.
const (
	softPercent = 80 // old versions, duplicates and expired records leave the disk
	keptPercent = 87 // an eviction removes records until this much is left
	// surveyPart is the share of a bound that is added before the bounds are checked again: a 64th. So many processes
	// may together pass a bound by a 64th each.
	surveyPart = 64
	// againPart is the share by which a namespace grows before it is consolidated again: a 16th.
	againPart = 16
)

// minLine is less than any record takes on disk, in bytes: a namespace of fewer than minLine times MaxRecords bytes need not be counted.
const minLine = 100

// usage is the size of a namespace.
type usage struct {
	Bytes   int64 `json:"bytes"`
	Records int64 `json:"records"` // lines, of which there are at least as many as records; 0 where they were not counted
}

// keepWithinBounds applies the bounds to a namespace that has grown, and to all namespaces together, once enough was added. The caller holds n.mu.
//
// At 80 % of a bound what counts no longer leaves the disk: old versions, passages that were written twice, what has expired. At the bound
// itself records go until 87 % are left: those that wait for a person's word first, then superseded facts, episodes that nobody was ever
// given, facts and notes likewise, and what was recalled; in each class the oldest. What has the origin of the user goes last, and only where
// it is over the bound by itself; pins never go. Of all namespaces together those that were not written to for longest give first.
func (s *Store) keepWithinBounds(ctx context.Context, n *namespace, grown usage) error {
	n.grown.Bytes += grown.Bytes
	n.grown.Records += grown.Records
	maxBytes, maxRecords := int64(s.o.MaxNamespace), int64(s.o.MaxRecords)
	if n.surveyed && n.grown.Bytes < maxBytes/surveyPart && n.grown.Records < max(maxRecords/surveyPart, 1) {
		return nil
	}
	now, err := s.measureNamespace(n.name)
	if err != nil {
		return err
	}
	n.surveyed, n.grown = true, usage{}
	if now.Bytes*100 >= maxBytes*softPercent || now.Records*100 >= maxRecords*softPercent {
		if now, err = s.compactIfGrown(ctx, n.name, now); err != nil {
			return err
		}
	}
	if now.Bytes > maxBytes || now.Records > maxRecords {
		why := "bytes"
		if now.Bytes <= maxBytes {
			why = "records"
		}
		goal := usage{maxBytes * keptPercent / 100, maxRecords * keptPercent / 100}
		if err := s.evictRecords(ctx, n.name, goal, usage{maxBytes, maxRecords}, why); err != nil {
			return err
		}
	}
	return s.enforceMaxBytes(ctx, n.name)
}

// measureNamespace returns the bytes and the lines of a namespace. It counts lines, for which it reads all segments, only if there are enough bytes
// for too many lines; otherwise Records is 0.
func (s *Store) measureNamespace(name string) (usage, error) {
	var u usage
	segments, err := s.archive.Segments(name)
	if err != nil {
		return u, err
	}
	for _, seg := range segments {
		u.Bytes += seg.Size
	}
	if u.Bytes*100 >= int64(s.o.MaxRecords)*minLine*softPercent {
		u.Records, err = s.archive.Lines(name)
	}
	return u, err
}

// consolidatedFile returns the name of the file that holds a namespace's usage after its last consolidation.
func consolidatedFile(name string) string { return "consolidated-" + archive.FolderName(name) }

// compactIfGrown compacts a namespace, notes its size in a file, and returns its usage afterwards. If the namespace has hardly grown since the last
// time, it does nothing and returns now.
func (s *Store) compactIfGrown(ctx context.Context, name string, now usage) (usage, error) {
	var last usage
	if f, err := statefile.OpenIn(s.archive.Root(), consolidatedFile(name), os.O_RDONLY, 0); err == nil {
		text, _ := io.ReadAll(io.LimitReader(f, 1<<10))
		_ = f.Close()
		_ = json.Unmarshal(text, &last) // damaged, it is done once more
	} else if !errors.Is(err, fs.ErrNotExist) {
		return now, err
	}
	grown := now.Bytes-last.Bytes >= int64(s.o.MaxNamespace)/againPart || now.Records-last.Records >= int64(s.o.MaxRecords)/againPart
	if !grown && last != (usage{}) {
		return now, nil
	}
	done, err := s.compactNamespace(ctx, name, nil)
	if err != nil {
		return now, err
	}
	if now, err = s.measureNamespace(name); err != nil {
		return now, err
	}
	if done.Records > 0 || done.Bytes > 0 {
		s.o.Journal.Append(journal.MemoryConsolidated{Records: done.Records, Bytes: done.Bytes, Left: now.Bytes})
	}
	text, err := json.Marshal(now)
	if err != nil {
		return now, err
	}
	return now, atomicfile.Replacement{Root: s.archive.Root(), Name: consolidatedFile(name), Perm: 0o600, Kept: atomicfile.Volatile}.Write(text)
}

// survey holds the findings of a pass over the lines of a namespace.
type survey struct {
	newest  map[recordID]uint16      // versions, of the records that have several
	first   map[archive.Key]recordID // of passages that were written twice
	seen    map[archive.Key]int
	recall  map[recordID]int64
	uses    map[recordID][]storedUse
	dropped map[recordID]bool
	all     []candidate
}

// candidate is a record that eviction may remove; size is in bytes on disk.
type candidate struct {
	id    recordID
	size  int32
	class uint8
}

// Classes of records, in the order in which they are evicted; those of classKept never are. What the user said or vouched for comes behind
// all that others wrote, and goes only where it is over a bound by itself: whatever is imported or captured beside it drives none of it out.
const (
	classQuarantined = iota
	classSuperseded
	classEpisode
	classOther // facts and notes that were never recalled
	classRecalled
	classOwn  // and likewise of the user's: classOwn+classEpisode are episodes
	classKept = 2 * classOwn
)

// surveyLines reads all lines of a namespace, for compactNamespace and evictRecords. It takes about 40 bytes of memory a record.
func (s *Store) surveyLines(ctx context.Context, name string) (*survey, error) {
	v := &survey{
		newest: map[recordID]uint16{}, first: map[archive.Key]recordID{}, seen: map[archive.Key]int{}, recall: map[recordID]int64{},
		uses: map[recordID][]storedUse{}, dropped: map[recordID]bool{},
	}
	keys := map[archive.Key]recordID{}
	var at archive.Cursor
	now := s.o.Clock()
	_, err := s.archive.Read(name, &at, func(p archive.Position, l archive.Line) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b, err := decodeInPlace(l.Body)
		if err != nil {
			return nil
		}
		for _, text := range b.Drop {
			if id, err := parseID(text); err == nil {
				v.dropped[id] = true
			}
		}
		for _, text := range b.Recall {
			if id, err := parseID(text); err == nil {
				v.recall[id] = max(v.recall[id], b.Recalled)
				if b.Use != nil {
					v.uses[id] = addUse(v.uses[id], *b.Use)
				}
			}
		}
		if b.Seen > 0 {
			v.seen[l.Key] += b.Seen
		}
		id, err := parseID(b.ID)
		if err != nil {
			return nil
		}
		if b.Version > 0 {
			v.newest[id] = max(v.newest[id], uint16(b.Version))
		}
		if other, twice := keys[l.Key]; !twice {
			keys[l.Key] = id
		} else if other != id {
			if bytes.Compare(id[:], other[:]) < 0 {
				keys[l.Key], other = id, id
			}
			v.first[l.Key] = other
		}
		c := candidate{id: id, size: int32(p.Size), class: classEpisode}
		switch kind, _ := parseKind(b.Kind); {
		case kind == KindPin:
			c.class = classKept
		case b.Quarantined:
			c.class = classQuarantined
		case b.Fact != nil && !b.Fact.validAt(now, now):
			c.class = classSuperseded
		case b.Recalled > 0:
			c.class = classRecalled
		case kind != KindEpisode:
			c.class = classOther
		}
		if parseOrigin(b.Origin) == OriginUser && c.class > classQuarantined && c.class < classOwn {
			c.class += classOwn
		}
		v.all = append(v.all, c)
		return nil
	})
	for i := range v.all {
		if c := &v.all[i]; v.recall[c.id] > 0 {
			switch c.class {
			case classEpisode, classOther:
				c.class = classRecalled
			case classOwn + classEpisode, classOwn + classOther:
				c.class = classOwn + classRecalled
			}
		}
	}
	return v, err
}

// compactNamespace rewrites a namespace without old versions, dropped and expired records, passages that were written twice, and the records in gone.
// Counts are added up. Records that have a tombstone stay until other stores have forgotten them too: see finishForgetting.
func (s *Store) compactNamespace(ctx context.Context, name string, gone map[recordID]bool) (Collected, error) {
	edit, removed, err := s.compactionEdit(ctx, name, gone)
	if err != nil {
		return Collected{}, err
	}
	done, err := s.archive.Rewrite(ctx, name, true, edit)
	return Collected{Records: len(removed), Bytes: done.Bytes}, errors.Join(err, s.archive.Sweep(name), s.pruneVectors(ctx, name))
}

// compactionEdit returns the edit that compactNamespace passes each line through, and the set into which that edit puts the ids it removes.
func (s *Store) compactionEdit(ctx context.Context, name string, gone map[recordID]bool) (archive.Edit, map[recordID]bool, error) {
	v, err := s.surveyLines(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	removed, there := map[recordID]bool{}, map[recordID]bool{}
	for _, c := range v.all {
		if v.dropped[c.id] {
			there[c.id] = true
		}
	}
	edit := func(l archive.Line) ([]byte, bool) {
		b, err := decodeInPlace(l.Body)
		if err != nil {
			return l.Body, false // of a newer version
		}
		if b.ID == "" {
			// Counts and uses go into the records below. A drop stays as long as its record may come back with a crash.
			for _, text := range b.Drop {
				if id, err := parseID(text); err == nil && there[id] {
					return l.Body, false
				}
			}
			return nil, true
		}
		id, err := parseID(b.ID)
		if err != nil {
			return l.Body, false
		}
		first, twice := v.first[l.Key]
		old := uint16(b.Version) < v.newest[id]
		switch kind, _ := parseKind(b.Kind); {
		case old, v.dropped[id], gone[id], twice && first != id,
			kind == KindEpisode && s.o.MaxAge > 0 && s.o.Clock().Sub(id.time()) > s.o.MaxAge && !(s.o.Guest && parseOrigin(b.Origin) == OriginUser):
			if !old {
				removed[id] = true
			}
			return nil, true
		}
		count, recalled := max(b.Count, 1)+v.seen[l.Key], max(b.Recalled, v.recall[id])
		if count == max(b.Count, 1) && recalled == b.Recalled && len(v.uses[id]) == 0 {
			return l.Body, false
		}
		whole, err := decodeBody(l.Body)
		if err != nil {
			return l.Body, false
		}
		whole.Count, whole.Recalled = count, recalled
		for _, u := range v.uses[id] {
			whole.Uses = addUse(whole.Uses, u)
		}
		body, err := marshalPlain(whole)
		return body, err == nil
	}
	return edit, removed, nil
}

// evictRecords removes records from a namespace, by class and the oldest first, until at most goal is left. Pins stay. Records of the user's own go
// last, and only until what is left is within ownBound. why is the reason for the journal.
func (s *Store) evictRecords(ctx context.Context, name string, goal, ownBound usage, why string) error {
	v, err := s.surveyLines(ctx, name)
	if err != nil {
		return err
	}
	now, err := s.measureNamespace(name)
	if err != nil {
		return err
	}
	sorting.By(v.all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.class, b.class), bytes.Compare(a.id[:], b.id[:]))
	})
	left := usage{now.Bytes, int64(len(v.all))}
	gone := map[recordID]bool{}
	own := false // whether only the user's own is left, and is too much
	for _, c := range v.all {
		if left.Bytes <= goal.Bytes && left.Records <= goal.Records || c.class == classKept {
			break
		}
		if c.class >= classOwn && !own {
			if s.o.Guest || left.Bytes <= ownBound.Bytes && left.Records <= ownBound.Records {
				break
			}
			own = true
		}
		gone[c.id] = true
		left.Bytes -= int64(c.size)
		left.Records--
	}
	if len(gone) == 0 {
		return nil
	}
	done, err := s.compactNamespace(ctx, name, gone)
	s.mu.Lock()
	s.stats.Evicted += int64(done.Records)
	s.mu.Unlock()
	s.o.Journal.Append(journal.MemoryEvicted{Records: done.Records, Bytes: done.Bytes, Why: why})
	return err
}

// enforceMaxBytes applies MaxBytes to all namespaces together: those written to longest ago lose records first, current last.
func (s *Store) enforceMaxBytes(ctx context.Context, current string) error {
	names, err := s.Namespaces()
	if err != nil {
		return err
	}
	type one struct {
		name    string
		size    int64
		written int64
	}
	var all []one
	total := int64(0)
	for _, name := range names {
		segments, err := s.archive.Segments(name)
		if err != nil {
			return err
		}
		n := one{name: name}
		for _, seg := range segments {
			n.size += seg.Size
			n.written = max(n.written, seg.Modified.UnixNano())
		}
		total += n.size
		all = append(all, n)
	}
	if total <= int64(s.o.MaxBytes) {
		return nil
	}
	goal := int64(s.o.MaxBytes) * keptPercent / 100
	sorting.By(all, func(a, b one) int {
		if (a.name == current) != (b.name == current) { // the one that is written to gives last
			return cmp.Compare(boolToInt(a.name == current), boolToInt(b.name == current))
		}
		return cmp.Compare(a.written, b.written)
	})
	everything := usage{1 << 62, 1 << 62}
	for _, most := range []usage{everything, {}} { // the user's own goes when that of others was not enough
		for i := range all {
			n := &all[i]
			if total <= goal || total <= int64(s.o.MaxBytes) && most == (usage{}) {
				return nil
			}
			want := max(n.size-(total-goal), 0)
			if err := s.evictRecords(ctx, n.name, usage{want, int64(s.o.MaxRecords)}, most, "total"); err != nil {
				return err
			}
			left, err := s.measureNamespace(n.name)
			if err != nil {
				return err
			}
			total -= n.size - left.Bytes
			n.size = left.Bytes
		}
	}
	if total > int64(s.o.MaxBytes) && !s.o.Guest {
		s.o.Log.Warn("the memory is over its bound, and what is left is pinned", "bytes", limit.Bytes(total), "bound", s.o.MaxBytes)
	}
	return nil
}

// boolToInt returns 1 for true and 0 for false.
func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

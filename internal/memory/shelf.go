package memory

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/maphash"
	"io/fs"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/memory/index"
	"github.com/plimsoll/plimsoll/internal/memory/signs"
)

// shelf is the in-memory state of a namespace that is searched: an index of its records, and their places on disk. It holds no texts.
type shelf struct {
	name string

	mu       sync.Mutex
	at       archive.Cursor
	x        *index.Index
	slots    []slot // by the number of the document in x
	byID     table
	byKey    table
	segments []string // by slot.segment
	segment  map[string]uint16
	shared   []sharedText // by slot.shared
	sharedOf map[string]uint32
	facts    map[uint32]*Fact // of the slots that hold facts: their times only
	pending  map[archive.Key]int
	standing []uint32 // slots of standing instructions
	waiting  int      // how many slots were quarantined when they were read
	others   int      // how many slots are not episodes
	oldest   recordID // of all slots
	dropped  map[recordID]struct{}
	recalled map[recordID]uint32 // times of use that were read before their records
	vectors  fs.FileInfo         // of the file of vectors when the slots were last marked; nil if never
}

// slot is a shelf's entry of a record.
type slot struct {
	id       recordID
	key      archive.Key
	said     int64 // milliseconds since 1970
	offset   uint32
	size     uint32
	shared   uint32
	recalled uint32 // seconds since 1970
	count    uint32
	version  uint16
	segment  uint16
	kind     uint8
	origin   uint8
	flags    uint8
}

const (
	quarantined = 1 << iota
	removed
	embedded   // it has a vector
	unembedded // the service that makes vectors did not take it, or there was no room
	standing   // it is a standing instruction
)

// sharedText holds the fields that all records of a conversation share, as far as a search needs them.
type sharedText struct {
	entryShared
	conversation uint64 // a hash of scope and conversation; 0 is none
}

var (
	kinds   = [...]Kind{KindEpisode, KindFact, KindNote, KindPin}
	origins = [...]Origin{OriginUser, OriginAgent, OriginTool}
)

// newShelf returns a shelf that has read nothing yet.
func newShelf(name string) *shelf {
	s := &shelf{name: name}
	s.clearIndex()
	return s
}

// clearIndex empties the index, so that the next catchUp reads the namespace from its beginning.
func (h *shelf) clearIndex() {
	h.at = archive.Cursor{}
	h.x = index.New(index.Defaults())
	h.slots, h.segments, h.shared = nil, nil, []sharedText{{}}
	h.byID, h.byKey = table{}, table{}
	h.segment, h.sharedOf = map[string]uint16{}, map[string]uint32{"": 0}
	h.facts, h.pending, h.recalled = map[uint32]*Fact{}, map[archive.Key]int{}, map[recordID]uint32{}
	h.dropped = map[recordID]struct{}{}
	h.waiting, h.others, h.oldest, h.vectors, h.standing = 0, 0, recordID{}, nil, nil
}

// catchUp reads the lines that were written since the last call, by any process, into the index. The caller holds h.mu.
func (h *shelf) catchUp(ctx context.Context, s *Store) error {
	if h.x.Dead() > 1000 && h.x.Dead() > h.x.Len()/2 {
		h.clearIndex()
	}
	found, err := s.archive.Read(h.name, &h.at, func(p archive.Position, l archive.Line) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h.addLine(s, p, l)
		return nil
	})
	s.reportDamage(found)
	if err != nil {
		return err
	}
	for _, name := range found.Gone {
		gone, known := h.segment[name]
		if !known {
			continue
		}
		for n := range h.slots {
			if h.slots[n].segment == gone {
				h.remove(n)
			}
		}
	}
	return nil
}

// addLine enters one line, a record or an event about records, into the index. The caller holds h.mu.
func (h *shelf) addLine(s *Store, p archive.Position, l archive.Line) {
	b, err := decodeInPlace(l.Body)
	if err != nil {
		return // of a newer version
	}
	switch {
	case b.Seen > 0:
		if n, ok := h.byKey.findKey(h, l.Key); ok {
			h.slots[n].count += uint32(b.Seen)
		} else {
			h.pending[l.Key] += b.Seen
		}
		return
	case len(b.Recall) > 0:
		for _, text := range b.Recall {
			if id, err := parseID(text); err == nil {
				h.setRecalled(id, uint32(b.Recalled/1000))
			}
		}
		return
	case len(b.Drop) > 0:
		for _, text := range b.Drop {
			if id, err := parseID(text); err == nil {
				h.dropped[id] = struct{}{} // the record may come later, from another segment
				if n, ok := h.byID.findID(h, id); ok {
					h.remove(n)
				}
			}
		}
		return
	}
	id, err := parseID(b.ID)
	if _, dropped := h.dropped[id]; dropped {
		return
	}
	kind, bad := parseKind(b.Kind)
	if err != nil || bad != nil || kind == KindFact && b.Fact == nil || s.isIDForgotten(b.ID) || p.Offset > math.MaxUint32 {
		return
	}
	one := slot{
		id: id, key: l.Key, offset: uint32(p.Offset), size: uint32(p.Size), segment: h.segmentNumber(p.Segment), version: uint16(b.Version),
		said: id.time().UnixMilli() - b.Age, count: uint32(max(b.Count, 1)), recalled: uint32(b.Recalled / 1000),
	}
	if old, ok := h.byID.findID(h, id); ok {
		switch o := &h.slots[old]; {
		case o.version == one.version: // rewritten at another place
			o.offset, o.size, o.segment = one.offset, one.size, one.segment
			o.count, o.recalled = max(o.count, one.count), max(o.recalled, one.recalled)
			return
		case o.version > one.version:
			return
		default:
			one.count, one.recalled = max(one.count, o.count), max(one.recalled, o.recalled)
			h.remove(old)
		}
	}
	if other, ok := h.byKey.findKey(h, l.Key); ok && b.Version == 0 {
		h.slots[other].count += one.count // two processes have written one passage at the same moment
		return
	}
	one.count += uint32(h.pending[l.Key])
	delete(h.pending, l.Key)
	one.recalled = max(one.recalled, h.recalled[id])
	delete(h.recalled, id)
	one.shared = h.sharedNumber(l.Shared)
	doc := index.Doc{Text: b.Text, Turn: b.Turn, Conversation: h.shared[one.shared].conversation, Speaker: h.shared[one.shared].Speaker}
	for i, k := range kinds {
		if k == kind {
			one.kind = uint8(i)
		}
	}
	for i, o := range origins {
		if o == parseOrigin(b.Origin) {
			one.origin = uint8(i)
			doc.Lane = index.Lane(i)
		}
	}
	switch kind {
	case KindFact:
		doc.Lane = index.Fact
	case KindNote, KindPin:
		doc.Lane = index.Note
	}
	if b.Quarantined {
		one.flags |= quarantined
		h.waiting++
	}
	if kind != KindEpisode {
		h.others++
	}
	if len(h.slots) == 0 || bytes.Compare(id[:], h.oldest[:]) < 0 {
		h.oldest = id
	}
	// What a person wrote down to be kept is always a statement.
	doc.States = parseOrigin(b.Origin) == OriginUser && !b.Quarantined && (kind != KindEpisode || signs.States(b.Text))
	n := h.x.Add(doc)
	if b.Fact != nil {
		if b.Fact.Standing && parseOrigin(b.Origin) == OriginUser {
			one.flags |= standing
			h.standing = append(h.standing, uint32(n))
		}
		h.facts[uint32(n)] = &Fact{ValidFrom: b.Fact.ValidFrom, ValidUntil: b.Fact.ValidUntil, Expired: b.Fact.Expired}
	}
	h.slots = append(h.slots, one)
	h.byID.addSlot(h, n, hashID(id))
	h.byKey.addSlot(h, n, hashKey(l.Key))
}

// setRecalled enters when a record was given to somebody. The line of the record may be read later.
func (h *shelf) setRecalled(id recordID, seconds uint32) {
	if n, ok := h.byID.findID(h, id); ok {
		h.slots[n].recalled = max(h.slots[n].recalled, seconds)
	} else {
		h.recalled[id] = max(h.recalled[id], seconds)
	}
}

// remove marks slot n as removed and takes its document out of the index.
func (h *shelf) remove(n int) {
	h.slots[n].flags |= removed
	h.x.Remove(n)
	delete(h.facts, uint32(n))
}

// segmentNumber returns the number that stands for a segment in the slots, a new one for a new segment.
func (h *shelf) segmentNumber(segment string) uint16 {
	n, ok := h.segment[segment]
	if !ok {
		n = uint16(len(h.segments))
		h.segments = append(h.segments, segment)
		h.segment[segment] = n
	}
	return n
}

var conversationSeed = maphash.MakeSeed()

// sharedNumber returns the number that stands for shared fields in the slots, a new one for new fields; 0, which has no fields, if the text
// cannot be read.
func (h *shelf) sharedNumber(text []byte) uint32 {
	if n, ok := h.sharedOf[string(text)]; ok {
		return n
	}
	one, err := decodeShared(text)
	if err != nil {
		return 0
	}
	t := sharedText{entryShared: one}
	if one.Conversation != "" {
		t.conversation = maphash.String(conversationSeed, one.Scope+"\xff"+one.Conversation) | 1
	}
	h.shared = append(h.shared, t)
	h.sharedOf[string(text)] = uint32(len(h.shared) - 1)
	return uint32(len(h.shared) - 1)
}

// filter holds the conditions of a query in a form that is fast to check: a search does so for up to 100,000 slots.
type filter struct {
	h            *shelf
	kinds        [len(kinds)]bool
	origins      [len(origins)]bool
	scopes       []bool // by slot.shared
	since, until int64  // milliseconds
	oldest       [6]byte
	facts        bool
	asOf, now    time.Time
}

// newFilter returns the conditions of a query for this shelf. Episodes older than maxAge do not pass; 0 means any age. The caller holds
// h.mu.
func (h *shelf) newFilter(q *Query, now time.Time, maxAge time.Duration) *filter {
	f := &filter{h: h, until: math.MaxInt64, since: math.MinInt64, asOf: q.AsOf, now: now, facts: len(h.facts) > 0}
	for i, k := range kinds {
		f.kinds[i] = len(q.Kinds) == 0 || slices.Contains(q.Kinds, k)
	}
	for i, o := range origins {
		f.origins[i] = len(q.Origins) == 0 || slices.Contains(q.Origins, o)
	}
	f.scopes = make([]bool, len(h.shared))
	for i := range h.shared {
		scope := h.shared[i].Scope
		f.scopes[i] = q.AllScopes || scope == "" || scope == q.Scope
	}
	if !q.Since.IsZero() {
		f.since = q.Since.UnixMilli()
	}
	if !q.Until.IsZero() {
		f.until = q.Until.UnixMilli()
	}
	if maxAge > 0 {
		f.oldest = idPrefix(now.Add(-maxAge).UnixMilli())
	}
	return f
}

// applyTo sets Skip and Keep of a query of the index. Keep stays nil if kind and origin alone decide.
func (f *filter) applyTo(q *index.Query) {
	h := f.h
	for lane := range origins {
		q.Skip[lane] = !f.kinds[0] || !f.origins[lane] // of episodes: see [shelf.addLine]
	}
	alike := h.others == 0 && h.waiting == 0 && f.since == math.MinInt64 && f.until == math.MaxInt64 && bytes.Compare(h.oldest[:6], f.oldest[:]) >= 0 &&
		!slices.Contains(f.scopes, false)
	if !alike {
		q.Keep = f.passes
	}
}

// passes reports whether the record of slot n fulfils the conditions.
func (f *filter) passes(n int) bool {
	one := &f.h.slots[n]
	if one.flags&(quarantined|removed) != 0 || !f.kinds[one.kind] || !f.origins[one.origin] || !f.scopes[one.shared] || one.said < f.since || one.said >= f.until {
		return false
	}
	if one.kind == 0 {
		return bytes.Compare(one.id[:6], f.oldest[:]) >= 0
	}
	if f.facts {
		if fact := f.h.facts[uint32(n)]; fact != nil {
			return fact.validAt(f.asOf, f.now)
		}
	}
	return true
}

// readRecord reads the record of slot n from the disk. ok is false if it is no longer where the index has it, or cannot be read.
func (h *shelf) readRecord(from *archive.Fetcher, n int) (r Record, ok bool, err error) {
	one := &h.slots[n]
	l, ok, err := from.Fetch(archive.Position{Segment: h.segments[one.segment], Offset: int64(one.offset), Size: int(one.size)})
	if !ok || err != nil {
		return Record{}, false, err
	}
	b, err := decodeBody(l.Body)
	if err != nil || b.ID != one.id.String() {
		return Record{}, false, nil
	}
	r, err = b.toRecord(h.name, &h.shared[one.shared].entryShared)
	if err != nil {
		return Record{}, false, nil
	}
	r.Count = int(one.count)
	if one.recalled > 0 {
		r.Recalled = timeFromMillis(int64(one.recalled) * 1000)
	}
	return r, true, nil
}

// table finds the slots of a shelf by id or by key: open addressing with four bytes a slot, where a map would take about fifty. Hashes need
// no seed, because ids and keys are random or digests.
type table struct {
	slots []uint32 // 1 + number
	count int
	hash  func(h *shelf, n int) uint64
}

// hashID returns the last eight bytes of an id, which are random.
func hashID(id recordID) uint64 { return binary.LittleEndian.Uint64(id[8:]) }

// hashKey returns the bytes of a key, which is a digest.
func hashKey(key archive.Key) uint64 { return binary.LittleEndian.Uint64(key[:]) }

// findKey returns the number of the newest slot with a key that was not removed; false if there is none.
func (t *table) findKey(h *shelf, key archive.Key) (int, bool) {
	t.hash = func(h *shelf, n int) uint64 { return hashKey(h.slots[n].key) }
	return t.probe(h, hashKey(key), func(s *slot) bool { return s.key == key })
}

// findID returns the number of the slot with an id that was not removed; false if there is none.
func (t *table) findID(h *shelf, id recordID) (int, bool) {
	t.hash = func(h *shelf, n int) uint64 { return hashID(h.slots[n].id) }
	return t.probe(h, hashID(id), func(s *slot) bool { return s.id == id })
}

// probe returns the first slot with a hash for which matches returns true; false if there is none. Removed records are skipped.
func (t *table) probe(h *shelf, hash uint64, matches func(*slot) bool) (int, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		n := int(t.slots[i]) - 1
		if n < 0 {
			return 0, false
		}
		if s := &h.slots[n]; s.flags&removed == 0 && matches(s) {
			return n, true
		}
	}
}

// addSlot enters slot n of the shelf under its hash.
func (t *table) addSlot(h *shelf, n int, hash uint64) {
	if t.count++; t.count*4 > len(t.slots)*3 {
		old := t.slots
		t.slots = make([]uint32, max(256, 2*len(old)))
		for _, m := range old {
			if m != 0 && h.slots[m-1].flags&removed == 0 {
				t.putNumber(m, t.hash(h, int(m-1)))
			}
		}
	}
	t.putNumber(uint32(n+1), hash)
}

// putNumber enters a number into the first free place from its hash on. There must be one.
func (t *table) putNumber(n uint32, hash uint64) {
	mask := uint64(len(t.slots) - 1)
	i := hash & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = n
}

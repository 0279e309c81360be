package memory

import (
	"encoding/binary"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
)

// table finds the slots of a shelf by id or by key: open addressing with four bytes a slot, where a map would take about fifty. Hashes need
// no seed, because ids and keys are random or digests.
type table struct {
	slots []uint32 // 1 + number
	count int
	hash  func(h *shelf, n int) uint64
}

func hashID(id recordID) uint64      { return binary.LittleEndian.Uint64(id[8:]) }
func hashKey(key archive.Key) uint64 { return binary.LittleEndian.Uint64(key[:]) }

// find returns the number of the newest slot with a key that was not removed; false if there is none.
func (t *table) find(h *shelf, key archive.Key) (int, bool) {
	t.hash = func(h *shelf, n int) uint64 { return hashKey(h.slots[n].key) }
	return t.probe(h, hashKey(key), func(s *slot) bool { return s.key == key })
}

func (t *table) findID(h *shelf, id recordID) (int, bool) {
	t.hash = func(h *shelf, n int) uint64 { return hashID(h.slots[n].id) }
	return t.probe(h, hashID(id), func(s *slot) bool { return s.id == id })
}

func (t *table) probe(h *shelf, hash uint64, is func(*slot) bool) (int, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		n := int(t.slots[i]) - 1
		if n < 0 {
			return 0, false
		}
		if s := &h.slots[n]; s.flags&removed == 0 && is(s) {
			return n, true
		}
	}
}

// add enters slot n of the shelf under its hash.
func (t *table) add(h *shelf, n int, hash uint64) {
	if t.count++; t.count*4 > len(t.slots)*3 {
		old := t.slots
		t.slots = make([]uint32, max(256, 2*len(old)))
		for _, m := range old {
			if m != 0 && h.slots[m-1].flags&removed == 0 {
				t.put(m, t.hash(h, int(m-1)))
			}
		}
	}
	t.put(uint32(n+1), hash)
}

func (t *table) put(n uint32, hash uint64) {
	mask := uint64(len(t.slots) - 1)
	i := hash & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = n
}

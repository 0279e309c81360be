// Package recent remembers what was used last, in maps of bounded size.
//
//	names := recent.Map[string, name]{Max: 128}
//	names.Put("gpt-4o", n)
//	n, ok := names.Get("gpt-4o")
//
// A [Map] has two generations. When the younger one is full the older one is forgotten and the younger one grows old; what is asked for moves
// to the younger one. So no order has to be kept, and nothing is done for each entry that goes.
//
// A Map is for one goroutine at a time; a [Shared] may be used by many.
package recent

import (
	"iter"
	"math/bits"
	"sync"
)

// A Map remembers at least the Max keys that were used last, and at most twice as many. With Max set it is ready.
type Map[K comparable, V any] struct {
	Max int
	// Sum makes [Map.Last] quick: a hash of a key, of which all bits count. It is optional, and set before the first key is put.
	Sum func(K) uint64

	young, old generation[K, V]
	evicted    int64
}

type generation[K comparable, V any] struct {
	of map[K]V
	// marks has a bit for the sum of each key: where it is not set, the key is not there.
	marks []uint64
}

// marksPerKey leaves one bit of sixteen set when a generation is full.
const marksPerKey = 16

func (g *generation[K, V]) contains(sum uint64) bool {
	return len(g.marks) > 0 && g.marks[sum>>6&uint64(len(g.marks)-1)]>>(sum&63)&1 == 1
}

// Get returns the value of a key that is remembered, which makes the key as recent as one that was just put; ok is false for any other key.
func (m *Map[K, V]) Get(k K) (v V, ok bool) {
	if v, ok = m.young.of[k]; ok {
		return v, true
	}
	if v, ok = m.old.of[k]; ok {
		m.Put(k, v)
	}
	return v, ok
}

// Last returns the value of the last of n keys that is remembered, and its index; -1 if none is. key returns a key by its index.
func (m *Map[K, V]) Last(n int, key func(i int) K) (v V, at int) {
	for i := n - 1; i >= 0; i-- {
		k := key(i)
		if m.Sum != nil {
			if sum := m.Sum(k); !m.young.contains(sum) && !m.old.contains(sum) {
				continue
			}
		}
		if v, ok := m.Get(k); ok {
			return v, i
		}
	}
	return v, -1
}

// Put remembers the value of a key, for which older ones may be forgotten.
func (m *Map[K, V]) Put(k K, v V) {
	if _, ok := m.young.of[k]; !ok && (m.young.of == nil || len(m.young.of) >= m.Max) {
		m.rotate()
	}
	m.young.of[k] = v
	if m.Sum != nil {
		sum := m.Sum(k)
		m.young.marks[sum>>6&uint64(len(m.young.marks)-1)] |= 1 << (sum & 63)
	}
}

// rotate forgets the older generation, counting as evicted the keys that are not in the younger one, and begins a new one.
func (m *Map[K, V]) rotate() {
	for k := range m.old.of {
		if _, kept := m.young.of[k]; !kept {
			m.evicted++
		}
	}
	room, marks := 0, m.old.marks
	if m.young.of != nil {
		room = m.Max / 4
	}
	m.old, m.young = m.young, generation[K, V]{of: make(map[K]V, room)}
	if m.Sum == nil {
		return
	}
	if clear(marks); marks == nil {
		marks = make([]uint64, 1<<bits.Len(uint(m.Max*marksPerKey/64)))
	}
	m.young.marks = marks
}

// Len returns the number of remembered keys.
func (m *Map[K, V]) Len() int {
	n := 0
	for range m.All() {
		n++
	}
	return n
}

// All returns the keys that are remembered with their values, in no order.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, v := range m.young.of {
			if !yield(k, v) {
				return
			}
		}
		for k, v := range m.old.of {
			if _, twice := m.young.of[k]; !twice && !yield(k, v) {
				return
			}
		}
	}
}

// Evicted counts the keys that were forgotten.
func (m *Map[K, V]) Evicted() int64 { return m.evicted }

// A Shared is a [Map] that is safe for concurrent use.
type Shared[K comparable, V any] struct {
	mu sync.Mutex
	m  Map[K, V]
}

// NewShared returns an empty Shared; for max and sum see [Map].
func NewShared[K comparable, V any](max int, sum func(K) uint64) *Shared[K, V] {
	return &Shared[K, V]{m: Map[K, V]{Max: max, Sum: sum}}
}

// Get calls [Map.Get].
func (s *Shared[K, V]) Get(k K) (V, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m.Get(k)
}

// Last calls [Map.Last].
func (s *Shared[K, V]) Last(n int, key func(i int) K) (V, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m.Last(n, key)
}

// Put calls [Map.Put].
func (s *Shared[K, V]) Put(k K, v V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m.Put(k, v)
}

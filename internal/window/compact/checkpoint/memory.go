package checkpoint

import (
	"container/list"
	"time"
)

// key names a checkpoint.
type key struct {
	scope Scope
	chain Digest
}

// memory holds the checkpoints used last, up to a number of bytes. The caller has the lock.
type memory struct {
	max, bytes int64
	entries    map[key]*list.Element
	scopes     map[Scope]int // entries of each
	order      list.List     // of *held, the one used last in front
}

type held struct {
	key  key
	c    *Checkpoint
	size int64
	// modified and length are the file's when it was read or written; a file that differs
	// from them was replaced by another process.
	modified time.Time
	length   int64
	onDisk   bool
}

func (m *memory) get(k key) *held {
	e := m.entries[k]
	if e == nil {
		return nil
	}
	m.order.MoveToFront(e)
	return e.Value.(*held)
}

// put adds h, and returns how many others it removed for it, and their bytes.
func (m *memory) put(h *held) (evicted int, freed int64) {
	if m.entries == nil {
		m.entries, m.scopes = map[key]*list.Element{}, map[Scope]int{}
	}
	m.drop(h.key)
	h.size = h.c.size()
	m.entries[h.key] = m.order.PushFront(h)
	m.scopes[h.key.scope]++
	m.bytes += h.size
	// The newest stays, however large it is: without it the conversation would be compacted
	// again each turn.
	for m.bytes > m.max && m.order.Len() > 1 {
		last := m.order.Back().Value.(*held)
		m.drop(last.key)
		evicted++
		freed += last.size
	}
	return evicted, freed
}

func (m *memory) drop(k key) {
	if e := m.entries[k]; e != nil {
		m.bytes -= e.Value.(*held).size
		m.order.Remove(e)
		delete(m.entries, k)
		if m.scopes[k.scope]--; m.scopes[k.scope] == 0 {
			delete(m.scopes, k.scope)
		}
	}
}

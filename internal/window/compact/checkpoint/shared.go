package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
)

// Pack returns checkpoints as one value of at most limit bytes, for a place that several stores share, and how many were left out because
// they did not fit: the first ones.
func Pack(list []*Checkpoint, limit int) (value []byte, left int) {
	var parts [][]byte
	for i, c := range slices.Backward(list) {
		part := c.encode()
		part = append(binary.AppendUvarint(nil, uint64(len(part))), part...)
		if limit -= len(part); limit < 0 {
			left = i + 1
			break
		}
		parts = append(parts, part)
	}
	slices.Reverse(parts)
	return bytes.Join(parts, nil), left
}

// Unpack returns the checkpoints in a value that [Pack] made. Any other bytes are an error.
func Unpack(value []byte) (list []*Checkpoint, err error) {
	for len(value) > 0 {
		n, size := binary.Uvarint(value)
		if size <= 0 || n > uint64(len(value)-size) {
			return nil, fmt.Errorf("%w: it ends early", errDamaged)
		}
		c, err := decode(value[size : size+int(n)])
		if err != nil {
			return nil, err
		}
		c.encoded = value[size : size+int(n)]
		list, value = append(list, c), value[size+int(n):]
	}
	return list, nil
}

// Adopt puts what another store has decided in the place of what this one has about the same messages, and reports whether that changed
// anything. A cut of a later generation stays, and of the same one mine, which may be nil, where it is clearly smaller: the provider has
// refused the other one.
func (s *Store) Adopt(scope Scope, list []*Checkpoint, mine *Checkpoint) (changed bool) {
	if s == nil {
		return false
	}
	for _, c := range list {
		scope := scope
		if c.Generation == 0 {
			scope = scope.decisions()
		}
		k := key{scope, c.Chain}
		s.mu.Lock()
		h := s.memory.get(k)
		s.mu.Unlock()
		if old := s.load(k, h); old != nil {
			if old.Generation > c.Generation || old == mine && old.beats(c) || old.same(c) {
				continue
			}
			s.mu.Lock()
			s.memory.drop(k)
			s.mu.Unlock()
			if s.o.Dir != "" {
				_ = os.Remove(s.path(k)) // where it cannot be removed, it stays in force
			}
		}
		own := *c
		own.encoded = nil              // it holds the whole value
		_, _ = s.put(scope, &own, nil) // what went wrong is journalled, and memory has it
		changed = true
	}
	return changed
}

package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"sync"
)

// Pack returns checkpoints as one value of at most limit bytes, for a store that several processes share. omitted is how many of the first
// ones were left out because they did not fit.
func Pack(list []*Checkpoint, limit int) (value []byte, omitted int) {
	var parts [][]byte
	for i, c := range slices.Backward(list) {
		part := c.encode()
		part = append(binary.AppendUvarint(nil, uint64(len(part))), part...)
		if limit -= len(part); limit < 0 {
			omitted = i + 1
			break
		}
		parts = append(parts, part)
	}
	slices.Reverse(parts)
	return bytes.Join(parts, nil), omitted
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

// Adopt replaces this store's decisions by those in list, which another store has made about the same messages, and reports whether that
// changed anything. A cut of a later generation than list's stays. So does mine, which may be nil, if it supersedes the one in list,
// because the provider has refused that one as too long.
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
		if old := s.loadCheckpoint(k, h); old != nil {
			if old.Generation > c.Generation || old == mine && old.supersedes(c) || old.equal(c) {
				continue
			}
			s.mu.Lock()
			s.memory.drop(k)
			s.mu.Unlock()
			if s.o.Dir != "" {
				_ = os.Remove(s.pathOf(k)) // where it cannot be removed, it stays in force
			}
		}
		own := *c
		own.encoded = nil                                // it holds the whole value
		_, _ = s.storeUnlessSuperseded(scope, &own, nil) // what went wrong is journalled, and memory has it
		changed = true
	}
	return changed
}

// keyedMutex is a mutex for each of any number of keys. One exists only while somebody holds it or waits.
type keyedMutex struct {
	mu    sync.Mutex
	locks map[mutexKey]*keyLock
}

type mutexKey struct {
	scope        Scope
	conversation string
}

type keyLock struct {
	turn chan struct{} // holds one value while nobody holds it
	refs int
}

// Lock waits until nobody else in this process compacts the conversation. The error is the context's, and then unlock is nil; else the
// caller calls unlock, once or more. With a nil Store it does not wait: what two would make is kept by neither.
func (s *Store) Lock(ctx context.Context, scope Scope, conversation string) (unlock func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	g := &s.compacting
	key := mutexKey{scope, conversation}
	g.mu.Lock()
	if g.locks == nil {
		g.locks = map[mutexKey]*keyLock{}
	}
	d := g.locks[key]
	if d == nil {
		d = &keyLock{turn: make(chan struct{}, 1)}
		d.turn <- struct{}{}
		g.locks[key] = d
	}
	d.refs++
	g.mu.Unlock()
	leave := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if d.refs--; d.refs == 0 {
			delete(g.locks, key)
		}
	}
	select {
	case <-d.turn:
		return sync.OnceFunc(func() {
			d.turn <- struct{}{}
			leave()
		}), nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

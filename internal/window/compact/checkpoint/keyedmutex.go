package checkpoint

import (
	"context"
	"sync"
)

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

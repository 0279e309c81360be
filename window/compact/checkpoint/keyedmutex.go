package checkpoint

import (
	"context"
	"sync"
)

// gates lets one at a time through each of any number of doors. A door exists only while
// somebody is in it or waits.
type gates struct {
	mu    sync.Mutex
	doors map[gateKey]*door
}

type gateKey struct {
	scope        Scope
	conversation string
}

type door struct {
	turn chan struct{} // holds one value while the door is free
	refs int
}

// Lock waits until nobody else in this process compacts the conversation. The error is the
// context's; unlock is to be called once, and is not nil when err is nil. With a nil Store there
// is nothing to wait for: what two would make is kept by neither.
func (s *Store) Lock(ctx context.Context, scope Scope, conversation string) (unlock func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	g := &s.gates
	key := gateKey{scope, conversation}
	g.mu.Lock()
	if g.doors == nil {
		g.doors = map[gateKey]*door{}
	}
	d := g.doors[key]
	if d == nil {
		d = &door{turn: make(chan struct{}, 1)}
		d.turn <- struct{}{}
		g.doors[key] = d
	}
	d.refs++
	g.mu.Unlock()
	leave := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if d.refs--; d.refs == 0 {
			delete(g.doors, key)
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

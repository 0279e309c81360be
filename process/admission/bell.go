package admission

import (
	"context"
	"slices"
	"sync"
	"time"
)

// bells wake the waiters whose turn it may be, and nobody else.
type bells interface {
	// listen opens the bell of a waiter, before the ledger names it. An error says that there can be none, and then it polls.
	listen(id string) (bell, error)
	// ring wakes a waiter. One that is not asleep yet does not sleep next time.
	ring(id string)
	// watch has a waiter sleep no longer than lookFirst from now, and costs it no look at the ledger.
	watch(id string)
}

// bell is what a waiter sleeps by.
type bell interface {
	// wait returns after a ring, after d, lookFirst after it was told to watch, or with ctx's cause.
	wait(ctx context.Context, d time.Duration) error
	// polls says that nobody can ring it.
	polls() bool
	close()
}

// ring wakes the waiters of b, after the lock was given back.
func (l *Ledger) ring(b *book) {
	for _, id := range b.rings {
		l.bells.ring(id)
	}
	for _, id := range b.watches {
		if !slices.Contains(b.rings, id) {
			l.bells.watch(id)
		}
	}
}

// deafBell only polls.
type deafBell struct{}

func (deafBell) wait(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }
func (deafBell) polls() bool                                     { return true }
func (deafBell) close()                                          {}

// memoryBells are those of waiters in this process.
type memoryBells struct {
	mu      sync.Mutex
	waiting map[string]*memoryBell
}

type memoryBell struct {
	bells      *memoryBells
	id         string
	rung, told chan struct{}
}

func (m *memoryBells) listen(id string) (bell, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := &memoryBell{m, id, make(chan struct{}, 1), make(chan struct{}, 1)}
	m.waiting[id] = b
	return b, nil
}

func (m *memoryBells) ring(id string) {
	if b := m.find(id); b != nil {
		signal(b.rung)
	}
}

func (m *memoryBells) watch(id string) {
	if b := m.find(id); b != nil {
		signal(b.told)
	}
}

func (m *memoryBells) find(id string) *memoryBell {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting[id]
}

// signal never waits: one that was not taken yet is enough.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (b *memoryBell) wait(ctx context.Context, d time.Duration) error {
	until := time.Now().Add(d)
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.told:
			until = earlier(until, time.Now().Add(lookFirst))
			t.Reset(time.Until(until))
			continue
		case <-b.rung:
		case <-t.C:
		}
		return nil
	}
}

func (b *memoryBell) polls() bool { return false }

func (b *memoryBell) close() {
	b.bells.mu.Lock()
	defer b.bells.mu.Unlock()
	delete(b.bells.waiting, b.id)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

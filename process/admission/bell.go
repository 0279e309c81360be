package admission

import (
	"context"
	"sync"
	"time"
)

// bells wake the waiters whose turn it may be, and nobody else.
type bells interface {
	// listen opens the bell of a waiter, before the ledger names it. An error says that there can be none, and then it polls.
	listen(id string) (bell, error)
	// ring wakes a waiter. One that is not asleep yet does not sleep next time.
	ring(id string)
}

// bell is what a waiter sleeps by.
type bell interface {
	// wait returns after a ring, after d, or with ctx's cause.
	wait(ctx context.Context, d time.Duration) error
	// polls says that nobody can ring it.
	polls() bool
	close()
}

// ring wakes waiters, after the lock was given back.
func (l *Ledger) ring(ids []string) {
	for _, id := range ids {
		l.bells.ring(id)
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
	waiting map[string]chan struct{}
}

type memoryBell struct {
	bells *memoryBells
	id    string
	rung  chan struct{}
}

func (m *memoryBells) listen(id string) (bell, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := &memoryBell{m, id, make(chan struct{}, 1)}
	m.waiting[id] = b.rung
	return b, nil
}

func (m *memoryBells) ring(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case m.waiting[id] <- struct{}{}:
	default:
	}
}

func (b *memoryBell) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-b.rung:
	case <-t.C:
	}
	return nil
}

func (b *memoryBell) polls() bool { return false }

func (b *memoryBell) close() {
	b.bells.mu.Lock()
	defer b.bells.mu.Unlock()
	delete(b.bells.waiting, b.id)
}

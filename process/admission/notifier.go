package admission

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// notifiers wakes waiters: those that may be admitted now, and no others.
type notifiers interface {
	// listen opens the notifier of a waiter before the ledger lists the waiter. After an error the waiter polls instead.
	listen(id string) (notifier, error)
	// wake wakes a waiter. A waiter that is not asleep yet skips its next sleep.
	wake(id string)
	// watch limits a waiter's current sleep to lookFirst from now, without waking it.
	watch(id string)
}

// notifier is the wake-up channel of one waiter.
type notifier interface {
	// wait returns nil when it is woken, after d, or lookFirst after watch was called for it; and the cause of ctx when that is done.
	wait(ctx context.Context, d time.Duration) error
	// polls reports whether nothing can wake this notifier, so that its waiter has to poll.
	polls() bool
	close()
}

// wakeWaiters wakes the waiters in b.toWake and tells those in b.toWatch to look soon. Call it after the ledger's lock is released.
func (l *Ledger) wakeWaiters(b *book) {
	for _, id := range b.toWake {
		l.notifiers.wake(id)
	}
	for _, id := range b.toWatch {
		if !slices.Contains(b.toWake, id) {
			l.notifiers.watch(id)
		}
	}
}

// notifierPath returns the path of a waiter's pipe. It is outside of the directory of the claims, which has regular files only.
func (l *Ledger) notifierPath(id string) string { return filepath.Join(l.dir, "waiters", id) }

// pollingNotifier is the notifier of a waiter that nobody can wake: wait sleeps for the whole time.
type pollingNotifier struct{}

// wait sleeps for d, or until ctx is done.
func (pollingNotifier) wait(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }
func (pollingNotifier) polls() bool                                     { return true }
func (pollingNotifier) close()                                          {}

// memoryNotifiers serves waiters that are all in this process.
type memoryNotifiers struct {
	mu      sync.Mutex
	waiting map[string]*memoryNotifier
}

type memoryNotifier struct {
	notifiers      *memoryNotifiers
	id             string
	woken, watched chan struct{}
}

// listen makes the notifier of a waiter.
func (m *memoryNotifiers) listen(id string) (notifier, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := &memoryNotifier{m, id, make(chan struct{}, 1), make(chan struct{}, 1)}
	m.waiting[id] = b
	return b, nil
}

// wake implements notifiers.
func (m *memoryNotifiers) wake(id string) {
	if b := m.find(id); b != nil {
		signal(b.woken)
	}
}

// watch implements notifiers.
func (m *memoryNotifiers) watch(id string) {
	if b := m.find(id); b != nil {
		signal(b.watched)
	}
}

// find returns the notifier of a waiter, nil if it does not wait any more.
func (m *memoryNotifiers) find(id string) *memoryNotifier {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting[id]
}

// signal sends to c without waiting; one signal that was not taken yet is enough.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wait returns nil after d, or earlier when wake is called; watch shortens the wait to lookFirst. The error is the cause of ctx.
func (b *memoryNotifier) wait(ctx context.Context, d time.Duration) error {
	until := time.Now().Add(d)
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.watched:
			until = earliest(until, time.Now().Add(lookFirst))
			t.Reset(time.Until(until))
			continue
		case <-b.woken:
		case <-t.C:
		}
		return nil
	}
}

func (b *memoryNotifier) polls() bool { return false }

// close ends the waiting: further wake-ups are lost.
func (b *memoryNotifier) close() {
	b.notifiers.mu.Lock()
	defer b.notifiers.mu.Unlock()
	delete(b.notifiers.waiting, b.id)
}

// earliest returns the earlier one of two times.
func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

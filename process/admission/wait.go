package admission

import (
	"context"
	"math/rand/v2"
	"time"
)

// A waiter looks at the ledger every pollLeast to pollMost at first, and up to pollSeldom times
// as rarely when it has waited for long or stands far behind: what it waits for is a
// release, which rings the bell, and polling is for memory that others free and
// for bells that were missed. Measured, one look costs about 0.7 ms of CPU.
const (
	pollLeast  = 100 * time.Millisecond
	pollMost   = 250 * time.Millisecond
	pollSeldom = 4
	farBehind  = 9 // the first position that is not woken by the bell
)

// slower is by how much the polls of a waiter are stretched.
func slower(waited time.Duration, position int) time.Duration {
	switch {
	case position >= farBehind || waited > time.Minute:
		return pollSeldom
	case waited > 10*time.Second:
		return pollSeldom / 2
	}
	return 1
}

// nap waits for the bell, the next poll or the end of our patience.
func (a *acquisition) nap(ctx context.Context, ring bell, position int) error {
	d := (pollLeast + rand.N(pollMost-pollLeast)) * slower(time.Since(a.began), position)
	if w := a.request.Wait; w > 0 {
		d = min(d, max(time.Millisecond, w-time.Since(a.began)))
	}
	if position >= farBehind {
		return sleep(ctx, d)
	}
	return ring.wait(ctx, d)
}

// progress tells the caller where it stands.
func (a *acquisition) progress(v verdict) {
	if a.request.Progress == nil {
		return
	}
	p := Progress{Tool: a.request.Tool, Position: v.position, Of: max(v.waiting, v.position), Reason: v.reason, For: time.Since(a.began), Terms: v.terms}
	same := !a.shownAt.IsZero() && p.Position == a.shown.Position && p.Of == a.shown.Of && p.Reason == a.shown.Reason
	if same && time.Since(a.shownAt) < ProgressEvery {
		return
	}
	a.shown, a.shownAt = p, time.Now()
	a.request.Progress(p)
}

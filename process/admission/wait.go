package admission

import (
	"context"
	"math/rand/v2"
	"time"
)

// A waiter looks at the ledger every pollLeast to pollMost: the first ones in the queue often,
// since it is their turn next, those behind them seldom, so that a long queue costs next
// to nothing. The bell wakes the first ones at once.
const (
	pollLeast = 100 * time.Millisecond
	pollMost  = 250 * time.Millisecond
	pollFar   = 4 // times as long from position farBehind on
	farBehind = 9
)

// nap waits for the bell, the next poll or the end of our patience.
func (a *acquisition) nap(ctx context.Context, ring bell, position int) error {
	d := pollLeast + rand.N(pollMost-pollLeast)
	if position >= farBehind {
		d *= pollFar
	}
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
	p := Progress{Position: v.position, Of: max(v.waiting, v.position), Reason: v.reason, For: time.Since(a.began), Terms: v.terms}
	same := !a.shownAt.IsZero() && p.Position == a.shown.Position && p.Of == a.shown.Of && p.Reason == a.shown.Reason
	if same && time.Since(a.shownAt) < ProgressEvery {
		return
	}
	a.shown, a.shownAt = p, time.Now()
	a.request.Progress(p)
}

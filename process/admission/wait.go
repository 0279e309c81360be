package admission

import (
	"context"
	"math/rand/v2"
	"time"
)

// A waiter sleeps until it is woken: by a release that may be for it, by one before it in the queue that has
// left, or by one that has read the memory and found room. Beside that the first one looks once a second, because what foreign processes
// free rings no bell; the next few look whether it is stopped; and everybody else looks seldom, in case all these are.
const (
	lookFirst  = time.Second
	lookNext   = 2 * time.Second // and up to half of it more
	nextOnes   = 4               // the last position that lookNext is for
	lookSeldom = 30 * time.Second
)

// A waiter that has no bell polls every pollLeast to pollMost at first, and up to pollSeldom times
// as rarely when it has waited for long or stands far behind.
const (
	pollLeast  = 100 * time.Millisecond
	pollMost   = 250 * time.Millisecond
	pollSeldom = 4
	farBehind  = 9
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

// nap waits for the bell, the next look or the end of our patience.
func (a *acquisition) nap(ctx context.Context, position int) error {
	var d time.Duration
	if d = pause(position); a.bell.polls() {
		d = (pollLeast + rand.N(pollMost-pollLeast)) * slower(time.Since(a.began), position)
	}
	if w := a.request.Wait; w > 0 {
		d = min(d, max(time.Millisecond, w-time.Since(a.began)))
	}
	return a.bell.wait(ctx, d)
}

// pause is how long a waiter sleeps that is not woken.
func pause(position int) time.Duration {
	switch {
	case position <= 1:
		return lookFirst
	case position <= nextOnes:
		return lookNext + rand.N(lookNext/2)
	}
	return lookSeldom + rand.N(lookSeldom)
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

package admission

import (
	"context"
	"math/rand/v2"
	"time"
)

// A waiter sleeps until it is woken: by a release that may be for it, by one before it in the queue that has
// left, or by one that has read the memory and found room. Beside that the first one looks once a second, because memory that other
// programs free sends no wake-up; the next few check whether the first one is stopped; and all others look seldom, in case those are stopped too.
const (
	lookFirst  = time.Second
	lookNext   = 2 * time.Second // and up to half of it more
	nextOnes   = 4               // the last position that lookNext is for
	lookSeldom = 30 * time.Second
)

// A waiter without a notifier polls every pollLeast to pollMost at first, and up to pollSeldom times
// as rarely when it has waited for long or stands far behind.
const (
	pollLeast  = 100 * time.Millisecond
	pollMost   = 250 * time.Millisecond
	pollSeldom = 4
	farBehind  = 9
)

// pollStretch returns the factor by which the pause between two polls grows with the time waited and the position in the queue.
func pollStretch(waited time.Duration, position int) time.Duration {
	switch {
	case position >= farBehind || waited > time.Minute:
		return pollSeldom
	case waited > 10*time.Second:
		return pollSeldom / 2
	}
	return 1
}

// sleepUntilNext waits for a wake-up, the next regular look or the end of Request.Wait.
func (a *acquisition) sleepUntilNext(ctx context.Context, position int) error {
	var d time.Duration
	if d = sleepTime(position); a.notifier.polls() {
		d = (pollLeast + rand.N(pollMost-pollLeast)) * pollStretch(time.Since(a.began), position)
	}
	if w := a.request.Wait; w > 0 {
		d = min(d, max(time.Millisecond, w-time.Since(a.began)))
	}
	return a.notifier.wait(ctx, d)
}

// sleepTime returns the time that a waiter sleeps when nothing wakes it.
func sleepTime(position int) time.Duration {
	switch {
	case position <= 1:
		return lookFirst
	case position <= nextOnes:
		return lookNext + rand.N(lookNext/2)
	}
	return lookSeldom + rand.N(lookSeldom)
}

// progress calls [Request.Progress] with the place in the queue when that has changed, or ProgressEvery is over.
func (a *acquisition) progress(v verdict) {
	if a.request.Progress == nil {
		return
	}
	p := Progress{Tool: a.request.Tool, Position: v.position, Of: max(v.waiting, v.position), Reason: v.reason, For: time.Since(a.began), Terms: v.terms}
	same := !a.lastProgressAt.IsZero() && p.Position == a.lastProgress.Position && p.Of == a.lastProgress.Of && p.Reason == a.lastProgress.Reason
	if same && time.Since(a.lastProgressAt) < ProgressEvery {
		return
	}
	a.lastProgress, a.lastProgressAt = p, time.Now()
	a.request.Progress(p)
}

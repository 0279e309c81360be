package facts

import (
	"context"
	"errors"
	"time"
)

// Times of a [Runner].
const (
	// DefaultEvery is the interval at which new episodes are looked for.
	DefaultEvery = 30 * time.Second
	// MaxPause is the longest pause after failures of the provider: they begin with a minute and double.
	MaxPause = time.Hour
)

// Runner draws facts in the background: it feeds the queue and works it off, at the pace that the provider and the day's tokens allow.
type Runner struct {
	Extractor *Extractor
	// Feed pushes what is new into the queue. It is called every [DefaultEvery], or Every.
	Feed  func(ctx context.Context) error
	Every time.Duration
	// Busy reports whether a conversation goes on, beside which no request is to be made; nil means never. Work waits for [MaxBusy] at most.
	Busy func() bool
	// Warn is called with the first error of this machine (a queue that cannot be written) since it last worked. It may be nil.
	Warn func(error)

	warned bool
	held   time.Time // since then work has waited; zero when it does not
}

const (
	// BusyEvery is the pause before the next look at a conversation that goes on.
	BusyEvery = 10 * time.Second
	// MaxBusy bounds how long work waits for the end of conversations: where somebody always talks, facts are drawn all the same.
	MaxBusy = 10 * time.Minute
)

// mustWait reports whether work has to wait because a conversation goes on. Once it has returned true for MaxBusy it returns false, and begins anew.
func (r *Runner) mustWait(now time.Time) bool {
	if r.Busy == nil || !r.Busy() {
		r.held = time.Time{}
		return false
	}
	if r.held.IsZero() {
		r.held = now
	}
	if now.Sub(r.held) < MaxBusy {
		return true
	}
	r.held = time.Time{}
	return false
}

// Run feeds and works until ctx ends. A request that is under way then is given up; its episodes stay in the queue, and what it may have
// cost is counted. After a failed request no other one is made for a while, whatever episodes it is for.
func (r *Runner) Run(ctx context.Context) {
	every := r.Every
	if every <= 0 {
		every = DefaultEvery
	}
	var rests time.Time // no request is made before
	for ctx.Err() == nil {
		err := r.Feed(ctx)
		held := err == nil && r.mustWait(time.Now())
		if err == nil && !held && !time.Now().Before(rests) {
			var pause time.Duration
			pause, err = r.workUntilIdle(ctx)
			rests = time.Now().Add(pause)
		}
		if ctx.Err() != nil {
			return
		}
		r.warnOnce(err)
		wait := every
		if held {
			wait = min(wait, BusyEvery)
		}
		if left := time.Until(rests); left > 0 && left < wait {
			wait = left
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// workUntilIdle makes requests until there is nothing to do or one fails. It returns how long to wait before the next request, 0 for no pause: until
// tomorrow if the budget is spent.
func (r *Runner) workUntilIdle(ctx context.Context) (time.Duration, error) {
	for ctx.Err() == nil {
		more, err := r.Extractor.Step(ctx)
		switch {
		case errors.Is(err, ErrBudget):
			now := time.Now().UTC()
			return now.Truncate(24 * time.Hour).Add(24*time.Hour + time.Second).Sub(now), nil
		case err != nil:
			return r.Extractor.o.FirstPause, err
		case r.Extractor.failures.Load() > 0:
			return r.Extractor.pause(), nil
		case !more:
			return 0, nil
		}
	}
	return 0, nil
}

// pause returns how long to make no request after the failures so far, which are counted in a row.
func (x *Extractor) pause() time.Duration {
	n := min(max(x.failures.Load(), 1), 10)
	return min(x.o.FirstPause<<(n-1), MaxPause)
}

// warnOnce calls Warn with the first of several errors in a row; nil ends the row.
func (r *Runner) warnOnce(err error) {
	if err == nil {
		r.warned = false
		return
	}
	if !r.warned && r.Warn != nil {
		r.Warn(err)
	}
	r.warned = true
}

package embed

import (
	"fmt"
	"sync"
	"time"
)

// A service that has failed this often in a row is left alone, first for minRest, and for twice as long each time that it fails again.
const (
	maxFailures = 3
	minRest     = 30 * time.Second
	maxRest     = 10 * time.Minute
)

// rest decides when a service that fails is asked again.
type rest struct {
	now func() time.Time

	mu       sync.Mutex
	failures int
	until    time.Time
	last     time.Duration
}

// restError returns an [ErrResting] as long as the service is left alone.
func (r *rest) restError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := r.until.Sub(r.now()); left > 0 {
		return fmt.Errorf("%w, and is asked again in %s", ErrResting, left.Round(time.Second))
	}
	return nil
}

func (r *rest) succeeded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures, r.last, r.until = 0, 0, time.Time{}
}

// failed counts a failure. wait is the time for which the service itself wants to be left alone; 0 where it named none.
func (r *rest) failed(wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures++
	if r.failures >= maxFailures {
		r.last = min(max(2*r.last, minRest), maxRest)
		wait = max(wait, r.last)
	}
	if wait > 0 {
		r.until = r.now().Add(wait)
	}
}

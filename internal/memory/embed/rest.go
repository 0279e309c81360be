package embed

import (
	"fmt"
	"sync"
	"time"
)

// A service that has failed maxFailures times in a row is not asked for minRest; each further failure doubles that, up to maxRest.
const (
	maxFailures = 3
	minRest     = 30 * time.Second
	maxRest     = 10 * time.Minute
)

// rest decides when a service that failed may be asked again.
type rest struct {
	now func() time.Time

	mu       sync.Mutex
	failures int
	until    time.Time
	last     time.Duration
}

// restError returns an [ErrResting] while the service must not be asked, else nil.
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

// failed counts a failure. wait is how long the service itself asked to be left alone; 0 if it did not.
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

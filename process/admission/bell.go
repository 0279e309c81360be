package admission

import (
	"context"
	"os"
	"time"
)

// bell wakes waiters when a claim is released. Missing a ring costs only the time until
// the next poll.
type bell interface {
	// wait returns after a ring, after d, or with ctx's cause.
	wait(ctx context.Context, d time.Duration) error
	close()
}

// ring is called after a claim has gone.
func (l *Ledger) ring() {
	if f, err := openRegular(l.bellPath(), os.O_WRONLY|os.O_CREATE); err == nil {
		_, _ = f.WriteAt([]byte{'\n'}, 0)
		f.Close()
	}
}

// deafBell only polls.
type deafBell struct{}

func (deafBell) wait(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }
func (deafBell) close()                                          {}

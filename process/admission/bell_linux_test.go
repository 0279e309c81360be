package admission

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestBellWakesBeforeThePoll(t *testing.T) {
	l := open(t)
	b := openBell(l.Dir())
	defer b.close()
	if _, ok := b.(*inotifyBell); !ok {
		t.Skip("no inotify here")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := acquire(t, l, Request{})
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	if err := b.wait(ctx, time.Hour); err != nil {
		t.Errorf("a release does not ring: %v", err)
	}
	gone, cancelGone := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	time.AfterFunc(time.Millisecond, func() { cancelGone(why) })
	if err := b.wait(gone, time.Hour); !errors.Is(err, why) {
		t.Errorf("interrupted, it says %v", err)
	}
	if err := b.wait(ctx, time.Millisecond); err != nil {
		t.Errorf("after its time, it says %v", err)
	}
}

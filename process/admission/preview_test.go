package admission

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
)

// wokenOnly are notifiers whose waiters sleep until somebody wakes them.
type wokenOnly struct{ *memoryNotifiers }

func (w wokenOnly) listen(id string) (notifier, error) {
	n, err := w.memoryNotifiers.listen(id)
	return sleeper{n}, err
}

type sleeper struct{ notifier }

func (s sleeper) wait(ctx context.Context, _ time.Duration) error {
	return s.notifier.wait(ctx, time.Hour)
}

// A question changes nothing for those who wait, but what it finds out: one that may go now is told so, or it would be taken for stopped
// when its turn has passed.
func TestPreviewWakesWhoMayGo(t *testing.T) {
	l := open(t)
	l.notifiers = wokenOnly{&memoryNotifiers{waiting: map[string]*memoryNotifier{}}}
	var free atomic.Int64
	free.Store(int64(limit.GiB))
	host := func() (headroom.Reading, error) { return machine(limit.Bytes(free.Load()), 0)() }
	queued := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		c, err := l.Acquire(t.Context(), Request{Tool: "waits", Reservation: 4 * limit.GiB, Wait: Forever, Headroom: host, Progress: func(Progress) {
			select {
			case queued <- struct{}{}:
			default:
			}
		}})
		if err == nil {
			err = c.Release()
		}
		done <- err
	}()
	<-queued
	free.Store(int64(32 * limit.GiB))
	_, err := l.Preview(t.Context(), Request{Tool: "asks", Reservation: 60 * limit.GiB, Headroom: host})
	if _, ok := errors.AsType[*Refused](err); !ok {
		t.Fatalf("60 GiB of 32: %v", err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the waiter that may go was not woken")
	}
}

// A tool whose name is no bare key is quoted.
func TestToolTable(t *testing.T) {
	for tool, want := range map[string]string{"claude": "[tools.claude]", "build.py": `[tools."build.py"]`, "a b": `[tools."a b"]`} {
		if got := ToolTable(tool); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

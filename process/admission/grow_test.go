package admission

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/limit"
)

// hostOf is a host of these bytes of memory with so much of it available.
func hostOf(total, available limit.Bytes) func() (headroom.Reading, error) {
	return func() (headroom.Reading, error) {
		return headroom.Reading{MemTotal: total, MemAvailable: available}, nil
	}
}

// What a run has in swap it has had of its reservation: nothing is kept free for it a second time.
func TestWhatIsInSwapIsNotReservedAgain(t *testing.T) {
	swapped := limit.Bytes(0)
	l, err := Open(Options{
		Dir: t.TempDir(), Current: func(Holder) limit.Bytes { return limit.GiB }, Swapped: func(Holder) limit.Bytes { return swapped },
	})
	if err != nil {
		t.Fatal(err)
	}
	acquire := func(id string, reservation limit.Bytes) error {
		_, err := l.Acquire(t.Context(), Request{ID: id, Tool: "t", Reservation: reservation, MinFree: limit.GiB, Headroom: hostOf(16*limit.GiB, 10*limit.GiB)})
		return err
	}
	if err := acquire("idle", 8*limit.GiB); err != nil { // 7 of it are still to come
		t.Fatal(err)
	}
	err = acquire("next", 5*limit.GiB)
	if _, refused := errors.AsType[*Refused](err); !refused {
		t.Errorf("beside what is to come: %v", err)
	}
	swapped = 6 * limit.GiB // 1 is still to come
	if err := acquire("next", 5*limit.GiB); err != nil {
		t.Errorf("it is in swap: %v", err)
	}
	swapped = 60 * limit.GiB
	if list, err := l.Holders(t.Context()); err != nil || len(list) != 2 || list[0].Swapped != swapped || list[0].Current != limit.GiB {
		t.Errorf("%+v, %v", list, err)
	}
}

// A claim grows within what is free beside the claims of others, and not while somebody waits.
func TestGrow(t *testing.T) {
	ctx := t.Context()
	used := map[string]limit.Bytes{}
	l, err := Open(Options{Dir: t.TempDir(), Current: func(h Holder) limit.Bytes { return used[h.ID] }})
	if err != nil {
		t.Fatal(err)
	}
	acquire := func(id string, reservation limit.Bytes, wait time.Duration) (*Claim, error) {
		return l.Acquire(ctx, Request{ID: id, Tool: "t", Reservation: reservation, MinFree: limit.GiB, Wait: wait, Headroom: hostOf(16*limit.GiB, 10*limit.GiB)})
	}
	a, err := acquire("a", 2*limit.GiB, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := acquire("b", 3*limit.GiB, 0)
	if err != nil {
		t.Fatal(err)
	}
	// 10 available - 1 free - 3 of b - 2 of a leave 4, and a has 2 of its own.
	if got, err := a.Grow(ctx, 3*limit.GiB, 8*limit.GiB, false); err != nil || got != 6*limit.GiB {
		t.Errorf("it was given %v, %v; want 6G", got, err)
	}
	if _, err := acquire("c", limit.GiB, 0); err == nil {
		t.Error("what was given is given again")
	}
	if _, err := b.Grow(ctx, 4*limit.GiB, 4*limit.GiB, false); !isNoRoom(err) {
		t.Errorf("nothing is left, and %v", err)
	}
	if got, err := b.Grow(ctx, 4*limit.GiB, 4*limit.GiB, true); err != nil || got != 4*limit.GiB {
		t.Errorf("forced: %v, %v", got, err)
	}
	list, err := l.Holders(ctx)
	if err != nil || len(list) != 2 || list[0].Reservation != 6*limit.GiB || list[1].Reservation != 4*limit.GiB {
		t.Errorf("%+v, %v", list, err)
	}
	// What a run uses beyond its reservation is missing from what is available already, and is not asked for again.
	used["a"] = 8 * limit.GiB
	a.headroom = hostOf(16*limit.GiB, 6*limit.GiB)
	if got, err := a.Grow(ctx, 9*limit.GiB, 12*limit.GiB, false); err != nil || got != 9*limit.GiB {
		t.Errorf("6 - 1 - 4 leave 1 above the 8 that it has: %v, %v", got, err)
	}
	waiting, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = l.Acquire(waiting, Request{ID: "w", Tool: "t", Reservation: 8 * limit.GiB, Wait: Forever, MinFree: limit.GiB, Headroom: hostOf(16*limit.GiB, 6*limit.GiB)})
	}()
	wait.Until(t, "a run that waits is reckoned with", func() bool {
		_, err := a.Grow(ctx, 0, 12*limit.GiB, false)
		var no *NoRoom
		return errors.As(err, &no) && no.Waiting == 1
	})
	stop()
	<-done
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Grow(ctx, 1, 2, false); !errors.Is(err, ErrReleased) {
		t.Error(err)
	}
	// A ledger that is lost is made again with what was given.
	if err := replaceFile(l.tablePath(), []byte("damaged")); err != nil {
		t.Fatal(err)
	}
	if list, err = l.Holders(ctx); err != nil || len(list) != 1 || list[0].Reservation != 4*limit.GiB {
		t.Errorf("%+v, %v", list, err)
	}
}

func isNoRoom(err error) bool {
	_, is := errors.AsType[*NoRoom](err)
	return is
}

// A wish reaches the run that it is for, and its answer whoever asked; a run that does not look is told of.
func TestWish(t *testing.T) {
	l, err := Open(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Acquire(t.Context(), Request{ID: "a", Tool: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Wished(); ok {
		t.Error("nobody has wished anything")
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		var w Wish
		wished := func() (ok bool) { w, ok = c.Wished(); return ok }
		if !wait.Reached(wait.Bound, wished) {
			t.Error("the wish never came")
			return
		}
		if err := c.Answer(Answer{Number: w.Number, From: 1, To: w.Memory}); err != nil {
			t.Error(err)
		}
	}()
	if a, err := l.Ask(t.Context(), "a", Wish{Memory: 5}); err != nil || a.To != 5 || a.From != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	<-answered
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("too late"))
	defer cancel()
	if _, err := l.Ask(ctx, "a", Wish{Memory: 5}); err == nil {
		t.Error("nobody answered")
	}
	if _, ok := c.Wished(); ok {
		t.Error("a wish that was given up is fulfilled")
	}
	if _, err := l.Ask(t.Context(), "../a", Wish{}); !errors.Is(err, ErrRequest) {
		t.Error(err)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
}

package sandbox

import (
	"errors"
	"fmt"
	"sync"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// ErrFixed is wrapped by the error of [Run.Raise] in a layer whose limit cannot grow while the run lives.
var ErrFixed = errors.New("its limit cannot grow while it runs")

// Near is the part of the memory limit at which [Spec.OnNear] is called, in percent. From there to the limit the fastest program that was
// measured takes a tenth of a second.
const Near = 80

// raiser is a cage whose memory limit can grow. The caller holds the cage.
type raiser interface {
	raise(memory, swap limit.Bytes) error
}

// currentLimit returns the current memory limit, 0 for none.
func (r *Run) currentLimit() limit.Bytes { return limit.Bytes(r.memoryLimit.Load()) }

// Raisable returns the error that [Run.Raise] would return for any size, nil when the limit can grow.
func (r *Run) Raisable() error {
	if r.currentLimit() <= 0 {
		return errors.New("nothing limits its memory")
	}
	if c, ok := r.cage.(interface{ isFixed() bool }); ok && c.isFixed() {
		return fmt.Errorf("%w: layer %s gives each process its limit when it starts", ErrFixed, r.layer)
	}
	if _, can := r.cage.(raiser); !can {
		return fmt.Errorf("%w: layer %s", ErrFixed, r.layer)
	}
	return nil
}

// Raise sets the memory limit of a living run to to bytes, which must be more than it is now. why goes into the journal, with
// [journal.MemoryRaised]. Admission is not asked. The error wraps [ErrFixed] in a layer that told each process its limit when it started,
// and in one that can't raise a limit.
func (r *Run) Raise(to limit.Bytes, why string) error {
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	now := r.currentLimit()
	if err := r.Raisable(); err != nil {
		return err
	}
	if to <= now {
		return fmt.Errorf("its limit is %s already, and only grows", now.Human())
	}
	if err := r.cage.(raiser).raise(to, r.spec.Limits.Swap); err != nil {
		return fmt.Errorf("raise the memory limit: %w", err)
	}
	r.memoryLimit.Store(int64(to))
	r.spec.appendEvent(journal.MemoryRaised{FromBytes: int64(now), ToBytes: int64(to), Why: why})
	select {
	case r.watch.raised <- struct{}{}:
	default:
	}
	return nil
}

// raise does nothing for a watched cage: the watcher reads the limit at each look.
func (w *watchedCage) raise(limit.Bytes, limit.Bytes) error { return nil }

// keepAlarm sets the alarm for the memory limit, and again whenever that was raised, until stop is closed.
func (w *watcher) keepAlarm(c alarmed, wake chan<- struct{}, stop <-chan struct{}) {
	for {
		until := make(chan struct{})
		var set sync.WaitGroup
		set.Go(func() { c.setAlarm(int64(w.run.currentLimit()), wake, &w.alarm, until) })
		select {
		case <-w.raised:
		case <-stop:
			close(until)
			set.Wait()
			return
		}
		close(until)
		set.Wait()
	}
}

// isNearLimit reports whether a sample's working set is [Near] percent of the memory limit or more.
func (w *watcher) isNearLimit(s Sample) bool {
	memory := w.run.currentLimit()
	return memory > 0 && s.Working >= memory/100*Near
}

// reportNear calls [Spec.OnNear] in a goroutine if the sample is near the limit, since it may wait for others. While a call is running, it does
// nothing.
func (w *watcher) reportNear(s Sample) {
	if w.run.spec.OnNear == nil || !w.isNearLimit(s) || !w.telling.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer w.telling.Store(false)
		w.run.spec.OnNear(w.run, s.Working, w.run.currentLimit())
	}()
}

var errNoReclaim = errors.New("cannot give memory back while the run lives")

// reclaimer is a cage whose memory the kernel can move to swap while its processes live.
type reclaimer interface {
	// reclaims returns why it cannot here, nil when it can.
	reclaims() error
	// reclaim asks for as many bytes. It may take as long as the swap needs to write them.
	reclaim(bytes int64) error
}

// checkReclaim returns why the memory of a cage cannot be given back while the run lives, nil when it can.
func checkReclaim(c cage) error {
	r, ok := c.(reclaimer)
	if !ok {
		return errNoReclaim
	}
	return r.reclaims()
}

// Reclaim has the kernel drop what the run can read again from files, and move the rest of its memory to swap. It returns by how many bytes the
// run holds less memory than before. The processes go on, and what they touch comes back. It works only if [Spec].Reclaims was set; it returns
// 0, nil if the run is over.
func (r *Run) Reclaim() (limit.Bytes, error) {
	held := func() int64 { // the watch uses the same cage, and must not wait for the swap
		r.cageMu.Lock()
		defer r.cageMu.Unlock()
		if r.over {
			return 0
		}
		return r.cage.charged()
	}
	before := held()
	if before <= 0 {
		return 0, nil
	}
	if err := checkReclaim(r.cage); err != nil {
		return 0, err
	}
	err := r.cage.(reclaimer).reclaim(before)
	after := held()
	if after == 0 { // the run has ended meanwhile
		return 0, err
	}
	return limit.Bytes(max(0, before-after)), err
}

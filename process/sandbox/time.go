package sandbox

import (
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
)

// LimitTime is the name of [Limits].Time in [Result].Reached: the configuration key.
const LimitTime = "time_max"

// The line at which a run is told that its time runs out: nine tenths, of a minute or more.
const (
	timeSoftTenths = 9
	timeSoftLeast  = time.Minute
)

// SoftTime returns the used time at which a run with this limit is warned that it runs out: nine tenths of it, or 0 (never) for a limit of
// less than a minute.
func SoftTime(maxTime time.Duration) time.Duration {
	if maxTime < timeSoftLeast {
		return 0
	}
	return maxTime / 10 * timeSoftTenths
}

// timeLook is the time between two looks at the clock of a run: a run that is stopped must not
// count, and nobody tells us about every stop.
const timeLook = time.Second

// runClock adds up the time in which a run could run. What counts is the monotonic clock, which
// stands still while the machine is suspended (clock_gettime(2)); what the run spends stopped,
// by Plimsoll or by job control, does not count either.
type runClock struct{ used time.Duration }

// advance adds one pause to the clock and returns the time used so far. requested is the length that was asked for, took its real length. If
// stopped is set, the run was stopped at the end of the pause, and nothing is added. A pause that took more than 5 seconds longer counts as
// requested: this process was stopped too, together with the run.
func (c *runClock) advance(requested, took time.Duration, stopped bool) time.Duration {
	switch {
	case stopped:
	case took > requested+5*time.Second:
		c.used += requested
	default:
		c.used += took
	}
	return c.used
}

// enforceTime ends the run when it has used up maxTime, and calls [Spec].OnTime then and when the soft limit is reached. It returns when the time
// is used up or the run is over.
func (r *Run) enforceTime(maxTime time.Duration) {
	var clock runClock
	soft := SoftTime(maxTime)
	told := soft == 0
	for {
		requested := max(min(maxTime-clock.used, timeLook), time.Millisecond)
		began := time.Now()
		select {
		case <-r.ending:
			return
		case <-time.After(requested):
		}
		used := clock.advance(requested, time.Since(began), r.Stopped())
		r.timeUsed.Store(int64(used))
		switch {
		case used >= maxTime:
			if r.End(LimitTime) && r.spec.OnTime != nil {
				r.spec.OnTime(used, true)
			}
			return
		case !told && used >= soft:
			told = true
			if r.spec.OnTime != nil {
				r.spec.OnTime(used, false)
			}
		}
	}
}

// Stopped reports whether the run is frozen, or its command is stopped by a signal or a debugger.
func (r *Run) Stopped() bool {
	if r.Frozen() {
		return true
	}
	p, err := proctree.Lookup(r.pid)
	return err == nil && p.Start == r.started && (p.State == 'T' || p.State == 't')
}

// End ends the run because it has reached a limit, which is named as in the configuration:
// the command is asked with SIGTERM, and after [Spec].Grace everything in the run is killed.
// [Result].Reached has the name then. It returns false when the run has ended already, or
// is being ended for another limit.
func (r *Run) End(limit string) bool {
	select {
	case <-r.exited:
		if r.spec.OnExit != WaitForLeftovers {
			return false // its leftovers are being ended
		}
	default:
	}
	if !r.endedFor.CompareAndSwap(nil, &limit) {
		return false
	}
	r.waiting.Store(true)
	r.stopWaiting()
	_ = r.Freeze(false)
	r.askToEnd()
	go func() {
		select {
		case <-r.done:
		case <-time.After(r.spec.Grace):
			_ = r.Kill()
		}
	}()
	return true
}

// reachedLimit returns the name of the limit for which the run was ended, or for which the command failed after descendants were ended; "" for
// none.
func (r *Run) reachedLimit() string {
	if name := r.endedFor.Load(); name != nil {
		return *name
	}
	failed := r.ended.code != 0 && r.ended.signal == 0
	switch {
	case failed && r.pidsKills.Load() > 0:
		return "pids"
	case failed && r.limitKills.Load() > 0 && !r.killedByUs.Load():
		return "memory"
	}
	return ""
}

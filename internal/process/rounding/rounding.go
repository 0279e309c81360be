// Package rounding lets the watches of one supervisor look at the same moments.
//
// A supervisor stays beside every agent for as long as that runs, and what it costs is being woken up: a thread that starts, and
// the runtime's own monitor, cost more than what a look reads. Three watches that each look once a second or two wake it up
// once, not three times. The kernel does the same for timers that need not be exact (round_jiffies_relative).
//
//	t.Reset(rounding.Pause(2 * time.Second))
package rounding

import "time"

// step is the unit to which ends of pauses are rounded, and slowStep that for pauses at least as long: a run that waits for something is
// then looked at once in two seconds by all its watches together. A wait shorter than step must not become longer: it ends at the last
// multiple of quickStep, and one shorter than that is in a hurry and is not rounded.
const (
	quickStep = 500 * time.Millisecond
	step      = time.Second
	slowStep  = 2 * time.Second
)

// began differs between processes, so that those of many runs look at different moments.
var began = time.Now()

// Pause returns a pause of about d that ends a whole number of seconds after this process began, at most half a second shorter or longer;
// from two seconds on an even number, at most one second shorter or longer. One of half a second to a second ends at a whole number of half
// seconds and is not longer; one of less is not changed.
func Pause(d time.Duration) time.Duration { return pause(time.Since(began), d) }

// pause returns d changed so that the wait ends at a common step of the clock, at which other watches wake too. since is the time since such a step.
func pause(since, d time.Duration) time.Duration {
	switch {
	case d < quickStep:
		return d
	case d < step:
		return max(time.Millisecond, (since+d).Truncate(quickStep)-since)
	case d < slowStep:
		return (since + d).Round(step) - since
	}
	return (since + d).Round(slowStep) - since
}

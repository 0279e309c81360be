// Package wait lets a test wait for what another goroutine or another process brings about.
//
//	wait.Until(t, "the run is listed", func() bool { return len(list()) == 1 })
//
// A test that sleeps for a fixed time is too slow on a fast machine and fails on a slow one. A condition that is looked at again and
// again ends the wait as soon as it holds; the bound only ends a test that would never end, and is far above what any machine needs.
// Where a channel, the end of a process or the bubble of testing/synctest tells the same, these are better still.
package wait

import (
	"strings"
	"testing"
	"time"
)

// Bound is the time that [Until] waits.
const Bound = time.Minute

// Pauses between two looks: short at first, because most conditions hold soon, and longer for those that take their time, because a look
// may cost a process.
const (
	firstPause = time.Millisecond
	mostPause  = 20 * time.Millisecond
)

// Until waits until the condition holds, and ends the test when it does not within [Bound]. The failure names what was waited for, and
// the state that the last argument describes.
func Until(t testing.TB, what string, condition func() bool, state ...func() string) {
	t.Helper()
	Within(t, Bound, what, condition, state...)
}

// Within works like [Until] with another bound.
func Within(t testing.TB, bound time.Duration, what string, condition func() bool, state ...func() string) {
	t.Helper()
	if Reached(bound, condition) {
		return
	}
	var text strings.Builder
	for _, describe := range state {
		text.WriteString("\n" + describe())
	}
	t.Fatalf("waited %v in vain: %s%s", bound, what, text.String())
}

// Reached waits like [Within] and returns whether the condition came to hold, for a test that goes on either way and for a program
// without a test.
func Reached(bound time.Duration, condition func() bool) bool {
	pause := firstPause
	for end := time.Now().Add(bound); !condition(); pause = min(2*pause, mostPause) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

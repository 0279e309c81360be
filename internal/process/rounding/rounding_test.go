package rounding

import (
	"testing"
	"time"
)

func TestPausesEndTogether(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, time.Millisecond, 200 * time.Millisecond, quickStep - 1} {
		if got := pause(3700*time.Millisecond, d); got != d {
			t.Errorf("a pause of %s was changed to %s", d, got)
		}
	}
	for _, d := range []time.Duration{time.Second, 1400 * time.Millisecond, 2 * time.Second, 30 * time.Second} {
		for since := time.Duration(0); since < 2*time.Second; since += 37 * time.Millisecond {
			got, step := pause(since, d), step
			if d >= slowStep {
				step = slowStep
			}
			if (since+got)%step != 0 {
				t.Errorf("%s after the beginning a pause of %s ends after %s", since, d, since+got)
			}
			if (got - d).Abs() > step/2 {
				t.Errorf("%s after the beginning a pause of %s is %s", since, d, got)
			}
		}
	}
}

// Who looks twice a second does so at the moments of the others, and never later than it asked for.
func TestShortPausesAreNotLonger(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{quickStep, 700 * time.Millisecond, step - 1} {
		for since := time.Duration(0); since < 2*time.Second; since += 37 * time.Millisecond {
			got := pause(since, d)
			if (since+got)%quickStep != 0 || got <= 0 || got > d {
				t.Errorf("%s after the beginning a pause of %s is %s", since, d, got)
			}
		}
	}
}

// A look takes a moment, and does not make the next one late.
func TestALookDoesNotDelayTheNext(t *testing.T) {
	t.Parallel()
	since := 700 * time.Millisecond
	for i := range 10 {
		since += pause(since, time.Second)
		if want := time.Duration(i+2) * time.Second; since != want {
			t.Fatalf("look %d is %s after the beginning, want %s", i, since, want)
		}
		since += 40 * time.Millisecond
	}
}

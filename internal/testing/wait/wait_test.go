package wait_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// failing keeps how a test failed. As in a real test, nothing behind Fatalf is run.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// outcome returns how the test fails, "" when it does not, and how long that takes by the bubble's clock.
func outcome(test func(testing.TB)) (string, time.Duration) {
	f := &failing{}
	began := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
	return f.text, time.Since(began)
}

func after(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return !time.Now().Before(end) }
}

func never() bool { return false }

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []time.Duration{0, time.Millisecond, time.Second, wait.Bound} {
			text, took := outcome(func(t testing.TB) { wait.Until(t, "it", after(d)) })
			if text != "" || took < d || took > d+20*time.Millisecond {
				t.Errorf("what holds after %v: %q after %v", d, text, took)
			}
		}
		text, took := outcome(func(t testing.TB) { wait.Until(t, "it is listed", never) })
		if text != "waited 1m0s in vain: it is listed" || took < wait.Bound || took > wait.Bound+40*time.Millisecond {
			t.Errorf("%q after %v", text, took)
		}
	})
}

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		look := func() bool { looks++; return false }
		text, _ := outcome(func(t testing.TB) {
			wait.Within(t, time.Hour, "it is listed", look, func() string { return fmt.Sprint(looks, " looks") })
		})
		if first, state, _ := strings.Cut(text, "\n"); first != "waited 1h0m0s in vain: it is listed" || state != fmt.Sprint(looks, " looks") {
			t.Error(text)
		}
		if most := int(time.Hour/(20*time.Millisecond)) + 10; looks > most {
			t.Errorf("%d looks in an hour, want at most %d", looks, most)
		}
	})
}

func TestReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if !wait.Reached(time.Second, after(time.Second)) {
			t.Error("what holds at the bound is not seen")
		}
		if wait.Reached(0, never) || wait.Reached(time.Second, after(time.Minute)) {
			t.Error("what does not hold was reached")
		}
	})
}

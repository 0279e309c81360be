package idle_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/idle"
)

// subject is a run whose signs of use a test sets, and what was told of it.
type subject struct {
	mu       sync.Mutex
	used     time.Duration // processor time
	made     int64
	underWay bool
	input    time.Time
	stopped  atomic.Bool
	inner    bool
	asked    int // how often the run inside was asked for
	told     []idle.Event

	watch *idle.Watch
}

func watched(most time.Duration) *subject {
	s := &subject{input: time.Now()}
	s.watch = idle.New(idle.Options{
		Max:      most,
		Requests: func() (int64, bool) { return s.made, s.underWay },
		Input:    func() time.Time { return s.input },
		Stopped:  s.stopped.Load,
		Inner: func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asked++
			return s.inner
		},
		Note: func(e idle.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told = append(s.told, e)
		},
	})
	return s
}

// pass looks every two seconds for a time, in which the run uses load processors.
func (s *subject) pass(d time.Duration, load float64) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		s.watch.Look(s.used)
		time.Sleep(2 * time.Second)
		s.used += time.Duration(load * float64(2*time.Second))
		synctest.Wait()
	}
}

func (s *subject) kinds() (list []idle.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.told {
		list = append(list, e.Kind)
	}
	s.told = nil
	return list
}

func (s *subject) wants(t *testing.T, when string, want ...idle.Kind) {
	t.Helper()
	got := s.kinds()
	if len(got) != len(want) {
		t.Errorf("%s: told %q, want %q", when, got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: told %q, want %q", when, got, want)
		}
	}
}

// minute more than a time, for the window in which it is noticed.
const minute = time.Minute

func TestARunThatNobodyUsesIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watched(0)
		s.pass(idle.After-minute, 0.01) // its screen is redrawn
		s.wants(t, "a while")
		s.pass(2*minute, 0.01)
		s.wants(t, "longer", idle.Quiet)
		for range 24 {
			s.used += 8 * time.Second // it looks for an update
			s.pass(time.Hour, 0.03)
		}
		s.wants(t, "a day: it is told once, and without a limit nothing else")
	})
}

// Each sign of use alone keeps a run from being idle.
func TestSignsOfUse(t *testing.T) {
	for name, use := range map[string]func(*subject){
		"a request each minute": func(s *subject) { s.made++ },
		"a long answer":         func(s *subject) { s.underWay = true },
		"somebody types":        func(s *subject) { s.input = time.Now() },
		"a child at work":       func(s *subject) { s.used += 30 * time.Second },
		"a little work, often":  func(s *subject) { s.used += 6 * time.Second },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := watched(idle.After)
			for range 30 {
				use(s)
				s.pass(minute, 0)
			}
			s.wants(t, name)
			s.underWay = false
			s.pass(idle.After+minute, 0)
			s.wants(t, name+", and no more", idle.Quiet, idle.Near, idle.Over)
		})
	}
}

func TestAnIdleRunThatIsUsedAgain(t *testing.T) {
	for by, use := range map[idle.Sign]func(*subject){
		idle.Request:   func(s *subject) { s.made++ },
		idle.Input:     func(s *subject) { s.input = time.Now() },
		idle.Processor: func(s *subject) { s.used += 30 * time.Second },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := watched(0)
			s.pass(idle.After+minute, 0)
			s.wants(t, "idle", idle.Quiet)
			use(s)
			s.pass(minute, 0)
			s.mu.Lock()
			if len(s.told) != 1 || s.told[0].Kind != idle.Used || s.told[0].By != by || s.told[0].For < idle.After {
				t.Errorf("%s: told %+v", by, s.told)
			}
			s.told = nil
			s.mu.Unlock()
			s.pass(idle.After+minute, 0)
			s.wants(t, "and idle again", idle.Quiet)
		})
	}
}

func TestTheLimitOfAnIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watched(4 * time.Hour)
		s.pass(3*time.Hour+35*minute, 0)
		s.wants(t, "before nine tenths", idle.Quiet)
		s.pass(3*minute, 0)
		s.wants(t, "nine tenths", idle.Near)
		s.input = time.Now()
		s.pass(minute, 0)
		s.wants(t, "somebody came", idle.Used)
		s.pass(4*time.Hour+minute, 0)
		s.wants(t, "nobody came", idle.Quiet, idle.Near, idle.Over)
		s.pass(8*time.Hour, 0)
		s.wants(t, "it is told once")
	})
}

// A run around one that works is not idle, whatever little it uses itself; it is asked for only when there is something to tell.
func TestARunInsideWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watched(time.Hour)
		s.inner = true
		s.pass(10*time.Hour, 0)
		s.wants(t, "it works")
		if s.asked == 0 || s.asked > 10*6 {
			t.Errorf("the run inside was asked for %d times", s.asked)
		}
		s.mu.Lock()
		s.inner = false
		s.mu.Unlock()
		s.pass(time.Hour+idle.After+minute, 0)
		s.wants(t, "it has ended", idle.Quiet, idle.Near, idle.Over)
	})
}

// The time in which a run is stopped, or this process and with it the machine, does not count.
func TestTimeThatDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watched(time.Hour)
		s.stopped.Store(true)
		s.pass(10*time.Hour, 0)
		s.wants(t, "stopped")
		s.stopped.Store(false)
		for range 10 {
			s.watch.Look(s.used)
			time.Sleep(3 * time.Hour) // with one look in it
		}
		synctest.Wait()
		s.wants(t, "nobody looked")
	})
}

func TestAWatchThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watched(idle.After)
		s.pass(minute, 0)
		s.watch.Stop()
		s.pass(time.Hour, 0)
		s.wants(t, "after the end")
	})
}

// Where nobody counts the processor time nobody can say that a run is idle.
func TestTimeThatIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watched(idle.After)
		s.used = -1
		s.pass(time.Hour, 0)
		s.wants(t, "an hour")
	})
}

// Under a short limit a run is idle after half of it.
func TestAShortLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watched(2 * minute)
		s.pass(50*time.Second, 0)
		s.wants(t, "before")
		s.pass(20*time.Second, 0)
		s.wants(t, "after half of it", idle.Quiet)
		s.pass(minute, 0)
		s.wants(t, "then", idle.Near, idle.Over)
	})
}

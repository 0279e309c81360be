package orphans

import (
	"cmp"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/rounding"
)

// Run is the run that is looked after. A method is called from one goroutine at a time.
type Run interface {
	// Family lists the run's processes, ancestors before descendants.
	Family() []Process
	// End sends SIGTERM, or SIGKILL with kill, to the process that has this PID and start time; one that has
	// ended is no error.
	End(p Process, kill bool) error
	Frozen() bool
}

// Options configure [Start].
type Options struct {
	Mode Mode
	// Max bounds the time that a process may run without its parent; 0 is for ever.
	Max time.Duration
	// Grace is the time between SIGTERM and SIGKILL (0: DefaultGrace).
	Grace time.Duration
	// Run is looked after. Required.
	Run Run
	// Note is called with what was found and done; nil is not.
	Note func(Event)
}

// Start looks after the orphans of a run until stop is called, which waits for the look under way.
func Start(o Options) (stop func()) {
	if o.Mode == Off || o.Max <= 0 {
		return func() {}
	}
	quit := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() { o.watch(quit) })
	return sync.OnceFunc(func() { close(quit); looking.Wait() })
}

func (o *Options) watch(quit <-chan struct{}) {
	s := newState(*o)
	t := time.NewTimer(rounding.Pause(o.pause(s)))
	defer t.Stop()
	for {
		select {
		case <-quit:
			return
		case <-t.C:
		}
		do := s.look(time.Now(), o.Run.Family(), o.Run.Frozen())
		var failed error
		for _, p := range do.ask {
			failed = cmp.Or(failed, o.Run.End(p, false))
		}
		for _, p := range do.kill {
			failed = cmp.Or(failed, o.Run.End(p, true))
		}
		for _, e := range do.events {
			e.Failed = failed
			if o.Note != nil {
				o.Note(e)
			}
		}
		t.Reset(rounding.Pause(o.pause(s)))
	}
}

// pause returns the time until the next look: an eighth of Max, which is how late it may be; shorter while somebody is to
// end.
func (o *Options) pause(s *state) time.Duration {
	if len(s.dying) > 0 {
		return min(max(s.grace/8, 10*time.Millisecond), 250*time.Millisecond)
	}
	return min(max(o.Max/8, 50*time.Millisecond), DefaultEvery)
}

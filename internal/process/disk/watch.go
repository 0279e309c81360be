package disk

import (
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/rounding"
	"github.com/plimsoll/plimsoll/limit"
)

// Run is the run that is watched.
type Run interface {
	// Processes returns its processes as they are now. The list is valid until the next call.
	Processes() []Process
	// End ends one of them for the named limit; for the command it ends the whole run.
	End(p Process, limit string)
}

// Options configure a watch.
type Options struct {
	Lines Lines
	// Dirs are directories whose file systems are watched from the start.
	Dirs []string
	Run  Run
	// CPU returns the processor time that the run has used, and false where that is not counted to the microsecond; it may be nil. A run that
	// has used none since the last look has written nothing, so its processes are not asked as long as the disks do not fill either. Where
	// it is not counted, the run rests in the same way when two looks in a row found nothing written and nobody on the machine has written
	// since. No rest is longer than a minute.
	CPU func() (time.Duration, bool)
	// Note is called with every event, from the watch's goroutine, after [Run].End was called for its victim.
	Note func(Event)
	// Used, unless nil, is called after every look with the growth and with the bytes that the run has written.
	Used func(growth, written limit.Bytes)
}

// The rhythm of the looks.
const (
	calm  = 2 * time.Second
	brisk = 200 * time.Millisecond
	// hasty is the least between two looks while the run writes and a line is near: at [fastest] that is 40 MiB.
	hasty = 20 * time.Millisecond
	// fastest is an upper bound of the bytes that a run can write in a second: a fast disk of 2026.
	fastest = 2 * limit.GiB
)

// Start watches until stop is called, which does not wait for a look under way: that may hang in a file system. It does nothing where
// Supported is false.
func Start(o Options) (stop func()) {
	quit := make(chan struct{})
	if Supported {
		go watch(o, quit)
	}
	return sync.OnceFunc(func() { close(quit) })
}

func watch(o Options, quit <-chan struct{}) {
	policy := Policy{Lines: o.Lines}
	s := newSampler(o.Dirs)
	defer s.close()
	rest, pause, near := rest{sampler: s}, calm, false
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-quit:
			return
		case <-next.C:
		}
		spent, counted := time.Duration(0), false
		if o.CPU != nil {
			spent, counted = o.CPU()
		}
		if !rest.lasts(spent, counted) {
			rest.begin(spent, counted)
			reading := s.look(o.Run.Processes(), near)
			select {
			case <-quit: // a look may have taken long
				return
			default:
			}
			o.act(policy.Look(reading), reading)
			near = policy.Near(reading)
			least := brisk
			if near && rest.writes(reading) {
				least = hasty
			}
			rest.note(reading, &policy)
			pause = min(calm, max(least, timeFor(rest.room)))
		}
		next.Reset(rounding.Pause(pause))
	}
}

// act ends the victims of one look, and tells what there is to tell.
func (o *Options) act(events []Event, reading Reading) {
	if o.Used != nil {
		o.Used(reading.Growth(), reading.Written)
	}
	for _, e := range events {
		if e.Victim != nil {
			o.Run.End(*e.Victim, e.Limit)
			if e.Writer != nil && e.Writer.PID != e.Victim.PID && !e.Victim.Agent {
				o.Run.End(*e.Writer, e.Limit)
			}
		}
		o.Note(e)
	}
}

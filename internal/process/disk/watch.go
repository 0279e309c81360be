// Package disk keeps a run from filling the disks: it watches how the file systems that the run writes to grow, and ends the run's largest writer at
// a hard line.
//
//	stop := disk.Start(disk.Options{Lines: disk.Lines{WriteMax: 20 * limit.GiB, FreeMin: limit.GiB}, Dirs: []string{"."}, Run: run})
//
// Growth is the free space lost on each local file system that the run has files open on, or the growth of those files, whichever is larger; nothing
// is searched for. File systems in memory, and those behind a network or a user's process, where a look can hang, are not looked at. At a soft line
// there is one [Event]. At a hard line the process that writes the most is ended, one at a time, as long as the run goes on writing; but only when
// the run's own writes made at least half of the growth, else there is one warning. The agent itself goes last. See [Policy].
//
// A look reads two files for each process, every two seconds while the run uses the processor and more often near the lines; a run that waits is
// left alone for up to a minute. It runs in a goroutine of its own for which nobody waits.
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

// watch looks until quit is closed, more often the nearer a limit is, and acts on what it sees. It leaves out looks while nothing can have
// happened.
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
		if !rest.canRest(spent, counted) {
			rest.beginLook(spent, counted)
			reading := s.look(o.Run.Processes(), near)
			select {
			case <-quit: // a look may have taken long
				return
			default:
			}
			o.actOn(policy.Look(reading), reading)
			near = policy.Near(reading)
			least := brisk
			if near && rest.hasWritten(reading) {
				least = hasty
			}
			rest.recordLook(reading, &policy)
			pause = min(calm, max(least, halfTimeToWrite(rest.room)))
		}
		next.Reset(rounding.Pause(pause))
	}
}

// actOn reports the use, ends the victims of one look and the writers on whose account they end, unless the victim is the agent, and passes the
// events to Note.
func (o *Options) actOn(events []Event, reading Reading) {
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

// The rests: a run that waits is left alone, because asking each of its processes costs far more than the signs do.
const (
	// longestRest is the most between two looks at a run that rests. Where somebody on the machine writes, a run whose processor time is
	// counted rests for restBesideWriters at most, because a process may have left what counts it; one whose time is not counted rests for
	// restUncounted.
	longestRest       = time.Minute
	restBesideWriters = 20 * time.Second
	restUncounted     = 6 * time.Second
	// leastFill and mostFill bound the loss of free space, and what the machine has written, that a look is worth; between them it is
	// fillShare of the room up to the nearest line.
	leastFill, mostFill = limit.MiB, 16 * limit.MiB
	fillShare           = 16
	// stillLooks is the number of looks in a row that found nothing written after which a run whose time is not counted rests.
	stillLooks = 2
)

// rest decides whether a run can be left alone until the next pause is over, by signs that cost one call each: its processor time, what is
// free on the disks, and what the whole machine has written. It is not safe for concurrent use.
type rest struct {
	sampler *sampler
	looked  time.Time
	spent   time.Duration // the run's processor time before the last look
	counted bool          // it was known then
	same    int           // looks in a row that found nothing written
	written limit.Bytes
	room    limit.Bytes // at the last look
	ending  bool        // somebody was to end at the last look
}

// canRest reports whether nothing can have happened since the last look that a look must see now. spent is the run's processor time so far, if
// counted is set.
func (r *rest) canRest(spent time.Duration, counted bool) bool {
	since := time.Since(r.looked)
	share := max(leastFill, r.room/fillShare)
	little := min(mostFill, share)
	switch {
	case r.ending || r.looked.IsZero() || since >= longestRest:
		return false
	case counted:
		return r.counted && spent == r.spent && !r.sampler.hasFilled(share) && (since < restBesideWriters || r.sampler.isMachineQuiet(little))
	case r.same < stillLooks || r.sampler.hasFilled(share):
		return false
	}
	return since < min(restUncounted, halfTimeToWrite(r.room)) || !r.sampler.hasFilled(little) && r.sampler.isMachineQuiet(little)
}

// beginLook is called before the processes are asked, so that what they do meanwhile counts for the next look.
func (r *rest) beginLook(spent time.Duration, counted bool) {
	r.spent, r.counted, r.looked = spent, counted, time.Now()
}

// recordLook records what a look has found, for the decision about the next rest.
func (r *rest) recordLook(reading Reading, policy *Policy) {
	if r.same++; r.hasWritten(reading) {
		r.same = 0
	}
	r.written, r.room, r.ending = reading.Written, policy.Room(reading), policy.isEnding()
}

// hasWritten reports whether the run has written since the look before this reading.
func (r *rest) hasWritten(reading Reading) bool { return reading.Written > r.written }

// halfTimeToWrite returns half of the time in which the fastest disk writes so much, at most longestRest.
func halfTimeToWrite(room limit.Bytes) time.Duration {
	return time.Duration(min(float64(room)/float64(fastest)/2, longestRest.Seconds()) * float64(time.Second))
}

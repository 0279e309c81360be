// Package orphans looks after processes of a live run whose parent has ended: a build that a dead shell left behind, a server that nobody asks any
// more.
//
//	stop := orphans.Start(orphans.Options{Mode: orphans.Warn, Max: 30 * time.Minute, Run: run, Note: note})
//
// The run says who is an orphan ([Process].Orphan): a descendant of the command whose parent is none of the run's processes; its descendants belong
// to it. The clock starts when the watch first sees it so, at most [DefaultEvery] late, busy or idle. After Max each is reported once, all of one
// look in one [Event], and after [MaxEvents] only counted. In mode [End] it is then asked with SIGTERM, with its descendants, and after Grace the
// rest gets SIGKILL. Who was meant to outlive its parent (a daemon in a session of its own, nohup) is left alone and reported as kept. A frozen run
// is left alone.
//
// A process is known by PID and start time. One goroutine runs until stop is called, none with mode [Off] or without Max; all callbacks come from
// it.
package orphans

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/rounding"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// Mode is the treatment of orphans.
type Mode string

// The modes.
const (
	Off  Mode = "off"
	Warn Mode = "warn"
	End  Mode = "end"
)

// The bounds and defaults.
const (
	// DefaultEvery is the longest pause between two looks.
	DefaultEvery = time.Minute
	// DefaultGrace is the time between SIGTERM and SIGKILL.
	DefaultGrace = 2 * time.Second
	// MaxOrphans bounds the orphans that are followed at one time, and MaxEvents the events of a run.
	MaxOrphans = 1024
	MaxEvents  = 20
)

// Process is one process of the run.
type Process struct {
	PID, Parent int
	Start       uint64
	Name        string
	Memory      limit.Bytes
	// CPU is the processor time that it has used; negative where it is not known.
	CPU time.Duration
	// State is the kernel's letter, 0 where it is not known.
	State byte
	// Command is true when it is the agent, which is never touched.
	Command bool
	// Orphan is true when its parent has ended, and Daemon when it was meant to outlive it.
	Orphan, Daemon bool
}

// identity returns the numbers that tell the process from a later one with the same PID.
func (p Process) identity() identity { return identity{p.PID, p.Start} }

type identity struct {
	pid   int
	start uint64
}

// Fate is the outcome for an orphan.
type Fate string

// The fates.
const (
	Warned     Fate = "warned"     // it goes on
	Kept       Fate = "kept"       // it goes on although others are ended
	Terminated Fate = "terminated" // it ended when asked
	Killed     Fate = "killed"     // it had to be killed
	Survived   Fate = "survived"   // even that did not end it, yet
)

// Orphan is a process that lost its parent.
type Orphan struct {
	Process
	// For is the time since it was first seen without its parent.
	For time.Duration
	// Load is its use of the processors in that time: 1 is one of them all the time; negative where it is
	// not known.
	Load float64
	Fate Fate
}

// Event lists orphans of one look: either those that reached Max (Warned, Kept, and in mode End those
// that are asked to end, without a fate), or those whose end is certain.
type Event struct {
	Orphans []Orphan
	// Ended is true when it is the second kind.
	Ended bool
	// Say is set for what a person should read.
	Say bool
	// Failed is the first error of those that came up while ending them.
	Failed error
}

// orphan is one that is followed.
type orphan struct {
	Process
	since    time.Time
	cpu      time.Duration // at since
	reported bool
}

// endingProcess is a process that is being ended: an orphan or a descendant of one.
type endingProcess struct {
	Process
	of       *orphan // nil for a descendant
	termSent time.Time
	killed   bool
}

// state decides; it knows neither clock nor processes.
type state struct {
	mode   Mode
	max    time.Duration
	grace  time.Duration
	known  map[identity]*orphan
	dying  map[identity]*endingProcess
	events int
	over   int // orphans that were too many to follow
}

// newState returns a state that follows nothing yet.
func newState(o Options) *state {
	return &state{
		mode: o.Mode, max: o.Max, grace: cmp.Or(o.Grace, DefaultGrace),
		known: map[identity]*orphan{}, dying: map[identity]*endingProcess{},
	}
}

// step holds the actions after a look.
type step struct {
	ask, kill []Process
	events    []Event
}

// decide takes the processes of the run as they are now, and returns which of them to end and what to report. While the run is frozen, none is ended.
func (s *state) decide(now time.Time, family []Process, frozen bool) step {
	var do step
	alive := make(map[identity]Process, len(family))
	for _, p := range family {
		alive[p.identity()] = p
	}
	s.trackOrphans(now, family, alive)
	s.finishDying(now, alive, &do)
	over := s.takeOverdue(now)
	for i, o := range over {
		if s.mode != End {
			over[i].Fate = Warned
		} else if o.Daemon {
			over[i].Fate = Kept
		} else if !frozen {
			s.startEnding(now, s.known[o.identity()])
		} else {
			s.known[o.identity()].reported = false // at the next look
		}
	}
	over = slices.DeleteFunc(over, func(o Orphan) bool { return !s.known[o.identity()].reported })
	s.addEvent(Event{Orphans: over}, &do)
	if frozen {
		return do
	}
	s.includeDescendants(now, family)
	for _, c := range s.dying {
		switch waited := now.Sub(c.termSent); {
		case waited == 0:
			do.ask = append(do.ask, c.Process)
		case waited >= s.grace:
			c.killed = true
			do.kill = append(do.kill, c.Process)
		}
	}
	return do
}

// trackOrphans starts the clock of each new orphan, and forgets those that have ended by themselves.
func (s *state) trackOrphans(now time.Time, family []Process, alive map[identity]Process) {
	for id, o := range s.known {
		if p, ok := alive[id]; ok {
			o.Process = p
		} else if s.dying[id] == nil {
			delete(s.known, id)
		}
	}
	for _, p := range family {
		if !p.Orphan || p.Command || s.known[p.identity()] != nil || s.dying[p.identity()] != nil {
			continue
		}
		if len(s.known) >= MaxOrphans {
			s.over++
			continue
		}
		s.known[p.identity()] = &orphan{Process: p, since: now, cpu: p.CPU}
	}
}

// takeOverdue returns the orphans that have reached the limit and were not reported yet, the busiest first, and marks them as reported.
func (s *state) takeOverdue(now time.Time) []Orphan {
	var list []Orphan
	for _, o := range s.known {
		if !o.reported && now.Sub(o.since) >= s.max {
			o.reported = true
			list = append(list, o.report(now))
		}
	}
	sorting.By(list, func(a, b Orphan) int { return cmp.Or(cmp.Compare(b.Load, a.Load), cmp.Compare(a.PID, b.PID)) })
	return list
}

// report returns the orphan as an event has it, with its time and its load since it was first seen, and no fate.
func (o *orphan) report(now time.Time) Orphan {
	d := Orphan{Process: o.Process, For: now.Sub(o.since), Load: -1}
	if o.CPU >= 0 && d.For > 0 {
		d.Load = float64(o.CPU-o.cpu) / float64(d.For)
	}
	return d
}

// startEnding records that an orphan is asked to end now, with SIGTERM.
func (s *state) startEnding(now time.Time, o *orphan) {
	s.dying[o.identity()] = &endingProcess{Process: o.Process, of: o, termSent: now}
}

// includeDescendants also ends the descendants of the processes that are being ended. One that is born during the grace has only the rest of it.
// family must list ancestors before descendants.
func (s *state) includeDescendants(now time.Time, family []Process) {
	if len(s.dying) == 0 {
		return
	}
	at := make(map[int]*endingProcess, len(s.dying))
	for _, c := range s.dying {
		at[c.PID] = c
	}
	for _, p := range family {
		parent := at[p.Parent]
		if parent == nil || s.dying[p.identity()] != nil || p.Command || len(s.dying) >= 4*MaxOrphans {
			continue
		}
		c := &endingProcess{Process: p, termSent: parent.termSent}
		s.dying[p.identity()], at[p.PID] = c, c
	}
}

// finishDying finds out which of the processes that are being ended are gone, and adds an event with their fates to do.
func (s *state) finishDying(now time.Time, alive map[identity]Process, do *step) {
	var list []Orphan
	for id, c := range s.dying {
		p, lives := alive[id]
		if lives {
			c.Process = p
		}
		fate := Terminated
		switch {
		case lives && c.killed && now.Sub(c.termSent) >= s.grace+DefaultGrace:
			fate = Survived
		case lives:
			continue
		case c.killed:
			fate = Killed
		}
		delete(s.dying, id)
		if c.of != nil {
			o := c.of.report(now)
			o.Fate = fate
			list = append(list, o)
			if fate != Survived {
				delete(s.known, id)
			}
		}
	}
	sorting.By(list, func(a, b Orphan) int { return cmp.Compare(a.PID, b.PID) })
	s.addEvent(Event{Orphans: list, Ended: true}, do)
}

// addEvent adds an event, unless it has no orphans; only the first MaxEvents are marked to be shown.
func (s *state) addEvent(e Event, do *step) {
	if len(e.Orphans) == 0 {
		return
	}
	s.events++
	e.Say = s.events <= MaxEvents
	do.events = append(do.events, e)
}

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

// Start watches the orphans of a run, and ends them as o.Mode says, until stop is called. stop waits for a look that is under way. If the
// mode is Off, or Max is not positive, it does nothing.
func Start(o Options) (stop func()) {
	if o.Mode == Off || o.Max <= 0 {
		return func() {}
	}
	quit := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() { o.watchUntil(quit) })
	return sync.OnceFunc(func() { close(quit); looking.Wait() })
}

// watchUntil looks at the run again and again until quit is closed, ends orphans, and passes the events to Note.
func (o *Options) watchUntil(quit <-chan struct{}) {
	s := newState(*o)
	t := time.NewTimer(rounding.Pause(o.pause(s)))
	defer t.Stop()
	for {
		select {
		case <-quit:
			return
		case <-t.C:
		}
		do := s.decide(time.Now(), o.Run.Family(), o.Run.Frozen())
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

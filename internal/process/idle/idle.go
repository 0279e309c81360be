// Package idle tells when a run that still lives is used by nobody: no request to a model, no input at its terminal, no processor time.
//
//	w := idle.New(idle.Options{Max: 4 * time.Hour, Input: idle.InputOf(os.Stdin), Note: note})
//	w.Look(used) // with each sample of the run, of which used is the processor time so far
//
// A Watch has no timer and no goroutine of its own: it looks when the run is sampled, at least every ten seconds. The time in which the
// machine sleeps or the run is stopped does not count. A run that has been quiet for [After] is idle, which is told once, and once more
// when it is used again; at nine tenths of Max and at Max its owner is told to warn and to act.
package idle

import (
	"runtime"
	"sync"
	"time"
)

// After is the time without a sign of use from which a run counts as idle. It is longer than any client waits for an answer (those of
// Anthropic and OpenAI give up after ten minutes) and than a person reads one, and short beside the hours that forgotten agents stay.
const After = 10 * time.Minute

const (
	// window is the time between two readings of the processor time, and windows how many of them are summed up.
	window  = 30 * time.Second
	windows = 10
	// busy is the part of one processor, over those five minutes, from which a run is at work: 21 seconds. Agents that wait at their prompts
	// were measured at 0.2 % (Claude Code), 0.5 % (Codex), 2.0 % (Gemini CLI) and 3.6 % (OpenCode) at most, and each looks for an update
	// now and then, which takes a few seconds at once.
	busy = 0.07
	// longest bounds the time between two looks that counts: a tree that stands still is looked at every ten seconds, and after more than
	// that this process was itself stopped.
	longest = 15 * time.Second
)

// Supported is false where the system does not tell the processor time of processes: no run is idle there.
const Supported = runtime.GOOS != "darwin"

// Sign is a sign of use.
type Sign string

// The signs.
const (
	Request   Sign = "request"   // a request to a model is made, or under way
	Input     Sign = "input"     // somebody types
	Processor Sign = "processor" // a process of the run is at work
	Inner     Sign = "inner run" // a run inside of this one works
)

// Kind says what an [Event] tells.
type Kind string

// The kinds.
const (
	Quiet Kind = "quiet" // the run has become idle
	Used  Kind = "used"  // an idle run is used again
	Near  Kind = "near"  // nine tenths of Max are over
	Over  Kind = "over"  // all of Max is
)

// Event is told to [Options].Note, each kind once between two signs of use.
type Event struct {
	Kind Kind
	// For is the time since the last sign of use.
	For time.Duration
	// By is the sign of [Used], "" for other kinds.
	By Sign
}

// Options configure [New]. All functions may be nil. Requests and Input are called by who looks, and must not wait; the others in a
// goroutine.
type Options struct {
	// Max is the time without use at which [Near] and [Over] are told; 0 is never.
	Max time.Duration
	// Requests returns the number of requests to models so far, and whether one is under way.
	Requests func() (made int64, underWay bool)
	// Input returns the time of the last input.
	Input func() time.Time
	// Stopped reports whether the run is stopped, so that it could not be used.
	Stopped func() bool
	// Inner reports whether a run inside of this one works. It may take its time, and is asked before Quiet, Near and Over only.
	Inner func() bool
	// Note is called with what there is to tell, in a goroutine: it may wait, and end the run.
	Note func(Event)
}

// Watch follows one run. It is safe for concurrent use.
type Watch struct {
	o     Options
	after time.Duration

	mu    sync.Mutex
	begun bool
	input time.Time
	made  int64

	looked time.Time              // the last look
	held   time.Duration          // of the present window so far
	cpu    time.Duration          // when the window began
	spent  [windows]time.Duration // processor time, by window
	newest int
	most   time.Duration // the longest quiet so far
	quiet  time.Duration // since the last sign, up to the end of the last window
	told   map[Kind]bool // since the last sign
	wakes  int           // how many signs there were
	busy   bool          // a window is being added
	over   bool
}

// New returns a Watch.
func New(o Options) *Watch {
	w := &Watch{o: o, after: After, told: map[Kind]bool{}}
	if o.Max > 0 {
		w.after = min(After, o.Max/2) // it shows for a while before the end
	}
	return w
}

// Look takes a sample of the run into account: the processor time that it has used so far. A negative time is not known, and counts as used: nobody
// could say that the run is idle. A time that falls is that of processes that have ended.
func (w *Watch) Look(used time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !w.begun {
		w.begun, w.looked, w.cpu = true, now, used
		w.takeSign() // what was before is nothing new
		return
	}
	w.held += min(now.Sub(w.looked), longest)
	w.looked = now
	by := w.takeSign()
	if by == "" && w.held < w.windowLength() {
		return
	}
	if by == "" && (used < 0 || w.isWorking(used-w.cpu)) {
		by = Processor
	}
	switch {
	case by != "":
		w.endIdle(by)
	case !w.busy && !w.over:
		w.busy = true
		go w.addQuiet(w.held, w.wakes)
	}
	w.held, w.cpu = 0, used
}

// addQuiet adds a window without a sign of use to the idle time, unless there was a sign since, and reports what is due. It runs in a goroutine of
// its own, because asking whether the run is stopped may wait for the caller of Look.
func (w *Watch) addQuiet(held time.Duration, wakes int) {
	stopped := w.o.Stopped != nil && w.o.Stopped()
	w.mu.Lock()
	if !stopped && wakes == w.wakes {
		w.quiet += held
		w.most = max(w.most, w.quiet)
	}
	kind := w.dueKind()
	w.mu.Unlock()
	if kind != "" {
		w.report(kind)
	}
	w.mu.Lock()
	w.busy = false
	w.mu.Unlock()
}

// Longest returns the longest time without a sign of use so far.
func (w *Watch) Longest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

// Stop makes the Watch tell nothing more.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

// windowLength returns the length of a window: no longer than a tenth of the time after which the run is idle.
func (w *Watch) windowLength() time.Duration { return min(window, w.after/10) }

// isWorking adds the processor time of a window, and reports whether that of the last windows is that of a run at work.
func (w *Watch) isWorking(used time.Duration) bool {
	w.newest = (w.newest + 1) % windows
	w.spent[w.newest] = max(0, used)
	sum := time.Duration(0)
	for _, one := range w.spent {
		sum += one
	}
	return float64(sum) >= busy*windows*float64(w.windowLength())
}

// takeSign returns the sign of use, other than processor time, that has come since the last call; "" for none.
func (w *Watch) takeSign() (by Sign) {
	if w.o.Input != nil {
		if at := w.o.Input(); !at.Equal(w.input) {
			w.input, by = at, Input
		}
	}
	if w.o.Requests != nil {
		if made, underWay := w.o.Requests(); underWay || made != w.made {
			w.made, by = made, Request
		}
	}
	return by
}

// endIdle begins the idle time anew, and reports its end if its beginning was reported.
func (w *Watch) endIdle(by Sign) {
	was, spell := w.told[Quiet], w.quiet
	w.wakes++
	w.quiet, w.spent = 0, [windows]time.Duration{}
	clear(w.told)
	if was && w.o.Note != nil && !w.over {
		go w.o.Note(Event{Kind: Used, For: spell, By: by})
	}
}

// dueKind returns the kind of the event that has to be reported next; "" for none.
func (w *Watch) dueKind() Kind {
	switch near := w.o.Max / 10 * 9; {
	case w.o.Max > 0 && w.quiet >= w.o.Max && !w.told[Over]:
		return Over
	case w.o.Max > 0 && w.quiet >= near && w.quiet < w.o.Max && !w.told[Near]:
		return Near
	case w.quiet >= w.after && !w.told[Quiet]:
		return Quiet
	}
	return ""
}

// report reports an event, unless a run inside this one is at work or there was a sign of use meanwhile.
func (w *Watch) report(kind Kind) {
	works := w.o.Inner != nil && w.o.Inner()
	w.mu.Lock()
	if works {
		w.endIdle(Inner)
	}
	spell, first := w.quiet, !w.told[Quiet]
	if works || w.over || w.dueKind() != kind {
		w.mu.Unlock()
		return
	}
	w.told[kind], w.told[Quiet] = true, true
	w.mu.Unlock()
	if w.o.Note == nil {
		return
	}
	if first && kind != Quiet {
		w.o.Note(Event{Kind: Quiet, For: spell})
	}
	w.o.Note(Event{Kind: kind, For: spell})
}

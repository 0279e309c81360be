// Package pressure decides what to do with a run when the host, or the control group around us, is about to run out of memory, and does it. Each
// supervisor of a run starts it.
//
//	stop := pressure.Start(pressure.Options{Mode: pressure.Freeze, Self: claim.ID(), Lines: lines, Read: read, Run: run, Peers: ledger})
//
// Every supervisor watches by itself. They agree because all read the same ledger: the run to act on is the youngest that uses more than it has
// reserved, and its own supervisor acts: below the hard one of the [Lines], two readings in a row (below the soft one while processes are stalled),
// it stops the largest descendant and then the run, or kills descendants one by one, or warns, as [Mode] says. The agent is never stopped alone and
// never killed. Decisions go by the memory that can still be given out; stall information only moves them forward, for it was measured to read 0 in
// need.
//
// Nothing starves: what is stopped goes on after Pace.Hold and is left alone for Pace.Rest; any peer lets it go on when its supervisor is itself
// stopped, and what is held is published before it is held. One goroutine runs until stop is called, none with mode [Off]; all callbacks come from
// it.
package pressure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/rounding"
	"github.com/plimsoll/plimsoll/limit"
)

// Pace has the times of the watch. A zero field means the default named there.
type Pace struct {
	// Fast, Normal and Slow are the pauses between looks: when memory is within twice the
	// soft line (DefaultFast), within eight times (DefaultNormal), and else (DefaultSlow).
	Fast, Normal, Slow time.Duration
	// Ledger and Peers are the least times between two readings of the ledger: when memory is below the hard line (DefaultLedger), and else
	// (DefaultPeers, up to four times as long where there are many runs).
	Ledger, Peers time.Duration
	// Pause is the least time between two actions, of all supervisors together (DefaultPause).
	Pause time.Duration
	// Hold is the longest time that anything is held (DefaultHold), and Rest the time that a run is
	// left alone after that (DefaultRest).
	Hold, Rest time.Duration
	// Easy is the time for which memory must be available again before what is stopped goes on (DefaultEasy), and Calm the time until an
	// episode is over (DefaultCalm).
	Easy, Calm time.Duration
	// Turn is the time that the others wait for the run whose turn it is (DefaultTurn), and PeerGrace the time after Hold at which they
	// continue its processes for it (DefaultPeerGrace).
	Turn, PeerGrace time.Duration
}

// Defaults of [Pace].
const (
	DefaultFast   = 250 * time.Millisecond
	DefaultNormal = time.Second
	DefaultSlow   = 2 * time.Second
	DefaultLedger = time.Second
	DefaultPeers  = 15 * time.Second
	DefaultPause  = 3 * time.Second
	// DefaultHold: a frozen agent reads nothing of its provider's stream, whose other end
	// does not wait for ever.
	DefaultHold      = 60 * time.Second
	DefaultRest      = 30 * time.Second
	DefaultEasy      = 2 * time.Second
	DefaultCalm      = 30 * time.Second
	DefaultTurn      = 5 * time.Second
	DefaultPeerGrace = 5 * time.Second
)

// withDefaults returns the pace with the default for each field that is 0.
func (p Pace) withDefaults() Pace {
	return Pace{
		Fast: cmp.Or(p.Fast, DefaultFast), Normal: cmp.Or(p.Normal, DefaultNormal), Slow: cmp.Or(p.Slow, DefaultSlow),
		Ledger: cmp.Or(p.Ledger, DefaultLedger), Peers: cmp.Or(p.Peers, DefaultPeers), Pause: cmp.Or(p.Pause, DefaultPause),
		Hold: cmp.Or(p.Hold, DefaultHold), Rest: cmp.Or(p.Rest, DefaultRest),
		Easy: cmp.Or(p.Easy, DefaultEasy), Calm: cmp.Or(p.Calm, DefaultCalm),
		Turn: cmp.Or(p.Turn, DefaultTurn), PeerGrace: cmp.Or(p.PeerGrace, DefaultPeerGrace),
	}
}

// LeastVictim is the least a descendant must hold to be worth stopping or ending, in bytes:
// a shell that waits for a build holds a few MiB, and nothing is won by taking it.
const LeastVictim = 16 * limit.MiB

// Run is the run that is watched. Its methods are called from one goroutine at a time.
type Run interface {
	// LargestChild returns the descendant that holds the most memory, never the agent itself; false when there is none.
	LargestChild() (Child, bool)
	StopChild(Child) error
	// ContinueChild lets a stopped descendant go on; it returns nil for one that has ended.
	ContinueChild(Child) error
	// KillChild ends a descendant; a frozen run is thawed first.
	KillChild(Child) error
	// Freeze stops the whole run, or lets it go on; it returns nil when the run is in that state already.
	Freeze(on bool) error
	Frozen() bool
}

// Peers is the ledger as this package needs it.
type Peers interface {
	// Holders lists the runs that hold a reservation, our own included, in any order.
	Holders(context.Context) ([]Holder, error)
	// Publish stores the state of our run for the other supervisors.
	Publish(State) error
	// Thaw continues a run whose supervisor cannot; h is of the last list.
	Thaw(h Holder) error
}

// Event is an action that was done, or could not be done.
type Event struct {
	Kind ActionKind
	// Child is the process that DoStop, DoContinue or DoKill was about.
	Child Child
	// Peer is the other run of DoThawPeer.
	Peer string
	// Reason explains the event, with the figures.
	Reason string
	// Say is true for an event that a person at the terminal should read: at most one in an episode, and one more when the run gives way
	// after a warning.
	Say bool
	// Err is the reason why it could not be done.
	Err error
}

// Options configure [Start].
type Options struct {
	Mode Mode
	// Self is our run's ID in the ledger.
	Self  string
	Lines Lines
	Pace  Pace
	// Read returns the available memory; it is called at every look.
	Read func() (Reading, error)
	Run  Run
	// Peers is the ledger; without one (nil) the watch only warns.
	Peers Peers
	// Note receives every event; it must not call stop.
	Note func(Event)
}

// ledgerWait bounds how long a look waits for the ledger, whose lock a stopped process
// may hold.
const ledgerWait = 2 * time.Second

// watch is the loop around a policy: it reads, asks, does.
type watch struct {
	Options
	policy *policy
}

// Start watches until stop is called, which continues whatever is stopped and returns when the watch has ended. With mode [Off] it does
// nothing at all.
func Start(o Options) (stop func()) {
	if o.Mode == Off {
		return func() {}
	}
	w := &watch{Options: o, policy: newPolicy(o.Self, o.Mode, o.Lines, o.Pace.withDefaults())}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { w.lookUntil(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// lookUntil looks until ctx ends, and then continues everything that is stopped. The first look comes after a pause, so that a run of a moment costs
// nothing.
func (w *watch) lookUntil(ctx context.Context) {
	t := time.NewTimer(w.policy.pace.Fast) // a run of a moment costs nothing
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			for _, a := range w.policy.releaseAll(time.Now(), "the run is over") {
				w.carryOut(a)
			}
			return
		case <-t.C:
			t.Reset(rounding.Pause(w.look(ctx)))
		}
	}
}

// look reads the memory and, if the policy wants it, the ledger, carries out the actions that follow, and returns the pause until the next
// look.
func (w *watch) look(ctx context.Context) time.Duration {
	r, err := w.Read()
	if err != nil {
		if !w.policy.isHolding() {
			return w.policy.pace.Slow
		}
		r = Reading{Total: w.Lines.Soft, Physical: w.Lines.Soft} // what is held goes on by its time
	}
	in := input{now: time.Now(), reading: r, frozen: w.Run.Frozen()}
	if w.policy.wantsLedger(in.now, in.reading) {
		in.ledgerRead = true
		in.holders, in.ledgerErr = w.readHolders(ctx)
	}
	if ctx.Err() != nil {
		return 0
	}
	for _, a := range w.policy.decide(in) {
		w.carryOut(a)
	}
	return w.policy.nextPause()
}

var errNoLedger = errors.New("there is no ledger")

// readHolders reads the ledger, for at most ledgerWait.
func (w *watch) readHolders(ctx context.Context) ([]Holder, error) {
	if w.Peers == nil {
		return nil, errNoLedger
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerWait)
	defer cancel()
	return w.Peers.Holders(ctx)
}

// carryOut carries out an action and reports it. The new state is published before a stop and after a continuation, so that others can undo a
// stop if this process dies. If it cannot be published, nothing is stopped.
func (w *watch) carryOut(a action) {
	switch a.kind {
	case DoStop, DoKill:
		w.takeChild(a)
	case DoFreeze:
		err := w.publish(w.policy.recordAction(time.Now(), DoFreeze, Child{}))
		if err == nil {
			err = w.Run.Freeze(true)
		}
		w.finishStop(a, Child{}, err)
	case DoThaw:
		err := w.Run.Freeze(false)
		if err == nil {
			err = w.publish(w.policy.recordAction(time.Now(), DoThaw, Child{}))
		} else {
			w.policy.undoAction(time.Now(), DoThaw)
		}
		w.reportEvent(a, Child{}, err)
	case DoContinue:
		for _, c := range w.policy.state.Stopped {
			w.reportEvent(a, c, w.Run.ContinueChild(c))
		}
		// One that could not be continued is no longer ours to signal.
		_ = w.publish(w.policy.recordAction(time.Now(), DoContinue, Child{}))
	case DoThawPeer:
		err := w.Peers.Thaw(a.peer)
		if err == nil {
			w.policy.recordThawed(a.peer.ID)
		}
		w.reportEvent(a, Child{}, err)
	case DoWarn:
		w.reportEvent(a, Child{}, nil)
	}
}

// takeChild stops or ends the largest descendant, as a.kind says. If none is large enough, the policy decides about the whole run.
func (w *watch) takeChild(a action) {
	c, ok := w.Run.LargestChild()
	if !ok || c.Bytes < LeastVictim {
		for _, next := range w.policy.recordNoVictim(time.Now(), a.reason) {
			w.carryOut(next)
		}
		return
	}
	err := w.publish(w.policy.recordAction(time.Now(), a.kind, c))
	switch {
	case err != nil:
	case a.kind == DoStop:
		err = w.Run.StopChild(c)
	default:
		err = w.Run.KillChild(c)
	}
	w.finishStop(a, c, err)
}

// publish stores our state before the action that it describes is done: if we die or are stopped in between, the others know which processes to
// continue.
func (w *watch) publish(s State) error {
	if w.Peers == nil {
		return errNoLedger
	}
	if err := w.Peers.Publish(s); err != nil {
		return fmt.Errorf("it could not be written down, and so nobody else could undo it: %w", err)
	}
	return nil
}

// finishStop reports an action, and takes it back in the policy when it failed.
func (w *watch) finishStop(a action, c Child, err error) {
	if err != nil {
		_ = w.publish(w.policy.undoAction(time.Now(), a.kind))
	}
	w.reportEvent(a, c, err)
}

// reportEvent hands an action to Note, if that is set; err says why it could not be done.
func (w *watch) reportEvent(a action, c Child, err error) {
	if w.Note != nil {
		w.Note(Event{Kind: a.kind, Child: c, Peer: a.peer.ID, Reason: a.reason, Say: a.say, Err: err})
	}
}

// Mode says what a supervisor does with its run when it is the run's turn to give way.
type Mode string

// The modes.
const (
	Off    Mode = "off"
	Warn   Mode = "warn"
	Freeze Mode = "freeze"
	Kill   Mode = "kill"
)

// stopsRuns reports whether a run in this mode is stopped or ended in part when it is its turn.
func (m Mode) stopsRuns() bool { return m == Freeze || m == Kill }

// Child is a descendant of a run's command.
type Child struct {
	PID int
	// Start is its start time, by which it is told from a later process with the same PID.
	Start uint64
	Name  string
	Bytes limit.Bytes
}

// Holder is a run in the ledger, as its supervisor published it.
type Holder struct {
	ID string
	// Since is the time at which it was admitted; the youngest gives way first.
	Since time.Time
	// Reservation is the memory it asked for and Current its use now, in bytes.
	Reservation, Current limit.Bytes
	// Nested is true when it draws on another run's reservation; only that run is chosen then.
	Nested bool
	// Dead is true when its supervisor has ended.
	Dead bool
	// State was published last by its supervisor; the zero State when it watches nothing.
	State State
}

// State holds what a supervisor publishes about its run.
type State struct {
	Mode Mode
	// Frozen is the time since which the whole run is frozen, zero when it is not.
	Frozen time.Time
	// Stopped are the descendants that are stopped, since StoppedSince.
	Stopped      []Child
	StoppedSince time.Time
	// Acted is the time of the supervisor's last action, and Rests the end of the time for which the run is left alone.
	Acted, Rests time.Time
}

// heldSince returns the time since which anything of the run is held, zero when nothing is.
func (s State) heldSince() time.Time {
	switch {
	case s.Frozen.IsZero():
		return s.StoppedSince
	case s.StoppedSince.IsZero() || s.Frozen.Before(s.StoppedSince):
		return s.Frozen
	}
	return s.StoppedSince
}

// ActionKind names an action; see [journal.Pressure].
type ActionKind string

// The kinds of actions.
const (
	DoWarn     ActionKind = "warn"
	DoStop     ActionKind = "stop"
	DoContinue ActionKind = "continue"
	DoFreeze   ActionKind = "freeze"
	DoThaw     ActionKind = "thaw"
	DoKill     ActionKind = "kill"
	DoThawPeer ActionKind = "thaw-peer"
)

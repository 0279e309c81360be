package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Run is a command that runs inside its limits. Methods are safe for concurrent use.
type Run struct {
	spec    Spec
	layer   Layer
	cage    cage
	pid     int
	anyPids bool // a trial has shown that the layer does not hold the limit of processes
	nice    int  // of the command
	byNice  bool // its nice value holds the weight
	began   time.Time
	adopts  bool   // this process adopts the run's orphans
	started uint64 // the command's start time, against reuse of its pid

	watch  *watcher
	exited chan struct{}  // closed when the command has ended
	ended  exitStatus     // valid after exited
	done   chan struct{}  // closed when the run is over, leftovers included
	ending chan struct{}  // closed just before
	clock  sync.WaitGroup // enforceTime
	result Result         // valid after done
	failed error

	cageMu  sync.Mutex // the cage is used by the watcher, by finish, and by Freeze and Kill
	frozen  bool
	over    bool    // set by finish: nothing may be stopped any more
	stopped []Child // descendants that are stopped
	// stopping is true when Freeze, not the command, is behind a stop of the command.
	stopping atomic.Bool
	// killedByUs is set when Plimsoll, not the kernel, ended the command for memory.
	killedByUs atomic.Bool
	// killAsked is set when [Run.Kill] ended the command.
	killAsked atomic.Bool
	// signals takes the signals of Attend, nil unless spec.Attended.
	signals chan os.Signal
	// early is the number of signals that had arrived when the command started, so that it has not got them itself.
	early int
	// witness is there when spec.Caller is and the run is attended to.
	witness *witness
	// waiting is set while leftovers are waited for; hurry ends that.
	waiting    atomic.Bool
	stopWait   chan struct{}
	limitKills atomic.Int64
	pidsKills  atomic.Int64
	// endedFor is the limit for which [Run.End] ended the run.
	endedFor atomic.Pointer[string]
	timeUsed atomic.Int64 // nanoseconds, of a run with a limit of time
	// memoryLimit is in bytes, 0 for none; [Run.Raise] changes it.
	memoryLimit atomic.Int64
	adoptedThen int64 // adoptedCPU when it began
}

// adoptedCPU is the processor time, in nanoseconds, of orphans that ended as children of this process. Several runs of one program share it.
var adoptedCPU atomic.Int64

// exitStatus is the end of the command itself.
type exitStatus struct {
	code   int // 128+signal when a signal ended it
	signal int
	cpu    time.Duration
	maxRSS limit.Bytes
	err    error
}

// builder makes the cage of one layer.
type builder struct {
	layer Layer
	build func(*Spec, Limits) (cage, error)
}

// validID reports whether an ID can be part of the name of a group: at most 64 small letters, digits and "-", which does not stand
// first or last. As a regular expression it would be made at the start of every command.
func validID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "-") == id &&
		strings.IndexFunc(id, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }) < 0
}

// check returns an error if the spec has no valid ID, no command, or a negative limit.
func (s *Spec) check() error {
	switch {
	case !validID(s.ID):
		return fmt.Errorf("sandbox: the run's ID is %q, want 1 to 64 of a-z, 0-9 and '-'", s.ID)
	case s.Path == "" || len(s.Args) == 0:
		return errors.New("sandbox: no command given")
	case s.Limits.Memory < 0 || s.Limits.Pids < 0 || s.Limits.Time < 0:
		return fmt.Errorf("sandbox: negative limits: memory %d, pids %d, time %s", s.Limits.Memory, s.Limits.Pids, s.Limits.Time)
	}
	return nil
}

// remember keeps r, with the run's ID, and passes it to [Spec].Remember, if that is set.
func (s *Spec) remember(r Remains) error {
	r.ID = s.ID
	s.remembered = r
	if s.Remember == nil {
		return nil
	}
	return s.Remember(r)
}

// appendEvent writes an event to the journal, if there is one.
func (s *Spec) appendEvent(e journal.Event) {
	if s.Journal != nil {
		s.Journal.Append(e)
	}
}

// enforcedLimits returns the limits for the layers to hold: the zero Limits when enforcement is off.
func (s *Spec) enforcedLimits() Limits {
	if s.Enforcement == Off {
		return Limits{}
	}
	return s.Limits
}

// Start runs the command in the strongest layer that works. Trying a layer is doing the real thing: a layer counts as working when the
// command runs in it. The error is an [*ExecError] when the command can't be executed, a [*NotEnforced] when no layer gives what
// spec.Enforcement demands, the cause of ctx when that is done, or says what is wrong with spec; nothing is left behind then.
func Start(ctx context.Context, spec Spec) (*Run, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	if spec.Grace <= 0 {
		spec.Grace = DefaultGrace
	}
	refused := &NotEnforced{Enforcement: spec.Enforcement, Reclaims: spec.Reclaims}
	for _, b := range findBuilders(spec.Layers) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		spec.starting = ctx
		run, err := startIn(&spec, b)
		if err == nil {
			return run, nil
		}
		if exec, ok := errors.AsType[*ExecError](err); ok {
			return nil, exec
		}
		refused.Tried = append(refused.Tried, &NotAvailable{Layer: b.layer, Err: err})
		spec.appendEvent(journal.LayerFailed{Layer: string(b.layer), Error: err.Error()})
	}
	return nil, refused
}

// findBuilders returns the builders of these layers, in this order; all of this operating system for nil. A layer that does not exist here is left
// out, unless it is the only one: then its builder returns an error.
func findBuilders(layers []Layer) []builder {
	all := builders()
	if layers == nil {
		return all
	}
	var list []builder
	for _, l := range layers {
		i := slices.IndexFunc(all, func(b builder) bool { return b.layer == l })
		if i < 0 && len(layers) > 1 {
			continue // a list is for all systems; a single layer was asked for by name
		}
		if i < 0 {
			list = append(list, builder{l, func(*Spec, Limits) (cage, error) {
				return nil, errors.New("does not exist on this operating system")
			}})
			continue
		}
		list = append(list, all[i])
	}
	return list
}

var errNotKernel = errors.New("holds memory, but not by the kernel for the whole run")

// startIn builds the cage of one layer, tries its limits, and starts the command in it, together with the goroutines that watch and end the
// run. From then on signals to this process go to [Run.Attend] if spec.Attended is set. The start goes into the journal. With an error,
// nothing is left behind.
func startIn(spec *Spec, b builder) (*Run, error) {
	if spec.Enforcement == Required && spec.Limits.Memory > 0 && (b.layer == Rlimit || b.layer == Monitor) {
		return nil, errNotKernel
	}
	c, err := b.build(spec, spec.enforcedLimits())
	if err != nil {
		return nil, err
	}
	if spec.Enforcement == Required && spec.Limits.Memory > 0 && c.strength().Memory != ByKernel {
		return nil, errors.Join(errNotKernel, c.close())
	}
	if spec.Reclaims {
		if err := checkReclaim(c); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	unheldPids, err := spec.tryLimits(spec.starting, b.layer, c.strength())
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	r := &Run{
		spec:     *spec,
		layer:    b.layer,
		cage:     c,
		anyPids:  unheldPids,
		exited:   make(chan struct{}),
		done:     make(chan struct{}),
		ending:   make(chan struct{}),
		stopWait: make(chan struct{}, 1),
	}
	r.memoryLimit.Store(int64(spec.enforcedLimits().Memory))
	r.adoptedThen = adoptedCPU.Load()
	preferOOMD(c, spec)
	adopt := false
	if _, known := c.members(nil); !known {
		adopt = spec.Subreaper
	}
	release := func() {}
	if spec.Subreaper {
		release = reapOrphans(adopt)
	}
	if spec.Attended {
		r.signals = catchSignals()
		if spec.Caller != nil {
			r.witness = newWitness()
		}
	}
	r.began = time.Now()
	err = runningCommands.startRecorded(spec.ID, func() (int, error) {
		command := newCommand(spec)
		if nice := spec.enforcedLimits().niceValue(); c.strength().CPU != ByKernel && nice != 0 {
			command.nice = addNice(ownNice(), nice)
		}
		r.pid, r.byNice, err = r.launch(command)
		r.early = len(r.signals)
		if r.nice = ownNice(); r.byNice {
			r.nice = command.nice
		}
		return r.pid, err
	})
	if err != nil {
		if r.signals != nil {
			signal.Stop(r.signals)
		}
		if r.witness != nil {
			r.witness.stop()
		}
		release()
		return nil, errors.Join(err, c.close())
	}
	r.adopts = adopt
	r.spec.remembered = spec.remembered // a launch may have added the pid
	r.started = proctree.StartTime(r.pid)
	held := r.Strength()
	spec.appendEvent(journal.LayerChosen{
		Layer: string(b.layer), Memory: string(held.Memory), Swap: string(held.Swap), Pids: string(held.Pids),
		CPU: string(held.CPU), CPUs: string(held.CPUs),
	})
	spec.appendEvent(journal.RunStarted{PID: r.pid, LimitBytes: int64(spec.enforcedLimits().Memory)})
	r.watch = newWatcher(r, adopt)
	if maxTime := spec.enforcedLimits().Time; maxTime > 0 {
		r.clock.Go(func() { r.enforceTime(maxTime) })
	}
	go r.attendCommand(release)
	return r, nil
}

// attendCommand watches the run until the command has ended, then ends or waits for the leftovers, fills in the result, and marks the run as
// done. It calls release before that.
func (r *Run) attendCommand(release func()) {
	watching := make(chan struct{})
	stop := make(chan struct{})
	go func() { defer close(watching); r.watch.lookUntil(stop) }()
	r.ended = waitFor(r.pid, r.onStop)
	close(r.exited)
	if r.spec.OnExit == WaitForLeftovers {
		r.watch.waitEmpty()
	}
	close(stop)
	<-watching
	r.finish()
	runningCommands.ended(r.pid)
	release()
	close(r.ending)
	r.clock.Wait() // what it has to tell is told before the run is done
	close(r.done)
}

// stopWaiting ends the wait for leftovers; it does nothing if no such wait is going on.
func (r *Run) stopWaiting() {
	if !r.waiting.Load() {
		return
	}
	select {
	case r.stopWait <- struct{}{}:
	default:
	}
}

// PID returns the command's process id.
func (r *Run) PID() int { return r.pid }

// Layer returns the layer that holds the run.
func (r *Run) Layer() Layer { return r.layer }

// Strength returns for each limit whether the kernel, the processes themselves, a watch or nobody holds it.
func (r *Run) Strength() Strength {
	held := r.cage.strength()
	if r.anyPids {
		held.Pids = ByNobody
	}
	if held.CPU != ByKernel && r.byNice {
		held.CPU = ByProcess
	}
	return held
}

// launch starts the command with its nice value and returns its pid. held reports whether the command has that value; it is false for 0.
func (r *Run) launch(c *command) (pid int, held bool, err error) {
	pid, held, err = forkNice(c.nice, func() (int, error) { return r.cage.launch(c) })
	if g, ok := r.cage.(interface{ forkedNice() bool }); ok { // it forked from a thread of its own
		held = g.forkedNice()
	}
	if !held || err != nil {
		return pid, false, err
	}
	if r.spec.Detach {
		niceSession(pid, r.spec.enforcedLimits().niceValue(), r.exited)
	}
	return pid, true, nil
}

// Exited returns a channel that is closed when the command itself has ended; leftovers may still run.
func (r *Run) Exited() <-chan struct{} { return r.exited }

// Done returns a channel that is closed when the run is over, leftovers included.
func (r *Run) Done() <-chan struct{} { return r.done }

// Wait returns when the run is over: the command has ended, and so have its leftovers as
// spec.OnExit wants it. The error names what could not be cleaned up; the result is valid
// nevertheless.
func (r *Run) Wait() (Result, error) {
	<-r.done
	return r.result, r.failed
}

// Sample returns the last sample of the run, the zero Sample before there is one.
func (r *Run) Sample() Sample { return r.watch.lastSample() }

// CPUTime returns the processor time of all processes that are or were in the run's group, as the kernel counts it now. ok is false if no group
// counts it, a process has left the group, or the run is over.
func (r *Run) CPUTime() (time.Duration, bool) {
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	c, ok := r.cage.(interface{ cpuUsed() (time.Duration, bool) })
	if !ok || r.over {
		return 0, false
	}
	r.watch.mu.Lock()
	defer r.watch.mu.Unlock()
	if len(r.watch.moved) > 0 {
		return 0, false
	}
	return c.cpuUsed()
}

// Freeze stops every process of the run when on is true, and lets them go on when it is false. Without a group it sends SIGSTOP and SIGCONT
// to each process, which they can notice. A run that is over can't be stopped.
func (r *Run) Freeze(on bool) error {
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	return r.freezeLocked(on)
}

// Kill ends every process of the run at once, the frozen ones too. It returns nil when the run is over already.
func (r *Run) Kill() error {
	select {
	case <-r.done:
		return nil
	default:
	}
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	if r.over {
		return nil
	}
	if err := r.freezeLocked(false); err != nil {
		return err
	}
	select {
	case <-r.exited:
	default:
		r.killAsked.Store(true)
	}
	err := r.cage.kill()
	return errors.Join(err, r.watch.killTree())
}

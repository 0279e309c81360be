package proctree

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// DefaultKillWithin bounds how long killing may take after the grace.
const DefaultKillWithin = 5 * time.Second

// KillOptions configure [Tree.KillTree].
type KillOptions struct {
	// Grace is the time that the members have to end on SIGTERM; 0 kills at once.
	Grace time.Duration
	// SpareRoot leaves the root alone and ends only its descendants.
	SpareRoot bool
	// Within bounds the killing (DefaultKillWithin). A process that is blocked in the
	// kernel, or frozen by a version 1 cgroup, does not end on SIGKILL: thaw first.
	Within time.Duration
}

const (
	// maxReport bounds how many leftovers are reported.
	maxReport = 4096
	// stopRounds bounds the scans that look for newcomers while all others are stopped.
	stopRounds = 256
	firstWait  = 2 * time.Millisecond
	longWait   = 40 * time.Millisecond
)

// KillTree ends all members and returns those it found alive, with their fates, in the
// order of discovery (at most 4096 of them). They get SIGTERM (and SIGCONT where they are
// stopped) and the grace; whoever starts during the grace, a clean-up handler's own
// child for instance, is left in peace for the rest of it. Then all are stopped, until scans
// find nobody new, so that no parent dies before its children are known, and killed. That
// wins against processes that keep forking. When ctx ends, the rest of the grace is
// skipped; the killing is not. The error names the processes that survived, or wraps
// [ErrUnsettled]. Without one nobody is left who can be told to belong to the tree.
//
// Zombies count as ended: reaping them is up to their parent.
func (t *Tree) KillTree(ctx context.Context, o KillOptions) ([]Leftover, error) {
	if o.Within <= 0 {
		o.Within = DefaultKillWithin
	}
	k := &killing{tree: t, spareRoot: o.SpareRoot, index: make(map[identity]int)}
	if err := k.rescan(); err != nil {
		return nil, err
	}
	empty := func() bool { return len(k.alive) == 0 && k.tree.isSettled() }
	if o.Grace > 0 && !empty() {
		for _, p := range k.alive {
			k.trySignal(p, syscall.SIGTERM)
			if canStop && (p.State == 'T' || p.State == 't') {
				k.trySignal(p, sigCont)
			}
		}
		grace, cancel := context.WithTimeout(ctx, o.Grace)
		err := k.waitUntilEmpty(grace)
		cancel()
		if err != nil {
			return k.found, err
		}
	}
	if empty() {
		return k.found, nil
	}
	k.stopAll()
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Within)
	defer cancel()
	k.killing = true
	if err := k.waitUntilEmpty(deadline); err != nil {
		return k.found, err
	}
	return k.found, k.survivorsError()
}

// killing is one KillTree under way.
type killing struct {
	tree      *Tree
	spareRoot bool
	killing   bool
	alive     []Process
	found     []Leftover
	index     map[identity]int // into found
	lastError error
}

// settleScans is the number of times an empty tree that is not settled is looked at again without a pause.
const settleScans = 4

// rescan scans and records which members are alive, in k.alive and k.found. Those in k.found that are not alive any more count as Terminated.
func (k *killing) rescan() error {
	for range settleScans {
		var err error
		if k.alive, err = k.tree.scanLiving(k.spareRoot); err != nil {
			return err
		}
		if len(k.alive) > 0 || k.tree.isSettled() {
			break
		}
	}
	for i := range k.found {
		if k.found[i].Fate == Survived {
			k.found[i].Fate = Terminated
		}
	}
	for _, p := range k.alive {
		i, ok := k.index[p.identity()]
		if !ok && len(k.found) < maxReport {
			i, ok = len(k.found), true
			k.index[p.identity()] = i
			k.found = append(k.found, Leftover{Process: p})
		}
		if ok {
			k.found[i].Process = p
			if k.found[i].Fate != Killed {
				k.found[i].Fate = Survived
			}
		}
	}
	return nil
}

// waitUntilEmpty waits until no member is alive, or ctx ends. While k.killing is true it also sends SIGKILL to all again and again.
func (k *killing) waitUntilEmpty(ctx context.Context) error {
	wait := firstWait
	for {
		if k.killing {
			for _, p := range k.alive {
				if k.trySignal(p, syscall.SIGKILL) {
					if i, ok := k.index[p.identity()]; ok {
						k.found[i].Fate = Killed
					}
				}
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return k.rescan()
		case <-timer.C:
		}
		wait = min(wait*2, longWait)
		if err := k.rescan(); err != nil || len(k.alive) == 0 && k.tree.isSettled() {
			return err
		}
	}
}

// stopAll stops all members, until two scans in a row find no new one. Each round costs only the new ones, so that it does not fall behind on a
// machine that they keep busy.
func (k *killing) stopAll() {
	if !canStop {
		return
	}
	defer raisePriority()()
	fresh := k.alive
	for quiet, round := 0, 0; quiet < 2 && round < stopRounds; round++ {
		quiet++
		groups := make(map[int]bool) // stopped in this round
		for _, p := range fresh {
			if k.spareRoot && k.tree.isRoot(p) {
				continue
			}
			quiet = 0
			if groups[p.PGID] {
				continue
			}
			if k.trySignal(p, sigStop) && !k.spareRoot && k.tree.ownsGroup(p.PGID) {
				// p is stopped and keeps the group's number from being given out again.
				stopGroup(p.PGID)
				groups[p.PGID] = true
			}
		}
		changes, err := k.tree.Scan()
		if err != nil {
			return
		}
		if fresh = changes.Appeared; !k.tree.isSettled() {
			quiet = 0
			runtime.Gosched()
		}
	}
	if err := k.rescan(); err != nil {
		k.lastError = err
	}
}

// trySignal sends sig to p and reports whether that worked. It keeps the error, unless that says that the process is gone.
func (k *killing) trySignal(p Process, sig syscall.Signal) bool {
	err := Signal(p, sig)
	if err != nil && !isGone(err) {
		k.lastError = err
	}
	return err == nil
}

// ErrUnsettled is wrapped by the error of [Tree.KillTree] when the time for killing ended with nobody found alive, but processes of unknown
// origin had started and ended during each look: some may belong to the tree.
var ErrUnsettled = errors.New("processes start and end faster than they can be asked whose they are; some may be left")

// survivorsError returns an error that names the processes still alive, or wraps [ErrUnsettled]; nil when nobody is left.
func (k *killing) survivorsError() error {
	if len(k.alive) == 0 {
		if !k.tree.isSettled() {
			return fmt.Errorf("proctree: end the tree of process %d: %w", k.tree.o.Root, ErrUnsettled)
		}
		return nil
	}
	names := make([]string, 0, 8)
	for _, p := range k.alive {
		if i, ok := k.index[p.identity()]; ok {
			k.found[i].Fate = Survived
		}
		if len(names) < cap(names) {
			name := p.String()
			if p.State != 0 {
				name += " in state " + string(rune(p.State))
			}
			names = append(names, name)
		}
	}
	err := fmt.Errorf("%d processes did not end on SIGKILL: %s", len(k.alive), strings.Join(names, ", "))
	if k.lastError != nil {
		err = fmt.Errorf("%w: %w", err, k.lastError)
	}
	return err
}

// isGone reports whether err only says that the process has ended.
func isGone(err error) bool { return errors.Is(err, ErrGone) }

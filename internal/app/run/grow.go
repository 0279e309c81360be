package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/runtimes"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

const (
	// mostGrowth bounds the growth of the memory limit by itself, as a multiple of the first limit. Beyond it may be a leak, for a person
	// to see.
	mostGrowth = 2
	// growPause is the time between two attempts to grow after there was no room.
	growPause = 5 * time.Second
	// growPatience bounds the wait for the ledger: the run is near its limit meanwhile.
	growPatience = 2 * time.Second
)

// growth is the state of the memory limit while the run lives.
type growth struct {
	mu     sync.Mutex
	after  time.Time // nobody is asked before
	told   bool      // that there was no room
	raised limit.Bytes
	over   bool
}

// end sets l.Memory to the limit that the run had in the end, and stops further growth.
func (g *growth) end(l *sandbox.Limits) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.Memory, g.over = max(l.Memory, g.raised), true
}

// grows reports whether this run's memory limit may rise by itself: memory_grow is on, nobody has named a limit, and the run has a claim of
// its own. A nested run has none: it draws on the claim of the outer one.
func (x *process) grows() bool {
	s := x.decision.Settings
	return s.MemoryGrow && s.MemoryMax == config.Auto && !x.nested && x.claim != nil
}

// nearLimit raises the memory limit of a run that comes near it, when grows allows that and the ledger has room, before the kernel would
// end something in the run. used and now are the use and the limit in bytes.
func (x *process) nearLimit(run *sandbox.Run, used, now limit.Bytes) {
	x.growth.mu.Lock()
	defer x.growth.mu.Unlock()
	if x.growth.over || !x.grows() {
		return
	}
	first := x.decision.Limits.Memory
	most, _ := x.host().KeepBelow(mostGrowth * first) // a container's own kill may take everything in it
	if now >= most || time.Now().Before(x.growth.after) || run.Raisable() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), growPatience)
	defer cancel()
	to, err := x.claim.Grow(ctx, min(now+first/8, most), min(now+first/2, most), false)
	if err == nil {
		err = run.Raise(to, "memory_grow")
	}
	if err != nil {
		x.growth.after = time.Now().Add(growPause)
		if !x.growth.told && !errors.Is(err, admission.ErrReleased) {
			x.growth.told = true
			x.report.warn("memory", fmt.Sprintf("it uses %s of the %s that it may, and the limit stays: %v", used.Human(), now.Human(), err))
		}
		return
	}
	x.growth.raised = to
	x.report.warn("memory", fmt.Sprintf("its memory limit grew from %s to %s: it uses %s, and there is room (memory_grow)", now.Human(), to.Human(), used.Human()))
}

// answerWish raises a limit as a person has asked with plimsoll raise, and writes the answer, which may be a refusal. There is none if the
// run is over.
func (x *process) answerWish(run *sandbox.Run, w admission.Wish) {
	var a admission.Answer
	if w.Limit != "" {
		a = x.raiseSpend(w)
	} else if a = x.raiseMemory(run, w); a.Number == "" {
		return
	}
	if err := x.claim.Answer(a); err != nil {
		x.report.warn("raise", "who asked for more gets no answer: "+err.Error())
	}
}

// raiseMemory raises the memory limit to what a person has asked for, and returns the answer, which has the reason if that is refused. The
// answer is zero if the run is over.
func (x *process) raiseMemory(run *sandbox.Run, w admission.Wish) (a admission.Answer) {
	x.growth.mu.Lock()
	defer x.growth.mu.Unlock()
	if x.growth.over {
		return a
	}
	from := x.decision.Limits.Memory
	if x.growth.raised > 0 {
		from = x.growth.raised
	}
	a = admission.Answer{Number: w.Number, From: from, To: w.Memory}
	if err := x.raise(run, from, w); err != nil {
		a.Refused = err.Error()
	} else {
		x.growth.raised, a.Note = w.Memory, x.heapStays()
		x.report.warn("memory", fmt.Sprintf("its memory limit was raised from %s to %s (plimsoll raise)", from.Human(), w.Memory.Human()))
	}
	return a
}

// raise raises the memory limit of the run, after its claim was enlarged. It returns an error that says why if the limit is not higher than
// from, cannot be changed here, or finds no room.
func (x *process) raise(run *sandbox.Run, from limit.Bytes, w admission.Wish) error {
	if w.Memory <= from {
		return fmt.Errorf("its limit is %s already, and only grows", from.Human())
	}
	if err := run.Raisable(); err != nil {
		return err
	}
	if _, why := x.host().KeepBelow(w.Memory); why != "" {
		return fmt.Errorf("no limit may be so high here: it is %s", why)
	}
	ctx, cancel := context.WithTimeout(context.Background(), growPatience)
	defer cancel()
	if !x.nested { // one inside another run draws on that one's claim, and is held by that one's limit
		if _, err := x.claim.Grow(ctx, w.Memory, w.Memory, w.Force); err != nil {
			if _, no := errors.AsType[*admission.NoRoom](err); no {
				err = fmt.Errorf("%w; --force gives it all the same", err)
			}
			return err
		}
	}
	return run.Raise(w.Memory, "plimsoll raise")
}

// host returns the reading of the host's memory on which the decision rests.
func (x *process) host() sizing.Host {
	return sizing.Host{Reading: x.decision.Reading, Err: x.decision.ReadingErr, Given: slurmMemory(os.Getenv), GivenBy: "Slurm"}
}

// heapStays returns a remark that a Node.js in the run keeps the heap limit that it was started with; "" when there is none.
func (x *process) heapStays() string {
	heap := runtimes.V8Heap(x.decision.Limits.Memory)
	if heap == 0 {
		return ""
	}
	return fmt.Sprintf("a Node.js that runs in it already keeps its heap of %s at most", heap.Human())
}

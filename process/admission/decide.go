package admission

import (
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/headroom"
)

// MaxBypass is how often a waiting run may be overtaken to its cost. After that nobody
// passes it who takes anything it waits for, so what other runs free is kept for it. Only
// when no run is left and it still does not fit, because something outside uses the memory, do
// those behind it go on, one at a time, so that it does not hold up the queue for nothing.
const MaxBypass = 8

// turnMissed is how long a waiter that could go may leave its turn unused before others
// pass it: it looks once a second or more often, so it is stopped. It keeps its place for
// when it is continued.
const turnMissed = 5 * time.Second

// lookAhead bounds how many waiters are examined; those further back only wait.
const lookAhead = 64

// Reason is why a run is not admitted yet, or not at all.
type Reason string

// The reasons.
const (
	// Memory: the sum does not fit now.
	Memory Reason = "memory"
	// ToolSlots: as many runs of the tool are there as may be.
	ToolSlots Reason = "tool slots"
	// TotalSlots: as many runs are there as may be.
	TotalSlots Reason = "total slots"
	// Turn: there would be room, but it belongs to runs that have waited longer.
	Turn Reason = "turn"
	// QueueFull and LedgerFull: MaxWaiters wait, or MaxClaims hold.
	QueueFull  Reason = "queue full"
	LedgerFull Reason = "ledger full"
)

// verdict is the decision about one request at one moment.
type verdict struct {
	admit       bool
	never       bool // however long it waits
	reaping     bool // another process is cleaning up, which may make room
	reason      Reason
	position    int // in the queue, from 1
	waiting     int
	harmed      []*entry // waiters that are overtaken to their cost
	terms       Terms
	headroomErr error
}

// decide tells whether e may hold now. It is the one place where the formula is:
//
//	reservation ≤ available − min_free − Σ max(0, reservation_i − current_i)
//
// over all runs that hold, nested ones excepted, and those in other ledgers that are seen. Waiters before e are first given what they would
// get, in their order; what is left is e's to take if it harms none of them more than MaxBypass times.
func (b *book) decide(e *entry, waiting []*entry, r Request) verdict {
	v := verdict{position: len(waiting) + 1, waiting: len(waiting)}
	for i, w := range waiting {
		if w == e {
			v.position = i + 1
		}
	}
	g := b.ground(r, &v)
	e.MinFree = g.minFree(r)
	v.terms = g.terms(e)
	if b.nested(e) {
		v.admit = true
		return v
	}
	v.reaping = g.reaping
	if reason, ok := g.ever(e); !ok {
		v.reason, v.never = reason, true
		return v
	}
	_, alone := g.fits(e)
	var blocked []*entry
	for i, w := range waiting {
		if w == e {
			break
		}
		if i == lookAhead {
			v.reason = Turn
			return v
		}
		if w.Missed || b.nested(w) {
			continue
		}
		_, fits := g.fits(w)
		if fits && passes(g, w, blocked) {
			if b.letPass(w) {
				continue
			}
			g.take(w)
			continue
		}
		if !w.ReadyAt.IsZero() {
			w.ReadyAt, b.changed = time.Time{}, true
		}
		blocked = append(blocked, w)
	}
	if e.Missed || !e.ReadyAt.IsZero() { // we are here
		e.Missed, e.ReadyAt, b.changed = false, time.Time{}, true
	}
	reason, fits := g.fits(e)
	switch {
	case !fits && alone: // what it needs goes to those before it
		v.reason = Turn
	case !fits:
		v.reason = reason
	case !passes(g, e, blocked):
		v.reason = Turn
	default:
		v.admit = true
		for _, w := range blocked {
			if g.harms(e, w) {
				v.harmed = append(v.harmed, w)
			}
		}
	}
	return v
}

// passes reports whether e may go although those in blocked came first.
func passes(g *ground, e *entry, blocked []*entry) bool {
	if g.total == 0 {
		return true
	}
	for _, w := range blocked {
		if w.Bypassed >= MaxBypass && g.harms(e, w) {
			return false
		}
	}
	return true
}

// letPass reports a waiter that could go and has not for so long that it must be stopped.
func (b *book) letPass(w *entry) bool {
	switch {
	case w.ReadyAt.IsZero() || b.now.Before(w.ReadyAt): // newly ready, or the clock was set back
		w.ReadyAt, b.changed = b.now, true
	case b.now.Sub(w.ReadyAt) > turnMissed:
		w.Missed, b.changed = true, true
		return true
	}
	return false
}

// ground is what is there to be given out.
type ground struct {
	known     bool // memory
	available [2]headroom.Room
	ceiling   [2]headroom.Room
	capacity  limit.Bytes
	claimed   limit.Bytes // Σ max(0, reservation − current), and what waiters before us get
	tools     map[string]int
	total     int
	holders   []Holder
	reaping   bool
}

// ground reads the memory and adds up who holds.
func (b *book) ground(r Request, v *verdict) *ground {
	g := &ground{tools: map[string]int{}}
	if r.Headroom != nil {
		reading, err := r.Headroom()
		if v.headroomErr = err; err == nil {
			g.known = true
			for i, swap := range [2]bool{false, true} {
				g.available[i], g.ceiling[i] = reading.Available(swap), reading.Ceiling(swap)
			}
			g.capacity = reading.Capacity()
		}
	}
	for _, e := range b.holding() {
		if b.nested(e) {
			continue
		}
		h := b.holder(e)
		g.holders = append(g.holders, h)
		if e.StaleWhy != "" { // its memory is already missing from what is available; nothing more is held for it
			continue
		}
		g.reaping = g.reaping || e.reaping
		g.claimed = add(g.claimed, max(0, h.Reservation-h.Current))
		if !e.NoSlot {
			g.tools[e.Tool]++
			g.total++
		}
	}
	b.addOthers(g, r)
	return g
}

func (g *ground) minFree(r Request) limit.Bytes {
	switch {
	case r.MinFree > 0:
		return r.MinFree
	case r.MinFree < 0 || !g.known:
		return 0
	}
	return headroom.MinFree(g.capacity)
}

func swapIndex(countSwap bool) int {
	if countSwap {
		return 1
	}
	return 0
}

// ever reports whether e could be admitted if it were alone.
func (g *ground) ever(e *entry) (Reason, bool) {
	switch {
	case e.SlotsPerTool < 0:
		return ToolSlots, false
	case e.SlotsTotal < 0:
		return TotalSlots, false
	case g.known && e.Reservation > g.ceiling[swapIndex(e.CountSwap)].Total-e.MinFree:
		return Memory, false
	}
	return "", true
}

// remainder is what e could get; below 0 when more is claimed than there is.
func (g *ground) remainder(e *entry) limit.Bytes {
	return g.available[swapIndex(e.CountSwap)].Total - e.MinFree - g.claimed
}

func (g *ground) fits(e *entry) (Reason, bool) {
	switch {
	case e.SlotsPerTool > 0 && g.tools[e.Tool] >= e.SlotsPerTool:
		return ToolSlots, false
	case e.SlotsTotal > 0 && g.total >= e.SlotsTotal:
		return TotalSlots, false
	case g.known && e.Reservation > g.remainder(e):
		return Memory, false
	}
	return "", true
}

// harms reports whether e, if it goes, takes something that the waiter w needs: w no longer
// fits beside it, or not even when a slot of its own tool becomes free.
func (g *ground) harms(e, w *entry) bool {
	switch {
	case g.known && w.Reservation > g.remainder(w)-e.Reservation:
		return true
	case w.SlotsTotal > 0 && g.total+1 >= w.SlotsTotal:
		return true
	}
	return e.Tool == w.Tool && w.SlotsPerTool > 0 && g.tools[w.Tool]+1 >= w.SlotsPerTool
}

// take gives w what it asks for.
func (g *ground) take(w *entry) {
	g.claimed = add(g.claimed, w.Reservation)
	g.tools[w.Tool]++
	g.total++
}

// add adds sizes that are not negative and stops at the largest.
func add(a, b limit.Bytes) limit.Bytes {
	if a > headroom.Unlimited-b {
		return headroom.Unlimited
	}
	return a + b
}

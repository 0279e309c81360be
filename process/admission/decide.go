package admission

import (
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// MaxBypass bounds the times a waiting run may be overtaken to its cost. After that nobody
// passes it who takes anything it waits for, so what other runs free is kept for it. Only
// when no run is left and it still does not fit, because something outside uses the memory, do
// those behind it go on, one at a time, so that it does not hold up the queue for nothing.
const MaxBypass = 8

// turnMissed is the time that a waiter that could go may leave its turn unused before others
// pass it: it was woken, so it is stopped. It keeps its place for
// when it is continued.
const turnMissed = 5 * time.Second

// lookAhead bounds how many waiters are examined; those further back only wait.
const lookAhead = 64

// Reason names what keeps a run from being admitted, for now or for good.
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
	exact       bool // the sum was read exactly
	never       bool // however long it waits
	reaping     bool // another process is cleaning up, which may make room
	reason      Reason
	position    int // in the queue, from 1
	waiting     int
	harmed      []*entry // waiters that are overtaken to their cost
	terms       Terms
	headroomErr error
	machine     limit.Bytes // its memory and swap, 0 where that is not known
}

// decide returns the verdict on e: whether it may hold now, and if not, why. All decisions use this formula:
//
//	reservation ≤ available − min_free − Σ max(0, reservation_i − current_i)
//
// over all runs that hold, except nested ones, in this ledger and in others that are seen. Waiters before e get what fits first, in their order;
// e may take the rest if it harms none of them more than MaxBypass times. With exact, the use of each holder is read now. It lowers the
// reservation of a run that yields, and marks waiters as ready, or as having missed their turn.
func (b *book) decide(e *entry, waiting []*entry, r Request, exact bool) verdict {
	v := verdict{position: len(waiting) + 1, waiting: len(waiting)}
	at := slices.Index(waiting, e)
	if at >= 0 {
		v.position = at + 1
	} else {
		at = len(waiting)
	}
	g := b.readCapacity(r, exact)
	v.headroomErr, v.exact, v.machine = g.err, g.exact, g.machine
	e.MinFree = g.bytesToKeepFree(r)
	if b.isNested(e) {
		v.terms, v.admit = g.makeTerms(e), true
		return v
	}
	if reservation := g.reserveBytes(e, r); reservation != e.Reservation {
		e.Reservation, b.changed = reservation, true
	}
	v.terms = g.makeTerms(e)
	v.reaping = g.reaping
	if reason, ok := g.couldEverFit(e); !ok {
		v.reason, v.never = reason, true
		return v
	}
	_, alone := g.fitsNow(e)
	if at > lookAhead {
		v.reason = Turn
		return v
	}
	q := &queueWalk{book: b, capacity: g}
	for _, w := range waiting[:at] {
		q.visit(w)
	}
	if e.Missed || !e.ReadyAt.IsZero() { // we are here
		e.Missed, e.ReadyAt, b.changed = false, time.Time{}, true
	}
	reason, fits := g.fitsNow(e)
	switch {
	case !fits && alone: // what it needs goes to those before it
		v.reason = Turn
	case !fits:
		v.reason = reason
	case !mayOvertake(g, e, q.blocked):
		v.reason = Turn
	default:
		v.admit = true
		for _, w := range q.blocked {
			if g.wouldStarve(e, w) {
				v.harmed = append(v.harmed, w)
			}
		}
	}
	// Those behind may fit where we do not, and sleep.
	if v.admit {
		g.reserveFor(e)
	} else {
		q.blocked = append(q.blocked, e)
	}
	for _, w := range waiting[min(at+1, len(waiting)):min(max(at+1, lookAhead), len(waiting))] {
		q.visit(w)
	}
	return v
}

// decideTwice is decide, first with the cheap sum, and once more with the exact one where that matters: before a run is refused (refusing), and for
// the first waiter, if rereadForFirst allows it.
func (b *book) decideTwice(e *entry, waiting []*entry, r Request, refusing, rereadForFirst bool) verdict {
	v := b.decide(e, waiting, r, false)
	if v.admit || v.never || v.exact || !refusing && (v.position > 1 || !rereadForFirst) {
		return v
	}
	return b.decide(e, waiting, r, true)
}

// makeHolder turns e into a holder and marks the waiters to be woken that may fit now. Each waiter that it has harmed counts one bypass more,
// unless it was forced.
func (b *book) makeHolder(e *entry, v verdict, forced bool) {
	queued := e.State == Waiting
	e.State, e.Since, e.Forced = Holding, b.now, forced
	e.ReadyAt, e.Missed, b.changed = time.Time{}, false, true
	if !forced {
		for _, w := range v.harmed {
			w.Bypassed++
		}
	}
	switch {
	case queued && v.exact: // which of those behind fit is known, and they are woken
		b.watchFront(b.waiters())
	case queued:
		b.wakeFront(b.waiters())
	}
}

// wakeFitting marks the waiters to be woken that fit after something was released; if none does, it marks the first two. It does not read what
// the holders use: the first waiter does that once a second.
func (b *book) wakeFitting(r Request) {
	waiting := b.waiters()
	if len(waiting) == 0 {
		return
	}
	q := &queueWalk{book: b, capacity: b.readCapacity(r, false)}
	for _, w := range waiting[:min(len(waiting), lookAhead)] {
		q.visit(w)
	}
	if len(b.toWake) == 0 {
		b.wakeFront(waiting)
	}
}

// wakeFront makes the first waiter look at the ledger now, and the second one soon.
func (b *book) wakeFront(waiting []*entry) {
	front := firstAwake(waiting)
	b.toWake = append(b.toWake, front[:min(1, len(front))]...)
	b.toWatch = append(b.toWatch, front[min(1, len(front)):]...)
}

// watchFront makes the first two waiters look within lookFirst: the first watches the memory, the second whether the first is stopped.
func (b *book) watchFront(waiting []*entry) { b.toWatch = append(b.toWatch, firstAwake(waiting)...) }

// firstAwake returns the IDs of the first two waiters that are not known to be stopped.
func firstAwake(waiting []*entry) (ids []string) {
	for _, w := range waiting {
		if len(ids) == 2 {
			break
		}
		if w.State == Waiting && !w.Missed {
			ids = append(ids, w.ID)
		}
	}
	return ids
}

// queueWalk goes through the waiters in their order and gives each what it would get.
type queueWalk struct {
	book     *book
	capacity *capacity
	blocked  []*entry // those that have to wait on
}

// visit gives the next waiter in the queue what it needs, if that fits and harms none before it. Otherwise it adds the waiter to q.blocked.
// Nested waiters, and those that missed their turn, are passed over.
func (q *queueWalk) visit(w *entry) {
	b, g := q.book, q.capacity
	if w.Missed || b.isNested(w) {
		return
	}
	if _, fits := g.fitsNow(w); fits && mayOvertake(g, w, q.blocked) {
		if b.markReady(w) {
			return
		}
		g.reserveFor(w)
		return
	}
	if !w.ReadyAt.IsZero() {
		w.ReadyAt, b.changed = time.Time{}, true
	}
	q.blocked = append(q.blocked, w)
}

// mayOvertake reports whether e may go before the waiters in blocked, which came first: it harms none that was overtaken MaxBypass times
// already, or no run holds anything.
func mayOvertake(g *capacity, e *entry, blocked []*entry) bool {
	if g.total == 0 {
		return true
	}
	for _, w := range blocked {
		if w.Bypassed >= MaxBypass && g.wouldStarve(e, w) {
			return false
		}
	}
	return true
}

// markReady marks w as ready and to be woken, if it is not yet. It returns true, and marks w as having missed its turn, if it has been ready for
// longer than turnMissed: its process must be stopped then.
func (b *book) markReady(w *entry) bool {
	switch {
	case w.ReadyAt.IsZero() || b.now.Before(w.ReadyAt): // newly ready, or the clock was set back
		w.ReadyAt, b.changed = b.now, true
		b.toWake = append(b.toWake, w.ID)
	case b.now.Sub(w.ReadyAt) > turnMissed:
		w.Missed, b.changed = true, true
		return true
	}
	return false
}

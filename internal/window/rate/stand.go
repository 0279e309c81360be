package rate

import (
	"context"
	"time"
)

// How often those that wait look whether it is their turn: the sooner the nearer it is.
const (
	minSleep = 20 * time.Millisecond
	maxSleep = 400 * time.Millisecond
	// lookedAfter is the age of the last look of anybody at which one that waits lets others through.
	lookedAfter = int64(20 * time.Millisecond)
)

// waitInQueue is [Share.Wait] for a request that has to be counted in the shared table.
func (s *Share) waitInQueue(ctx context.Context, l *line, a Ask, sizes [units]float64) (*Turn, error) {
	now, patience := l.now(), a.Patience
	if !a.Since.IsZero() {
		patience -= time.Since(a.Since)
	}
	me := ticket{id: randomID(), process: s.store.process, run: hashRun(a.Run), arrived: now - int64(a.Patience-patience), leaves: now + int64(max(patience, 0)), sizes: sizes}
	if a.People {
		me.people = 1
	}
	began, turn := time.Now(), &Turn{line: l, id: me.id}
	for {
		p := l.enqueue(&me, time.Since(began) >= patience)
		if p.granted {
			turn.sent, turn.Forced = p.now, p.forced
			return turn, nil
		}
		for !p.due {
			turn.Waited = true
			if a.Waits != nil {
				a.Waits(p.why)
			}
			select {
			case <-ctx.Done():
				turn.Leave()
				return nil, context.Cause(ctx)
			case <-time.After(p.sleep):
			}
			p = l.peek(&me)
			if p.granted {
				turn.sent = p.now
				return turn, nil
			}
		}
	}
}

// A place is a request's position in the queue.
type place struct {
	granted bool
	forced  bool // though it was not its turn
	due     bool // it has to be looked at under the lock
	now     int64
	sleep   time.Duration
	why     Wait
}

// enqueue adds a request to the queue, unless it is in it, and grants those whose turn it is. With over set, or if waiting is of no use,
// the request is granted in any case and leaves the queue.
func (l *line) enqueue(me *ticket, over bool) (p place) {
	l.change(func(t *table, now int64) {
		mine := t.find(me.id)
		if mine == nil && len(t.tickets) < maxTickets {
			t.tickets = append(t.tickets, *me)
		}
		t.grant(now)
		if mine = t.find(me.id); mine == nil || mine.granted == 0 && (over || t.givesUp(mine, now)) {
			t.drop(me.id)
			t.countSent(1)
			p = place{granted: true, forced: true, now: now}
			return
		}
		p = t.place(mine, now)
	})
	return p
}

// peek returns a request's position in the queue, read without locking; due means that the caller has to call enqueue to be sure.
func (l *line) peek(me *ticket) place {
	var t table
	now := l.now()
	if !l.readTable(&t) {
		return place{due: true, now: now}
	}
	mine := t.find(me.id)
	if mine == nil || now >= me.leaves || now < me.arrived {
		return place{due: true, now: now}
	}
	p := t.place(mine, now)
	p.due = !p.granted && (now-t.looked > lookedAfter || now < t.looked)
	return p
}

// givesUp reports whether a request that waits is to be sent now although it is not its turn: its patience ends before the pause.
func (t *table) givesUp(k *ticket, now int64) bool {
	wait, _ := t.waitFor(k, now)
	return now >= k.leaves || now+wait > k.leaves
}

// place returns the position of a ticket: granted, or why it waits and for how long to sleep. Tickets far behind sleep longer.
func (t *table) place(k *ticket, now int64) place {
	if k.granted != 0 {
		return place{granted: true, now: k.granted}
	}
	wait, short := t.waitFor(k, now)
	b := &t.buckets[short]
	p := place{now: now, why: Wait{Pause: time.Duration(max(t.until-now, 0))}}
	if b.guessed == 0 {
		p.why.Unit, p.why.Left, p.why.Limit = short, max(b.left, 0), b.limit
	}
	// Those behind look less often: each look reads the file.
	turns := int64(1)
	for i := range t.tickets {
		if o := &t.tickets[i]; o.granted == 0 && o.arrived < k.arrived {
			turns++
		}
	}
	p.sleep = min(max(time.Duration(min(wait, int64(maxSleep))*turns/2), minSleep), maxSleep, time.Duration(max(k.leaves-now, int64(minSleep))))
	return p
}

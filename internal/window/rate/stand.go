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

// stand is [Share.Wait] for a request that has to be counted.
func (s *Share) stand(ctx context.Context, l *line, a Ask, sizes [units]float64) (*Turn, error) {
	now, patience := l.now(), a.Patience
	if !a.Since.IsZero() {
		patience -= time.Since(a.Since)
	}
	me := ticket{id: randomID(), process: s.store.process, run: hash(a.Run), arrived: now - int64(a.Patience-patience), leaves: now + int64(max(patience, 0)), sizes: sizes}
	if a.People {
		me.people = 1
	}
	began, turn := time.Now(), &Turn{line: l, id: me.id}
	for {
		p := l.queueUp(&me, time.Since(began) >= patience)
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

// A place tells where a request stands in the queue.
type place struct {
	granted bool
	forced  bool // though it was not its turn
	due     bool // it has to be looked at under the lock
	now     int64
	sleep   time.Duration
	why     Wait
}

// queueUp puts a request in the queue unless it stands there, and lets through whose turn it is. With over it goes whatever may come of it:
// its time has passed by a clock that nobody sets.
func (l *line) queueUp(me *ticket, over bool) (p place) {
	l.change(func(t *table, now int64) {
		mine := t.find(me.id)
		if mine == nil && len(t.tickets) < maxTickets {
			t.tickets = append(t.tickets, *me)
		}
		t.grant(now)
		if mine = t.find(me.id); mine == nil || mine.granted == 0 && (over || t.leaves(mine, now)) {
			t.drop(me.id)
			t.sent(1)
			p = place{granted: true, forced: true, now: now}
			return
		}
		p = t.place(mine, now)
	})
	return p
}

// peek looks where a request stands, without the lock.
func (l *line) peek(me *ticket) place {
	var t table
	now := l.now()
	if !l.look(&t) {
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

// leaves reports whether a request that waits goes now, whatever may come of it: its time is over, or the pause is longer than that.
func (t *table) leaves(k *ticket, now int64) bool {
	wait, _ := t.earliest(k, now)
	return now >= k.leaves || now+wait > k.leaves
}

func (t *table) place(k *ticket, now int64) place {
	if k.granted != 0 {
		return place{granted: true, now: k.granted}
	}
	wait, short := t.earliest(k, now)
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

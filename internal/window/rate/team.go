package rate

import (
	"context"
	"time"
)

// Team knows which hosts have a queue for one allowance.
type Team interface {
	// Part tells the others that so many runs of a host are in its queue, and returns the host's part of all that are, 1 for all of it.
	Part(ctx context.Context, allowance, host string, runs int) (float64, error)
}

const (
	// askEvery is the time between two questions to the team while there is a queue, and askTime bounds each.
	askEvery = time.Second
	// askSoon is the time to the second question of a queue that was not there for askLately.
	askSoon, askLately = 100 * time.Millisecond, 5 * time.Second
	askTime            = 2 * time.Second
	// careful is the part of its part that a host takes: the others' answers reach it late.
	careful = 0.99
)

// Join makes the queues of this host parts of queues over several hosts, before their first use. Digests are the same on all of them then. Of
// hosts that can't be asked this one goes by the part that it had last.
func (s *Share) Join(t Team) {
	s.team, s.store.everywhere = t, true
	s.ending, s.end = context.WithCancel(context.Background())
}

// ask has the team asked where that is due, by one process of this host. The table is locked.
func (l *line) ask(t *table, now int64) {
	if l.share.team == nil || now >= t.asked && now-t.asked < int64(askEvery) {
		return
	}
	runs := t.queued(now)
	if runs == 0 {
		return
	}
	if now-t.asked > int64(askLately) { // others may come to it at the same time, and not know of this one yet
		t.asked = now - int64(askEvery-askSoon)
	} else {
		t.asked = now
	}
	s := l.share
	s.asking.Go(func() {
		ctx, cancel := context.WithTimeout(s.ending, askTime)
		defer cancel()
		if part, err := s.team.Part(ctx, l.name, s.store.host(), runs); err == nil && part > 0 && part <= 1 {
			l.change(func(t *table, now int64) { t.divide(part, now) })
		}
	})
}

// queued returns the number of runs that have stood in the queue just now, or one where it is half way to a queue.
func (t *table) queued(now int64) int {
	runs := map[uint64]bool{}
	for i := range t.tickets {
		runs[t.tickets[i].run] = true
	}
	for i := range t.runs {
		if s := &t.runs[i]; now-s.at < 2*int64(askEvery) {
			runs[s.run] = true
		}
	}
	if len(runs) == 0 && t.recent[max(t.slot, 0)%int64(len(t.recent))] > 0 {
		for u := range t.buckets {
			if b := &t.buckets[u]; b.known() && b.left < b.limit*b.share()/2 {
				return 1
			}
		}
	}
	return len(runs)
}

// divide makes a part of all allowances this host's own. A larger one than before is filled by what comes in.
func (t *table) divide(part float64, now int64) {
	if part < 1 {
		part *= careful
	}
	for u := range t.buckets {
		b := &t.buckets[u]
		b.settle(now)
		if smaller := part / b.share(); smaller < 1 && b.left > 0 {
			b.left *= smaller
		}
		b.part = part
	}
	t.grant(now)
}

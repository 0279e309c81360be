package rate

import (
	"context"
	"slices"
	"time"
)

const (
	// probeFor is the time for which the one that tries after a pause is waited for, before another may try beside it.
	probeFor = int64(3 * time.Second)
	// late bounds the time that a ticket stays after its owner should have gone.
	late = int64(5 * time.Second)
	// underWay is the age up to which a request without an answer is taken for one that the provider works on.
	underWay = int64(10 * time.Minute)
	// pickedUp is the longest after it was let through that a request sets out: its owner has to look.
	pickedUp = int64(maxSleep + 50*time.Millisecond)
	// maxPause bounds the pauses that nobody named.
	maxPause = 30 * time.Second
)

// advance brings the table to the time now: it fills the buckets and drops tickets that have waited or lasted too long.
func (t *table) advance(now int64) {
	if most := t.until - t.paused; t.until-now > most { // the clock was set back
		t.paused, t.until = now, now+most
	}
	for i := range t.buckets {
		t.buckets[i].advance(now)
	}
	for now/recentSlot > t.slot || now/recentSlot < t.slot-1 {
		if off := now/recentSlot - t.slot; off > int64(len(t.recent)) || off < 0 {
			t.recent, t.slot = [12]float64{}, now/recentSlot
			break
		}
		t.slot++
		t.recent[t.slot%int64(len(t.recent))] = 0
	}
	t.tickets = slices.DeleteFunc(t.tickets, func(k ticket) bool {
		if k.granted == 0 {
			return now > k.leaves+late || k.arrived > now+late
		}
		return now > k.granted+underWay || k.granted > now+late
	})
}

// countSent adds n requests to the count of those sent in the last minute.
func (t *table) countSent(n int) {
	at := &t.recent[max(t.slot, 0)%int64(len(t.recent))]
	*at = min(*at+float64(n), maxAllowance)
}

// dropDead drops the tickets of processes for which lives returns false. It does so at most five times a second.
func (t *table) dropDead(now int64, lives func(process uint64) bool) {
	if now >= t.swept && now-t.swept < int64(200*time.Millisecond) {
		return
	}
	t.swept = now
	alive := map[uint64]bool{}
	t.tickets = slices.DeleteFunc(t.tickets, func(k ticket) bool {
		live, asked := alive[k.process]
		if !asked {
			live = lives(k.process)
			alive[k.process] = live
		}
		return !live
	})
}

// find returns the ticket of an id; nil if it is gone.
func (t *table) find(id uint64) *ticket {
	for i := range t.tickets {
		if t.tickets[i].id == id {
			return &t.tickets[i]
		}
	}
	return nil
}

// drop removes the ticket of an id.
func (t *table) drop(id uint64) {
	t.tickets = slices.DeleteFunc(t.tickets, func(k ticket) bool { return k.id == id })
}

// grant grants tickets in their order, as long as the allowances have room. After a refusal it grants only one, as a probe.
func (t *table) grant(now int64) {
	t.looked = now
	for now >= t.until {
		k := t.next(now)
		if k == nil {
			return
		}
		if t.refused > 0 && t.find(t.probe) != nil && now >= t.probed && now-t.probed < probeFor {
			return
		}
		if wait, _ := t.waitFor(k, now); wait > 0 {
			return
		}
		if t.refused > 0 {
			t.probe, t.probed = k.id, now
		}
		for u := range t.buckets {
			if b := &t.buckets[u]; b.known() {
				b.left -= k.sizes[u]
			}
		}
		k.granted = now
		t.countSent(1)
		t.countServed(k, now)
	}
}

// waitFor returns the time until a ticket could be granted if it were the first in the queue, and the unit that it waits for.
func (t *table) waitFor(k *ticket, now int64) (wait int64, short Unit) {
	for u := range t.buckets {
		if w := t.buckets[u].waitFor(k.sizes[u], now); w > wait {
			wait, short = w, Unit(u)
		}
	}
	return max(wait, t.until-now), short
}

// next returns the ticket whose turn it is; nil if none waits: people before batch, then the run that has had the least, then the first to
// come. A batch that has waited for half of its patience counts like a person.
func (t *table) next(now int64) *ticket {
	var first *ticket
	var rank int64
	var had float64
	for i := range t.tickets {
		k := &t.tickets[i]
		if k.granted != 0 {
			continue
		}
		people := k.people
		if now-k.arrived > (k.leaves-k.arrived)/2 {
			people = 1
		}
		served := max(t.servedTo(k.run), t.virtual)
		if first == nil || people > rank || people == rank && (served < had || served == had && k.arrived < first.arrived) {
			first, rank, had = k, people, served
		}
	}
	return first
}

// servedTo returns how much a run has been granted so far, in fractions of the allowance.
func (t *table) servedTo(run uint64) float64 {
	for i := range t.runs {
		if t.runs[i].run == run {
			return t.runs[i].served
		}
	}
	return 0
}

// countServed adds a request to what its run has been granted: the largest fraction of an allowance that it takes, or 1 if none is known.
func (t *table) countServed(k *ticket, now int64) {
	part := 0.0
	for u := range t.buckets {
		if b := &t.buckets[u]; b.known() {
			part = max(part, min(k.sizes[u]/b.limit, 1))
		}
	}
	if part == 0 {
		part = 1
	}
	had := max(t.servedTo(k.run), t.virtual)
	t.virtual = had
	for i := range t.runs {
		if s := &t.runs[i]; s.run == k.run {
			s.served, s.at = had+part, now
			return
		}
	}
	if len(t.runs) >= maxRuns {
		oldest := 0
		for i := range t.runs {
			if t.runs[i].at < t.runs[oldest].at {
				oldest = i
			}
		}
		t.runs = slices.Delete(t.runs, oldest, oldest+1)
	}
	t.runs = append(t.runs, service{k.run, had + part, now})
}

// update sets the buckets from what an answer says, whose request was sent at the time sent. Answers to older requests are ignored.
func (t *table) update(s *said, sent, now int64) {
	if sent < t.newest && t.newest <= now {
		return
	}
	t.newest = sent
	for u := range s.readings {
		r := s.readings[u]
		if !r.known {
			continue
		}
		unseen := 0.0
		for i := range t.tickets {
			if k := &t.tickets[i]; k.granted > sent-pickedUp {
				unseen += k.sizes[u]
			}
		}
		if t.buckets[u].limit != r.limit { // what a run had is counted in parts of it
			t.runs, t.virtual = nil, 0
		}
		t.buckets[u].update(r, unseen, now)
	}
}

// recordAnswer records that the provider accepted a request that was sent at the time sent. It ends a pause that began before that.
func (t *table) recordAnswer(s *said, sent, now int64) {
	t.update(s, sent, now)
	t.buckets[Requests].allow()
	if sent >= t.paused {
		t.refused = 0
		t.until = min(t.until, now)
	}
}

// recordRefusal records that the provider refused a request that was sent at the time sent: nobody is granted before the time that the provider
// names, or, if it names none, for a pause that doubles with each refusal. A request that was under way when the last pause began counts for no new
// pause. limited means that the refusal was about the rate and not about an overloaded provider; the number of requests allowed is then guessed, if
// no limit is known.
func (t *table) recordRefusal(s *said, r Refusal, limited bool, sent, now int64) {
	t.update(s, sent, now)
	if b := &t.buckets[Requests]; limited && (!b.known() || b.guessed > 0) && !t.buckets[Tokens].known() && !t.buckets[Input].known() {
		if r.Limit > 0 {
			b.guess(max(r.Limit, minGuess), now)
		} else if sent >= t.paused {
			minute := 0.0
			for _, n := range t.recent {
				minute += n
			}
			b.guess(0.9*minute, now)
		}
	}
	wait := int64(r.After)
	if sent < t.paused { // it was under way when the pause began: it says nothing new
		t.until = max(t.until, now+wait)
		return
	}
	t.refused++
	if wait == 0 {
		wait = int64(min(time.Second<<min(t.refused-1, 10), maxPause))
	}
	t.paused, t.until, t.probe = now, now+wait, 0
}

// hasPlenty reports whether nobody waits and so much of every allowance is left that requests of these sizes need not be counted at once.
func (t *table) hasPlenty(sizes *[units]float64) bool {
	if t.refused > 0 {
		return false
	}
	for u := range t.buckets {
		if !t.buckets[u].hasPlenty(sizes[u]) {
			return false
		}
	}
	return !slices.ContainsFunc(t.tickets, func(k ticket) bool { return k.granted == 0 })
}

// countWaiting returns the number of tickets that wait.
func (t *table) countWaiting() int {
	n := 0
	for i := range t.tickets {
		if t.tickets[i].granted == 0 {
			n++
		}
	}
	return n
}

// Team knows which hosts have a queue for one allowance.
type Team interface {
	// Part tells the other hosts how many runs this host has in its queue, and returns this host's fraction of all runs; 1 for all of them.
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

// Join makes this host share its queues with the other hosts of a team. It must be called before the Share is used. Digests are then the
// same on all of them. While the team cannot be asked, the host uses its last fraction.
func (s *Share) Join(t Team) {
	s.team, s.store.everywhere = t, true
	s.ending, s.end = context.WithCancel(context.Background())
}

// askTeam asks the team in the background for this host's fraction of the allowance, if that is due. Only one process of the host does so
// at a time. The caller has the table locked.
func (l *line) askTeam(t *table, now int64) {
	if l.share.team == nil || now >= t.asked && now-t.asked < int64(askEvery) {
		return
	}
	runs := t.countRuns(now)
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
		if part, err := s.team.Part(ctx, l.name, s.store.hostID(), runs); err == nil && part > 0 && part <= 1 {
			l.change(func(t *table, now int64) { t.setFraction(part, now) })
		}
	})
}

// countRuns returns the number of runs that have used the queue lately; 1 if there is none but more than half of an allowance is used.
func (t *table) countRuns(now int64) int {
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

// setFraction sets this host's fraction (0 to 1) of all allowances. A smaller one shrinks what is left at once, a larger one fills with time.
func (t *table) setFraction(part float64, now int64) {
	if part < 1 {
		part *= careful
	}
	for u := range t.buckets {
		b := &t.buckets[u]
		b.advance(now)
		if smaller := part / b.share(); smaller < 1 && b.left > 0 {
			b.left *= smaller
		}
		b.part = part
	}
	t.grant(now)
}

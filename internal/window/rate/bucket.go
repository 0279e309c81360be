// Package rate keeps requests below what providers let through, for all runs of a user on a host together.
//
//	share := rate.Open(dir, warn)
//	turn, err := share.Wait(ctx, rate.Ask{Key: share.Digest(credential + model), Run: id, Since: now, Patience: 15 * time.Second, Input: tokens})
//	…                                        // the request is sent
//	turn.Answered(res.Header)                // or Refused, or Leave
//	for _, p := range rate.PlanOf(res.Header) { … } // the windows of a subscription: 5 hours, 7 days
//
// A [Share] has a file for each login and model: allowances as the newest answers tell them, and a queue. Whoever holds the file's lock lets
// through whose turn it is, so nobody has to be there for the others; places of processes that have ended are free at once. As long as
// plenty is left, or nothing is known, no file is touched. Nothing in an answer is believed as it stands, and no file stops a request.
package rate

import (
	"math"
	"time"
)

// Everything that processes share is in nanoseconds since 1970, as their common clock tells them. It may be set back: what was to come then
// comes no later than it would have.
const second = float64(time.Second)

// period is that of the allowances of most providers; it stands in where an answer does not tell.
const period = int64(time.Minute)

// stale bounds the time for which an answer is believed.
const stale = int64(10 * time.Minute)

// A bucket is one allowance of a provider's rate limit. It fills continuously, or, where a provider counts by the clock, all at once when a
// period ends; which of the two is learned from the answers.
type bucket struct {
	limit float64 // 0: not known
	left  float64 // at the time at; less than nothing while requests are under way that no answer counts yet
	speed float64 // a second
	at    int64
	full  int64 // when all of it is there again
	told  int64
	fixed float64 // above steady: it counts by the clock
	// anchor is the value of full when that was last judged.
	anchor int64
	// guessed is 1 where only refusals told of it: what was let through in the minute before one.
	guessed float64
	// part is this host's own, where others have queues of the same; 0 for all of it.
	part float64
}

// steady is the evidence that is asked for, and twice that the most that is kept.
const steady = 3

// known reports whether the allowance is known at all.
func (b *bucket) known() bool { return b.limit > 0 }

// share returns the part of the allowance that this host may use. A guessed allowance is all its own.
func (b *bucket) share() float64 {
	if b.part == 0 || b.guessed > 0 {
		return 1
	}
	return b.part
}

// rest is the part of an allowance that stays where several hosts take of it.
const rest = 0.01

// advance brings the bucket to the time now, by filling it. It resets a bucket that no answer has confirmed for long, and corrects times if
// the clock was set back.
func (b *bucket) advance(now int64) {
	if !b.known() {
		return
	}
	if now < b.at { // the clock was set back
		back := b.at - now
		b.full, b.told, b.at = b.full-back, b.told-back, now
		return
	}
	if now-b.told > stale {
		*b = bucket{part: b.part}
		return
	}
	if b.fixed > steady {
		if now >= b.full {
			b.left, b.full = b.limit*b.share(), b.full+period*(1+(now-b.full)/period)
		}
	} else {
		b.left = min(b.limit*b.share(), b.left+b.speed*b.share()*float64(now-b.at)/second)
	}
	b.at = now
}

// update sets the bucket from what an answer says about the allowance. unseen is the size of sent requests that the answer does not count yet.
func (b *bucket) update(r reading, unseen float64, now int64) {
	if b.guessed > 0 {
		*b = bucket{part: b.part}
	}
	fresh := b.limit != r.limit
	b.advance(now)
	if fresh {
		*b = bucket{speed: r.limit / (float64(period) / second), part: b.part}
	}
	left := max(r.left-unseen, -r.limit)
	if part := b.share(); part < 1 {
		// Others take of it at the same time, by answers of their own: each comes up to its part in steps, and a rest stays for what crosses.
		mine := min(part*(r.left-rest*r.limit)-unseen, left)
		if !fresh && mine > b.left {
			mine = b.left + (mine-b.left)/4
		}
		left = max(mine, -r.limit)
	}
	b.limit, b.left, b.at, b.told = r.limit, left, now, now
	gone := r.limit - r.left
	if r.full < 0 {
		b.full = now + int64(gone/b.speed*second)
		return
	}
	b.full = now + int64(r.full)
	if r.full < learnable || gone <= 0 {
		return
	}
	b.judgeRefill(now+int64(gone/b.speed*second), now)
	if speed := gone / r.full.Seconds(); fresh {
		b.speed = speed
	} else {
		b.speed = (b.speed + speed) / 2
	}
}

// learnable is the least time until a bucket is full that is learned from: they come rounded.
const learnable = 5 * time.Second

// judgeRefill weighs whether the provider refills the bucket continuously or all at once, by which of the two predicted the end of the
// period better. flowing is the end that the first predicts.
func (b *bucket) judgeRefill(flowing, now int64) {
	apart := flowing - b.anchor
	switch {
	case b.anchor <= now:
		b.anchor = b.full
		return
	case max(apart, -apart) < int64(3*time.Second):
		return
	}
	if math.Abs(float64(b.full-b.anchor)) < math.Abs(float64(b.full-flowing)) {
		b.fixed = min(b.fixed+1, 2*steady)
	} else {
		b.fixed = max(b.fixed-1, 0)
		b.anchor = b.full
	}
}

// guess sets the bucket to an allowance for a provider that names none: sent, the requests it let through in the minute before it refused.
// One of them may be sent once the pause is over.
func (b *bucket) guess(sent float64, now int64) {
	limit := max(sent, minGuess)
	*b = bucket{limit: limit, left: 1, speed: limit * float64(time.Second) / float64(period), at: now, full: now + period, told: now, guessed: 1, part: b.part}
}

// minGuess is the least number of requests a minute that is guessed: a refusal may have been about somebody else's requests.
const minGuess = 12

// allow raises a guessed allowance after a request that was accepted.
func (b *bucket) allow() {
	if b.guessed > 0 && b.limit < maxAllowance {
		b.limit *= 1.05
		b.speed *= 1.05
	}
}

// waitFor returns the time in nanoseconds until a request of a size may be sent, 0 for now. Too large a request waits for the whole allowance.
func (b *bucket) waitFor(size float64, now int64) int64 {
	size = min(size, b.limit*b.share())
	switch {
	case !b.known() || b.left >= size:
		return 0
	case b.fixed > steady:
		return max(b.full-now, 1)
	}
	wait := (size - b.left) / (b.speed * b.share()) * second
	if !(wait < float64(maxWait)) {
		return int64(maxWait)
	}
	return max(int64(wait), 1)
}

// hasPlenty reports whether so much is left that requests of this size need not be counted exactly.
func (b *bucket) hasPlenty(size float64) bool {
	return !b.known() || b.left >= b.limit*b.share()/4 && b.left >= many*size
}

// many is more than the requests that the processes of a host send before an answer tells all of them what is left.
const many = 256

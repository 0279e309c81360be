package disk

import (
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// The rests: a run that waits is left alone, because asking each of its processes costs far more than the signs do.
const (
	// longestRest is the most between two looks at a run that rests. Where somebody on the machine writes, a run whose processor time is
	// counted rests for restBesideWriters at most, because a process may have left what counts it; one whose time is not counted rests for
	// restUncounted.
	longestRest       = time.Minute
	restBesideWriters = 20 * time.Second
	restUncounted     = 6 * time.Second
	// leastFill and mostFill bound the loss of free space, and what the machine has written, that a look is worth; between them it is
	// fillShare of the room up to the nearest line.
	leastFill, mostFill = limit.MiB, 16 * limit.MiB
	fillShare           = 16
	// stillLooks is the number of looks in a row that found nothing written after which a run whose time is not counted rests.
	stillLooks = 2
)

// rest decides whether a run can be left alone until the next pause is over, by signs that cost one call each: its processor time, what is
// free on the disks, and what the whole machine has written. It is not safe for concurrent use.
type rest struct {
	sampler *sampler
	looked  time.Time
	spent   time.Duration // the run's processor time before the last look
	counted bool          // it was known then
	same    int           // looks in a row that found nothing written
	written limit.Bytes
	room    limit.Bytes // at the last look
	ending  bool        // somebody was to end at the last look
}

// lasts reports whether nothing can have happened since the last look that a look must see now. spent is the run's processor time now, where
// it is counted.
func (r *rest) lasts(spent time.Duration, counted bool) bool {
	since := time.Since(r.looked)
	share := max(leastFill, r.room/fillShare)
	little := min(mostFill, share)
	switch {
	case r.ending || r.looked.IsZero() || since >= longestRest:
		return false
	case counted:
		return r.counted && spent == r.spent && !r.sampler.fills(share) && (since < restBesideWriters || r.sampler.nobodyWrites(little))
	case r.same < stillLooks || r.sampler.fills(share):
		return false
	}
	return since < min(restUncounted, timeFor(r.room)) || !r.sampler.fills(little) && r.sampler.nobodyWrites(little)
}

// begin is called before the processes are asked, so that what they do meanwhile counts for the next look.
func (r *rest) begin(spent time.Duration, counted bool) {
	r.spent, r.counted, r.looked = spent, counted, time.Now()
}

// note takes what a look has found.
func (r *rest) note(reading Reading, policy *Policy) {
	if r.same++; r.writes(reading) {
		r.same = 0
	}
	r.written, r.room, r.ending = reading.Written, policy.Room(reading), policy.ending()
}

// writes reports whether the run has written since the look before this reading.
func (r *rest) writes(reading Reading) bool { return reading.Written > r.written }

// timeFor returns half of the time in which the fastest disk writes so much.
func timeFor(room limit.Bytes) time.Duration {
	return time.Duration(min(float64(room)/float64(fastest)/2, longestRest.Seconds()) * float64(time.Second))
}

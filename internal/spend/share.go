package spend

import (
	"encoding/binary"
	"math"
	"time"
)

// share is the part of a budget that this host may spend, as a book has it. All amounts are sums since the period began.
type share struct {
	// Granted bounds this host's spending, and Published the same as the others were last told. It is never less than Granted
	// but for an advance: a share is made smaller here first, and for the others once no process goes by the old one.
	Granted, Published float64
	Told               float64 // this host's spending, as the others were last told
	Others             float64 // theirs
	Max                float64 // the budget then
	Left               float32 // of the budget, of what nobody was granted
	Hosts              uint16  // that hold some of it
	Returned           bool    // when the last process ended
	_                  byte
	At, Lowered        uint32 // when the others were last asked, and since when Granted is below Published, in seconds of the epoch
}

// shareSize is that of its encoding.
const shareSize = 56

func (s *share) encode(to []byte) { _, _ = binary.Encode(to, binary.LittleEndian, s) }

// decode returns false for numbers that no share has.
func (s *share) decode(from []byte) bool {
	if _, err := binary.Decode(from, binary.LittleEndian, s); err != nil {
		return false
	}
	for _, v := range []float64{s.Granted, s.Published, s.Told, s.Others, s.Max, float64(s.Left)} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// lowerRest is the time after which no process goes by a share that was made smaller: longer than each keeps what it has read.
const lowerRest = 3 * time.Second

// since reports whether so much time has passed since a second of the epoch. A clock that was set back has passed nothing.
func since(second uint32, d time.Duration, now time.Time) bool {
	return now.Unix()-int64(second) >= int64(d/time.Second)
}

// keep returns the least that the others have to be told that this host may spend.
func (s *share) keep(now time.Time) float64 {
	if s.Lowered != 0 && !since(s.Lowered, lowerRest, now) {
		return max(s.Published, s.Granted)
	}
	return s.Granted
}

// take makes it what a [Team] has answered.
func (s *share) take(p Part, budget, spent float64, now time.Time) {
	lower := p.Granted < s.Granted
	s.Granted, s.Published, s.Told, s.Others = p.Granted, p.Published, spent, p.Others
	s.Left, s.Hosts, s.At = float32(min(max(p.Left, 0), math.MaxFloat32)), uint16(min(p.Hosts, math.MaxUint16)), uint32(now.Unix())
	s.Max = budget
	switch {
	case s.Granted >= s.Published:
		s.Lowered = 0
	case lower || s.Lowered == 0 || now.Unix() < int64(s.Lowered):
		s.Lowered = uint32(now.Unix())
	}
}

const (
	// advance is the part of a budget that a host may spend that has no share of it because nobody could be asked when it began.
	advance = 0.02
	// ahead is the number of requests like the one at hand for which a share is to have room, else more is asked for meanwhile.
	ahead = 4
)

// lend gives a host that holds no share of a budget an advance, once until the others have answered: of what was left of it no more than
// half is lent, if all that were known do so.
func (s *share) lend(budget, spent float64) bool {
	if s.At != 0 && !s.Returned {
		return false
	}
	most := advance * budget
	if s.At != 0 {
		most = min(most, float64(s.Left)/2/float64(s.Hosts+1))
	}
	s.At, s.Returned = max(s.At, 1), false
	s.Granted = max(s.Granted, spent+most)
	return true
}

package spend

import (
	"encoding/binary"
	"math"
	"time"
)

// share is the part of a budget that this host may spend. All amounts are sums since the period began.
type share struct {
	// granted bounds this host's spending, and published the same as the others were last told. It is never less than granted
	// but for an advance: a share is made smaller here first, and for the others once no process goes by the old one.
	granted, published float64
	told               float64 // this host's spending, as the others were last told
	others             float64 // theirs
	max                float64 // the budget then
	left               float32 // of the budget, of what nobody was granted
	hosts              uint16  // that hold some of it
	flags              uint16
	at, lowered        uint32 // when the others were last asked, and since when granted is below published, in seconds of the epoch
}

const (
	shareSize = 56
	// shareReturned marks one that was given back when the last process ended.
	shareReturned = 1
)

func (s *share) encode(to []byte) {
	le := binary.LittleEndian
	for i, v := range []float64{s.granted, s.published, s.told, s.others, s.max} {
		le.PutUint64(to[8*i:], math.Float64bits(v))
	}
	le.PutUint32(to[40:], math.Float32bits(s.left))
	le.PutUint16(to[44:], s.hosts)
	le.PutUint16(to[46:], s.flags)
	le.PutUint32(to[48:], s.at)
	le.PutUint32(to[52:], s.lowered)
}

// decode returns false for numbers that no share has.
func (s *share) decode(from []byte) bool {
	le := binary.LittleEndian
	for i, v := range []*float64{&s.granted, &s.published, &s.told, &s.others, &s.max} {
		if *v = math.Float64frombits(le.Uint64(from[8*i:])); !(*v >= 0) || math.IsInf(*v, 0) {
			return false
		}
	}
	s.left = math.Float32frombits(le.Uint32(from[40:]))
	s.hosts, s.flags = le.Uint16(from[44:]), le.Uint16(from[46:])
	s.at, s.lowered = le.Uint32(from[48:]), le.Uint32(from[52:])
	return s.left >= 0 && !math.IsInf(float64(s.left), 0)
}

// lowerRest is the time after which no process goes by a share that was made smaller: longer than each keeps what it has read.
const lowerRest = 3 * time.Second

// since reports whether so much time has passed since a second of the epoch. A clock that was set back has passed nothing.
func since(second uint32, d time.Duration, now time.Time) bool {
	return now.Unix()-int64(second) >= int64(d/time.Second)
}

// keep returns the least that the others have to be told that this host may spend.
func (s *share) keep(now time.Time) float64 {
	if s.lowered != 0 && !since(s.lowered, lowerRest, now) {
		return max(s.published, s.granted)
	}
	return s.granted
}

// take makes it what a [Team] has answered.
func (s *share) take(p Part, budget, spent float64, now time.Time) {
	lower := p.Granted < s.granted
	s.granted, s.published, s.told, s.others = p.Granted, p.Published, spent, p.Others
	s.left, s.hosts, s.at = float32(min(max(p.Left, 0), math.MaxFloat32)), uint16(min(p.Hosts, math.MaxUint16)), uint32(now.Unix())
	s.flags, s.max = 0, budget
	switch {
	case s.granted >= s.published:
		s.lowered = 0
	case lower || s.lowered == 0 || now.Unix() < int64(s.lowered):
		s.lowered = uint32(now.Unix())
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
	if s.at != 0 && s.flags&shareReturned == 0 {
		return false
	}
	most := advance * budget
	if s.at != 0 {
		most = min(most, float64(s.left)/2/float64(s.hosts+1))
	}
	s.at, s.flags = max(s.at, 1), 0
	s.granted = max(s.granted, spent+most)
	return true
}

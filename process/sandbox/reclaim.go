package sandbox

import (
	"errors"

	"github.com/plimsoll/plimsoll/limit"
)

var errNoReclaim = errors.New("cannot give memory back while the run lives")

// reclaimer is a cage whose memory the kernel can move to swap while its processes live.
type reclaimer interface {
	// reclaims returns why it cannot here, nil when it can.
	reclaims() error
	// reclaim asks for as many bytes. It may take as long as the swap needs to write them.
	reclaim(bytes int64) error
}

func reclaims(c cage) error {
	r, ok := c.(reclaimer)
	if !ok {
		return errNoReclaim
	}
	return r.reclaims()
}

// Reclaim has the kernel drop what the run can read again from files, and move the rest of its memory to swap, and returns by how many bytes
// the run holds less memory than before. The processes go on: what they touch comes back. It works where [Spec].Reclaims was set.
func (r *Run) Reclaim() (limit.Bytes, error) {
	held := func() int64 { // the watch uses the same cage, and must not wait for the swap
		r.cageMu.Lock()
		defer r.cageMu.Unlock()
		if r.over {
			return 0
		}
		return r.cage.charged()
	}
	before := held()
	if before <= 0 {
		return 0, nil
	}
	if err := reclaims(r.cage); err != nil {
		return 0, err
	}
	err := r.cage.(reclaimer).reclaim(before)
	after := held()
	if after == 0 { // the run has ended meanwhile
		return 0, err
	}
	return limit.Bytes(max(0, before-after)), err
}

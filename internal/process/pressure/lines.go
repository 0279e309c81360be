package pressure

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
)

// Reading is the memory left at one moment.
type Reading struct {
	// Total is the memory that can still be given out, Physical its part that is not swap, in bytes.
	Total, Physical limit.Bytes
	// BoundBy is "host", or the control group that leaves the least.
	BoundBy string
	// MemoryStall and IOStall are the percentage of the last ten seconds in which some
	// process waited for memory, and for input or output (PSI "some avg10"); 0 when unknown.
	MemoryStall, IOStall float64
}

// Lines are the marks that available memory should not fall below, in bytes.
type Lines struct {
	Soft, Hard limit.Bytes
}

// Bounds of [LinesFor].
const (
	// softShare: however much is to be kept free for admission, memory is not short while
	// an eighth of it is available.
	softShare = 8
	// leastShare: 1/64 of memory, or headroom.LeastMinFree where that is less, counts as
	// short also when nothing is to be kept free.
	leastShare = 64
)

// LinesFor returns the lines for a host on which admission keeps minFree free. Soft is minFree, but at most an eighth of capacity, and at
// least a 64th of it or 256 MiB, whichever is less; hard is half of soft: what lies between them lasts a process that takes 1 GiB a second
// for a look or two.
func LinesFor(minFree, capacity limit.Bytes) Lines {
	soft := max(minFree, min(capacity/leastShare, headroom.LeastMinFree))
	if capacity > 0 {
		soft = min(soft, capacity/softShare)
	}
	soft = max(soft, 2)
	return Lines{Soft: soft, Hard: soft / 2}
}

// Near reports whether memory is within twice the soft line, where stalls are worth reading.
func (l Lines) Near(r Reading) bool { return min(r.Total, r.Physical) < 2*l.Soft }

// relaxedLine returns the available memory at which a stopped run goes on: above the soft line, so that it does not fall below that at once.
func (l Lines) relaxedLine() limit.Bytes { return l.Soft + l.Soft/4 }

// Stalls that make memory below the soft line as urgent as below the hard one, in percent.
// An ordinary build keeps a disk busy, so input and output counts from a higher share on.
const (
	memoryStall = 20
	ioStall     = 40
)

// level is a degree of shortage of memory.
type level int

const (
	plenty level = iota // at least eight times the soft line
	normal
	near // within twice the soft line
	soft
	hard
)

// isAmple reports whether the level is plenty for certain, whatever the stalls.
func (l Lines) isAmple(r Reading) bool {
	return min(r.Total, r.Physical) >= 8*l.Soft && min(r.Total, r.Physical) >= l.Hard
}

// findLevel returns the degree of shortage, and the figures for it in words.
func (l Lines) findLevel(r Reading) (level, string) {
	stalled := ""
	switch {
	case r.MemoryStall >= memoryStall:
		stalled = fmt.Sprintf(", processes waited for memory %.0f %% of the time", r.MemoryStall)
	case r.IOStall >= ioStall:
		stalled = fmt.Sprintf(", processes waited for the disk %.0f %% of the time", r.IOStall)
	}
	where := ""
	if r.BoundBy != "" && r.BoundBy != headroom.Host {
		where = " in " + r.BoundBy
	}
	left := r.Total.Human() + " of memory available" + where
	switch {
	case r.Total < l.Hard:
		return hard, left + ", less than " + l.Hard.Human() + stalled
	case r.Total < l.Soft && stalled != "":
		return hard, left + ", less than " + l.Soft.Human() + stalled
	case r.Physical < l.Hard && stalled != "": // swap is free, but the host only swaps
		return hard, r.Physical.Human() + " of memory available" + where + " beside swap" + stalled
	case r.Total < l.Soft:
		return soft, left + ", less than " + l.Soft.Human()
	case l.Near(r):
		return near, left
	case r.Total < 8*l.Soft:
		return normal, left
	}
	return plenty, left
}

package admission

import (
	"hash/fnv"
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/headroom"
)

const (
	// sumAge is how old a sum over what holders use may be.
	sumAge = time.Second
	// alwaysExact is up to how many holders what they use is read at every decision: about 50 µs for each.
	alwaysExact = 16
)

// ground is what is there to be given out.
type ground struct {
	known     bool // memory
	err       error
	sure      bool // claimed is the exact sum, not an upper bound of it
	available [2]headroom.Room
	ceiling   [2]headroom.Room
	capacity  limit.Bytes
	claimed   limit.Bytes // Σ max(0, reservation − current), and what waiters before us get
	tools     map[string]int
	total     int
	holders   []Holder
	reaping   bool
}

// ground reads the memory and adds up who holds. What the holders use is read when exact is asked for and while they are few. Else
// the sum is rounded up, against the newcomer: a sum of the last second counts with the memory that was available
// then, if that was less; without one every reservation counts in full.
func (b *book) ground(r Request, exact bool) *ground {
	g := &ground{tools: map[string]int{}}
	surroundings := g.read(r)
	var standing []*entry // with a claim of its own
	for _, e := range b.file.Entries {
		if e.State != Holding || b.nested(e) {
			continue
		}
		standing = append(standing, e)
		if e.StaleWhy != "" { // its memory is already missing from what is available; nothing more is held for it
			continue
		}
		g.reaping = g.reaping || e.reaping
		if !e.NoSlot {
			g.tools[e.slot()]++
			g.total++
		}
	}
	age := b.now.UnixNano() - b.sum.at
	recent := b.sum.at != 0 && age >= 0 && age <= int64(sumAge) && g.known && b.sum.surroundings == surroundings
	switch {
	case exact || len(standing) <= alwaysExact:
		b.measure(g, standing, surroundings)
	case recent:
		for i := range g.available {
			g.available[i] = atMost(g.available[i], b.sum.available[i])
		}
		fallthrough
	default:
		for _, e := range standing {
			left := e.Reservation
			if e.StaleWhy != "" {
				continue
			}
			if recent {
				left -= min(left, e.used)
			}
			g.claimed = add(g.claimed, left)
		}
	}
	b.addOthers(g, r)
	return g
}

// measure reads what every holder uses. While they are many the result is kept for the decisions of the next second.
func (b *book) measure(g *ground, standing []*entry, surroundings uint64) {
	g.sure = true
	for _, e := range standing {
		h := b.holder(e)
		g.holders = append(g.holders, h)
		if e.StaleWhy != "" {
			continue
		}
		e.used = min(h.Reservation, h.Current)
		g.claimed = add(g.claimed, h.Reservation-e.used)
	}
	sortHolders(g.holders)
	b.sum = snapshot{}
	if len(standing) > alwaysExact && g.known {
		b.changed = true
		b.sum = snapshot{at: b.now.UnixNano(), available: [2]limit.Bytes{g.available[0].Total, g.available[1].Total}, surroundings: surroundings}
	}
}

// read asks for the memory, and returns what tells one set of limits around a reader from another.
func (g *ground) read(r Request) (surroundings uint64) {
	if r.Headroom == nil {
		return 0
	}
	reading, err := r.Headroom()
	if g.err = err; err != nil {
		return 0
	}
	g.known = true
	for i, swap := range [2]bool{false, true} {
		g.available[i], g.ceiling[i] = reading.Available(swap), reading.Ceiling(swap)
	}
	g.capacity = reading.Capacity()
	h := fnv.New64a()
	for _, c := range reading.Cgroups {
		_, _ = h.Write([]byte(c.Dir + "\x00"))
	}
	return h.Sum64()
}

// atMost lowers a room to most bytes in all.
func atMost(room headroom.Room, most limit.Bytes) headroom.Room {
	if room.Total > most {
		room.Total = most
		room.Physical = min(room.Physical, most)
		room.Swap = most - room.Physical
	}
	return room
}

func (g *ground) minFree(r Request) limit.Bytes {
	switch {
	case r.MinFree > 0:
		return r.MinFree
	case r.MinFree < 0 || !g.known:
		return 0
	}
	return headroom.MinFree(g.capacity)
}

func swapIndex(countSwap bool) int {
	if countSwap {
		return 1
	}
	return 0
}

// ever reports whether e could be admitted if it were alone.
func (g *ground) ever(e *entry) (Reason, bool) {
	switch {
	case e.SlotsPerTool < 0:
		return ToolSlots, false
	case e.SlotsTotal < 0:
		return TotalSlots, false
	case g.known && e.Reservation > g.ceiling[swapIndex(e.CountSwap)].Total-e.MinFree:
		return Memory, false
	}
	return "", true
}

// remainder is what e could get; below 0 when more is claimed than there is.
func (g *ground) remainder(e *entry) limit.Bytes {
	return g.available[swapIndex(e.CountSwap)].Total - e.MinFree - g.claimed
}

func (g *ground) fits(e *entry) (Reason, bool) {
	switch {
	case e.SlotsPerTool > 0 && g.tools[e.slot()] >= e.SlotsPerTool:
		return ToolSlots, false
	case e.SlotsTotal > 0 && g.total >= e.SlotsTotal:
		return TotalSlots, false
	case g.known && e.Reservation > g.remainder(e):
		return Memory, false
	}
	return "", true
}

// harms reports whether e, if it goes, takes something that the waiter w needs: w no longer
// fits beside it, or not even when a slot of its own tool becomes free.
func (g *ground) harms(e, w *entry) bool {
	switch {
	case g.known && w.Reservation > g.remainder(w)-e.Reservation:
		return true
	case w.SlotsTotal > 0 && g.total+1 >= w.SlotsTotal:
		return true
	}
	return w.SlotsPerTool > 0 && e.slot() == w.slot() && g.tools[w.slot()]+1 >= w.SlotsPerTool
}

// take gives w what it asks for.
func (g *ground) take(w *entry) {
	g.claimed = add(g.claimed, w.Reservation)
	if !w.NoSlot {
		g.tools[w.slot()]++
		g.total++
	}
}

// add adds sizes that are not negative and stops at the largest.
func add(a, b limit.Bytes) limit.Bytes {
	if a > headroom.Unlimited-b {
		return headroom.Unlimited
	}
	return a + b
}

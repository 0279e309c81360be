package admission

import (
	"hash/fnv"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// sumAge bounds the age of a sum over the use of the holders.
	sumAge = time.Second
	// alwaysExact is the number of holders up to which the use of each is read at every decision, which takes about 50 µs for each.
	alwaysExact = 16
)

// capacity is a snapshot of the memory and slots that one decision has to give out.
type capacity struct {
	known     bool // memory
	err       error
	exact     bool // claimed is the exact sum, not an upper bound of it
	available [2]headroom.Room
	ceiling   [2]headroom.Room
	capacity  limit.Bytes
	machine   limit.Bytes // its memory and swap, whatever groups allow
	claimed   limit.Bytes // Σ max(0, reservation − current), and what waiters before us get
	tools     map[string]int
	total     int
	holders   []Holder
	reaping   bool
}

// readCapacity reads the memory of the host and adds up what is reserved and not used yet, by this ledger and by others. It reads what each
// holder uses if exact is set or there are few holders. Otherwise the sum is an upper bound, so that a decision never gives out too much: a sum
// of the last second is used together with the memory that was available then, if that was less; without such a sum, each reservation counts in
// full.
func (b *book) readCapacity(r Request, exact bool) *capacity {
	g := &capacity{tools: map[string]int{}}
	cgroupsHash := g.readMemory(r)
	var holding []*entry // with a claim of its own
	for _, e := range b.file.Entries {
		if e.State != Holding || b.isNested(e) {
			continue
		}
		holding = append(holding, e)
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
	recent := b.sum.at != 0 && age >= 0 && age <= int64(sumAge) && g.known && b.sum.cgroupsHash == cgroupsHash
	switch {
	case exact || len(holding) <= alwaysExact:
		b.sumUse(g, holding, cgroupsHash)
	case recent:
		for i := range g.available {
			g.available[i] = capRoom(g.available[i], b.sum.available[i])
		}
		fallthrough
	default:
		for _, e := range holding {
			left := e.Reservation
			if e.StaleWhy != "" {
				continue
			}
			if recent {
				left -= min(left, e.used)
			}
			g.claimed = headroom.AddCapped(g.claimed, left)
		}
	}
	b.addOthers(g, r)
	return g
}

// sumUse reads what each holder uses, and adds what it has reserved and not used to g. With more than alwaysExact holders it stores the sum in
// the ledger, for the decisions of the next second.
func (b *book) sumUse(g *capacity, holding []*entry, cgroupsHash uint64) {
	g.exact = true
	for _, e := range holding {
		h := b.describeEntry(e)
		g.holders = append(g.holders, h)
		if e.StaleWhy != "" {
			continue
		}
		e.used = h.Reservation - h.Unused()
		g.claimed = headroom.AddCapped(g.claimed, h.Unused())
	}
	sortHolders(g.holders)
	b.sum = snapshot{}
	if len(holding) > alwaysExact && g.known {
		b.changed = true
		b.sum = snapshot{at: b.now.UnixNano(), available: [2]limit.Bytes{g.available[0].Total, g.available[1].Total}, cgroupsHash: cgroupsHash}
	}
}

// readMemory reads the available memory into g, or sets g.err. It returns a hash of the enclosing control groups, as readings with different
// hashes must not be mixed; 0 without a reading.
func (g *capacity) readMemory(r Request) (cgroupsHash uint64) {
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
	g.capacity, g.machine = reading.Capacity(), reading.MemTotal+reading.SwapTotal
	h := fnv.New64a()
	for _, c := range reading.Cgroups {
		_, _ = h.Write([]byte(c.Dir + "\x00"))
	}
	return h.Sum64()
}

// capRoom returns room with a total of at most maxBytes.
func capRoom(room headroom.Room, maxBytes limit.Bytes) headroom.Room {
	if room.Total > maxBytes {
		room.Total = maxBytes
		room.Physical = min(room.Physical, maxBytes)
		room.Swap = maxBytes - room.Physical
	}
	return room
}

// bytesToKeepFree returns the bytes to keep free: those of the request, 0 if that is negative, else a share of the capacity.
func (g *capacity) bytesToKeepFree(r Request) limit.Bytes {
	switch {
	case r.MinFree > 0:
		return r.MinFree
	case r.MinFree < 0 || !g.known:
		return 0
	}
	return headroom.MinFree(g.capacity)
}

// swapIndex returns the index in capacity.available and ceiling: 1 with swap, else 0.
func swapIndex(countSwap bool) int {
	if countSwap {
		return 1
	}
	return 0
}

// reserveBytes returns the bytes to reserve for e: what r asks for, and when r yields at most what is available: else one death, or a host that has
// less memory than it had, would keep a tool out for ever. It is never lowered below r.Least, unless that could not fit at all, nor below half of the
// ceiling: for that the run waits, because other programs and runs have the rest and may give it back.
func (g *capacity) reserveBytes(e *entry, r Request) limit.Bytes {
	most := g.ceiling[swapIndex(e.CountSwap)].Total - e.MinFree
	if !g.known || !r.Yields || most <= 0 {
		return r.Reservation
	}
	least := r.Least
	if least > most {
		least = 0
	}
	return min(r.Reservation, max(least, g.availableTo(e), most/2))
}

// couldEverFit reports whether e could be admitted if it were alone, and if not, the obstacle.
func (g *capacity) couldEverFit(e *entry) (Reason, bool) {
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

// availableTo returns the memory that e could get, in bytes. It is below 0 when more is claimed than there is.
func (g *capacity) availableTo(e *entry) limit.Bytes {
	return g.available[swapIndex(e.CountSwap)].Total - e.MinFree - g.claimed
}

// fitsNow reports whether e may hold now, and if not, the obstacle: a limit of runs at a time, or memory that is missing.
func (g *capacity) fitsNow(e *entry) (Reason, bool) {
	switch {
	case e.SlotsPerTool > 0 && g.tools[e.slot()] >= e.SlotsPerTool:
		return ToolSlots, false
	case e.SlotsTotal > 0 && g.total >= e.SlotsTotal:
		return TotalSlots, false
	case g.known && e.Reservation > g.availableTo(e):
		return Memory, false
	}
	return "", true
}

// wouldStarve reports whether admitting e would take something that the waiter w needs: w would no longer fit beside it, not even when a slot of its
// own tool becomes free.
func (g *capacity) wouldStarve(e, w *entry) bool {
	switch {
	case g.known && w.Reservation > g.availableTo(w)-e.Reservation:
		return true
	case w.SlotsTotal > 0 && g.total+1 >= w.SlotsTotal:
		return true
	}
	return w.SlotsPerTool > 0 && e.slot() == w.slot() && g.tools[w.slot()]+1 >= w.SlotsPerTool
}

// reserveFor adds the reservation of w to that in use, and its slot unless it takes none.
func (g *capacity) reserveFor(w *entry) {
	g.claimed = headroom.AddCapped(g.claimed, w.Reservation)
	if !w.NoSlot {
		g.tools[w.slot()]++
		g.total++
	}
}

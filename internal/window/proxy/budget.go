package proxy

import (
	"context"
	"math/bits"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/plimsoll/plimsoll/window/wire"
)

// A budget bounds the memory of bodies at one time, over all requests: their bytes as they came, and what a look into them takes. Waiters
// are served in the order they came. An eighth is kept for small bodies, so that they never wait behind large ones.
type budget struct {
	sem   *semaphore.Weighted
	small *semaphore.Weighted
	giant *semaphore.Weighted // of one: see [giantBody]
	turns *semaphore.Weighted // of one for each processor but one: see [freeLook]
	size  int64               // of sem
	wait  time.Duration
}

// What a look costs was measured with bodies of 8 MiB: one string, 65,000 messages, 119,000 tool calls.
const (
	// smallBody bounds the bytes charged to the part that is kept for small ones: most requests of a short conversation.
	smallBody = 1 << 20
	// recordCost is the charge for one object of a body, a message or a part, in bytes: 350 are held, and more while the
	// lists of them grow.
	recordCost = 400
	// maxRecords bounds the objects of a body; wire refuses more.
	maxRecords = wire.MaxMessages + 2*wire.MaxParts
	// giantBody is the size, decoded, from which one body is looked into at a time: a million tokens of text. So is one that
	// costs giantCost: 80,000 records.
	giantBody = 4 << 20
	giantCost = 32 << 20
	// giantWait bounds the wait of another one for its turn, and then for memory, before it is forwarded without a look.
	giantWait = 500 * time.Millisecond
	// freeLook is the size, decoded, above which a body waits for its turn to be looked into. A look keeps a processor busy
	// for 10 to 100 ms a megabyte: with a turn for each processor but one, small requests do not wait behind large ones.
	freeLook = 256 << 10
	// turnWait bounds its wait.
	turnWait = 30 * time.Second
)

// lookCost returns the bytes of memory that parsing a text of size bytes with that many JSON objects takes, without the text itself: as
// much again for an edit of it, and a record of each message and part.
func lookCost(size, objects int) int64 {
	return int64(size) + recordCost*int64(min(objects, maxRecords))
}

// giantSize returns the size by which a text of size bytes is charged for its turn: size, but at least giantBody if parsing it takes look
// more bytes that make it a giant.
func giantSize(size, look int64) int64 {
	if size+look >= giantCost {
		return max(size, giantBody)
	}
	return size
}

// turns returns the number of bodies above [freeLook] that may be parsed at the same time.
func turns() int64 { return int64(max(1, runtime.GOMAXPROCS(0)-1)) }

// newBudget returns a budget of size bytes, an eighth of which is for small bodies if that is enough for one. wait bounds a body's wait.
func newBudget(size int64, wait time.Duration) *budget {
	small := size / 8
	if small < smallBody {
		small = 0
	}
	return &budget{
		sem: semaphore.NewWeighted(size - small), small: semaphore.NewWeighted(small), giant: semaphore.NewWeighted(1),
		turns: semaphore.NewWeighted(turns()), size: size - small, wait: wait,
	}
}

// A hold is one request's share of the budget. It is used by one goroutine.
type hold struct {
	b     *budget
	n     int64
	small bool // n is of the part for small bodies
	giant bool // this is the one giant
	turn  bool // this has one of the turns
}

// acquireWithin takes n units of a semaphore. It returns false, with none taken, if ctx ended or wait was over before they were free.
func acquireWithin(ctx context.Context, s *semaphore.Weighted, n int64, wait time.Duration) bool {
	if s.TryAcquire(n) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return s.Acquire(ctx, n) == nil
}

// becomeGiant reserves the one place for a giant body, waiting at most giantWait, and reports whether h has it.
func (h *hold) becomeGiant(ctx context.Context) bool {
	h.giant = h.giant || acquireWithin(ctx, h.b.giant, 1, giantWait)
	return h.giant
}

// takeTurn waits a bounded time for a turn to parse size bytes. It returns false if it got none. freeLook bytes need no turn.
func (h *hold) takeTurn(ctx context.Context, size int64) bool {
	if h.turn || size <= freeLook {
		return true
	}
	wait := turnWait
	if size >= giantBody {
		wait = giantWait
	}
	h.turn = acquireWithin(ctx, h.b.turns, 1, wait)
	return h.turn
}

// endTurn gives back the turn, and the place of the one giant body, if the hold has them.
func (h *hold) endTurn() {
	if h.turn {
		h.b.turns.Release(1)
	}
	if h.giant {
		h.b.giant.Release(1)
	}
	h.turn, h.giant = false, false
}

// growTo raises the share to n bytes, or to the whole budget if n is more; it never lowers it. It returns false if there was no room in
// time: the wait is bounded, because two requests that each hold a share could wait for each other forever.
func (h *hold) growTo(ctx context.Context, n int64) bool {
	n = min(n, h.b.size)
	more := n - h.n
	if more <= 0 {
		return true
	}
	if n <= smallBody && (h.n == 0 || h.small) && h.b.small.TryAcquire(more) {
		h.n, h.small = n, true
		return true
	}
	before := int64(0)
	if h.small { // all of it moves
		before, more = h.n, n
	}
	wait := h.b.wait
	if h.giant {
		wait = min(wait, giantWait)
	}
	if !acquireWithin(ctx, h.b.sem, more, wait) {
		return false
	}
	if before > 0 {
		h.b.small.Release(before)
	}
	h.n, h.small = n, false
	return true
}

// shrinkTo lowers the share to n bytes; it never raises it. At 0 it ends the turn too.
func (h *hold) shrinkTo(n int64) {
	if n < h.n {
		if h.small {
			h.b.small.Release(h.n - n)
		} else {
			h.b.sem.Release(h.n - n)
		}
		h.n = n
	}
	if h.n == 0 {
		h.small = false
		h.endTurn()
	}
}

// Bodies are read into buffers of powers of two between these sizes; larger ones are left
// to the garbage collector, because a pool would keep them for long.
const (
	minBufferBits = 12 // 4 KiB
	maxBufferBits = 20 // 1 MiB
)

var buffers [maxBufferBits - minBufferBits + 1]sync.Pool

// newBuffer returns an empty slice with room for at least n bytes.
func newBuffer(n int) []byte {
	class := max(bits.Len(uint(max(n, 1)-1)), minBufferBits)
	if class > maxBufferBits {
		return make([]byte, 0, n)
	}
	if b, ok := buffers[class-minBufferBits].Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 1<<class)
}

// freeBuffer returns b's memory to the pool, if it came from there. Nothing may refer to its bytes any more.
func freeBuffer(b []byte) {
	class := bits.Len(uint(max(cap(b), 1) - 1))
	if cap(b) != 1<<class || class < minBufferBits || class > maxBufferBits {
		return
	}
	b = b[:0]
	buffers[class-minBufferBits].Put(&b)
}

package proxy

import (
	"context"
	"math/bits"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// A budget bounds the bytes of bodies held at one time, over all requests. Waiters are
// served in the order they came. An eighth is kept for small bodies, which so never wait behind large ones.
type budget struct {
	sem   *semaphore.Weighted
	small *semaphore.Weighted
	giant *semaphore.Weighted // of one: see [giantBody]
	size  int64               // of sem
	wait  time.Duration
}

const (
	// smallBody is what fits into the part that is kept for small ones: most requests of a short conversation.
	smallBody = 256 << 10
	// giantBody is the size, decoded, from which one body is looked into at a time. What a view costs was measured with a
	// body of one string of 60 MiB: the text, as much again for an edit of it, and what the collector has not taken yet.
	giantBody = 16 << 20
	// giantWait is how long another one waits for its turn before it is forwarded without a look.
	giantWait = 500 * time.Millisecond
)

func newBudget(size int64, wait time.Duration) *budget {
	small := size / 8
	if small < smallBody {
		small = 0
	}
	return &budget{semaphore.NewWeighted(size - small), semaphore.NewWeighted(small), semaphore.NewWeighted(1), size - small, wait}
}

// A hold is one request's part of the budget. It is used by one goroutine.
type hold struct {
	b     *budget
	n     int64
	small bool // n is of the part for small bodies
	giant bool // this is the one giant
}

// beGiant waits a moment to be the one giant.
func (h *hold) beGiant(ctx context.Context) bool {
	if h.giant {
		return true
	}
	if !h.b.giant.TryAcquire(1) {
		ctx, cancel := context.WithTimeout(ctx, giantWait)
		defer cancel()
		if h.b.giant.Acquire(ctx, 1) != nil {
			return false
		}
	}
	h.giant = true
	return true
}

// grow raises the part to n bytes, waiting a bounded time for others to finish. A request
// that holds some and waits for more cannot wait forever for another that does the same.
func (h *hold) grow(ctx context.Context, n int64) bool {
	more := n - h.n
	if more <= 0 {
		return true
	}
	if n > h.b.size {
		return false
	}
	if n <= smallBody && (h.n == 0 || h.small) && h.b.small.TryAcquire(more) {
		h.n, h.small = n, true
		return true
	}
	before := int64(0)
	if h.small { // all of it moves
		before, more = h.n, n
	}
	if !h.b.sem.TryAcquire(more) {
		ctx, cancel := context.WithTimeout(ctx, h.b.wait)
		defer cancel()
		if h.b.sem.Acquire(ctx, more) != nil {
			return false
		}
	}
	if before > 0 {
		h.b.small.Release(before)
	}
	h.n, h.small = n, false
	return true
}

// shrink gives back all but n bytes.
func (h *hold) shrink(n int64) {
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
		if h.giant {
			h.b.giant.Release(1)
			h.giant = false
		}
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

// freeBuffer takes b back. Nothing may refer to its bytes any more.
func freeBuffer(b []byte) {
	class := bits.Len(uint(max(cap(b), 1) - 1))
	if cap(b) != 1<<class || class < minBufferBits || class > maxBufferBits {
		return
	}
	b = b[:0]
	buffers[class-minBufferBits].Put(&b)
}

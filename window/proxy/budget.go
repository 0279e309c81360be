package proxy

import (
	"context"
	"math/bits"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// A budget bounds the bytes of bodies held at one time, over all requests. Waiters are
// served in the order they came.
type budget struct {
	sem  *semaphore.Weighted
	size int64
	wait time.Duration
}

func newBudget(size int64, wait time.Duration) *budget {
	return &budget{semaphore.NewWeighted(size), size, wait}
}

// A hold is one request's part of the budget. It is used by one goroutine.
type hold struct {
	b *budget
	n int64
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
	if !h.b.sem.TryAcquire(more) {
		ctx, cancel := context.WithTimeout(ctx, h.b.wait)
		defer cancel()
		if h.b.sem.Acquire(ctx, more) != nil {
			return false
		}
	}
	h.n = n
	return true
}

// shrink gives back all but n bytes.
func (h *hold) shrink(n int64) {
	if n < h.n {
		h.b.sem.Release(h.n - n)
		h.n = n
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

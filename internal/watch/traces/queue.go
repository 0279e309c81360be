package traces

import (
	"sync"
	"time"
)

// queued is a span that waits to be sent, as JSON.
type queued struct {
	run   string
	place uint64 // in its run
	end   time.Time
	text  []byte
}

// weight returns the bytes that a span takes in the queue.
func (q *queued) weight() int { return len(q.text) + 128 }

// queue holds the spans that wait, bounded in bytes: the oldest make room for the newest.
type queue struct {
	max  int
	more chan struct{} // has an element after wake

	mu    sync.Mutex
	items []queued
	first uint64 // how many were there before items[0]
	bytes int
}

// newQueue returns an empty queue for spans of so many bytes.
func newQueue(maxBytes int) *queue { return &queue{max: maxBytes, more: make(chan struct{}, 1)} }

// push adds a span, drops the oldest ones until all fit into the queue's bytes, and returns how many it dropped. That may include s itself.
func (q *queue) push(s queued) (dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, s)
	q.bytes += s.weight()
	for q.bytes > q.max && len(q.items) > 0 {
		q.drop(1)
		dropped++
	}
	return dropped
}

// wake tells the sending goroutine that there may be something to send.
func (q *queue) wake() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// drop removes the n oldest spans. The caller holds mu.
func (q *queue) drop(n int) {
	for i := range n {
		q.bytes -= q.items[i].weight()
		q.items[i] = queued{}
	}
	q.items = q.items[n:]
	q.first += uint64(n)
	if len(q.items) == 0 {
		q.items = nil
	}
}

// peek returns copies of the oldest spans, at most n and at most maxBytes, but at least one if there is any. They stay in the queue until
// [queue.removeSent], which takes from.
func (q *queue) peek(n, maxBytes int) (batch []queued, from uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := 0
	for i := range q.items {
		size += q.items[i].weight()
		if i >= n || i > 0 && size > maxBytes {
			break
		}
		batch = append(batch, q.items[i])
	}
	return batch, q.first
}

// removeSent removes the n spans that peek returned with from, unless they were dropped since.
func (q *queue) removeSent(from uint64, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if until := from + uint64(n); until > q.first {
		q.drop(int(until - q.first))
	}
}

// dropOlder removes the spans at the front that ended before than, and returns how many.
func (q *queue) dropOlder(than time.Time) (dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for dropped < len(q.items) && q.items[dropped].end.Before(than) {
		dropped++
	}
	q.drop(dropped)
	return dropped
}

// size returns how many spans wait, and their bytes.
func (q *queue) size() (spans, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items), q.bytes
}

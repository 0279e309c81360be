package capture

import (
	"context"
	"sync"

	"github.com/plimsoll/plimsoll/internal/memory"
)

// QueueOptions configure a [Queue].
type QueueOptions struct {
	// MaxBytes bounds what waits, and what is being written. 0 means 8 MiB.
	MaxBytes int64
	// Write keeps records. An error counts them as failed; they are not tried again.
	Write func(context.Context, []memory.Record) error
	// Told is called, from the queue's own goroutine or that of a Put, when something was dropped or could not be written. It may be nil.
	Told func(QueueStats)
}

// QueueStats count what a queue did.
type QueueStats struct {
	Waiting      int   // parts of conversations that wait now
	WaitingBytes int64 // and their bytes
	Written      int64 // records
	Dropped      int64 // parts that did not fit
	DroppedBytes int64
	Failed       int64 // records that could not be written
	Err          error // why the last one could not
}

// A Queue makes and writes records in a goroutine of its own, so that callers need not wait. Work that does not fit into MaxBytes is
// dropped and counted. The zero Queue is not ready: use [NewQueue].
type Queue struct {
	o QueueOptions

	mu      sync.Mutex
	jobs    []job
	running bool
	closed  bool
	idle    chan struct{} // closed while nothing waits and nothing is written
	stats   QueueStats
}

type job struct {
	size int64
	make func() []memory.Record
}

const defaultQueue = 8 << 20

// NewQueue returns an empty queue. Its goroutine runs only while there is work.
func NewQueue(o QueueOptions) *Queue {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultQueue
	}
	idle := make(chan struct{})
	close(idle)
	return &Queue{o: o, idle: idle}
}

// Put hands over a function that makes records, and returns at once. size is about how many bytes the function holds on to. It returns
// false when the work was dropped because the queue is full or closed.
func (q *Queue) Put(size int64, work func() []memory.Record) bool {
	q.mu.Lock()
	if q.closed || q.stats.WaitingBytes+size > q.o.MaxBytes {
		q.stats.Dropped++
		q.stats.DroppedBytes += size
		told := q.stats
		q.mu.Unlock()
		q.reportStats(told)
		return false
	}
	q.jobs = append(q.jobs, job{size, work})
	q.stats.Waiting++
	q.stats.WaitingBytes += size
	if !q.running {
		q.running = true
		q.idle = make(chan struct{})
		go q.writeUntilEmpty()
	}
	q.mu.Unlock()
	return true
}

// reportStats hands the counters to the Told option, if that is set. The caller must not hold q.mu.
func (q *Queue) reportStats(s QueueStats) {
	if q.o.Told != nil {
		q.o.Told(s)
	}
}

// writeUntilEmpty makes and writes records until nothing waits. Records that cannot be written are lost, counted and reported.
func (q *Queue) writeUntilEmpty() {
	for {
		q.mu.Lock()
		if len(q.jobs) == 0 {
			q.running = false
			q.jobs = nil
			close(q.idle)
			q.mu.Unlock()
			return
		}
		j := q.jobs[0]
		q.jobs[0] = job{}
		q.jobs = q.jobs[1:]
		q.mu.Unlock()

		n, err := q.write(j)

		q.mu.Lock()
		q.stats.Waiting--
		q.stats.WaitingBytes -= j.size
		if err != nil {
			q.stats.Failed += int64(n)
			q.stats.Err = err
		} else {
			q.stats.Written += int64(n)
		}
		told := q.stats
		q.mu.Unlock()
		if err != nil {
			q.reportStats(told)
		}
	}
}

// write makes the records of a job and writes them. It returns their number, also with an error.
func (q *Queue) write(j job) (int, error) {
	records := j.make()
	if len(records) == 0 {
		return 0, nil
	}
	return len(records), q.o.Write(context.Background(), records)
}

// Flush waits until all work that was put is written. It returns the error of ctx when that ends first.
func (q *Queue) Flush(ctx context.Context) error {
	q.mu.Lock()
	idle := q.idle
	q.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close refuses further work and waits for the rest until ctx ends. It then drops and counts the rest and returns ctx's error.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	err := q.Flush(ctx)
	if err == nil {
		return nil
	}
	q.mu.Lock()
	for _, j := range q.jobs {
		q.stats.Dropped++
		q.stats.DroppedBytes += j.size
		q.stats.Waiting--
		q.stats.WaitingBytes -= j.size
	}
	q.jobs = nil
	told := q.stats
	q.mu.Unlock()
	q.reportStats(told)
	return err
}

// Stats returns the counters.
func (q *Queue) Stats() QueueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stats
}

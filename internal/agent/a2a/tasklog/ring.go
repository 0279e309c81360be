package tasklog

import (
	"sort"
	"time"
)

// Record is one event of a task.
type Record struct {
	// Seq is the event's number, from 1 on.
	Seq uint64
	// Time is the time when it was appended.
	Time time.Time
	// Payload is shared by all readers: nobody may change it.
	Payload []byte
	// Terminal reports whether the event is the task's last.
	Terminal bool

	missed bool // the log had no reader when it came
}

func (r *Record) size() int64 { return int64(len(r.Payload)) + recordBytes }

// Gap is a range of numbers whose events are gone, both ends included.
type Gap struct{ From, To uint64 }

// Count returns the number of events that are gone; 0 means no gap.
func (g Gap) Count() uint64 {
	if g.To == 0 {
		return 0
	}
	return g.To - g.From + 1
}

// ring holds records in the order of their numbers, which may have holes.
type ring struct {
	records []Record // oldest at head
	head, n int
	bytes   int64
}

func (r *ring) at(i int) *Record { return &r.records[(r.head+i)%len(r.records)] }

func (r *ring) push(rec Record, maxRecords int) {
	if r.n == len(r.records) { // grows by doubling, so that a short task stays small
		r.resize(min(max(2*len(r.records), minRing), max(maxRecords, r.n+1)))
	}
	r.n++
	*r.at(r.n - 1) = rec
	r.bytes += rec.size()
}

// pop removes the oldest record and returns it.
func (r *ring) pop() Record {
	first := r.at(0)
	rec := *first
	*first = Record{} // let the payload go
	r.head = (r.head + 1) % len(r.records)
	r.n--
	r.bytes -= rec.size()
	if len(r.records) > minRing && r.n <= len(r.records)/4 {
		r.resize(len(r.records) / 2)
	}
	return rec
}

// minRing is the first size of a ring, in records.
const minRing = 8

func (r *ring) resize(size int) {
	records := make([]Record, size)
	for i := range r.n {
		records[i] = *r.at(i)
	}
	r.records, r.head = records, 0
}

// findAfter returns the oldest record with a number above seq, nil if there is none.
func (r *ring) findAfter(seq uint64) *Record {
	i := sort.Search(r.n, func(i int) bool { return r.at(i).Seq > seq })
	if i == r.n {
		return nil
	}
	return r.at(i)
}

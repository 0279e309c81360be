package journal

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"sync"
	"time"
	"unsafe"
)

// Event is something that happened, as a struct of plain values. Kind is a constant, dotted name, plane first ("process.child_killed"); it keys
// the counters and is written beside the event in JSON.
type Event interface {
	Kind() string
}

// Record is one event with its place in the journal.
type Record struct {
	// Seq counts from 1 and has no gaps.
	Seq uint64
	// Time is the time at which the event was appended.
	Time time.Time
	// Event is the event itself.
	Event Event
}

// MarshalJSON writes {"seq":1,"time":RFC3339,"kind":…,"event":{…}}.
func (r Record) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Seq   uint64    `json:"seq"`
		Time  time.Time `json:"time"`
		Kind  string    `json:"kind"`
		Event Event     `json:"event"`
	}{r.Seq, r.Time, r.Event.Kind(), r.Event})
}

// Observer is called with every record, in order, one at a time, before Append returns. It must be quick and must not call the journal.
type Observer interface {
	Observe(Record)
}

// Defaults of [Options].
const (
	DefaultMaxRecords = 4096
	DefaultMaxBytes   = 1 << 20
)

// Options configure a [Journal]; the zero value means the defaults.
type Options struct {
	// MaxRecords bounds the ring in records (DefaultMaxRecords).
	MaxRecords int
	// MaxBytes bounds the memory that the events of the ring take, in bytes (DefaultMaxBytes).
	MaxBytes int
	// Observers see every record.
	Observers []Observer
}

// Journal is a bounded ring of records with counters by kind.
type Journal struct {
	mu        sync.Mutex
	opts      Options
	seq       uint64
	records   []Record // ring, oldest at head
	sizes     []int
	head, n   int
	bytes     int
	dropped   uint64
	counts    map[string]uint64
	observers []Observer
}

// New returns an empty journal.
func New(o Options) *Journal {
	o.MaxRecords = cmp.Or(max(o.MaxRecords, 0), DefaultMaxRecords)
	o.MaxBytes = cmp.Or(max(o.MaxBytes, 0), DefaultMaxBytes)
	return &Journal{opts: o, counts: map[string]uint64{}, observers: o.Observers}
}

// Append records e and returns its sequence number, the first being 1. Observers have seen it by then. An event larger than the whole ring is
// observed and counted, and dropped at once, with all that the ring held.
func (j *Journal) Append(e Event) uint64 {
	size := sizeOf(e)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	rec := Record{Seq: j.seq, Time: time.Now(), Event: e}
	j.counts[e.Kind()]++
	for _, o := range j.observers {
		o.Observe(rec)
	}
	for j.n > 0 && (j.n >= j.opts.MaxRecords || j.bytes+size > j.opts.MaxBytes) {
		j.dropOldest()
	}
	if size > j.opts.MaxBytes {
		j.dropped++
		return rec.Seq
	}
	j.push(rec, size)
	return rec.Seq
}

// push adds a record to the ring, which has room for it by now: the caller has dropped older ones. The caller holds the lock.
func (j *Journal) push(rec Record, size int) {
	if j.n == len(j.records) { // the ring grows by doubling up to MaxRecords, so that a short run stays small
		grown := min(max(2*len(j.records), 16), j.opts.MaxRecords)
		records, sizes := make([]Record, grown), make([]int, grown)
		for i := range j.n {
			at := (j.head + i) % len(j.records)
			records[i], sizes[i] = j.records[at], j.sizes[at]
		}
		j.records, j.sizes, j.head = records, sizes, 0
	}
	at := (j.head + j.n) % len(j.records)
	j.records[at], j.sizes[at] = rec, size
	j.n++
	j.bytes += size
}

// dropOldest drops a record of the ring, which must not be empty. The caller holds the lock.
func (j *Journal) dropOldest() {
	j.bytes -= j.sizes[j.head]
	j.records[j.head] = Record{}
	j.head = (j.head + 1) % len(j.records)
	j.n--
	j.dropped++
}

// Since yields the kept records with a sequence number above seq, oldest first, as they were when the iteration began.
func (j *Journal) Since(seq uint64) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		j.mu.Lock()
		kept := make([]Record, 0, j.n)
		for i := range j.n {
			if rec := j.records[(j.head+i)%len(j.records)]; rec.Seq > seq {
				kept = append(kept, rec)
			}
		}
		j.mu.Unlock()
		for _, rec := range kept {
			if !yield(rec) {
				return
			}
		}
	}
}

// Counts returns how many events of each kind have been appended since New, including those that have left the ring.
func (j *Journal) Counts() map[string]uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.counts)
}

// Dropped returns how many records have left the ring to keep it within its bounds, or never were in it because they are too large.
func (j *Journal) Dropped() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dropped
}

// sizeOf returns the approximate size of an event in memory, with its record.
func sizeOf(e Event) int {
	v := reflect.ValueOf(e)
	return int(unsafe.Sizeof(Record{})) + int(v.Type().Size()) + referredBytes(v)
}

// referredBytes returns the bytes that a plain value refers to: of texts, pointers, slices and maps, at any depth.
func referredBytes(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		n = v.Len()
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n = int(v.Elem().Type().Size()) + referredBytes(v.Elem())
		}
	case reflect.Slice:
		n = v.Len() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			n += referredBytes(v.Index(i))
		}
	case reflect.Map:
		for of := v.MapRange(); of.Next(); {
			n += int(v.Type().Key().Size()+v.Type().Elem().Size()) + referredBytes(of.Key()) + referredBytes(of.Value())
		}
	case reflect.Struct:
		if v.Type() == timeType { // the zone that it refers to is everybody's
			break
		}
		for i := v.NumField() - 1; i >= 0; i-- { // an iterator would put n on the heap
			n += referredBytes(v.Field(i))
		}
	}
	return n
}

var timeType = reflect.TypeFor[time.Time]()

package rate

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
)

// Bounds of a table.
const (
	maxTickets = 1024
	maxRuns    = 512
	maxTable   = 128 << 10
	recentSlot = int64(5e9) // of the count of requests in the last minute
)

// A table holds the knowledge of this host about one login and model at one provider, with those that wait and those under way. It is kept in a
// file, and whoever holds the file's lock changes it.
type table struct {
	swept   int64   // when processes that have ended were looked for
	asked   int64   // when the hosts with queues of the same were asked for
	looked  int64   // when somebody last let requests through
	virtual float64 // the least that a run which waits has had
	// From paused until until nobody goes; after that one tries, while refused counts the refusals that nothing was let through after.
	paused, until, refused int64
	probe                  uint64      // the ticket that tries
	probed                 int64       // since when
	newest                 int64       // when the request was sent whose answer was believed last
	recent                 [12]float64 // requests let through in the last minute, in slots of five seconds
	slot                   int64       // the number of the newest
	buckets                [units]bucket
	runs                   []service
	tickets                []ticket
}

// A service counts what a run has had, by which its next turn is found.
type service struct {
	run    uint64
	served float64
	at     int64
}

// A ticket is one request that waits, or is under way and has no answer yet.
type ticket struct {
	id, process, run         uint64
	people                   int64 // 1: a person waits for the answer
	arrived, leaves, granted int64 // granted is 0 while it waits
	sizes                    [units]float64
}

// fields is a table being read or written. A field that is missing makes it bad.
type fields struct {
	b       []byte
	at      int
	writing bool
	bad     bool
}

// uint writes *v, or reads it; a file that is too short sets bad.
func (f *fields) uint(v *uint64) {
	if f.writing {
		f.b = binary.LittleEndian.AppendUint64(f.b, *v)
		return
	}
	if f.at+8 > len(f.b) {
		f.bad = true
		return
	}
	*v = binary.LittleEndian.Uint64(f.b[f.at:])
	f.at += 8
}

// int writes *v, or reads it.
func (f *fields) int(v *int64) {
	u := uint64(*v)
	f.uint(&u)
	*v = int64(u)
}

// float writes *v, or reads it; NaN and infinities set bad.
func (f *fields) float(v *float64) {
	u := math.Float64bits(*v)
	f.uint(&u)
	if *v = math.Float64frombits(u); math.IsNaN(*v) || math.IsInf(*v, 0) {
		f.bad = true
	}
}

// list writes the length n of a list, or reads and returns it; one over most sets bad and returns 0.
func (f *fields) list(n, most int) int {
	u := uint64(n)
	f.uint(&u)
	if f.bad || u > uint64(most) {
		f.bad = true
		return 0
	}
	return int(u)
}

// visit writes or reads all fields of the table, in one order for both.
func (t *table) visit(f *fields) {
	for _, v := range []*int64{&t.swept, &t.asked, &t.looked, &t.paused, &t.until, &t.refused, &t.probed, &t.newest, &t.slot} {
		f.int(v)
	}
	f.uint(&t.probe)
	f.float(&t.virtual)
	for i := range t.recent {
		f.float(&t.recent[i])
	}
	for i := range t.buckets {
		b := &t.buckets[i]
		for _, v := range []*float64{&b.limit, &b.left, &b.speed, &b.fixed, &b.guessed, &b.part} {
			f.float(v)
		}
		for _, v := range []*int64{&b.at, &b.full, &b.told, &b.anchor} {
			f.int(v)
		}
	}
	if n := f.list(len(t.runs), maxRuns); !f.writing {
		t.runs = make([]service, n)
	}
	for i := range t.runs {
		s := &t.runs[i]
		f.uint(&s.run)
		f.float(&s.served)
		f.int(&s.at)
	}
	if n := f.list(len(t.tickets), maxTickets); !f.writing {
		t.tickets = make([]ticket, n)
	}
	for i := range t.tickets {
		k := &t.tickets[i]
		for _, v := range []*uint64{&k.id, &k.process, &k.run} {
			f.uint(v)
		}
		for _, v := range []*int64{&k.people, &k.arrived, &k.leaves, &k.granted} {
			f.int(v)
		}
		for u := range k.sizes {
			f.float(&k.sizes[u])
		}
	}
}

// The file begins with magic, the length of what follows and its checksum.
const (
	magic    = 0x32306c70_65746172 // "ratepl02"
	prologue = 24
)

var errTable = errors.New("it is damaged, and begun anew")

// encode returns the content of the table's file, in the memory of buf if that is large enough.
func (t *table) encode(buf []byte) []byte {
	f := fields{b: append(buf[:0], make([]byte, prologue)...), writing: true}
	t.visit(&f)
	binary.LittleEndian.PutUint64(f.b, magic)
	binary.LittleEndian.PutUint64(f.b[8:], uint64(len(f.b)-prologue))
	binary.LittleEndian.PutUint64(f.b[16:], uint64(crc32.ChecksumIEEE(f.b[prologue:])))
	return f.b
}

// decode reads the content of a table's file; an empty one is an empty table. For damaged or half-written content the error is errTable,
// and t is empty.
func (t *table) decode(text []byte) error {
	*t = table{}
	if len(text) == 0 {
		return nil
	}
	if len(text) < prologue || binary.LittleEndian.Uint64(text) != magic {
		return errTable
	}
	n := binary.LittleEndian.Uint64(text[8:])
	if n > uint64(len(text)-prologue) || uint64(crc32.ChecksumIEEE(text[prologue:prologue+n])) != binary.LittleEndian.Uint64(text[16:]) {
		return errTable
	}
	f := fields{b: text[prologue : prologue+n]}
	t.visit(&f)
	if f.bad || f.at != len(f.b) || !t.isSound() {
		*t = table{}
		return errTable
	}
	return nil
}

// isSound reports whether all numbers are within the bounds that this program keeps, so that a damaged file is recognised.
func (t *table) isSound() bool {
	for i := range t.buckets {
		if b := &t.buckets[i]; b.limit < 0 || b.limit > 2*maxAllowance || b.limit > 0 && b.speed <= 0 || b.left > b.limit || b.part < 0 || b.part > 1 {
			return false
		}
	}
	for i := range t.tickets {
		for _, size := range t.tickets[i].sizes {
			if size < 0 {
				return false
			}
		}
	}
	return true
}

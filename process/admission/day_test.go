package admission

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
)

// A day on one host, on a clock of its own: the production code decides, wakes and stores, and a model of the host that knows
// nothing of it tells what was really used and who really ran.
func TestDayOfAHundredThousandRuns(t *testing.T) {
	const runs = 100_000
	policies := []dayPolicy{
		{name: "memory"},
		{name: "slots of a tool", perTool: 6},
		{name: "slots in all", total: 15},
		{name: "memory, slots and swap", perTool: 8, total: 20, swap: true},
	}
	for i, p := range policies {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			d := newDay(t, p, uint64(i+1))
			d.play(runs/len(policies), 24*time.Hour/time.Duration(len(policies)))
		})
	}
}

type dayPolicy struct {
	name           string
	perTool, total int
	swap           bool
}

const (
	dayMemory  = 64 * limit.GiB
	daySwap    = 8 * limit.GiB
	dayMinFree = 2 * limit.GiB
	dayBefore  = 15 * time.Minute // no run may wait for longer: the host is busy, not overloaded
)

// dayRun is one run as the host sees it.
type dayRun struct {
	id       string
	request  Request
	peak     limit.Bytes // what it will use
	takes    time.Duration
	came     time.Time
	began    time.Time // zero while it waits
	stopped  time.Time // until when its process does not look
	asked    time.Time // when it read the sum exactly
	lookAt   time.Time // when its own clock wakes it
	finished bool
}

func (r *dayRun) uses(now time.Time) limit.Bytes {
	if r.began.IsZero() {
		return 0
	}
	const ramp = 5 * time.Second
	return limit.Bytes(float64(r.peak) * min(1, float64(now.Sub(r.began))/float64(ramp)))
}

type dayEvent struct {
	at   time.Time
	kind byte // 'c'omes, 'l'ooks, 'e'nds
	run  *dayRun
	own  bool // a look by its own clock
}

type dayEvents []dayEvent

func (h dayEvents) Len() int           { return len(h) }
func (h dayEvents) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dayEvents) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dayEvents) Push(x any)        { *h = append(*h, x.(dayEvent)) }
func (h *dayEvents) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

type day struct {
	t       *testing.T
	policy  dayPolicy
	random  *rand.Rand
	book    *book
	now     time.Time
	events  dayEvents
	live    map[string]*dayRun
	foreign limit.Bytes // what processes use that are no runs
	steps   int
	widest  int // entries at once
	longest time.Duration
	queued  int
	done    int
}

func newDay(t *testing.T, p dayPolicy, seed uint64) *day {
	d := &day{t: t, policy: p, random: rand.New(rand.NewPCG(seed, 7)), live: map[string]*dayRun{}, now: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
	d.book = d.newBook()
	return d
}

func (d *day) newBook() *book {
	return &book{ledger: &Ledger{}, file: ledgerFile{Schema: schema}, sample: func(e *entry) Holder {
		return Holder{ID: e.ID, Tool: e.Tool, State: e.State, Reservation: e.Reservation, Current: d.live[e.ID].uses(d.now)}
	}}
}

func (d *day) reading() (headroom.Reading, error) {
	used := d.foreign
	for _, r := range d.live {
		used += r.uses(d.now)
	}
	return headroom.Reading{MemTotal: dayMemory, MemAvailable: max(0, dayMemory-used), SwapTotal: daySwap, SwapFree: daySwap}, nil
}

func (d *day) newRun(number int) *dayRun {
	r := &dayRun{id: fmt.Sprintf("run-%d", number), came: d.now}
	r.request = Request{
		ID: r.id, Tool: []string{"claude", "codex", "gemini", "make"}[d.random.IntN(4)], Wait: Forever, MinFree: dayMinFree,
		SlotsPerTool: d.policy.perTool, SlotsTotal: d.policy.total, CountSwap: d.policy.swap, Headroom: d.reading,
		Reservation: limit.Bytes(float64(limit.GiB) * (0.05 + d.random.ExpFloat64())),
	}
	if d.random.IntN(200) == 0 {
		r.request.Reservation = 48 * limit.GiB // what most are in the way of
	}
	r.request.Reservation = min(r.request.Reservation, 48*limit.GiB)
	r.peak = limit.Bytes(float64(r.request.Reservation) * d.random.Float64())
	r.takes = time.Duration(float64(6*time.Second) * d.random.ExpFloat64())
	return r
}

// play has count runs come within a time, in bursts, and goes on until the last one has ended.
func (d *day) play(count int, within time.Duration) {
	at := d.now
	for number := range count {
		r := d.newRun(number)
		if d.random.IntN(20) == 0 { // a pause, and then many at once
			at = at.Add(time.Duration(float64(within) / float64(count) * 20 * d.random.ExpFloat64()))
		}
		r.came = at
		d.at(at, 'c', r, false)
	}
	for d.events.Len() > 0 && !d.t.Failed() {
		e := heap.Pop(&d.events).(dayEvent)
		d.now = e.at
		d.book.now, d.book.toWake, d.book.toWatch = d.now, nil, nil
		if d.random.IntN(50) == 0 {
			d.foreign = limit.Bytes(d.random.Int64N(int64(8 * limit.GiB)))
		}
		d.step(e)
		d.check()
		for _, id := range d.book.toWake { // a woken process runs some milliseconds later
			if w := d.live[id]; w != nil && w.began.IsZero() {
				d.at(d.now.Add(time.Millisecond+time.Duration(d.random.IntN(int(20*time.Millisecond)))), 'l', w, false)
			}
		}
		for _, id := range d.book.toWatch {
			if w := d.live[id]; w != nil && w.began.IsZero() && w.lookAt.After(d.now.Add(lookFirst)) {
				w.lookAt = d.now.Add(lookFirst)
				d.at(w.lookAt, 'l', w, true)
			}
		}
	}
	if d.done != count || len(d.book.file.Entries) != 0 || len(d.live) != 0 {
		d.t.Errorf("%d of %d runs have ended, %d entries are left", d.done, count, len(d.book.file.Entries))
	}
	d.t.Logf("%d steps, %d had to wait, the longest %v, at most %d at once in the ledger", d.steps, d.queued, d.longest.Round(time.Second), d.widest)
}

func (d *day) at(at time.Time, kind byte, r *dayRun, own bool) {
	heap.Push(&d.events, dayEvent{at, kind, r, own})
}

func (d *day) step(e dayEvent) {
	r := e.run
	switch {
	case r.finished || e.kind == 'l' && !r.began.IsZero() || e.own && !e.at.Equal(r.lookAt): // long since admitted, or woken before
		return
	case e.kind == 'e':
		r.finished = true
		delete(d.live, r.id)
		d.book.dropEntry(r.id)
		d.book.wakeFitting(Request{Headroom: d.reading})
		d.done++
	case d.now.Before(r.stopped): // it looks when it is continued
		d.at(r.stopped, 'l', r, false)
	default:
		d.look(r)
	}
}

// look is what [acquisition.decideOnce] does with the ledger in memory.
func (d *day) look(r *dayRun) {
	b := d.book
	d.live[r.id] = r
	e, waiting := b.findEntry(r.id), b.waiters()
	if e == nil {
		e = b.newEntry(r.request)
		e.State = ""
	}
	v := b.decideTwice(e, waiting, r.request, false, d.now.Sub(r.asked) >= sumAge)
	if v.exact {
		r.asked = d.now
	}
	if v.admit {
		d.verify(e, r)
		queued := e.State == Waiting
		b.makeHolder(e, v, false)
		if !queued {
			b.addEntry(e)
		}
		r.began = d.now
		d.longest = max(d.longest, d.now.Sub(r.came))
		d.at(d.now.Add(r.takes), 'e', r, false)
		return
	}
	if v.never {
		d.t.Fatalf("%s is never to be admitted: %+v", r.id, v.terms)
	}
	if e.State == "" {
		e.State = Waiting
		b.addEntry(e)
		d.queued++
		if d.random.IntN(100) == 0 {
			r.stopped = d.now.Add(time.Minute)
		}
	}
	r.lookAt = d.now.Add(sleepTime(v.position))
	d.at(r.lookAt, 'l', r, true)
}

// verify works the formula out again, from what is really used.
func (d *day) verify(e *entry, r *dayRun) {
	reading, _ := d.reading()
	left := reading.MemAvailable - dayMinFree
	if d.policy.swap {
		left += reading.SwapFree
	}
	tool, total := 0, 0
	for _, other := range d.live {
		if other.began.IsZero() {
			continue
		}
		left -= max(0, other.request.Reservation-other.uses(d.now))
		total++
		if other.request.Tool == r.request.Tool {
			tool++
		}
	}
	if r.request.Reservation > left {
		d.t.Errorf("%s is over-committed: %s reserved where %s are left", r.id, r.request.Reservation.Human(), left.Human())
	}
	if d.policy.perTool > 0 && tool >= d.policy.perTool || d.policy.total > 0 && total >= d.policy.total {
		d.t.Errorf("%s is one too many beside %d of its tool and %d in all", r.id, tool, total)
	}
	if waited := d.now.Sub(r.came); waited > dayBefore {
		d.t.Errorf("%s has waited %v", r.id, waited)
	}
}

// check demands that nobody is passed too often, that the table stays as small as what it holds, and now and then that it reads back.
func (d *day) check() {
	d.steps++
	entries := d.book.file.Entries
	d.widest = max(d.widest, len(entries))
	if d.steps%64 != 0 {
		return
	}
	for _, e := range entries {
		if e.Bypassed > MaxBypass+1 {
			d.t.Errorf("%s was passed %d times", e.ID, e.Bypassed)
		}
	}
	image := d.book.encodeTable()
	if len(image) > (d.widest+1)*recordSize {
		d.t.Errorf("the table has %d bytes for at most %d entries", len(image), d.widest)
	}
	again := d.newBook()
	again.ledger, again.image, again.now = d.book.ledger, image, d.now
	if err := again.decodeTable(image); err != nil {
		d.t.Fatal(err)
	}
	if len(again.file.Entries) != len(entries) {
		d.t.Errorf("%d entries were stored and %d read", len(entries), len(again.file.Entries))
	}
	again.toWake, again.toWatch = d.book.toWake, d.book.toWatch
	d.book = again
}

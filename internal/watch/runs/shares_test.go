package runs

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

const mib = 1 << 20

// processes are asked for their memory; asked counts how often.
type processes struct {
	held  []Held
	asked int
}

func (p *processes) each() iter.Seq2[string, limit.Bytes] {
	return func(yield func(string, limit.Bytes) bool) {
		p.asked++
		for _, h := range p.held {
			if !yield(h.Name, limit.Bytes(h.Bytes)) {
				return
			}
		}
	}
}

func TestMemoryByProcessIsReadAsItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := Begin(Options{Dir: dir}, Header{ID: "a", Kind: KindRun, Report: journal.Report{Tool: "claude"}})
	p := &processes{held: []Held{{"claude", 300 * mib}, {"node", 50 * mib}, {"node", 60 * mib}}}
	w.AddShares(410*mib, 3, p.each())
	p.held = []Held{{"claude", 310 * mib}, {"cc1plus", 900 * mib}, {"bad\xff", 20 * mib}}
	for i := range 8 {
		p.held = append(p.held, Held{fmt.Sprint("small", i), int64(1+i) * mib})
	}
	w.AddShares(1266*mib, 11, p.each())
	if err := w.End(journal.Report{Tool: "claude", Outcome: "ok"}); err != nil {
		t.Fatal(err)
	}
	r, err := open(t, dir).Run("a")
	if err != nil {
		t.Fatal(err)
	}
	b := r.ByProcess
	if b == nil || len(b.AtMS) != 2 || !slices.Equal(b.Working, []int64{410 * mib, 1266 * mib}) || r.Damaged > 0 {
		t.Fatalf("%+v, %d damaged", b, r.Damaged)
	}
	var told []string
	for _, n := range b.Names {
		told = append(told, fmt.Sprintf("%s %d %d", n.Name, n.Bytes[0]/mib, n.Bytes[1]/mib))
	}
	want := []string{"cc1plus 0 900", "claude 300 310", "node 110 0", "bad? 0 20", " 0 36"}
	if !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
	if first := b.AtPeak(); len(first) != 4 || first[0] != (Held{"cc1plus", 900 * mib}) || first[2] != (Held{"", 36 * mib}) {
		t.Errorf("at the highest: %+v", first)
	}
	if text, err := json.Marshal(r); err != nil || !strings.Contains(string(text), `"by_process":{"at_ms":[`) {
		t.Errorf("%v in %.300s", err, text)
	}
}

// A supervisor that waits must cost nothing: as long as the memory stands still, nobody is asked.
func TestProcessesAreAskedWhenMemoryMoves(t *testing.T) {
	t.Parallel()
	var s sharer
	asked := 0
	look := func(at, working int64, processes int) {
		if s.isDue(at, working, processes) {
			asked++
			s.makePoint(at, working, processes, (&processesOf).each())
		}
	}
	for at := int64(0); at < 24*3600_000; at += 1000 {
		look(at, 300*mib+at%(16*mib), 4)
	}
	if asked != 1 {
		t.Errorf("asked %d times while nothing moved", asked)
	}
	for i := range int64(40) { // faster than any interval: the moments before a kill
		look(24*3600_000+i*10, 300*mib+i*40*mib, 4)
	}
	if asked < 12 || asked > 41 || s.last.Working < 1700*mib {
		t.Errorf("asked %d times while it grew, at last with %d MiB", asked, s.last.Working/mib)
	}
}

var processesOf = processes{held: []Held{{"a", mib}}}

func TestSharesAreBounded(t *testing.T) {
	t.Parallel()
	var s sharer
	var list sharesSeen
	n, last, size := 0, int64(0), 0
	const day = 24 * 3600 * 1000
	p := &processes{}
	for i := range 40 { // as long as names get
		p.held = append(p.held, Held{fmt.Sprintf("%02d%s", i, strings.Repeat("n", 40)), 1<<40 + int64(i)})
	}
	for at := int64(0); at < 20*day; at += 7_000 {
		if working := at * 1000 % (900 * mib); s.isDue(at, working, 1) {
			point := s.makePoint(at, working, 1, p.each())
			size = max(size, len(encoder{}.encodeLine("shares", point)))
			list.add(&point)
			n, last = n+1, at
		}
	}
	if n > MaxShares || n < MaxShares/4 || last < 15*day {
		t.Errorf("%d points, the last after %v", n, time.Duration(last)*time.Millisecond)
	}
	if size > maxShareLine {
		t.Errorf("a line of %d bytes, room for %d", size, maxShareLine)
	}
	for i := range 100 {
		list.add(&Shares{Bytes: map[string]int64{fmt.Sprint("other", i): mib}})
	}
	if len(list.names) > maxFoldedNames || len(list.columns().Names) > maxShareNames+1 {
		t.Errorf("%d names held, %d shown", len(list.names), len(list.columns().Names))
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

// The bench reads the traces of a directory, plays them, and prints claims; the same seeds give the same rows.
func TestFleetIsTheSameForTheSameSeeds(t *testing.T) {
	made := testfile.Read(t, filepath.Join("..", "internal", "process", "estimate", "testdata", "generated.tsv"))
	dir := t.TempDir()
	for _, name := range []string{"one.tsv", "two.tsv"} {
		testfile.Write(t, filepath.Join(dir, name), made)
	}
	play := func(args ...string) (rows []Row) {
		t.Helper()
		var text bytes.Buffer
		o := &Out{name: "fleet", asJSON: true, w: &text, ctx: t.Context()}
		if err := o.measure(fleetBench, append(args, "-hosts", "3", "-agents", "1500", "-seeds", "2")); err != nil {
			t.Fatal(err)
		}
		for dec := json.NewDecoder(&text); dec.More(); {
			var r Row
			if err := dec.Decode(&r); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, r)
		}
		return rows
	}
	first := play("-traces", dir)
	if !slices.Equal(first, play("-traces", dir)) {
		t.Error("two games with the same seeds differ")
	}
	if want := 3*len(fleetSizings)*4 + 2*len(fleetClaims); len(first) != want {
		t.Errorf("%d rows for two workflows and all, want %d", len(first), want)
	}
	if rows := play(); len(rows) == 0 || !strings.HasPrefix(rows[0].Case, "synthetic ") {
		t.Errorf("without traces: %+v, want a set that is called synthetic", rows)
	}
	if err := (&Out{ctx: t.Context()}).measure(fleetBench, []string{"-traces", t.TempDir()}); err == nil {
		t.Error("a directory without traces is no error")
	}
}

// stated sizes every agent alike.
type stated struct{ request, limit limit.Bytes }

func (s stated) decide(*agent) (request, most limit.Bytes) { return s.request, s.limit }
func (stated) learn(*agent, time.Duration)                 {}

func TestFleetPlacesAndKills(t *testing.T) {
	tasks := func(demand limit.Bytes) []estimate.Workflow {
		task := estimate.Task{Process: "p", Runtime: time.Hour, Requested: demand, Sample: estimate.Sample{Demand: demand, Exact: true}}
		return []estimate.Workflow{{Name: "w", Tasks: []estimate.Task{task, task, task, task}}}
	}
	f := cluster{hosts: 2, agents: 24, hostMemory: 64 * limit.GiB} // of which 2 GiB stay free
	for name, c := range map[string]struct {
		demand   limit.Bytes
		s        stated
		killed   int
		makespan time.Duration
	}{
		"six on a host at a time":                   {10 * limit.GiB, stated{10 * limit.GiB, 10 * limit.GiB}, 0, 2 * time.Hour},
		"four with what is in vain":                 {10 * limit.GiB, stated{15 * limit.GiB, 15 * limit.GiB}, 0, 3 * time.Hour},
		"all die at their limit":                    {10 * limit.GiB, stated{6 * limit.GiB, 6 * limit.GiB}, 24, 4 * time.Hour}, // then five on a host
		"twice, and counted once":                   {10 * limit.GiB, stated{3 * limit.GiB, 3 * limit.GiB}, 24, 0},
		"what stays free":                           {16 * limit.GiB, stated{16 * limit.GiB, 16 * limit.GiB}, 0, 4 * time.Hour},
		"their use counts, not what they asked for": {10 * limit.GiB, stated{8 * limit.GiB, 16 * limit.GiB}, 0, 2 * time.Hour},
		"a request beyond any host is what one has": {limit.GiB, stated{90 * limit.GiB, 90 * limit.GiB}, 0, 12 * time.Hour},
	} {
		got := f.simulate(t.Context(), tasks(c.demand), c.s, 1)
		if got.killed != c.killed || c.makespan != 0 && got.makespan != c.makespan {
			t.Errorf("%s: %d killed after %v, want %d and %v", name, got.killed, got.makespan, c.killed, c.makespan)
		}
		if want := 24 * float64(c.demand) * 3600; math.Abs(got.used-want) > 1 || got.reserved < got.used/2 {
			t.Errorf("%s: used %g, reserved %g, want %g used", name, got.used, got.reserved, want)
		}
	}
	// The agents come in an order of the seed's.
	few, many := cluster{hosts: 1, agents: 40, hostMemory: 64 * limit.GiB}, tasks(limit.GiB)
	order := func(seed uint64) (all string) {
		for _, a := range few.draw(many, seed) {
			all += fmt.Sprint(a.team, " ")
		}
		return all
	}
	if turns := strings.Fields(order(1)); order(1) == order(2) || slices.IsSortedFunc(turns, func(a, b string) int { return len(a) - len(b) }) {
		t.Errorf("two seeds: %s, %s", order(1), order(2))
	}
	// Two get in by what they reserve, and need more than there is: one dies and is tried again.
	f.hosts, f.agents = 1, 2
	if got := f.simulate(t.Context(), tasks(40*limit.GiB), stated{20 * limit.GiB, 40 * limit.GiB}, 1); got.killed != 1 || got.makespan != 2*time.Hour {
		t.Errorf("a host that runs out: %d killed after %v", got.killed, got.makespan)
	}
}

// The engine takes the host that fits best, so that the large one of two stays whole.
func TestFleetFitsBest(t *testing.T) {
	f := cluster{hosts: 2, hostMemory: 64 * limit.GiB}
	g := &fleetGround{cluster: f, sizer: requested{}, hosts: []fleetHost{{available: f.hostMemory}, {available: f.hostMemory}}}
	for _, size := range []limit.Bytes{20, 50, 10, 40} {
		g.submit(&agent{task: &estimate.Task{Runtime: time.Hour, Requested: size * limit.GiB, Sample: estimate.Sample{Demand: size * limit.GiB}}})
	}
	if len(g.queue) != 0 {
		t.Errorf("%d wait although all would fit", len(g.queue))
	}
}

func TestFleetLearns(t *testing.T) {
	f := cluster{hosts: 1, agents: 1, hostMemory: 64 * limit.GiB}
	a := &agent{task: &estimate.Task{Process: "p", Runtime: time.Minute, Requested: 8 * limit.GiB}}
	other := &agent{task: a.task, team: 1}
	for _, c := range []struct {
		name           string
		request, limit limit.Bytes // after ten peaks of 2 GiB
	}{
		{"requested", 8 * limit.GiB, 8 * limit.GiB},
		{"learned", 2493607483, 8 * limit.GiB}, // 16 % above the peak, the margin after ten runs alike; the limit stays what was requested
		{"learned, held", 2493607483, 2493607483},
		{"VPA", 2539377048, 2539377048}, // the end of the bucket of 2 GiB, and 15 % more
	} {
		i := slices.IndexFunc(fleetSizings, func(s struct {
			name string
			make func(cluster) sizer
		},
		) bool {
			return s.name == c.name
		})
		s := fleetSizings[i].make(f)
		if request, _ := s.decide(a); request != 8*limit.GiB {
			t.Errorf("%s: %v before any run, want what the trace requested", c.name, request)
		}
		a.claim.Current, a.claim.Reservation, a.limit, a.killed = 2*limit.GiB, 3*limit.GiB, 3*limit.GiB, false
		for range 10 {
			s.learn(a, time.Hour)
		}
		if request, most := s.decide(a); request != c.request || most != c.limit {
			t.Errorf("%s: %d and %d, want %d and %d", c.name, request, most, c.request, c.limit)
		}
		if request, _ := s.decide(other); request != 8*limit.GiB {
			t.Errorf("%s: another team has learned of it: %v", c.name, request)
		}
		a.claim.Current, a.killed = 3*limit.GiB, true
		s.learn(a, 25*time.Hour)
		s.learn(a, 25*time.Hour) // by now two weigh 4 of 14
		if request, _ := s.decide(a); c.name != "requested" && request < 36*limit.GiB/10 {
			t.Errorf("%s: %v after two died of 3 GiB", c.name, request)
		}
	}
}

func TestVPABuckets(t *testing.T) {
	for peak, bucket := range map[float64]int{0: 0, 9.9e6: 0, 1.01e7: 1, 2.04e7: 1, 2.06e7: 2, 1e12: 174, 1e15: 174} {
		if got := vpaBucket(peak); got != bucket {
			t.Errorf("%g is in bucket %d, want %d", peak, got, bucket)
		}
	}
	h := &vpaHistogram{}
	for i := range 10 {
		h.add(float64(i)*1e9, 0)
	}
	if got := h.percentile(0.9); got < 8e9 || got > 8.5e9 {
		t.Errorf("the 90th percentile of 0 to 9 GB is %g", got)
	}
	h.add(2e9, 10*24*time.Hour) // weighs a thousand times as much
	if got := h.percentile(0.9); got < 2e9 || got > 2.2e9 {
		t.Errorf("after ten days the 90th percentile is %g", got)
	}
	small := vpa{}
	a := &agent{task: &estimate.Task{Process: "p", Requested: limit.GiB}, claim: admission.Holder{Current: limit.MiB}}
	small.learn(a, 0)
	if request, _ := small.decide(a); request != 250*limit.MiB {
		t.Errorf("the least that VPA recommends is %v", request)
	}
}

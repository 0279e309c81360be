package rate

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// queues is the team of hosts in one process.
type queues struct {
	mu    sync.Mutex
	runs  map[string]int
	asked int
}

func (q *queues) Part(_ context.Context, allowance, host string, runs int) (float64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked++
	q.runs[host] = runs
	all := 0
	for _, n := range q.runs {
		all += n
	}
	return float64(runs) / float64(all), nil
}

// Hosts that share a key are refused no more often than one host would be, and each of their runs gets as much.
func TestHostsShareAnAllowance(t *testing.T) {
	const within = 2 * time.Minute
	refusals := func(joined bool) (refused int, least, most float64) {
		synctest.Test(t, func(t *testing.T) {
			c := newCounter(600, 1e9)
			team := &queues{runs: map[string]int{}}
			var wg sync.WaitGroup
			var agents []*agent
			for host := range 3 {
				dir := t.TempDir()
				for i := range []int{2, 4, 6}[host] { // that many agents a host
					s := shared(t, dir)
					if joined {
						s.Join(team)
					}
					a := &agent{share: s, name: strconv.Itoa(i), patience: 55 * time.Second}
					agents = append(agents, a)
					wg.Go(func() { work(t, a, c, 200, func(int) int { return 1 }) })
				}
			}
			began := time.Now()
			wg.Wait()
			refused, least = c.refused, 1e9
			for _, a := range agents {
				n := 0.0
				for _, at := range a.done {
					if at.Sub(began) < within {
						n++
					}
				}
				least, most = min(least, n), max(most, n)
			}
			if joined && (team.asked == 0 || team.asked > 3*60*10) {
				t.Errorf("the team was asked %d times", team.asked)
			}
		})
		return refused, least, most
	}
	alone, _, _ := refusals(false)
	together, least, most := refusals(true)
	t.Logf("%d refusals, %d of hosts that know of each other; %v to %v answers a run after %v", alone, together, least, most, within)
	if together > 5 || alone < 3*together {
		t.Errorf("%d refusals, %d without", together, alone)
	}
	if least < 0.8*most {
		t.Errorf("runs have had %v to %v", least, most)
	}
}

// A host takes its part, and what has become smaller at once.
func TestPartOfABucket(t *testing.T) {
	var x table
	now := int64(0)
	x.buckets[Requests].update(reading{known: true, limit: 100, left: 80, full: -1}, 0, now)
	x.setFraction(0.5, now)
	b := &x.buckets[Requests]
	if want := 80 * 0.5 * careful; b.left != want {
		t.Errorf("%v are left of it, not %v", b.left, want)
	}
	b.update(reading{known: true, limit: 100, left: 20, full: -1}, 0, now)
	if want := 0.5 * careful * 19; b.left != want {
		t.Errorf("after another host's use %v are left, not %v", b.left, want)
	}
	before := b.left
	b.update(reading{known: true, limit: 100, left: 100, full: -1}, 0, now)
	if want := before + (0.5*careful*99-before)/4; b.left != want {
		t.Errorf("after more has come in %v are left, not %v", b.left, want)
	}
	if wait := b.waitFor(100, now); wait <= 0 || wait > int64(time.Minute) {
		t.Errorf("a request as large as all of it waits %v", time.Duration(wait))
	}
	b.guess(50, now)
	if b.share() != 1 || b.part == 0 {
		t.Errorf("a guess is the host's own: %+v", b)
	}
}

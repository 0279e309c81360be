package hosts_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

func open(t testing.TB, url string) *fleet.Fleet {
	t.Helper()
	f := fleet.New(fleet.Options{URL: url})
	t.Cleanup(f.Close)
	return f
}

func key(id, name string) hosts.Key { return hosts.Key{ID: id + "00000000", Name: name} }

// running follows a run that runs.
func running(id, tool string) *hosts.Own {
	own := hosts.Follow(runs.Header{ID: id, Kind: runs.KindRun, Report: journal.Report{Tool: tool, Project: "shop"}}, 42)
	own.Observe(journal.Record{Time: time.Now(), Event: journal.Admitted{ReservationBytes: 2 << 30}})
	own.Observe(journal.Record{Time: time.Now(), Event: journal.RunStarted{}})
	own.Observe(journal.Record{Time: time.Now(), Event: journal.WindowRequest{Request: 1, Model: "m", Tokens: 90_000, LimitTokens: 200_000}})
	own.Observe(journal.Record{Time: time.Now(), Event: journal.WindowResponse{Request: 1, Status: 200, Model: "m", TokensIn: 90_000, TokensOut: 100, Cost: 0.5}})
	own.Sample(runs.Sample{Working: 700 << 20, Processes: 3})
	return own
}

// Hosts see each other's runs, those of one name are told apart, and one whose last run ends says so.
func TestHostsSeeEachOther(t *testing.T) {
	s := natsserver.Start(t)
	announce := func(k hosts.Key, state string, own *hosts.Own) (end func()) {
		t.Helper()
		return hosts.Announce(hosts.Options{Fleet: open(t, s.URL), Key: k, State: state, Runtime: filepath.Join(state, "run"), Own: own})
	}
	a, b := key("aaaa", "box"), key("bbbb", "box")
	stateA, stateB := t.TempDir(), t.TempDir()
	endA := announce(a, stateA, running("run1", "claude"))
	waits := hosts.Follow(runs.Header{ID: "run3", Kind: runs.KindRun, Report: journal.Report{Tool: "codex"}}, 43)
	waits.Observe(journal.Record{Time: time.Now(), Event: journal.Waiting{Position: 1, Reason: "memory"}})
	endB, endB2 := announce(b, stateB, running("run2", "make\x1b[2J")), announce(b, stateB, waits)

	v := hosts.Open(open(t, s.URL), key("cccc", "looker"), true)
	defer v.Close()
	find := func(id string) *hosts.Host {
		for _, h := range v.Now().Hosts {
			if h.ID == id {
				return h
			}
		}
		return nil
	}
	wait.Until(t, "both hosts are seen, with all their runs", func() bool {
		one, two := find(a.ID), find(b.ID)
		return one != nil && two != nil && len(one.Runs) == 1 && len(two.Runs) == 2
	})
	one, two := find(a.ID), find(b.ID)
	if one.Label != "box~aaaa" || two.Label != "box~bbbb" || one.TotalBytes == 0 || two.Running != 1 || two.Waiting != 1 || time.Since(two.Oldest) > time.Minute {
		t.Errorf("%+v\n%+v", one, two)
	}
	r := one.Runs[0]
	if r.ID != "run1" || r.Tool != "claude" || r.State != runs.Running || r.Memory != 700<<20 || r.Reservation != 2<<30 || r.WindowTokens != 90_000 || r.Cost != 0.5 || one.Cost != 0.5 {
		t.Errorf("%+v", r)
	}
	if two.Runs[0].Tool != "make�[2J" {
		t.Errorf("%q is not cleaned", two.Runs[0].Tool)
	}
	// Whoever speaks for b ends: the other one speaks on, and the host is not told as gone.
	endB()
	wait.Until(t, "the other run speaks for its host", func() bool { return find(b.ID) != nil && len(find(b.ID).Runs) == 1 })
	endB2()
	endA()
	wait.Until(t, "both have left", func() bool { return len(v.Now().Hosts) == 0 })
	if now := v.Now(); len(now.Gone) > 0 || now.Away != nil {
		t.Errorf("%+v", now)
	}
}

// While the fleet is away who looks is told since when, and nobody waits; then all is shown again.
func TestAway(t *testing.T) {
	s, dir := natsserver.Start(t), t.TempDir()
	v := hosts.Open(open(t, s.URL), key("cccc", "looker"), true)
	defer v.Close()
	end := hosts.Announce(hosts.Options{Fleet: open(t, s.URL), Key: key("aaaa", "a"), State: dir, Runtime: dir, Own: running("run1", "claude")})
	wait.Until(t, "the host is seen", func() bool { return len(v.Now().Hosts) == 1 })
	s.Kill()
	wait.Until(t, "the fleet is away", func() bool { return v.Now().Away != nil })
	if now := v.Now(); !errors.Is(now.Away, fleet.ErrAway) || time.Since(now.Since) > time.Minute || len(now.Hosts) > 0 {
		t.Errorf("%+v", now)
	}
	s.Start()
	wait.Until(t, "the host is seen again", func() bool { now := v.Now(); return now.Away == nil && len(now.Hosts) == 1 })
	s.Kill()
	began := time.Now()
	end()
	if took := time.Since(began); took > 10*time.Second { // it is bounded to half a second; a machine may be busy
		t.Errorf("the end took %v", took)
	}
}

// Where the process that speaks for its host is stopped, and keeps the lock, another one speaks.
func TestAStoppedSpeaker(t *testing.T) {
	s, state, k := natsserver.Start(t), t.TempDir(), key("aaaa", "a")
	path := filepath.Join(state, k.ID, "speaker")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	long := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	defer hosts.Announce(hosts.Options{Fleet: open(t, s.URL), Key: k, State: state, Runtime: state, Own: running("run1", "claude")})()
	v := hosts.Open(open(t, s.URL), key("cccc", "looker"), true)
	defer v.Close()
	wait.Until(t, "the host is seen", func() bool { return len(v.Now().Hosts) == 1 })
}

// spend writes a run that asked a model into the store of a state directory.
func spend(t *testing.T, state, id, tool string, cost float64) {
	t.Helper()
	w := runs.Begin(runs.Options{Dir: state}, runs.Header{ID: id, Kind: runs.KindRun, Report: journal.Report{Tool: tool}})
	w.Observe(journal.Record{Seq: 1, Time: time.Now(), Event: journal.WindowRequest{Request: 1, Model: "m", Tokens: 1000}})
	w.Observe(journal.Record{Seq: 2, Time: time.Now(), Event: journal.WindowResponse{Request: 1, Status: 200, Model: "m", TokensIn: 1000, TokensOut: 100, Cost: cost}})
	if err := w.End(journal.Report{Tool: tool, Outcome: journal.OutcomeOK}); err != nil {
		t.Fatal(err)
	}
}

// What a host spent is told by day, also what it spent while the fleet was away, and once however often it is told.
func TestSpent(t *testing.T) {
	s, state := natsserver.Start(t), t.TempDir()
	s.Kill()
	spend(t, state, "aaaaaaaaaaa1", "claude", 0.25)
	announce := func() (end func()) {
		return hosts.Announce(hosts.Options{Fleet: open(t, s.URL), Key: key("aaaa", "a"), State: state, Runtime: state, Own: running("run1", "claude")})
	}
	announce()()
	s.Start()
	spend(t, state, "aaaaaaaaaaa2", "claude", 0.5)
	spend(t, state, "aaaaaaaaaaa3", "codex", 1)
	today := time.Now().Local().Format(time.DateOnly)
	read := func(own hosts.Key) (list []*hosts.Day) {
		if err := hosts.EachDay(t.Context(), open(t, s.URL), own, today, func(d *hosts.Day) { list = append(list, d) }); err != nil {
			t.Fatal(err)
		}
		return list
	}
	for range 2 {
		announce()()
		list := read(key("bbbb", "b"))
		if len(list) != 1 || list[0].Day != today || list[0].Runs != 3 || len(list[0].Tools) != 2 {
			t.Fatalf("%+v", list)
		}
		if r := list[0].Tools["claude"]; r == nil || r.Runs != 2 || len(r.Usage) != 1 || r.Usage[0].Input != 2000 || r.Usage[0].Cost != 0.75 {
			t.Errorf("%+v", r)
		}
	}
	if list := read(key("aaaa", "a")); len(list) > 0 {
		t.Errorf("a host is told what it spent itself: %+v", list)
	}
	if err := os.RemoveAll(filepath.Join(state, "runs")); err != nil { // what is known of a day does not shrink
		t.Fatal(err)
	}
	spend(t, state, "aaaaaaaaaaa4", "claude", 0.5)
	announce()()
	if list := read(key("bbbb", "b")); len(list) != 1 || list[0].Runs != 3 {
		t.Errorf("%+v", list)
	}
}

// TestManyHosts looks at 1,000 hosts with 100 runs each in a real server.
func TestManyHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("100,000 runs")
	}
	const many, each = 1000, 100
	s := natsserver.Start(t)
	f := open(t, s.URL)
	write := func() time.Duration {
		began := time.Now()
		var wg sync.WaitGroup
		for part := range 4 {
			wg.Go(func() {
				for i := part; i < many; i += 4 {
					if err := hosts.Pretend(t.Context(), f, key(fmt.Sprintf("h%03d", i), fmt.Sprintf("host-%d", i)), each); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		return time.Since(began)
	}
	wrote := write()
	heap := func() int64 {
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	began := time.Now()
	v := hosts.Open(open(t, s.URL), key("cccc", "looker"), true)
	defer v.Close()
	all := func() (n int) {
		for _, h := range v.Now().Hosts {
			n += len(h.Runs)
		}
		return n
	}
	wait.Until(t, "all runs are seen", func() bool { return all() == many*each })
	took := time.Since(began)
	live := heap() - before
	write()
	wait.Until(t, "they are after they changed", func() bool { return all() == many*each })
	again := heap() - before
	looked := time.Now()
	now := v.Now()
	t.Logf("%d hosts × %d runs: written in %v, seen in %v, %d MiB live, %d MiB after all changed; a look takes %v", many, each, wrote, took, live>>20, again>>20, time.Since(looked))
	if len(now.Hosts) != many || now.LeftOut > 0 || live > 100<<20 || again > 110<<20 {
		t.Errorf("%d hosts, %d left out, %d and %d bytes", len(now.Hosts), now.LeftOut, live, again)
	}
}

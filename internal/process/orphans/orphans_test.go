package orphans_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/orphans"
)

// family is a run in memory. Everything in it uses load processors until it ends.
type family struct {
	mu      sync.Mutex
	all     []orphans.Process
	began   time.Time
	load    float64
	deaf    map[int]bool // ends on SIGKILL only
	frozen  bool
	signals []string
	looks   int
}

func (f *family) Family() []orphans.Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	out := slices.Clone(f.all)
	for i := range out {
		out[i].CPU = time.Duration(float64(time.Since(f.began)) * f.load)
	}
	return out
}

func (f *family) End(p orphans.Process, kill bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := "TERM"
	if kill {
		name = "KILL"
	}
	f.signals = append(f.signals, fmt.Sprint(name, " ", p.PID))
	if kill || !f.deaf[p.PID] {
		f.all = slices.DeleteFunc(f.all, func(o orphans.Process) bool { return o.PID == p.PID && o.Start == p.Start })
	}
	return nil
}

func (f *family) Frozen() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.frozen
}

// agent is a run's command and a child of it.
func agent(more ...orphans.Process) *family {
	return &family{began: time.Now(), load: 0.18, deaf: map[int]bool{}, all: append([]orphans.Process{
		{PID: 10, Start: 1, Parent: 5, Name: "agent", Command: true}, {PID: 11, Start: 2, Parent: 10, Name: "sh"},
	}, more...)}
}

// watch looks after f for the time it says and returns what was noted.
func watch(f *family, o orphans.Options, lasts time.Duration) []orphans.Event {
	var mu sync.Mutex
	var events []orphans.Event
	o.Run = f
	o.Note = func(e orphans.Event) { mu.Lock(); events = append(events, e); mu.Unlock() }
	stop := orphans.Start(o)
	time.Sleep(lasts)
	stop()
	return events
}

func fates(events []orphans.Event) string {
	var b strings.Builder
	for _, e := range events {
		for _, o := range e.Orphans {
			fmt.Fprintf(&b, "%d %s; ", o.PID, o.Fate)
		}
	}
	return b.String()
}

func TestOrphansAreWarnedAboutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := agent()
		for i := range 39 {
			f.all = append(f.all, orphans.Process{PID: 100 + i, Start: 5, Parent: 1, Name: "yes", Orphan: true})
		}
		events := watch(f, orphans.Options{Mode: orphans.Warn, Max: 30 * time.Minute}, 8*time.Hour)
		if len(events) != 1 || len(events[0].Orphans) != 39 || !events[0].Say || events[0].Ended {
			t.Fatalf("got %d events: %s", len(events), fates(events))
		}
		for _, o := range events[0].Orphans {
			if o.Fate != orphans.Warned || o.For < 30*time.Minute || o.For > 31*time.Minute || o.Load < 0.17 || o.Load > 0.19 {
				t.Errorf("got %+v", o)
			}
		}
		if len(f.signals) > 0 {
			t.Errorf("warn sent %v", f.signals)
		}
		if f.looks > 8*60+1 {
			t.Errorf("%d looks in 8 hours: more than one in a minute", f.looks)
		}
	})
}

func TestYoungOrphansAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := agent(orphans.Process{PID: 20, Start: 3, Parent: 1, Name: "make", Orphan: true})
		if events := watch(f, orphans.Options{Mode: orphans.End, Max: time.Hour}, 59*time.Minute); len(events) > 0 || len(f.signals) > 0 {
			t.Errorf("got %s, sent %v", fates(events), f.signals)
		}
	})
}

func TestEndAsksThenKills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := agent(
			orphans.Process{PID: 20, Start: 3, Parent: 1, Name: "npm", Orphan: true},
			orphans.Process{PID: 21, Start: 4, Parent: 20, Name: "node"},
			orphans.Process{PID: 30, Start: 3, Parent: 1, Name: "gradle", Orphan: true, Daemon: true},
			orphans.Process{PID: 31, Start: 4, Parent: 30, Name: "java"},
		)
		f.deaf[21] = true
		events := watch(f, orphans.Options{Mode: orphans.End, Max: time.Minute, Grace: 5 * time.Second}, time.Hour)
		if got, want := strings.Join(f.signals, ", "), "TERM 20, TERM 21, KILL 21"; !sameFirst(f.signals, 2) || len(f.signals) != 3 || f.signals[2] != "KILL 21" {
			t.Errorf("sent %s, want %s", got, want)
		}
		if got, want := fates(events), "20 ; 30 kept; 20 terminated; "; got != want {
			t.Errorf("noted %q, want %q", got, want)
		}
		for _, p := range f.all {
			if p.PID == 20 || p.PID == 21 {
				t.Errorf("%d lives", p.PID)
			}
		}
		if len(f.all) != 4 {
			t.Errorf("%d processes are left, want the agent, its shell, and the daemon with its child", len(f.all))
		}
	})
}

// sameFirst says that the first n are the two TERM signals, in any order.
func sameFirst(signals []string, n int) bool {
	if len(signals) < n {
		return false
	}
	first := slices.Sorted(slices.Values(signals[:n]))
	return slices.Equal(first, []string{"TERM 20", "TERM 21"})
}

func TestWhoIgnoresTermIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := agent(orphans.Process{PID: 20, Start: 3, Parent: 1, Name: "make", Orphan: true})
		f.deaf[20] = true
		events := watch(f, orphans.Options{Mode: orphans.End, Max: time.Minute}, time.Hour)
		if got, want := fates(events), "20 ; 20 killed; "; got != want {
			t.Errorf("noted %q, want %q", got, want)
		}
	})
}

// A number that went to another process between two looks starts its own clock.
func TestAReusedNumberStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := agent(orphans.Process{PID: 20, Start: 3, Parent: 1, Name: "make", Orphan: true})
		go func() {
			time.Sleep(50 * time.Second)
			f.mu.Lock()
			f.all[2].Start = 99
			f.mu.Unlock()
		}()
		if events := watch(f, orphans.Options{Mode: orphans.End, Max: time.Minute}, 100*time.Second); len(events) > 0 || len(f.signals) > 0 {
			t.Errorf("noted %s, sent %v", fates(events), f.signals)
		}
	})
}

func TestAFrozenRunIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := agent(orphans.Process{PID: 20, Start: 3, Parent: 1, Name: "make", Orphan: true})
		f.frozen = true
		go func() {
			time.Sleep(10 * time.Minute)
			f.mu.Lock()
			if len(f.signals) > 0 {
				t.Errorf("while frozen it sent %v", f.signals)
			}
			f.frozen = false
			f.mu.Unlock()
		}()
		events := watch(f, orphans.Options{Mode: orphans.End, Max: time.Minute}, time.Hour)
		if got, want := fates(events), "20 ; 20 terminated; "; got != want {
			t.Errorf("noted %q, want %q", got, want)
		}
	})
}

// A run that leaves orphans behind every ten minutes is not told of each of them.
func TestWordsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := agent()
		go func() {
			for i := range 1200 {
				if i%40 == 0 {
					time.Sleep(10 * time.Minute)
				}
				f.mu.Lock()
				f.all = append(f.all, orphans.Process{PID: 1000 + i, Start: 7, Parent: 1, Name: "x", Orphan: true})
				f.mu.Unlock()
			}
		}()
		events := watch(f, orphans.Options{Mode: orphans.Warn, Max: 5 * time.Minute}, 400*time.Minute)
		said, followed := 0, 0
		for _, e := range events {
			followed += len(e.Orphans)
			if e.Say {
				said++
			}
		}
		if said != orphans.MaxEvents || followed != orphans.MaxOrphans {
			t.Errorf("said %d times, want %d; followed %d, want %d", said, orphans.MaxEvents, followed, orphans.MaxOrphans)
		}
	})
}

func TestOffDoesNotLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []orphans.Options{{Mode: orphans.Off, Max: time.Minute}, {Mode: orphans.End}} {
			f := agent(orphans.Process{PID: 20, Start: 3, Parent: 1, Name: "make", Orphan: true})
			if watch(f, o, time.Hour); f.looks > 0 {
				t.Errorf("%+v looked %d times", o, f.looks)
			}
		}
	})
}

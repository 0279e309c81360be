package disk

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// asked is a run that counts how often its processes are asked for.
type asked struct{ times atomic.Int64 }

func (a *asked) Processes() []Process { a.times.Add(1); return nil }
func (*asked) End(Process, string)    {}

// watched starts a watch for one test and returns what tells how often the processes were looked at within a time. spent holds the run's
// processor time; nil: it is not counted.
func watched(t *testing.T, lines Lines, spent *atomic.Int64) (looks func(d time.Duration) int64) {
	t.Helper()
	run := &asked{}
	o := Options{Lines: lines, Run: run, Note: func(Event) {}} // without a directory, whose disk could be small
	if spent != nil {
		o.CPU = func() (time.Duration, bool) { return time.Duration(spent.Load()), true }
	}
	stop := Start(o)
	t.Cleanup(stop)
	return func(d time.Duration) int64 {
		before := run.times.Load()
		time.Sleep(d)
		synctest.Wait()
		return run.times.Load() - before
	}
}

// The processes of a run that has used no processor time are not asked what they have written, however near a line is.
func TestAnIdleRunIsLeftAlone(t *testing.T) {
	for _, c := range []struct {
		name string
		max  limit.Bytes
	}{
		{"far from a line", 100 * limit.GiB},
		{"near a line", 64 * limit.MiB},
		{"at a line", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var spent atomic.Int64
				looks := watched(t, Lines{WriteMax: c.max}, &spent)
				looks(time.Minute)
				if got := looks(2 * time.Minute); got < 2 || got > 7 { // every minute all the same, and more often where others write
					t.Errorf("asked %d times in two minutes, want 2 to 7", got)
				}
				spent.Add(int64(time.Microsecond))
				if got := looks(calm + time.Second); got != 1 {
					t.Errorf("asked %d times after a microsecond, want 1", got)
				}
			})
		})
	}
}

// Where nobody counts the processor time, a run is looked at again as soon as somebody on the machine writes.
func TestAnIdleRunIsLookedAtWhenSomebodyWrites(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		max  limit.Bytes
	}{
		{"far from a line", 100 * limit.GiB},
		{"near a line", 64 * limit.MiB},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looks := watched(t, Lines{WriteMax: c.max}, nil)
				looks(5 * time.Second)
				if got := looks(30 * time.Second); got > 2 { // others write on this machine, too
					t.Errorf("asked %d times in 30 seconds in which nobody wrote", got)
				}
				if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 2*mostFill), 0o600); err != nil {
					t.Fatal(err)
				}
				if got := looks(restUncounted + calm); got < 1 {
					t.Errorf("asked %d times after somebody wrote", got)
				}
			})
		})
	}
}

// What ends a rest: a disk that fills by more than a part of what is left to the nearest line, somebody who is to end, a process that may
// have left what counts the time, and a minute.
func TestRest(t *testing.T) {
	_, free, ok := statfs("/")
	if !ok {
		t.Skip("/ is no disk")
	}
	writes := func(s *sampler, in limit.Bytes) { // so much since the last look
		now, _ := s.machineWrites()
		for i := range now {
			s.machine[i] = max(1, now[i]-in)
		}
	}
	for _, c := range []struct {
		name      string
		uncounted bool
		since     time.Duration
		room      limit.Bytes
		filled    limit.Bytes
		written   limit.Bytes
		busy      bool
		ending    bool
		want      bool
	}{
		{name: "nothing", since: 50 * time.Second, room: 100 * limit.GiB, want: true},
		{name: "a minute", since: longestRest, room: 100 * limit.GiB},
		{name: "processor time", since: time.Second, room: 100 * limit.GiB, busy: true},
		{name: "somebody is to end", since: time.Second, room: 100 * limit.GiB, ending: true},
		{name: "others fill the disk a little", since: time.Second, room: 100 * limit.GiB, filled: 2 * limit.GiB, want: true},
		{name: "others fill the disk", since: time.Second, room: 100 * limit.GiB, filled: 8 * limit.GiB},
		{name: "others write", since: 19 * time.Second, room: 100 * limit.GiB, written: 64 * limit.MiB, want: true},
		{name: "others have written for long", since: 20 * time.Second, room: 100 * limit.GiB, written: 64 * limit.MiB},
		{name: "uncounted", uncounted: true, since: 50 * time.Second, room: 100 * limit.GiB, want: true},
		{name: "uncounted, near a line", uncounted: true, since: 50 * time.Second, room: 64 * limit.MiB, want: true},
		{name: "uncounted, others write", uncounted: true, since: 5 * time.Second, room: 100 * limit.GiB, written: 64 * limit.MiB, want: true},
		{name: "uncounted, others go on writing", uncounted: true, since: 6 * time.Second, room: 100 * limit.GiB, written: 64 * limit.MiB},
		{name: "uncounted, others write near a line", uncounted: true, since: time.Second, room: 2 * limit.GiB, written: 64 * limit.MiB},
		{name: "uncounted, others fill the disk", uncounted: true, since: time.Second, room: 100 * limit.GiB, filled: 8 * limit.GiB},
		{name: "uncounted, others fill the disk a little for long", uncounted: true, since: 7 * time.Second, room: 100 * limit.GiB, filled: 64 * limit.MiB},
	} {
		s := newSampler(nil)
		s.spaces["/"] = &Space{Path: "/", Free: free + c.filled}
		r := rest{
			sampler: s, looked: time.Now().Add(-c.since), spent: time.Second, counted: !c.uncounted, same: stillLooks, room: c.room, ending: c.ending,
		}
		spent := r.spent
		if c.busy {
			spent++
		}
		writes(s, c.written)
		if got := r.canRest(spent, !c.uncounted); got != c.want {
			t.Errorf("%s: rests %v, want %v", c.name, got, c.want)
		}
		r.recordLook(Reading{Written: 1}, &Policy{})
		if writes(s, 0); c.uncounted && r.canRest(spent, false) {
			t.Errorf("%s: rests as soon as it has written", c.name)
		}
		s.close()
	}
}

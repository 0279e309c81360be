package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/window/breaker"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

// life is an agent whose processes live and die: each knows the state directory, and one journal hears of all.
type life struct {
	t      *testing.T
	dir    string
	events []journal.WindowBreaker
	used   limit.Bytes
	kills  int64
}

func (l *life) Observe(r journal.Record) {
	if e, ok := r.Event.(journal.WindowBreaker); ok {
		l.events = append(l.events, e)
	}
}

func (l *life) begin(now time.Time) *deaths {
	l.t.Helper()
	d := &deaths{dir: l.dir, journal: journal.New(journal.Options{Observers: []journal.Observer{l}}), sample: func() liveMark {
		return liveMark{Used: l.used, Limit: 100 * limit.MiB, Kills: l.kills, Source: "/a"}
	}}
	if err := d.settle(now, ""); err != nil {
		l.t.Fatal(err)
	}
	return d
}

// serve is begin of a process that keeps a mark.
func (l *life) serve(now time.Time) *deaths {
	l.t.Helper()
	d := l.begin(now)
	if err := d.startMark(); err != nil {
		l.t.Fatal(err)
	}
	return d
}

// kill ends a process as the kernel does: its lock goes, its mark stays.
func (d *deaths) kill() {
	close(d.quit)
	d.done.Wait()
	_ = d.file.Close()
	d.file = nil
}

func TestADeathOfMemoryHalvesTheWindowOfEveryProcess(t *testing.T) {
	l := &life{t: t, dir: t.TempDir(), used: 76 * limit.MiB}
	beside := l.begin(time.Now()) // an `ask` or `chat` that goes on
	first := l.serve(time.Now())
	if other := l.serve(time.Now()); other.Halved() || other.Close() != nil {
		t.Fatal("a living process was taken for a dead one")
	}
	first.kill()
	second := l.serve(time.Now())
	third := l.begin(time.Now())
	for i, d := range []*deaths{beside, second, third} {
		if left := time.Until(d.Until()); !d.Halved() || left < quietTime-time.Minute || left > quietTime {
			t.Errorf("process %d works with its whole window, or for %v", i, left)
		}
		b := breaker.New(breaker.Options{Until: d.Until})
		if s, _ := b.State("openai", "any"); s.Factor != 0.5 || d.ratio() != 0.5 {
			t.Errorf("process %d works with %v of its window", i, s.Factor)
		}
	}
	if len(l.events) != 1 || l.events[0].State != "tripped" || !strings.Contains(l.events[0].Reason, "76 MiB of 100 MiB") {
		t.Errorf("the events are %+v", l.events)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(l.dir, "*"+markEnd)); len(left) != 0 {
		t.Errorf("a clean end leaves %v", left)
	}
	// When the minutes have been quiet the whole window counts.
	testfile.Write(t, filepath.Join(l.dir, halvedName), fmt.Appendf(nil, `{"until":%q}`, time.Now().Add(-time.Second).Format(time.RFC3339Nano)))
	if beside.Halved() || third.ratio() != 1 {
		t.Error("the deadline that stands in the file has passed")
	}
}

func TestWhatADeathTells(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		used         limit.Bytes
		kills        int64 // more than when it was last seen
		gaps         []time.Duration
		boot         string
		halved       bool
		reason       string
		cleanly, raw string
	}{
		"below the line":           {used: 74 * limit.MiB, gaps: []time.Duration{0}},
		"at the line":              {used: 75 * limit.MiB, gaps: []time.Duration{0}, halved: true, reason: "died using"},
		"the kernel counted":       {used: 10 * limit.MiB, kills: 1, gaps: []time.Duration{0}, halved: true, reason: "the kernel has killed"},
		"two close to each other":  {used: 10 * limit.MiB, gaps: []time.Duration{0, 9 * time.Minute}, halved: true, reason: "2 times"},
		"two far from each other":  {used: 10 * limit.MiB, gaps: []time.Duration{0, 11 * time.Minute}},
		"of another start":         {used: 90 * limit.MiB, gaps: []time.Duration{0}, boot: "another"},
		"a mark that nobody wrote": {gaps: []time.Duration{0}, raw: "{\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &life{t: t, dir: t.TempDir(), used: c.used}
			var last *deaths
			at := now
			for i, gap := range c.gaps {
				at = at.Add(gap)
				d := l.serve(at)
				d.kill()
				path, _ := filepath.Glob(filepath.Join(l.dir, "*"+markEnd))
				if len(path) != 1 {
					t.Fatalf("death %d left %v", i, path)
				}
				switch {
				case c.raw != "":
					_ = os.WriteFile(path[0], []byte(c.raw), 0o600)
				case c.boot != "":
					m := l.begin(at).sample() // which takes the mark away
					m.Owner, m.At = admission.Self(), at
					m.Owner.Boot = c.boot
					body, _ := json.Marshal(m)
					_ = os.Remove(filepath.Join(l.dir, halvedName))
					l.events = nil
					_ = os.WriteFile(path[0], body, 0o600)
				}
				l.kills += c.kills
				last = l.begin(at)
			}
			if got := last.readHalved(); got.Until.After(now) != c.halved || !strings.Contains(got.Reason, c.reason) || len(l.events) > 1 || c.halved != (len(l.events) == 1) {
				t.Errorf("halved until %v because %q, with %d events", got.Until, got.Reason, len(l.events))
			}
		})
	}
}

// While it is halved any other death makes the twenty minutes begin anew.
func TestTheMinutesHaveToBeQuiet(t *testing.T) {
	l := &life{t: t, dir: t.TempDir(), used: 80 * limit.MiB}
	now := time.Now().Add(-19 * time.Minute)
	l.serve(now).kill()
	l.begin(now)
	l.used = 0
	l.serve(now.Add(time.Minute)).kill()
	again := l.begin(time.Now())
	if left := time.Until(again.Until()); left < quietTime-time.Minute {
		t.Errorf("the whole window counts in %v", left)
	}
}

func FuzzMark(f *testing.F) {
	f.Add([]byte(`{"owner":{"boot":"b","pid":1},"used":1,"limit":2}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		path := filepath.Join(t.TempDir(), "a"+markEnd)
		testfile.Write(t, path, body)
		m, _ := takeMark(path)
		_ = m.memoryEvidence(liveMark{Source: "/a", Kills: 1})
		if _, err := os.Stat(path); err == nil {
			t.Error("it is there again for the next")
		}
	})
}

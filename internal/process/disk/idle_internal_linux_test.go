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

// The processes of a run that has used no processor time are not asked what they have written.
func TestAnIdleRunIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spent atomic.Int64
		var unknown atomic.Bool
		run := &asked{}
		stop := Start(Options{
			Lines: Lines{WriteMax: 100 * limit.GiB}, Run: run, Note: func(Event) {}, // without a directory, whose disk could be small
			CPU: func() (time.Duration, bool) { return time.Duration(spent.Load()), !unknown.Load() },
		})
		defer stop()
		rest := func(least, most int64, when string) {
			t.Helper()
			before := run.times.Load()
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := run.times.Load() - before; got < least || got > most {
				t.Errorf("%s: asked %d times in a minute, want %d to %d", when, got, least, most)
			}
		}
		rest(2, 5, "a run that does nothing") // every 20 seconds all the same
		rest(2, 4, "a run that goes on doing nothing")
		spent.Add(int64(time.Microsecond))
		rest(2, 5, "after a microsecond")
		unknown.Store(true)
		rest(1, 8, "where nobody counts, and nothing is written")
	})
}

// Where nobody counts the processor time, a run is looked at again as soon as somebody on the machine writes, and at once where a line is
// so near that a disk could reach it meanwhile.
func TestAnIdleRunIsLookedAtWhenSomebodyWrites(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name        string
		max         limit.Bytes
		write       bool
		least, most int64
	}{
		{"nobody writes", 100 * limit.GiB, false, 0, 1},
		{"somebody writes", 100 * limit.GiB, true, 1, 2},
		{"a line is near", 4 * limit.GiB, false, 8, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := &asked{}
				stop := Start(Options{Lines: Lines{WriteMax: c.max}, Run: run, Note: func(Event) {}})
				defer stop()
				time.Sleep(time.Minute)
				before := run.times.Load()
				if c.write {
					if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 2*leastFill), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if got := run.times.Load() - before; got < c.least || got > c.most {
					t.Errorf("asked %d times in ten seconds, want %d to %d", got, c.least, c.most)
				}
			})
		})
	}
}

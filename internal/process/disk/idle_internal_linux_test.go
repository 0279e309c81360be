package disk

import (
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
			Lines: Lines{WriteMax: 100 * limit.GiB}, Dirs: []string{t.TempDir()}, Run: run, Note: func(Event) {},
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
		rest(3, 5, "a run that does nothing") // every 20 seconds all the same
		rest(2, 4, "a run that goes on doing nothing")
		spent.Add(int64(time.Microsecond))
		rest(3, 5, "after a microsecond")
		unknown.Store(true)
		rest(29, 400, "where nobody counts") // the smaller the disk, the more often
	})
}

package sandbox

import (
	"os"
	"testing"
	"time"
)

// A run that waits is looked at for days: a look makes no garbage to speak of, in every layer that is here. What the host's other
// processes do may cost one or two more.
func TestLooksMakeNoGarbage(t *testing.T) {
	for _, c := range Probe(t.Context(), false) {
		t.Run(string(c.Name), func(t *testing.T) {
			if !c.Available {
				t.Skip(c.Why)
			}
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			r, err := Start(t.Context(), Spec{
				ID: "garbage-" + string(c.Name), Path: "/bin/sleep", Args: []string{"sleep", "60"}, Files: []*os.File{null, null, null},
				Layers: []Layer{c.Name}, Subreaper: true, Observe: func(Sample) {},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = r.Kill()
				_, _ = r.Wait()
			}()
			time.Sleep(youngFor + tick) // newcomers are asked for their names
			round := func() {
				r.watch.mu.Lock()
				r.watch.sampled, r.watch.listed = time.Time{}, time.Time{} // everything is due
				r.watch.mu.Unlock()
				r.watch.lookOnce(false)
				r.EachProcess(func(Member) {})
			}
			round()
			const most = 8
			if n := testing.AllocsPerRun(50, round); n > most {
				t.Errorf("%v allocations a look, at most %v", n, most)
			} else {
				t.Logf("%v allocations a look", n)
			}
		})
	}
}

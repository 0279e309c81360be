package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Supervisors that start and end at once divide one directory between them: none may take
// another for a stranger, nor take the controllers away from one that is just starting.
func TestSupervisorsAtOnceDoNotLoseTheirLayer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eachLayer(t, true, func(t *testing.T, layer sandbox.Layer) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 4 {
					c := exec.Command(self, string(layer))
					c.Env = append(os.Environ(), toolVar+"=supervise-once")
					if said, err := c.CombinedOutput(); err != nil {
						t.Errorf("%v: %s", err, said)
					}
				}
			})
		}
		wg.Wait()
	})
}

// Two runs of one program, as two MCP servers of one gateway are: both leave an orphan, which becomes a child of this process, and each has its own
// only. The end of one ends nothing of the other's.
func TestRunsAtOnceKeepTheirOrphansApart(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		start := func() *sandbox.Run {
			s := spec(t, layer, "")
			s.Path, s.Args = "/bin/sh", []string{"sh", "-c", "(setsid sleep 300 &); sleep 300; true"}
			r, err := sandbox.Start(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		a, b := start(), start()
		orphans := func(r *sandbox.Run) (pids []int) {
			for _, m := range r.Family() {
				if m.Orphan {
					pids = append(pids, m.PID)
				}
			}
			return pids
		}
		ended := func(r *sandbox.Run) sandbox.Result {
			if err := r.Kill(); err != nil {
				t.Error(err)
			}
			res, err := r.Wait()
			if err != nil {
				t.Error(err)
			}
			return res
		}
		state := func() string { return fmt.Sprintf("%+v and %+v", a.Family(), b.Family()) }
		wait.Until(t, "each has an orphan", func() bool { return len(orphans(a)) > 0 && len(orphans(b)) > 0 }, state)
		ofA, ofB := orphans(a), orphans(b)
		if len(ofA) != 1 || len(ofB) != 1 || ofA[0] == ofB[0] {
			t.Errorf("orphans %v and %v: %s", ofA, ofB, state())
		}
		ended(a)
		if got := orphans(b); !slices.Equal(got, ofB) {
			t.Errorf("after the end of the other: %v, want %v", got, ofB)
		}
		if res := ended(b); len(res.Leftovers) > 2 {
			t.Errorf("%+v", res.Leftovers)
		}
	})
}

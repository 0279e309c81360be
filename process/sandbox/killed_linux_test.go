package sandbox_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// A shell forks and becomes another program later: the report names the program that took the memory, not the shell that it was when it was
// seen first, and [Spec].Meet is told of it. It takes the memory bit by bit, because on a busy machine who takes it all at once is gone
// before anybody has looked.
func TestAKilledChildHasTheNameOfItsProgram(t *testing.T) {
	eachLayer(t, true, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "grow")
		greedy := filepath.Join(t.TempDir(), "greedy")
		if err := os.Symlink(s.Path, greedy); err != nil {
			t.Fatal(err)
		}
		s.Path, s.Args = "/bin/sh", []string{"sh", "-c", `(sleep 2; exec "$0" 600 1); true`, greedy}
		s.Limits.Memory = 200 * limit.MiB
		s.Journal = journal.New(journal.Options{})
		var met sync.Map
		s.Meet = func(_ int, name string) { met.Store(name, true) }
		if res := run(t, s); res.OOMKills == 0 {
			t.Fatalf("nothing was killed: %+v", res)
		}
		var killed []string
		for rec := range s.Journal.Since(0) {
			if e, ok := rec.Event.(journal.ChildKilled); ok {
				killed = append(killed, e.Name)
			}
		}
		if len(killed) != 1 || killed[0] != "greedy" {
			t.Errorf("killed: %q, want greedy", killed)
		}
		if _, ok := met.Load("greedy"); !ok {
			t.Error("greedy was not met")
		}
	})
}

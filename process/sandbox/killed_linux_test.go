package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// A shell forks and becomes another program later: the report names the program that took the memory,
// not the shell that it was when it was seen first.
func TestAKilledChildHasTheNameOfItsProgram(t *testing.T) {
	eachLayer(t, true, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "spike")
		greedy := filepath.Join(t.TempDir(), "greedy")
		if err := os.Symlink(s.Path, greedy); err != nil {
			t.Fatal(err)
		}
		s.Path, s.Args = "/bin/sh", []string{"sh", "-c", `(sleep 1; exec "$0" 1 600 3000); true`, greedy}
		s.Limits.Memory = 200 * limit.MiB
		s.Journal = journal.New(journal.Options{})
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
	})
}

//go:build !race

package repair_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/window/repair"
)

// What is in order costs next to nothing. The race detector makes a sync.Pool forget at
// random, so allocations are counted without it only: `go test ./...` does.
func TestInOrderAllocatesNothing(t *testing.T) {
	for _, d := range dialects {
		r := parse(t, d, session(d, 100))
		if n := testing.AllocsPerRun(20, func() {
			if next, _, err := repair.Repair(r, repair.Options{MaxID: 64}); err != nil || next != r {
				t.Fatal(err)
			}
		}); n > 2 {
			t.Errorf("%s: %v allocations", d, n)
		}
	}
}

//go:build !race

package tokens

import (
	"encoding/json"
	"testing"
)

// The race detector makes a sync.Pool forget at random, so allocations are counted without it
// only: `go test ./...` does.
func TestCountDoesNotAllocate(t *testing.T) {
	for _, e := range []*Encoding{O200K(), CL100K()} {
		for _, s := range corpus(t, 20<<10) {
			literal, err := json.Marshal(string(s.text))
			if err != nil {
				t.Fatal(err)
			}
			e.Count(s.text)
			// A collection may empty the pool in between: less than one a run is none.
			if n := testing.AllocsPerRun(20, func() { e.Count(s.text) }); n >= 1 {
				t.Errorf("%s %s: Count allocates %v times", e.Name(), s.name, n)
			}
			e.CountLiteral(literal)
			if n := testing.AllocsPerRun(20, func() { e.CountLiteral(literal) }); n >= 1 {
				t.Errorf("%s %s: CountLiteral allocates %v times", e.Name(), s.name, n)
			}
		}
	}
}

package sorting

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

type pair struct{ key, place int }

// What comes out is what package slices makes of it; equals stay in their order where that is asked for.
func TestSorting(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	wholly := func(a, b pair) int { return cmp.Or(byKey(a, b), cmp.Compare(a.place, b.place)) }
	for n := range 200 {
		list := make([]pair, n)
		of := map[pair]bool{}
		for i := range list {
			list[i] = pair{rnd.IntN(n/3 + 1), i}
			of[list[i]] = true
		}
		want := slices.SortedFunc(maps.Keys(of), wholly)
		if got := CollectBy(maps.Keys(of), wholly); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		stable := slices.Clone(list)
		if StableBy(stable, byKey); !slices.Equal(stable, want) {
			t.Fatalf("%v, want %v", stable, want)
		}
		if By(list, wholly); !slices.Equal(list, want) {
			t.Fatalf("%v, want %v", list, want)
		}
	}
}

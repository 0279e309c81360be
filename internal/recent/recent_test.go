package recent

import (
	"math/rand/v2"
	"testing"
)

// The newest Max keys are remembered with their newest values, never more than twice as many, and what is used stays.
func TestMap(t *testing.T) {
	for name, sum := range map[string]func(int) uint64{
		"without sums":    nil,
		"with sums":       func(k int) uint64 { return uint64(k) * 0x9e3779b97f4a7c15 },
		"with equal sums": func(int) uint64 { return 1 },
	} {
		t.Run(name, func(t *testing.T) {
			const most = 10
			m := Map[int, int]{Max: most, Sum: sum}
			rnd := rand.New(rand.NewPCG(1, 2))
			var last []int // keys in the order of their use
			values := map[int]int{}
			for step := range 5000 {
				k := rnd.IntN(40)
				if step%2 == 0 {
					m.Put(k, step)
					values[k] = step
				} else if v, ok := m.Get(k); !ok {
					continue
				} else if v != values[k] {
					t.Fatalf("step %d: key %d has %d, want %d", step, k, v, values[k])
				}
				last = append(last, k)
				used := map[int]bool{}
				for i := len(last) - 1; i >= 0 && len(used) < most; i-- {
					used[last[i]] = true
				}
				for k := range m.All() {
					delete(used, k)
				}
				if len(used) > 0 || m.Len() > 2*most {
					t.Fatalf("step %d: %v are forgotten, %d are remembered", step, used, m.Len())
				}
			}
			if m.Evicted() == 0 {
				t.Error("nothing was forgotten")
			}
		})
	}
}

// Last finds what Get finds, from the end on, also where it has to look no further than the sums.
func TestLast(t *testing.T) {
	sum := func(k int) uint64 { return uint64(k%7) * 0x9e3779b97f4a7c15 } // some are equal
	m, plain := Map[int, int]{Max: 8, Sum: sum}, Map[int, int]{Max: 8}
	rnd := rand.New(rand.NewPCG(3, 4))
	for step := range 2000 {
		k := rnd.IntN(60)
		m.Put(k, step)
		plain.Put(k, step)
		keys := rnd.Perm(60)[:20]
		v, at := m.Last(len(keys), func(i int) int { return keys[i] })
		want, wantAt := plain.Last(len(keys), func(i int) int { return keys[i] })
		if v != want || at != wantAt {
			t.Fatalf("step %d: %d at %d, want %d at %d", step, v, at, want, wantAt)
		}
		if at >= 0 && v == 0 && k != 0 && step > 0 {
			if got, ok := plain.Get(keys[at]); !ok || got != v {
				t.Fatalf("step %d: key %d has %d, not %d", step, keys[at], got, v)
			}
		}
	}
	var none Map[int, int]
	if _, at := none.Last(3, func(i int) int { return i }); at != -1 {
		t.Errorf("an empty map has found index %d", at)
	}
}

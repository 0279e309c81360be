package tokens

// generations is a map that holds at most about two times limit entries: when the young
// half is full the old half is dropped and the young one grows old. What is asked for
// moves to the young half, so what is used stays. It is not safe for concurrent use.
type generations[K comparable, V any] struct {
	limit      int // entries of one half
	young, old map[K]V
	evicted    int64
}

func (g *generations[K, V]) get(k K) (v V, ok bool) {
	if v, ok = g.young[k]; ok {
		return v, true
	}
	if v, ok = g.old[k]; ok {
		g.put(k, v)
	}
	return v, ok
}

func (g *generations[K, V]) put(k K, v V) {
	if g.young == nil {
		g.young = map[K]V{}
	}
	if _, ok := g.young[k]; !ok && len(g.young) >= g.limit {
		for k := range g.old {
			if _, kept := g.young[k]; !kept {
				g.evicted++
			}
		}
		g.old, g.young = g.young, make(map[K]V, g.limit/4)
	}
	g.young[k] = v
}

func (g *generations[K, V]) len() int {
	n := len(g.young)
	for k := range g.old {
		if _, twice := g.young[k]; !twice {
			n++
		}
	}
	return n
}

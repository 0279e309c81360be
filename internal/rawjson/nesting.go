package rawjson

// Nesting remembers which brackets are open, one bit each. The zero value has none. It holds 64 levels in itself, and allocates for those
// beyond.
type Nesting struct {
	Depth  int
	levels uint64   // the innermost ones up to a multiple of 64, the last one lowest: 1 is an object
	outer  []uint64 // the full words around them
}

// Reset closes everything.
func (n *Nesting) Reset() { n.Depth, n.outer = 0, n.outer[:0] }

// Open enters an object or an array; false, and without effect, when that is deeper than [MaxDepth].
func (n *Nesting) Open(object bool) bool {
	if n.Depth == MaxDepth {
		return false
	}
	if n.Depth&63 == 0 {
		n.grow()
	}
	n.Depth++
	n.levels <<= 1
	if object {
		n.levels |= 1
	}
	return true
}

// grow and shrink stay calls: they run once in 64 levels, and the loops around Open and
// Close are hot.
//
//go:noinline
func (n *Nesting) grow() {
	if n.Depth > 0 {
		n.outer = append(n.outer, n.levels)
	}
}

// Close leaves an object or an array; false, and without effect, when the innermost is not of that kind or nothing is open.
func (n *Nesting) Close(object bool) bool {
	if n.Depth == 0 || n.levels&1 == 1 != object {
		return false
	}
	n.Depth--
	n.levels >>= 1
	if n.Depth&63 == 0 {
		n.shrink()
	}
	return true
}

//go:noinline
func (n *Nesting) shrink() {
	if last := len(n.outer) - 1; last >= 0 {
		n.levels, n.outer = n.outer[last], n.outer[:last]
	}
}

// Object reports whether the innermost open container is an object.
func (n *Nesting) Object() bool { return n.Depth > 0 && n.levels&1 == 1 }

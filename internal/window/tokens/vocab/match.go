package vocab

import (
	"encoding/binary"
	"math/bits"
)

// Match returns the longest token that merging can reach, that p begins with, and that is
// at most limit >= 1 bytes long, and its length. p must not be empty.
func (t *Table) Match(p []byte, limit int) (id uint32, n int) {
	limit = min(limit, len(p), t.longest)
	if limit >= 3 {
		// Bit i stands for length i+3.
		mask := binary.LittleEndian.Uint32(t.masks3[Mask3(p, t.width3):])
		if mask>>6 != 0 && limit > 8 {
			mask &= binary.LittleEndian.Uint32(t.masks8[Mask8(p, t.width8):]) | (1<<6 - 1)
		}
		if limit >= LongFrom && mask>>31 != 0 {
			if id, n = t.matchLong(p, limit); n > 0 {
				return id, n
			}
		}
		mask &= 1<<min(limit-2, 31) - 1
		var first, second uint64
		if mask != 0 {
			first, second = Load(p, 0, min(limit, 16))
		}
		for mask != 0 {
			top := 31 - bits.LeadingZeros32(mask)
			mask &^= 1 << top
			n = top + 3
			if n <= 16 {
				lo, hi := head(first, second, n)
				id, ok := t.FindShort(lo, hi, n, HashShort(lo, hi, n))
				if ok && t.reachable(id) {
					return id, n
				}
			} else if id, ok := t.Find(p[:n], Hash(p[:n])); ok && t.reachable(id) {
				return id, n
			}
		}
	}
	if limit >= 2 {
		if id, ok := t.Pair(p[0], p[1]); ok {
			return id, 2
		}
	}
	return t.Single(p[0]), 1
}

// matchLong returns the longest token that p begins with of those of LongFrom to limit bytes, and its length; 0, 0 if there is none.
func (t *Table) matchLong(p []byte, limit int) (uint32, int) {
	for n := limit; n >= LongFrom; n-- {
		if t.longs[(n-1)/8]>>((n-1)%8)&1 == 0 {
			continue
		}
		if id, ok := t.Find(p[:n], Hash(p[:n])); ok && t.reachable(id) {
			return id, n
		}
	}
	return 0, 0
}

// reachable reports whether merging can produce a token. A few entries stand only for a piece of exactly their bytes.
func (t *Table) reachable(id uint32) bool { return t.Record(id).Left() != id }

// Adjacent reports whether merging leaves a and b side by side, where p[at-len(a):at+len(b)]
// are their bytes. It undoes the merges that made the two, latest first, and asks each time
// whether the parts that then touched would have merged across the border earlier.
func (t *Table) Adjacent(p []byte, at int, a, b uint32) bool {
	ra, rb := t.Record(a), t.Record(b)
	before := ^uint32(0) // a merge across the border counts when its rank is below this
	for {
		from, to := at-ra.Len(), at+rb.Len()
		switch n := to - from; {
		case n == 2:
			if c, ok := t.Pair(p[from], p[from+1]); ok && c < before {
				return false
			}
		case n <= t.longest:
			var h uint64
			if n <= 16 {
				lo, hi := Load(p, from, n)
				h = HashShort(lo, hi, n)
			} else {
				h = Hash(p[from:to])
			}
			if c, ok := t.FindPair(a, b, h); ok && c < before {
				return false
			}
		}
		// Of two equal tokens the left one was merged first, so the right one is undone
		// first. One byte is not merged from anything.
		leftAtom, rightAtom := ra.Len() == 1, rb.Len() == 1
		switch {
		case leftAtom && rightAtom:
			return true
		case rightAtom || !leftAtom && a > b:
			before = a
			a = ra.Right()
			ra = t.Record(a)
		default:
			before = b + 1
			b = rb.Left()
			rb = t.Record(b)
		}
	}
}

// Odd constants with well mixed bits: the golden ratio and the two multipliers of
// splitmix64. The generator and the program must agree on them.
const (
	k0 = 0x9e3779b97f4a7c15
	k1 = 0xbf58476d1ce4e5b9
	k2 = 0x94d049bb133111eb
)

// mix returns the two halves of the product a*b, combined by exclusive or.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// HashShort returns the [Hash] of a piece of n <= 16 bytes that was loaded with [Load].
func HashShort(lo, hi uint64, n int) uint64 {
	return mix(lo^k0^uint64(n)<<56, hi^k1)
}

// Hash returns the hash by which a piece is found in a table. It is the same in every process.
func Hash(p []byte) uint64 {
	n := len(p)
	if n <= 16 {
		lo, hi := Load(p, 0, n)
		return HashShort(lo, hi, n)
	}
	h := uint64(n) * k2
	for ; len(p) > 16; p = p[16:] {
		h = mix(h^binary.LittleEndian.Uint64(p)^k0, binary.LittleEndian.Uint64(p[8:])^k1)
	}
	lo, hi := Load(p, 0, len(p))
	return mix(h^lo^k1, hi^k2)
}

// lowBytes are the masks of the low n bytes of a word, for n up to 8.
var lowBytes = [9]uint64{0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1}

// Load returns n <= 16 bytes of b from at on as two words, zero beyond n. It is faster when b has 16 bytes from at on.
func Load(b []byte, at, n int) (lo, hi uint64) {
	if rest := b[at:]; len(rest) >= 16 {
		lo = binary.LittleEndian.Uint64(rest)
		if n <= 8 {
			return lo & lowBytes[n], 0
		}
		return lo, binary.LittleEndian.Uint64(rest[8:]) & lowBytes[n-8]
	}
	for i := range min(n, 8) {
		lo |= uint64(b[at+i]) << (8 * i)
	}
	for i := 8; i < n; i++ {
		hi |= uint64(b[at+i]) << (8 * (i - 8))
	}
	return lo, hi
}

// head returns the first n <= 16 of the bytes that [Load] returned as lo and hi, as Load would.
func head(lo, hi uint64, n int) (uint64, uint64) {
	if n <= 8 {
		return lo & lowBytes[n], 0
	}
	return lo, hi & lowBytes[n-8]
}

// Mask3 returns the index of the length mask for tokens that begin with p[:3], among 1<<width masks of four bytes each.
func Mask3(p []byte, width uint8) int {
	v := uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16
	return int(v*0x9e3779b1>>((32-width)&31)) * 4
}

// Mask8 returns the index of the length mask for longer tokens that begin with p[:8], among 1<<width masks of four bytes each.
func Mask8(p []byte, width uint8) int {
	return int(binary.LittleEndian.Uint64(p)*k0>>((64-width)&63)) * 4
}

package vocab

import (
	"encoding/binary"
	"math/bits"
)

// Odd constants with well mixed bits: the golden ratio and the two multipliers of
// splitmix64. The generator and the program must agree on them.
const (
	k0 = 0x9e3779b97f4a7c15
	k1 = 0xbf58476d1ce4e5b9
	k2 = 0x94d049bb133111eb
)

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// HashShort works like [Hash] for a piece of n <= 16 bytes that was loaded with [Load].
func HashShort(lo, hi uint64, n int) uint64 {
	return mix(lo^k0^uint64(n)<<56, hi^k1)
}

// Hash returns the hash a piece is found under. It is the same in every process.
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

// Load returns n <= 16 bytes of b from at on as two words, zero beyond n. b may end with the piece; it is faster when b has 16 bytes from
// at on.
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

// head returns the first n <= 16 of the bytes that [Load] returned as lo and hi, in the same form.
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

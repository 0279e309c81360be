package tokens

import "github.com/plimsoll/plimsoll/internal/window/tokens/vocab"

const (
	// knownBits sets the size of the cache of short pieces: 4,096 entries of 24 bytes
	// stay in a core's second-level cache beside the tables' hot lines.
	knownBits = 12
	// apartBits and shorterBits set the sizes of the caches of facts about tokens: 4,096 and 1,024 entries of 8 bytes.
	apartBits, shorterBits = 12, 10
	// maxPiece is the longest piece that is encoded as a whole, in bytes.
	maxPiece = 4 << 20
	// keepBytes is the size in bytes up to which each buffer of a scratch is reused.
	keepBytes = 1 << 18
)

// scratch holds the working memory of one count. It is never shared while in use.
type scratch struct {
	// known remembers how many tokens a piece of up to 16 bytes has, under its hash, the
	// newest only.
	known [1 << knownBits]struct {
		lo, hi         uint64
		length, tokens uint32
	}
	// apart and shorter remember answers that depend on tokens alone: 1 + (left, right) and
	// whether they stay apart in the lowest bit; 1 + token and the longest token it begins
	// with. In text that repeats itself the same few are asked for again and again.
	apart   [1 << apartBits]uint64
	shorter [1 << shorterBits]uint64

	stack []uint32 // the tokens of one piece so far
	dead  []uint64 // a bit for each place in it that no encoding passes through
	text  []byte   // unescaped text that is not counted yet
}

// trim frees buffers that have grown for an unusually long piece.
func (s *scratch) trim() {
	if cap(s.stack) > keepBytes/4 {
		s.stack = nil
	}
	if cap(s.dead) > keepBytes/8 {
		s.dead = nil
	}
	if cap(s.text) > keepBytes {
		s.text = nil
	}
}

// encode returns the tokens of one piece that is not a token itself. They are valid until
// the next call.
//
// Byte-pair encoding is defined by merging, lowest rank first, but its result can be found
// from left to right: for every prefix of the piece there is at most one sequence of tokens
// whose neighbours all stay apart under merging, and it is the prefix's encoding. So the
// longest token that stays apart from the one before is taken; where none does, that place
// is dead and the token before is shortened. A place dies once, which makes the time linear
// in the length of the piece, whatever it is (Hoffmann and van Antwerpen, "So many tokens,
// so little time", 2024, describe the idea).
func (s *scratch) encode(t *vocab.Table, p []byte) []uint32 {
	words := len(p)/64 + 1
	if cap(s.dead) < words {
		s.dead = make([]uint64, words)
	}
	dead := s.dead[:words]
	clear(dead)
	stack := s.stack[:0]
	at := 0
	id, n := t.Match(p, len(p))
	for {
		end := at + n
		if dead[end/64]>>(end%64)&1 == 0 && (len(stack) == 0 || s.stayApart(t, p, at, stack[len(stack)-1], id)) {
			stack = append(stack, id)
			if end == len(p) {
				break
			}
			at = end
			id, n = t.Match(p[at:], len(p)-at)
			continue
		}
		if n > 1 {
			id, n = s.shorten(t, p[at:], id, n)
			continue
		}
		dead[at/64] |= 1 << (at % 64)
		id = stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n = t.Record(id).Len()
		at -= n
	}
	s.stack = stack
	return stack
}

// stayApart is [vocab.Table.Adjacent] with a cache.
func (s *scratch) stayApart(t *vocab.Table, p []byte, at int, a, b uint32) bool {
	key := (uint64(a)<<18 | uint64(b)) + 1
	known := &s.apart[key*0x9e3779b97f4a7c15>>(64-apartBits)]
	if *known>>1 == key {
		return *known&1 == 1
	}
	apart := t.Adjacent(p, at, a, b)
	*known = key << 1
	if apart {
		*known |= 1
	}
	return apart
}

// shorten returns the longest token that p begins with and that is shorter than token id, which has n bytes; and its length. It has a
// cache.
func (s *scratch) shorten(t *vocab.Table, p []byte, id uint32, n int) (uint32, int) {
	key := uint64(id) + 1
	known := &s.shorter[key*0x9e3779b97f4a7c15>>(64-shorterBits)]
	if *known>>32 == key {
		id = uint32(*known)
		return id, t.Record(id).Len()
	}
	id, n = t.Match(p, n-1)
	*known = key<<32 | uint64(id)
	return id, n
}

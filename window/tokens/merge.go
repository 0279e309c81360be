package tokens

import "github.com/plimsoll/plimsoll/window/tokens/internal/vocab"

const (
	// knownBits sets the size of the cache of short pieces: 2,048 entries of 24 bytes
	// stay in a core's second-level cache beside the tables' hot lines.
	knownBits = 11
	// keepBytes is how much of each buffer of a scratch outlives its use.
	keepBytes = 1 << 18
)

// scratch is what one count needs. It is never shared while in use.
type scratch struct {
	// known remembers how many tokens a piece of up to 16 bytes has, under its hash, the
	// newest only.
	known [1 << knownBits]struct {
		lo, hi         uint64
		length, tokens uint32
	}
	stack []uint32 // the tokens of one piece so far
	dead  []uint64 // a bit for each place in it that no encoding passes through
	text  []byte   // unescaped text that is not counted yet
}

// trim gives up what an unusually long piece needed.
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
		if dead[end/64]>>(end%64)&1 == 0 && (len(stack) == 0 || t.Adjacent(p, at, stack[len(stack)-1], id)) {
			stack = append(stack, id)
			if end == len(p) {
				break
			}
			at = end
			id, n = t.Match(p[at:], len(p)-at)
			continue
		}
		if n > 1 {
			id, n = t.Match(p[at:], n-1)
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

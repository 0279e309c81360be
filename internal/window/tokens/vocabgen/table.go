package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/window/tokens/vocab"
)

// load is the share of slots that are taken. Then a search for an unknown piece reads about four slots in a row.
const load = 0.64

// table returns a vocabulary in the layout of package vocab. text contains the bytes of all tokens.
func table(tokens []string, text string) ([]byte, error) {
	if len(tokens) >= 1<<18-1 {
		return nil, fmt.Errorf("%d tokens do not fit 18 bits", len(tokens))
	}
	rank := make(map[string]uint32, len(tokens))
	longest := 0
	for id, token := range tokens {
		rank[token] = uint32(id)
		longest = max(longest, len(token))
	}
	if len(rank) != len(tokens) || longest > vocab.MaxLength {
		return nil, fmt.Errorf("%d tokens, %d of them different, the longest of %d bytes (at most %d)", len(tokens), len(rank), longest, vocab.MaxLength)
	}
	if len(text) >= 1<<21 {
		return nil, errors.New("the text of the tokens does not fit 21 bits")
	}
	// A vocabulary of half as many tokens needs half as many masks.
	width3 := uint8(bits.Len(uint(len(tokens) / 2)))
	width8 := width3 - 2
	var (
		singles = make([]byte, vocab.SingleBytes)
		masks3  = make([]byte, 4<<width3)
		masks8  = make([]byte, 4<<width8)
		longs   = make([]byte, vocab.LengthBytes)
		records = make([]byte, 8*len(tokens))
	)
	for b := range 256 {
		id, ok := rank[string([]byte{byte(b)})]
		if !ok {
			return nil, fmt.Errorf("byte %#x has no token", b)
		}
		binary.LittleEndian.PutUint32(singles[4*b:], id)
	}
	offsets := places(text, tokens)
	for id, token := range tokens {
		left, right := uint32(id), uint32(id)
		if l, r, ok := split(rank, token); ok {
			left, right = l, r
			markLength(masks3, masks8, longs, token)
		}
		binary.LittleEndian.PutUint64(records[8*id:], uint64(vocab.NewRecord(left, right, offsets[id], len(token))))
	}
	pairs, pairIDs := pairsOf(rank)
	slotCount, slots := slotIndex(tokens)
	header := make([]byte, vocab.HeaderBytes)
	for i, v := range []int{vocab.Magic, len(tokens), slotCount, len(text), longest, len(slots) / 4, len(pairIDs) / 4, int(width3) | int(width8)<<8} {
		binary.LittleEndian.PutUint32(header[4*i:], uint32(v))
	}
	var file []byte
	for _, s := range [][]byte{header, longs, singles, pairs, pairIDs, masks3, masks8, slots, records} {
		file = append(file, s...)
	}
	return file, nil
}

// split replays byte-pair merging on the bytes of one token and returns the two tokens of the last merge; false for the few entries of the
// published vocabularies that cannot be reached that way.
func split(rank map[string]uint32, token string) (left, right uint32, ok bool) {
	parts := make([]string, len(token))
	for i := range parts {
		parts[i] = token[i : i+1]
	}
	for len(parts) > 2 {
		best, at := uint32(1<<32-1), -1
		for i := range len(parts) - 1 {
			if r, ok := rank[parts[i]+parts[i+1]]; ok && r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			return 0, 0, false
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
	if len(parts) != 2 {
		return 0, 0, false
	}
	return rank[parts[0]], rank[parts[1]], true
}

// markLength records the length of a token in the masks under its first three bytes, and if it is longer than eight under its first eight.
func markLength(masks3, masks8, longs []byte, token string) {
	n := len(token)
	if n < 3 {
		return
	}
	bit := 31
	if n < vocab.LongFrom {
		bit = n - 3
	} else {
		longs[(n-1)/8] |= 1 << ((n - 1) % 8)
	}
	set := func(masks []byte, at int) {
		binary.LittleEndian.PutUint32(masks[at:], binary.LittleEndian.Uint32(masks[at:])|1<<bit)
	}
	set(masks3, vocab.Mask3([]byte(token), widthOf(masks3)))
	if n > 8 {
		set(masks8, vocab.Mask8([]byte(token), widthOf(masks8)))
	}
}

// widthOf returns the number of bits of an index into masks.
func widthOf(masks []byte) uint8 { return uint8(bits.TrailingZeros(uint(len(masks) / 4))) }

// pairsOf returns the tokens of two bytes, in the order of their bytes, and the index by which they are found.
func pairsOf(rank map[string]uint32) (index, ids []byte) {
	for block := range 65536 / 64 {
		var bitmap uint64
		before := len(ids) / 4
		for i := range 64 {
			pair := block*64 + i
			if id, ok := rank[string([]byte{byte(pair >> 8), byte(pair)})]; ok {
				bitmap |= 1 << i
				ids = binary.LittleEndian.AppendUint32(ids, id)
			}
		}
		index = binary.LittleEndian.AppendUint64(index, bitmap)
		index = binary.LittleEndian.AppendUint32(index, uint32(before))
	}
	return index, ids
}

// slotIndex returns the hash table's slots, in which every token is in the first free one at or after its hash, and their count. Slots past
// the count take tokens that do not fit before the end, so that a search never wraps around.
func slotIndex(tokens []string) (count int, slots []byte) {
	count = int(float64(len(tokens)) / load)
	filled := make([]uint32, count, count+64)
	for i := range filled {
		filled[i] = vocab.Empty
	}
	for id, token := range tokens {
		hash := vocab.Hash([]byte(token))
		hi, _ := bits.Mul64(hash, uint64(count))
		at := int(hi)
		for at < len(filled) && filled[at] != vocab.Empty {
			at++
		}
		if at == len(filled) {
			filled = append(filled, vocab.Empty)
		}
		filled[at] = uint32(id)<<vocab.FingerprintBits | uint32(hash)&(1<<vocab.FingerprintBits-1)
	}
	filled = append(filled, vocab.Empty) // a search always meets one
	for _, v := range filled {
		slots = binary.LittleEndian.AppendUint32(slots, v)
	}
	return count, slots
}

// classes returns the class of every character in the layout of package vocab; equal blocks are stored once.
func classes() []byte {
	index := make([]byte, vocab.Blocks)
	var blocks []byte
	seen := map[[vocab.BlockSize]byte]int{}
	for i := range index {
		var block [vocab.BlockSize]byte
		for j := range block {
			block[j] = byte(class(rune(i*vocab.BlockSize + j)))
		}
		n, ok := seen[block]
		if !ok {
			n = len(seen)
			seen[block] = n
			blocks = append(blocks, block[:]...)
		}
		if n > 255 {
			panic("vocabgen: more than 256 different blocks: the index needs two bytes")
		}
		index[i] = byte(n)
	}
	return append(index, blocks...)
}

// class returns the class of a character, by which texts are cut into pieces.
func class(r rune) vocab.Class {
	switch {
	case r == '\r' || r == '\n':
		return vocab.Newline
	case unicode.Is(unicode.White_Space, r):
		return vocab.Space
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return vocab.Upper
	case unicode.Is(unicode.Ll, r):
		return vocab.Lower
	case unicode.In(r, unicode.Lm, unicode.Lo):
		return vocab.Caseless
	case unicode.Is(unicode.M, r):
		return vocab.Mark
	case unicode.Is(unicode.N, r):
		return vocab.Number
	}
	return vocab.Other
}

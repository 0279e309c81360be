// Package vocab holds the vocabularies o200k_base and cl100k_base, and the character classes of their patterns, as tables that are used where
// they lie: embedded files that are never copied and need no work at the start. Package tokens counts with it.
//
// A [Table] finds the token that is a piece ([Table.Find]), the longest token that a text begins with ([Table.Match]), whether two tokens stay
// side by side under byte-pair merging ([Table.Adjacent]), and the bytes of a token ([Table.Bytes]): with these a text is encoded from left to
// right without a queue of merges. One open-addressing index serves pieces and merges: a slot has the token and 14 bits of the hash, and the
// token's record confirms it, so answers are exact.
//
// All is read-only. The program in ../vocabgen writes the files (`go generate ./window/tokens`), and a test there holds them against it.
package vocab

import (
	_ "embed"
	"encoding/binary"
	"math/bits"
	"sync"
	"unsafe"
)

// The layout of a table file: a header of eight little-endian 32-bit words (magic, count of
// tokens, count of slots, bytes of the text, longest token in bytes, slots, tokens of two bytes, the widths of the indexes into
// the masks), and the sections below in this order. The text is a file of its own, in which the tokens of both vocabularies are;
// 16 bytes of padding follow it, so that a 16-byte load at any token stays inside the file.
const (
	// Magic begins a table file; it changes with the layout.
	Magic = 0x35504c50
	// HeaderBytes is the size of the header.
	HeaderBytes = 32
	// LengthBytes is the bitmap of lengths from LongFrom up that some token has.
	LengthBytes = 16
	// SingleBytes is the table of the 256 one-byte tokens.
	SingleBytes = 256 * 4
	// PairBytes is the index of the tokens of two bytes: for each 64 pairs of bytes in order, a bit for each that is a token, and
	// how many tokens come before.
	PairBytes = 65536 / 64 * pairBlock
	pairBlock = 12
	// LongFrom is the first length that has no bit of its own in a mask: bit 31 stands for all.
	LongFrom = 34
	// PadBytes follow the text.
	PadBytes = 16
	// MaxLength is the longest token a record can describe, in bytes.
	MaxLength = 128
	// Empty is the slot that holds nothing.
	Empty = ^uint32(0)
	// FingerprintBits of a slot are the low bits of the hash; the token is above them.
	FingerprintBits = 14
	fingerprintMask = 1<<FingerprintBits - 1
	idMask          = 1<<18 - 1
)

// Table is one vocabulary, read in place from the files embedded in the program.
type Table struct {
	slots, records, text []byte
	singles, longs       []byte
	pairs, pairIDs       []byte
	slotCount            uint64
	count, longest       int
	// Lengths of tokens by how they begin: a mask by the first three bytes, which is asked at every place of a text, and one by
	// the first eight, which counts for lengths above eight. There are 1<<width of either.
	masks3, masks8 []byte
	width3, width8 uint8
}

// Open returns the table in a file and the text of its tokens. It panics on a file of another layout: the files are part of the program, so
// that can only be a mistake in building it.
func Open(file, text string) *Table {
	// The strings are the program's read-only data: viewing them as bytes avoids a copy of
	// several megabytes onto the heap. Nothing here writes to them.
	b := unsafe.Slice(unsafe.StringData(file), len(file))
	word := func(i int) int { return int(binary.LittleEndian.Uint32(b[4*i:])) }
	if len(b) < HeaderBytes || word(0) != Magic {
		panic("vocab: the embedded table is not one of this layout: run go generate ./window/tokens")
	}
	t := &Table{
		count: word(1), slotCount: uint64(word(2)), longest: word(4), text: unsafe.Slice(unsafe.StringData(text), len(text)),
		width3: uint8(word(7)), width8: uint8(word(7) >> 8),
	}
	slots := word(5)
	at := HeaderBytes
	section := func(n int) []byte {
		s := b[at : at+n : at+n]
		at += n
		return s
	}
	t.longs = section(LengthBytes)
	t.singles = section(SingleBytes)
	t.pairs = section(PairBytes)
	t.pairIDs = section(4 * word(6))
	t.masks3 = section(4 << t.width3)
	t.masks8 = section(4 << t.width8)
	t.slots = section(4 * slots)
	t.records = section(8 * t.count)
	if at != len(b) || len(text) != word(3)+PadBytes {
		panic("vocab: the embedded table has the wrong size: run go generate ./window/tokens")
	}
	return t
}

// Record is a token's entry in the table: the two tokens it was merged from (itself twice when it
// cannot be reached by merging), the position of its bytes, and their number.
type Record uint64

// NewRecord packs a record: 18 bits each for left and right, 21 for the offset, 7 for the length.
func NewRecord(left, right uint32, offset, length int) Record {
	return Record(uint64(left)<<46 | uint64(right)<<28 | uint64(offset)<<7 | uint64(length-1))
}

// Left returns the left one of the two tokens that this one was merged from.
func (r Record) Left() uint32 { return uint32(r>>46) & idMask }

// Right returns the right one of the two tokens that this one was merged from.
func (r Record) Right() uint32 { return uint32(r>>28) & idMask }

// Len returns the length in bytes.
func (r Record) Len() int { return int(r&127) + 1 }

// offset returns the position of the token's bytes in the text.
func (r Record) offset() int { return int(r>>7) & (1<<21 - 1) }

// Record returns the record of a token, which must be below [Table.Count].
func (t *Table) Record(id uint32) Record {
	return Record(binary.LittleEndian.Uint64(t.records[8*int(id):]))
}

// Count returns the number of tokens; the tokens are 0 to Count-1.
func (t *Table) Count() int { return t.count }

// Longest returns the length in bytes of the longest token.
func (t *Table) Longest() int { return t.longest }

// Single returns the token of one byte. Every byte has one.
func (t *Table) Single(b byte) uint32 { return binary.LittleEndian.Uint32(t.singles[4*int(b):]) }

// Pair returns the token of two bytes; false if they are not one.
func (t *Table) Pair(a, b byte) (uint32, bool) {
	block := t.pairs[(int(a)<<2|int(b)>>6)*pairBlock:]
	bitmap := binary.LittleEndian.Uint64(block)
	bit := uint64(1) << (b & 63)
	if bitmap&bit == 0 {
		return 0, false
	}
	at := int(binary.LittleEndian.Uint32(block[8:])) + bits.OnesCount64(bitmap&(bit-1))
	return binary.LittleEndian.Uint32(t.pairIDs[4*at:]), true
}

// Bytes returns the bytes of a token. They are read-only.
func (t *Table) Bytes(id uint32) []byte {
	r := t.Record(id)
	o := r.offset()
	return t.text[o : o+r.Len() : o+r.Len()]
}

// Find returns the token whose bytes are exactly p; false if there is none. hash is Hash(p).
func (t *Table) Find(p []byte, hash uint64) (uint32, bool) {
	hi, _ := bits.Mul64(hash, t.slotCount)
	for at := int(hi) * 4; ; at += 4 {
		v := binary.LittleEndian.Uint32(t.slots[at:])
		if v == Empty {
			return 0, false
		}
		if (v^uint32(hash))&fingerprintMask == 0 {
			id := v >> FingerprintBits
			if r := t.Record(id); r.Len() == len(p) && string(t.text[r.offset():r.offset()+len(p)]) == string(p) {
				return id, true
			}
		}
	}
}

// FindShort works like Find for a piece of n <= 16 bytes that was loaded with [Load].
func (t *Table) FindShort(lo, hi uint64, n int, hash uint64) (uint32, bool) {
	slot, _ := bits.Mul64(hash, t.slotCount)
	for at := int(slot) * 4; ; at += 4 {
		v := binary.LittleEndian.Uint32(t.slots[at:])
		if v == Empty {
			return 0, false
		}
		if (v^uint32(hash))&fingerprintMask == 0 {
			id := v >> FingerprintBits
			r := t.Record(id)
			if r.Len() != n {
				continue
			}
			if l, h := Load(t.text, r.offset(), n); l == lo && h == hi {
				return id, true
			}
		}
	}
}

// FindPair returns the token that left and right merge into; false if there is none. hash is the hash of the bytes of both together, so
// that one index serves whole pieces and merges.
func (t *Table) FindPair(left, right uint32, hash uint64) (uint32, bool) {
	want := uint64(left)<<18 | uint64(right)
	hi, _ := bits.Mul64(hash, t.slotCount)
	for at := int(hi) * 4; ; at += 4 {
		v := binary.LittleEndian.Uint32(t.slots[at:])
		if v == Empty {
			return 0, false
		}
		if (v^uint32(hash))&fingerprintMask == 0 {
			if id := v >> FingerprintBits; uint64(t.Record(id))>>28 == want {
				return id, true
			}
		}
	}
}

// Class is a set of character properties that the splitting patterns test. The letters are bits, so
// that a set of classes is one mask.
type Class uint8

// The classes. Every character has exactly one.
const (
	Other    Class = 1 << iota // neither letter, mark, number nor white space
	Upper                      // \p{Lu} \p{Lt}
	Lower                      // \p{Ll}
	Caseless                   // \p{Lm} \p{Lo}
	Mark                       // \p{M}
	Number                     // \p{N}
	Space                      // \s without the line ends
	Newline                    // \r and \n
)

// The layout of the class file: one index byte per 256 characters, then the blocks.
const (
	// BlockSize is the number of characters in a block.
	BlockSize = 256
	// Blocks is the number of blocks in all of Unicode.
	Blocks = 0x110000 / BlockSize
)

// Letter is \p{L}.
const Letter = Upper | Lower | Caseless

// ClassOf returns the class of a character up to U+10FFFF.
func ClassOf(r rune) Class {
	block := int(classFile[uint32(r)/BlockSize])
	return Class(classFile[Blocks+block*BlockSize+int(uint32(r)%BlockSize)])
}

// ASCII are the classes of the bytes below 128, at hand without the file; 0 for the others.
var ASCII = asciiClasses()

// asciiClasses returns the class of each ASCII character; other bytes have the zero class.
func asciiClasses() (c [256]Class) {
	for b := range 128 {
		switch b := byte(b); {
		case b == '\r' || b == '\n':
			c[b] = Newline
		case b == ' ' || b >= '\t' && b <= '\f':
			c[b] = Space
		case b >= 'A' && b <= 'Z':
			c[b] = Upper
		case b >= 'a' && b <= 'z':
			c[b] = Lower
		case b >= '0' && b <= '9':
			c[b] = Number
		default:
			c[b] = Other
		}
	}
	return c
}

var classFile = unsafe.Slice(unsafe.StringData(classString), len(classString))

var (
	//go:embed o200k.bin
	o200kString string
	//go:embed cl100k.bin
	cl100kString string
	//go:embed text.bin
	textString string
	//go:embed class.bin
	classString string
)

// O200K is o200k_base.
var O200K = sync.OnceValue(func() *Table { return Open(o200kString, textString) })

// CL100K is cl100k_base.
var CL100K = sync.OnceValue(func() *Table { return Open(cl100kString, textString) })

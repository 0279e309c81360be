package vocab

import "unsafe"

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

package tokens

import (
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/window/tokens/vocab"
)

// The splitters cut a text into the pieces that byte-pair encoding works on, each as the
// published pattern of its encoding does:
//
//	cl100k_base  (?i:'s|'t|'re|'ve|'m|'ll|'d) | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}{1,3} |
//	             ' '?[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+
//	o200k_base   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|…)? |
//	             [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|…)? |
//	             \p{N}{1,3} | ' '?[^\s\p{L}\p{N}]+[\r\n/]* | \s*[\r\n]+ | \s+(?!\S) | \s+
//
// Newer releases of OpenAI's library write cl100k_base with \s++$ before \s*[\r\n], which
// differs at the very end of a text that ends in a line break and then spaces: one piece
// there, two here, at most one token. In a request no text is at the end: a marker follows.
//
// A pattern is tried at one place, alternative by alternative, each as greedy as it can
// be, so the end of a piece depends only on what follows its start. Every function takes
// valid UTF-8 and reads each character a bounded number of times.

// classAt returns the class and the length in bytes of the character at i, and 0, 0 at the end.
func classAt(text []byte, i int) (vocab.Class, int) {
	if i >= len(text) {
		return 0, 0
	}
	if c := vocab.ASCII[text[i]]; c != 0 {
		return c, 1
	}
	r, size := utf8.DecodeRune(text[i:])
	return vocab.ClassOf(r), size
}

// runEnd returns the end of the run of characters of the classes in set that begins at i; i if there is none.
func runEnd(text []byte, i int, set vocab.Class) int {
	for i < len(text) {
		if c := vocab.ASCII[text[i]]; c != 0 {
			if c&set == 0 {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if vocab.ClassOf(r)&set == 0 {
			return i
		}
		i += size
	}
	return i
}

// splitCL100K returns the end of the piece of cl100k_base that begins at i < len(text).
func splitCL100K(text []byte, i int) int {
	class, size := classAt(text, i)
	word := i
	switch class {
	case vocab.Number:
		return numbersEnd(text, i)
	case vocab.Newline:
		return spacesEnd(text, i)
	case vocab.Other, vocab.Mark, vocab.Space:
		if text[i] == '\'' {
			if end := contractionEnd(text, i); end > i {
				return end
			}
		}
		word = i + size
	}
	if end := runEnd(text, word, vocab.Letter); end > word {
		return end
	}
	if class == vocab.Space {
		if next, _ := classAt(text, i+1); text[i] != ' ' || next&(vocab.Other|vocab.Mark) == 0 {
			return spacesEnd(text, i)
		}
	}
	end := runEnd(text, word, vocab.Other|vocab.Mark)
	for end < len(text) && (text[end] == '\n' || text[end] == '\r') {
		end++
	}
	return end
}

// splitO200K returns the end of the piece of o200k_base that begins at i < len(text).
func splitO200K(text []byte, i int) int {
	if end := asciiPiece(text, i); end > 0 {
		return end
	}
	class, size := classAt(text, i)
	word := i
	switch class {
	case vocab.Number:
		return numbersEnd(text, i)
	case vocab.Newline:
		return spacesEnd(text, i)
	case vocab.Other, vocab.Mark, vocab.Space:
		word = i + size
	}
	end, first := casedWord(text, word)
	if class == vocab.Mark && !first {
		// A mark is taken as the optional character before a word. When no word of the
		// first alternative follows, that alternative matches the mark itself, before
		// the second one is tried.
		end = word
		return max(contractionEnd(text, end), end)
	}
	if end > word {
		return max(contractionEnd(text, end), end)
	}
	if class == vocab.Space {
		if next, _ := classAt(text, i+1); text[i] != ' ' || next != vocab.Other {
			return spacesEnd(text, i)
		}
	}
	end = runEnd(text, word, vocab.Other|vocab.Mark)
	for end < len(text) && (text[end] == '\n' || text[end] == '\r' || text[end] == '/') {
		end++
	}
	return end
}

// asciiPiece is splitO200K for the commonest pieces: ASCII letters with at most one other character before them, digits, and punctuation.
// It returns 0 where the piece is, or may be, another.
func asciiPiece(text []byte, i int) int {
	class, word := vocab.ASCII[text[i]], i
	switch class {
	case vocab.Number:
		end := i + 1
		for end < len(text) && end < i+3 && vocab.ASCII[text[end]] == vocab.Number {
			end++
		}
		if end < len(text) && end < i+3 && text[end] >= utf8.RuneSelf {
			return 0
		}
		return end
	case vocab.Space, vocab.Other:
		word++
	case vocab.Newline, 0:
		return 0
	}
	end := word
	for end < len(text) && vocab.ASCII[text[end]] == vocab.Upper {
		end++
	}
	for end < len(text) && vocab.ASCII[text[end]] == vocab.Lower {
		end++
	}
	if end == len(text) || text[end] >= utf8.RuneSelf {
		return 0
	}
	if end > word {
		if text[end] == '\'' {
			return 0
		}
		return end
	}
	if class == vocab.Space && (text[i] != ' ' || vocab.ASCII[text[word]] != vocab.Other) {
		return 0
	}
	for end < len(text) && vocab.ASCII[text[end]] == vocab.Other {
		end++
	}
	if end < len(text) && text[end] >= utf8.RuneSelf {
		return 0
	}
	for end < len(text) && (text[end] == '\n' || text[end] == '\r' || text[end] == '/') {
		end++
	}
	return end
}

// casedWord matches a word of o200k_base at i, without the characters that may stand before and after it. It returns its end, i when there is
// none, and whether the first of the two alternatives matched.
func casedWord(text []byte, i int) (end int, first bool) {
	k := i
	turn := -1 // behind the last character so far that can belong to both halves of a word
	for k < len(text) {
		b := text[k]
		if c := vocab.ASCII[b]; c != 0 {
			if c != vocab.Upper {
				break
			}
			k++
			continue
		}
		r, size := utf8.DecodeRune(text[k:])
		c := vocab.ClassOf(r)
		if c&(vocab.Upper|vocab.Caseless|vocab.Mark) == 0 {
			break
		}
		k += size
		if c != vocab.Upper {
			turn = k
		}
	}
	if end := runEnd(text, k, vocab.Lower|vocab.Caseless|vocab.Mark); end > k {
		return end, true
	}
	if turn >= 0 {
		// The second half needs one character: it gets the last the first half can spare.
		return turn, true
	}
	return k, false
}

// numbersEnd returns the end of a match of \p{N}{1,3} at i.
func numbersEnd(text []byte, i int) int {
	for range 3 {
		class, size := classAt(text, i)
		if class != vocab.Number {
			break
		}
		i += size
	}
	return i
}

// spacesEnd returns the end of a match of \s*[\r\n]+ | \s+(?!\S) | \s+ at white space: behind the last line end in it, or behind all of it
// when the text ends, or before its last character (which the next piece may want).
func spacesEnd(text []byte, i int) int {
	last, newline, end := i, -1, i
	for end < len(text) {
		class, size := classAt(text, end)
		if class&(vocab.Space|vocab.Newline) == 0 {
			break
		}
		last = end
		end += size
		if class == vocab.Newline {
			newline = end
		}
	}
	switch {
	case newline >= 0:
		return newline
	case end == len(text) || last == i:
		return end
	}
	return last
}

// contractionEnd returns the end of a match of (?i:'s|'t|'re|'ve|'m|'ll|'d) at i, or 0 if there is none. Without case, ſ (U+017F, the long
// s) is an s: the published encoder folds case as Unicode does.
func contractionEnd(text []byte, i int) int {
	if i+1 >= len(text) || text[i] != '\'' {
		return 0
	}
	switch text[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		// No other character than the letter and its capital has these bits.
		return i + 2
	case 'r', 'v':
		if i+2 < len(text) && text[i+2]|0x20 == 'e' {
			return i + 3
		}
	case 'l':
		if i+2 < len(text) && text[i+2]|0x20 == 'l' {
			return i + 3
		}
	}
	if i+2 < len(text) && text[i+1] == 0xc5 && text[i+2] == 0xbf {
		return i + 3
	}
	return 0
}

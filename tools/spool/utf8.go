package spool

import "unicode/utf8"

// openRune returns the number of bytes at the end of b that are the beginning of an incomplete character.
func openRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}

// repair appends b to dst, with U+FFFD for each byte that is not UTF-8, as far as dst has capacity, and returns dst and what is left of b.
func repair(dst, b []byte) (good, rest []byte) {
	for len(b) > 0 && len(dst)+utf8.UTFMax <= cap(dst) {
		r, size := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[size:]
	}
	return dst, b
}

package builtin

import (
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// quoter writes a text that comes in pieces as the inside of one JSON string. Pieces may end within a character. Bytes that are not UTF-8
// become U+FFFD. The zero value is ready to use.
type quoter struct {
	part [utf8.UTFMax]byte // the beginning of a character
	n    int
}

// add appends p, the next piece of the text, to dst with JSON escapes, and returns dst. The bytes of a character that is incomplete at the
// end of p are kept for the next call.
func (q *quoter) add(dst, p []byte) []byte {
	for q.n > 0 && len(p) > 0 {
		q.part[q.n] = p[0]
		q.n++
		p = p[1:]
		// The bytes may turn out not to be a character; then the ones behind the first are examined again.
		for q.n > 0 && utf8.FullRune(q.part[:q.n]) {
			_, size := utf8.DecodeRune(q.part[:q.n])
			dst = appendEscaped(dst, q.part[:size])
			q.n = copy(q.part[:], q.part[size:q.n])
		}
	}
	if len(p) == 0 {
		return dst
	}
	whole := len(p) - incompleteRune(p)
	q.n = copy(q.part[:], p[whole:])
	return appendEscaped(dst, p[:whole])
}

// end appends the incomplete character at the end of the text, if there is one.
func (q *quoter) end(dst []byte) []byte {
	n := q.n
	q.n = 0
	return appendEscaped(dst, q.part[:n])
}

// incompleteRune returns the number of bytes at the end of p that begin an incomplete UTF-8 character.
func incompleteRune(p []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if utf8.RuneStart(p[len(p)-i]) {
			if utf8.FullRune(p[len(p)-i:]) {
				return 0
			}
			return i
		}
	}
	return 0
}

// appendEscaped appends text with the escapes of a JSON string, without quotes.
func appendEscaped(dst, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	at := len(dst)
	dst = rawjson.Quote(dst, text)
	copy(dst[at:], dst[at+1:len(dst)-1])
	return dst[:len(dst)-2]
}

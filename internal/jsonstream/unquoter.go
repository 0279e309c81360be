package jsonstream

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Unquoter decodes the inside of one JSON string that comes in pieces. The result equals that of rawjson.Unquote for the whole: a single
// half of a surrogate pair becomes U+FFFD; escapes that JSON does not know and broken UTF-8 stay as they are.
type Unquoter struct {
	// cut is an escape that is not decided yet: `\`, `\u12`, the first half of a pair, or
	// that and the beginning of the second.
	cut [12]byte
	n   int
	out []byte
}

// Reset makes u ready for another string.
func (u *Unquoter) Reset() { *u = Unquoter{out: u.out} }

// Feed decodes p up to the closing quote. text is valid until the next call and may be a part of p; used is the number of bytes taken, with
// the quote; closed reports whether the quote was there.
func (u *Unquoter) Feed(p []byte) (text []byte, used int, closed bool) {
	i := 0
	u.out = u.out[:0]
	for u.n > 0 && i < len(p) {
		i += u.step(p[i])
	}
	for i < len(p) {
		run := stringEnd(p[i:])
		if run == len(p)-i && len(u.out) == 0 {
			return p[i:], len(p), false // nothing to decode: no copy
		}
		if i+run < len(p) && p[i+run] == '"' && len(u.out) == 0 {
			return p[i : i+run], i + run + 1, true
		}
		u.out = append(u.out, p[i:i+run]...)
		if i += run; i == len(p) {
			break
		}
		if p[i] == '"' {
			return u.out, i + 1, true
		}
		if i+1 < len(p) {
			if c := simpleEscapes[p[i+1]]; c != 0 {
				u.out = append(u.out, c)
				i += 2
				continue
			}
		}
		if i+6 <= len(p) && p[i+1] == 'u' {
			if r, ok := rawjson.Hex4(p[i+2 : i+6]); ok && !utf16.IsSurrogate(r) {
				u.out = utf8.AppendRune(u.out, r)
				i += 6
				continue
			}
		}
		u.cut[0], u.n = '\\', 1
		for i++; u.n > 0 && i < len(p); {
			i += u.step(p[i])
		}
	}
	return u.out, i, false
}

// End returns what is held of an escape that was cut, where no more bytes will come: half a surrogate pair as U+FFFD, the rest as it is written. It
// is valid until the next call.
func (u *Unquoter) End() []byte {
	u.out = u.out[:0]
	for u.n > 0 {
		u.decodeCut()
	}
	return u.out
}

// step takes one byte after the beginning of an escape and returns 1, or 0 if the byte is not part of the escape and has to be handled as any
// other.
func (u *Unquoter) step(c byte) int {
	at := u.n
	if at > 6 {
		at -= 6
	}
	switch {
	case u.n == 6 && c == '\\', at == 1 && c == 'u', at > 1 && at < 6 && isHex(c):
		u.cut[u.n] = c
		u.n++
	case u.n == 1:
		u.n = 0
		if simple := simpleEscapes[c]; simple != 0 {
			u.out = append(u.out, simple)
		} else {
			u.out = append(u.out, '\\', c)
		}
		return 1
	default:
		u.decodeCut()
		return 0
	}
	if u.n == 6 {
		if r, _ := rawjson.Hex4(u.cut[2:6]); r < 0xD800 || r > 0xDBFF {
			u.decodeCut()
		}
	}
	if u.n == 12 {
		high, _ := rawjson.Hex4(u.cut[2:6])
		low, _ := rawjson.Hex4(u.cut[8:12])
		if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
			u.out = utf8.AppendRune(u.out, r)
			u.n = 0
		} else {
			u.decodeCut() // the second may be the first half of another pair
			if low < 0xD800 || low > 0xDBFF {
				u.decodeCut()
			}
		}
	}
	return 1
}

// decodeCut decodes the first escape in cut, and keeps the bytes after it. An incomplete escape is copied as it is.
func (u *Unquoter) decodeCut() {
	if u.n >= 6 {
		r, _ := rawjson.Hex4(u.cut[2:6]) // half a pair becomes U+FFFD
		u.out = utf8.AppendRune(u.out, r)
		copy(u.cut[:], u.cut[6:u.n])
		u.n -= 6
		return
	}
	u.out = append(u.out, u.cut[:u.n]...)
	u.n = 0
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

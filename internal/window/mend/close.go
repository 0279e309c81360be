package mend

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// closeObject completes a JSON object that ends too early: it closes what is open, and leaves out what was cut in the middle (a number, a
// key, an escape). It returns false for any other text, also for a complete object.
func closeObject(text []byte) ([]byte, bool) {
	if len(text) == 0 || text[0] != '{' {
		return nil, false
	}
	// keep is behind the last byte after which all that is open can be closed, with the brackets that were open there.
	keep, depth := 0, 0
	var (
		i      = 0
		expect = wantsValue
		ends   []byte // closing brackets, outermost first
	)
	for i < len(text) {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case c == '{' || c == '[':
			if expect != wantsValue && expect != wantsFirst {
				return nil, false
			}
			ends = append(ends, c+2) // '{' and '[' stand two before their closing ones
			i++
			keep, depth = i, len(ends)
			expect = wantsFirst
			if c == '{' {
				expect = wantsFirstKey
			}
			continue
		case c == '}' || c == ']':
			if len(ends) == 0 || ends[len(ends)-1] != c || expect != wantsComma && expect != wantsFirst && expect != wantsFirstKey {
				return nil, false
			}
			ends = ends[:len(ends)-1]
			i++
			expect = wantsComma
			if len(ends) == 0 {
				return nil, false // it does not end too early, or something stands behind it
			}
		case c == ',':
			if expect != wantsComma {
				return nil, false
			}
			i++
			expect = wantsValue
			if len(ends) > 0 && ends[len(ends)-1] == '}' {
				expect = wantsKey
			}
			continue
		case c == ':':
			if expect != wantsColon {
				return nil, false
			}
			i++
			expect = wantsValue
			continue
		case c == '"':
			end, whole := stringEnd(text, i)
			if !whole {
				if expect != wantsValue && expect != wantsFirst {
					return closeBrackets(text[:keep], ends[:depth])
				}
				return closeBrackets(append(text[:end:end], '"'), ends)
			}
			i = end
			switch expect {
			case wantsKey, wantsFirstKey:
				expect = wantsColon
				continue
			case wantsValue, wantsFirst:
				expect = wantsComma
			default:
				return nil, false
			}
		default:
			if expect != wantsValue && expect != wantsFirst {
				return nil, false
			}
			end := i
			for end < len(text) && text[end] != ',' && text[end] != '}' && text[end] != ']' && text[end] > ' ' {
				end++
			}
			if end == len(text) {
				return closeBrackets(text[:keep], ends[:depth]) // a number that goes on cannot be told from one that is whole
			}
			if !json.Valid(text[i:end]) {
				return nil, false
			}
			i, expect = end, wantsComma
		}
		keep, depth = i, len(ends)
	}
	return closeBrackets(text[:keep], ends[:depth])
}

// expected names the tokens that may come next in an object or array.
type expected uint8

const (
	wantsValue    expected = iota
	wantsFirst             // a value, or the end of an empty array
	wantsKey               // behind a comma
	wantsFirstKey          // or the end of an empty object
	wantsColon
	wantsComma // or the end
)

// closeBrackets returns text with the closing brackets in ends appended, last first; false if the result is not valid JSON.
func closeBrackets(text, ends []byte) ([]byte, bool) {
	out := append(make([]byte, 0, len(text)+len(ends)), text...)
	for i := len(ends) - 1; i >= 0; i-- {
		out = append(out, ends[i])
	}
	return out, json.Valid(out)
}

// stringEnd returns the index behind the closing quote of the string that begins at i; or, without one, whole is false and end behind its last whole
// character.
func stringEnd(text []byte, i int) (end int, whole bool) {
	for i++; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			return i + 1, true
		case c == '\\':
			size := 2
			if i+1 < len(text) && text[i+1] == 'u' {
				size = 6
				if r, ok := rawjson.Escape(text[i:]); ok && r >= 0xd800 && r < 0xdc00 {
					size = 12 // half of a pair says nothing
					if i+7 < len(text) && (text[i+6] != '\\' || text[i+7] != 'u') {
						size = 6
					}
				}
			}
			if i+size > len(text) {
				return i, false
			}
			i += size
		case c >= utf8.RuneSelf && !utf8.FullRune(text[i:]):
			return i, false
		default:
			i++
		}
	}
	return i, false
}

// cutText returns the first size bytes of text, which is longer, or fewer so that no character is split.
func cutText(text []byte, size int) []byte {
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}

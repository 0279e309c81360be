package memory

import (
	"bytes"
	"unsafe"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// fastBody parses the body of an episode's line as [Store.encode] writes it, and sets the fields of b that an index needs. It returns false
// for any other body, which encoding/json has to parse. Strings of b without escapes lie in text and are valid as long as text is.
func fastBody(text []byte, b *entryBody) bool {
	rest, ok := bytes.CutPrefix(text, []byte(`{"id":"`))
	if !ok || len(rest) < idLen+2 || rest[idLen] != '"' {
		return false
	}
	for _, c := range rest[:idLen] {
		if (c < '0' || '9' < c) && (c < 'a' || 'z' < c) {
			return false
		}
	}
	b.ID = view(rest[:idLen])
	rest = rest[idLen+1:]
	for {
		switch {
		case len(rest) < 8 || rest[0] != ',' || rest[1] != '"' || rest[3] != '"' || rest[4] != ':':
			return false
		}
		key := rest[2]
		rest = rest[5:]
		switch key {
		case 'o', 't', 'f':
			if rest[0] != '"' {
				return false
			}
			end := bytes.IndexByte(rest[1:], '"')
			if end < 0 || bytes.IndexByte(rest[1:1+end], '\\') >= 0 {
				return false
			}
			if key == 'o' {
				b.Origin = view(rest[1 : 1+end])
			}
			rest = rest[end+2:]
		case 'n', 'a', 'c', 'r':
			var n int64
			i := 0
			negative := rest[0] == '-'
			if negative {
				i++
			}
			start := i
			for i < len(rest) && '0' <= rest[i] && rest[i] <= '9' && i < start+18 {
				n = n*10 + int64(rest[i]-'0')
				i++
			}
			if i == start {
				return false
			}
			if negative {
				n = -n
			}
			switch key {
			case 'n':
				b.Turn = int(n)
			case 'a':
				b.Age = n
			case 'c':
				b.Count = int(n)
			case 'r':
				b.Recalled = n
			}
			rest = rest[i:]
		case 'x': // the last one
			if len(rest) < 3 || rest[0] != '"' || rest[len(rest)-2] != '"' || rest[len(rest)-1] != '}' {
				return false
			}
			inner := rest[1 : len(rest)-2]
			if bytes.IndexByte(inner, '\\') < 0 {
				if bytes.IndexByte(inner, '"') >= 0 {
					return false
				}
				b.Text = view(inner)
				return true
			}
			b.Text = view(rawjson.Unquote(make([]byte, 0, len(inner)), rest[:len(rest)-1]))
			return true
		default:
			return false
		}
	}
}

// view returns a string that shares the memory of b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

package rawjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote appends the text of a JSON string literal (quotes included) to dst. A single half of a surrogate pair becomes U+FFFD, as in
// encoding/json. Bytes that are not UTF-8, and escapes that JSON does not know, stay as they are.
func Unquote(dst, literal []byte) []byte {
	if len(literal) < 2 {
		return dst
	}
	in := literal[1 : len(literal)-1]
	for {
		n := bytes.IndexByte(in, '\\')
		if n < 0 {
			return append(dst, in...)
		}
		dst, in = append(dst, in[:n]...), in[n:]
		if len(in) < 2 {
			return append(dst, in...)
		}
		switch c := in[1]; c {
		case '"', '\\', '/':
			dst = append(dst, c)
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, ok := Escape(in)
			if !ok {
				dst = append(dst, '\\', 'u')
				break
			}
			in = in[4:]
			if utf16.IsSurrogate(r) {
				low, _ := Escape(in[2:])
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					in = in[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, '\\', c)
		}
		in = in[2:]
	}
}

// Escape returns the number in an escape of `\u` and four hexadecimal digits at the start of b; false when there is none.
func Escape(b []byte) (rune, bool) {
	if len(b) < 2 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	return Hex4(b[2:])
}

// Hex4 returns the number in four hexadecimal digits at the start of b; ok is false when there are fewer.
func Hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

const hexDigits = "0123456789abcdef"

// Quote appends text to dst as a JSON string literal, quotes included: in its shortest form, with only those escapes that JSON demands.
// Bytes that are not UTF-8 become U+FFFD.
func Quote[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := decodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, text[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, text[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, text[from:]...), '"')
}

func decodeRune[T string | []byte](text T) (rune, int) {
	var b [utf8.UTFMax]byte
	return utf8.DecodeRune(b[:copy(b[:], text[:min(len(text), utf8.UTFMax)])])
}

package tokens

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/window/tokens/vocab"
)

// chunkBytes is the number of unescaped bytes gathered before they are counted.
const chunkBytes = 16 << 10

// CountLiteral returns the number of tokens of the text that a JSON string literal (quotes included) stands for, as [Encoding.Count] of the
// unescaped text would, without holding more than a chunk of that text. A lone surrogate counts as U+FFFD, an invalid escape as it stands.
func (e *Encoding) CountLiteral(literal []byte) int {
	s := e.scratch()
	defer e.release(s)
	return e.countLiteral(s, literal, nil)
}

// countLiteral returns the number of tokens of the text of a JSON string literal, and adds them by kind to m unless m is nil. The quotes
// may be missing.
func (e *Encoding) countLiteral(s *scratch, literal []byte, m *mix) int {
	if n := len(literal); n >= 2 && literal[0] == '"' && literal[n-1] == '"' {
		literal = literal[1 : n-1]
	}
	at := bytes.IndexByte(literal, '\\')
	if at < 0 {
		return e.countText(s, literal, m)
	}
	st := stream{e: e, s: s, m: m}
	valid := utf8.Valid(literal) // then so is what stands between two escapes
	for at >= 0 {
		if valid && at < chunkBytes {
			s.text = append(s.text, literal[:at]...)
		} else {
			st.writeText(literal[:at])
		}
		size := 2
		if at+1 < len(literal) && shortEscapes[literal[at+1]] != 0 {
			s.text = append(s.text, shortEscapes[literal[at+1]])
		} else {
			var r rune
			r, size = unescape(literal[at:])
			s.text = utf8.AppendRune(s.text, r)
		}
		if len(s.text) >= chunkBytes {
			st.countReady()
		}
		literal = literal[at+size:]
		at = bytes.IndexByte(literal, '\\')
	}
	st.writeText(literal)
	return st.close()
}

// shortEscapes maps the second character of a two-character escape to the byte it stands for.
var shortEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape returns the character of the escape at the beginning of b, and the escape's length; for an invalid one a backslash and 1.
func unescape(b []byte) (r rune, size int) {
	if len(b) < 2 {
		return '\\', 1
	}
	if c := shortEscapes[b[1]]; c != 0 {
		return rune(c), 2
	}
	if b[1] == 'u' {
		r, ok := rawjson.Escape(b)
		if !ok {
			return '\\', 1
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if low, ok := rawjson.Escape(b[6:]); ok {
			if r := utf16.DecodeRune(r, low); r != utf8.RuneError {
				return r, 12
			}
		}
		return utf8.RuneError, 6
	}
	return '\\', 1
}

// stream counts a text that comes in parts as if it came whole: it counts up to a place where a piece ends whatever follows, and keeps the
// rest, in s.text.
type stream struct {
	e     *Encoding
	s     *scratch
	m     *mix // the kinds of the tokens are added to it; may be nil
	total int
	tried int // number of bytes of s.text in which no such place was found
}

// writeText adds text that need not be UTF-8. Invalid bytes become U+FFFD.
func (w *stream) writeText(text []byte) {
	for len(text) > 0 {
		part := text[:min(len(text), chunkBytes)]
		// Do not cut a character in two: what is cut would count as not UTF-8.
		for cut := len(part); cut < len(text) && cut > len(part)-utf8.UTFMax && cut > 0; cut-- {
			if utf8.RuneStart(text[cut]) {
				part = part[:cut]
				break
			}
		}
		text = text[len(part):]
		if utf8.Valid(part) {
			w.s.text = append(w.s.text, part...)
		} else {
			for len(part) > 0 {
				r, size := utf8.DecodeRune(part)
				w.s.text = utf8.AppendRune(w.s.text, r)
				part = part[size:]
			}
		}
		w.countReady()
	}
}

// countReady counts as much of s.text as is complete whatever follows, once there is enough of it. Each search covers twice as much as the
// last one that failed, so that all searches together take linear time.
func (w *stream) countReady() {
	text := w.s.text
	if len(text) < max(chunkBytes, 2*w.tried) {
		return
	}
	end := boundary(text)
	if end == 0 && len(text) > maxPiece {
		end = len(text) // part of a piece that is not encoded as a whole anyway
	}
	if end == 0 {
		w.tried = len(text)
		return
	}
	w.tried = 0
	w.total += w.e.count(w.s, text[:end], w.m)
	w.s.text = text[:copy(text, text[end:])]
}

func (w *stream) close() int {
	w.total += w.e.count(w.s, w.s.text, w.m)
	w.s.text = w.s.text[:0]
	return w.total
}

// boundary returns the last place in text where both patterns end a piece whatever stands
// before and after, or 0: behind a letter or number, before a character that is neither one
// nor a mark nor an apostrophe. No alternative goes on from a letter or number to such a
// character, and none looks further ahead than that.
func boundary(text []byte) int {
	var next vocab.Class // of the character at end, 0 at the end of the text
	for end := len(text); end > 0; {
		r, size := utf8.DecodeLastRune(text[:end])
		class := vocab.ClassOf(r)
		if class&(vocab.Letter|vocab.Number) != 0 && next&(vocab.Other|vocab.Space|vocab.Newline) != 0 && text[end] != '\'' {
			return end
		}
		next = class
		end -= size
	}
	return 0
}

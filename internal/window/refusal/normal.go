package refusal

import (
	"strings"
	"unicode/utf8"
)

// maxText bounds one text: providers' words come first, an echo of the request after them.
const maxText = 8 << 10

// Normal brings a text into the form that phrases are written in: ASCII letters in lower
// case, every run of white space one blank, typographic apostrophes plain, and no
// backquotes, quotation marks or backslashes, which the same words carry in one wrapping
// and not in another.
func Normal(text string) string {
	text = text[:min(len(text), maxText)]
	var b strings.Builder
	b.Grow(len(text))
	blank := false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == ' ' || r == '\n' || r == '\r' || r == '\t' || r == '\u00a0' || r == '\u202f':
			blank = true
			continue
		case r == '`' || r == '"' || r == '\\':
			continue
		case r == '’':
			r = '\''
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		}
		if blank && b.Len() > 0 {
			b.WriteByte(' ')
		}
		blank = false
		b.WriteRune(r)
	}
	return b.String()
}

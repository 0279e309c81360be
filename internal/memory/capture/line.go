package capture

import (
	"strings"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/limit"
)

// forever stands in the lines of what is pinned and of standing instructions.
const forever = "for every conversation"

// Line returns a record as one line of at most size bytes: its origin, date and id, and its words, with line breaks as spaces and without
// control characters, and with "<" and ">" replaced so that nothing looks like markup.
func Line(r memory.Record, size int) string {
	var b strings.Builder
	b.WriteString("- [" + string(r.Origin) + ", ")
	if r.Kind == memory.KindPin || r.Standing() {
		b.WriteString(forever + ", ")
	}
	b.WriteString(r.Said.UTC().Format("2006-01-02") + ", " + r.ID + "]: ")
	space := false
	for _, c := range r.Text {
		switch {
		case c == '\n' || c == '\r' || c == '\t' || c == ' ' || c == '\u2028' || c == '\u2029' || c == '\u0085':
			space = true
			continue
		case c == '<':
			c = '‹'
		case c == '>':
			c = '›'
		case unicode.IsControl(c), unicode.Is(unicode.Cf, c): // invisible signs and changes of direction
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(c)
		if b.Len() > size {
			break
		}
	}
	return limit.Clip(b.String(), size)
}

package transcripts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A value is JSON that keeps the order of its members and its ways of writing. A string is
// itself, raw stands as it is.
type (
	raw    string
	list   []any
	object []member
	member struct {
		name  string
		value any
	}
)

func obj(members ...any) object {
	var o object
	for i := 0; i < len(members); i += 2 {
		o = append(o, member{members[i].(string), members[i+1]})
	}
	return o
}

func (o object) with(name string, value any) object { return append(o, member{name, value}) }

// lone stands for half a surrogate pair: a Go string cannot hold one. It is U+FFFD to
// whoever decodes the body.
const lone = '\ue000'

// A style is one client's way of writing JSON.
type style struct {
	colon, comma string
	ascii        bool // everything beyond ASCII as \u escapes
	slash        bool // "/" as "\/"
	html         bool // <, > and & as \u escapes, as Go's encoder does
	upper        bool // hexadecimal digits of escapes
}

var plain = style{colon: ":", comma: ","}

func randomStyle(r *rand.Rand) style {
	s := style{colon: ":", comma: ",", ascii: r.IntN(3) == 0, slash: r.IntN(4) == 0, html: r.IntN(4) == 0, upper: r.IntN(2) == 0}
	switch r.IntN(4) {
	case 0:
		s.colon, s.comma = ": ", ", " // Python
	case 1:
		s.colon, s.comma = " :\t", "\r\n , "
	}
	return s
}

func (s style) append(b *strings.Builder, v any) {
	switch v := v.(type) {
	case raw:
		b.WriteString(string(v))
	case string:
		s.quote(b, v)
	case int:
		fmt.Fprint(b, v)
	case bool:
		fmt.Fprint(b, v)
	case nil:
		b.WriteString("null")
	case list:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteString(s.comma)
			}
			s.append(b, e)
		}
		b.WriteByte(']')
	case object:
		b.WriteByte('{')
		for i, e := range v {
			if i > 0 {
				b.WriteString(s.comma)
			}
			s.quote(b, e.name)
			b.WriteString(s.colon)
			s.append(b, e.value)
		}
		b.WriteByte('}')
	default:
		panic(fmt.Sprintf("histories: %T has no form in JSON", v))
	}
}

func (s style) text(v any) string {
	var b strings.Builder
	s.append(&b, v)
	return b.String()
}

func (s style) quote(b *strings.Builder, text string) {
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == lone:
			b.WriteString(s.escape(0xd800))
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20:
			b.WriteString(s.escape(r))
		case r == '/' && s.slash:
			b.WriteString(`\/`)
		case s.html && (r == '<' || r == '>' || r == '&' || r == 0x2028):
			b.WriteString(s.escape(r))
		case s.ascii && r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b.WriteString(s.escape(high))
			b.WriteString(s.escape(low))
		case s.ascii && r >= utf8.RuneSelf:
			b.WriteString(s.escape(r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

func (s style) escape(r rune) string {
	if s.upper {
		return fmt.Sprintf(`\u%04X`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

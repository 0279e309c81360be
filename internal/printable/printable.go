// Package printable makes text of others fit for a terminal: names of files, answers of models and
// what servers print may hold characters that move the cursor, change colours or turn the direction
// of writing, and a terminal obeys them.
//
//	fmt.Println(printable.Name(path))                  // a cell of a table
//	w := printable.NewWriter(os.Stderr)                // whatever is written to it
//	err := printable.WriteJSON(os.Stdout, report, "  ") // the same value, escaped
//	text := printable.SafeJSON(answer)                 // for a browser, which shows the strings
//
// Functions keep no state; a [Writer] is safe for concurrent use. The tests hold that what comes
// out is left alone by a second pass, and that JSON still means the same.
package printable

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Name makes a name or a path fit for one cell of a listing on a terminal: no control
// character, line end, turn of direction or broken UTF-8 of it gets there.
func Name(name string) string {
	return strings.Map(func(r rune) rune {
		if isControl(r) { // line ends and tabs among them
			return '�'
		}
		return r
	}, name)
}

// Text keeps control characters of names and paths from reaching the terminal, and what
// turns the direction of writing, after which the rest of a line reads as something else. Line
// ends and tabs stay: it is for whole texts.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && isControl(r) {
			return '�'
		}
		return r
	}, text)
}

// isControl reports whether a character does something to a terminal rather than being shown: the control characters C0, DEL and C1 (ISO
// 6429), those of direction (Unicode's property Bidi_Control, UAX #9) and the line ends of Unicode.
func isControl(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r == 0x61c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return r == 0x2028 || r == 0x2029
}

// EscapeJSON writes the characters of JSON text that would do something to a terminal as \u
// escapes. It means the same: between strings there are none but line ends and tabs, which
// stay. It returns text itself where there is nothing to escape.
func EscapeJSON(text []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(text); {
		if c := text[i]; c < 0x7f && c >= 0x20 || c == '\n' || c == '\t' || c == '\r' {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if isControl(r) {
			out = append(append(out, text[done:i]...), fmt.Sprintf(`\u%04x`, r)...)
			done = i + n
		}
		i += n
	}
	if out == nil {
		return text
	}
	return append(out, text[done:]...)
}

// SafeJSON makes JSON text fit for who decodes it and shows what its strings say, such as a browser: it is [Text] of every string, also of what
// is written as an escape.
func SafeJSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		switch {
		case r == '\\' && i+1 < len(text):
			r, n = unescape(text[i:])
		case r >= utf8.RuneSelf:
			r, n = utf8.DecodeRune(text[i:])
		case r < 0x20: // between strings
			r = ' '
		}
		if isControl(r) && r != '\n' && r != '\t' {
			out = append(out, "\uFFFD"...)
		} else {
			out = append(out, text[i:i+n]...)
		}
		i += n
	}
	return out
}

// unescape returns the length of an escape of JSON, and the character it stands for or one that is treated alike: \r for \b and \f, a space for all
// but those and \u. Half of a surrogate pair is itself.
func unescape(text []byte) (r rune, n int) {
	switch c := text[1]; c {
	case 'b', 'f', 'r':
		return '\r', 2
	case 'u':
		if len(text) >= 6 {
			if code, err := strconv.ParseUint(string(text[2:6]), 16, 16); err == nil {
				return rune(code), 6
			}
		}
	}
	return ' ', 2
}

// WriteJSON writes v as JSON that is safe to show on a terminal, with a line end. indent "" puts
// it on one line.
func WriteJSON(w io.Writer, v any, indent string) error {
	text, err := json.MarshalIndent(v, "", indent)
	if indent == "" && err == nil {
		text, err = json.Marshal(v)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(append(EscapeJSON(text), '\n'))
	return err
}

// Writer writes text to a terminal or a file and lets nothing pass that would do something
// to a terminal. A character whose bytes come in several writes is written when it is whole. It
// is safe for concurrent use.
type Writer struct {
	w    io.Writer
	mu   sync.Mutex
	rest []byte // the begin of a character
}

// NewWriter makes a writer that passes text on to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Unwrap returns the writer behind it, for who draws on the terminal.
func (p *Writer) Unwrap() io.Writer { return p.w }

// Write implements [io.Writer]: it writes what [Text] makes of text. An unfinished character at the end waits for the next call.
func (p *Writer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := text
	if len(p.rest) > 0 {
		all = append(p.rest, text...)
		p.rest = nil
	}
	end := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if c := all[len(all)-back]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(all[len(all)-back:]) {
				end = len(all) - back
			}
			break
		}
	}
	p.rest = append([]byte(nil), all[end:]...)
	if _, err := io.WriteString(p.w, Text(string(all[:end]))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Undrawn returns the writer for what draws by itself, with sequences of its own between texts that
// it has made printable.
func Undrawn(w io.Writer) io.Writer {
	for {
		p, ok := w.(*Writer)
		if !ok {
			return w
		}
		w = p.Unwrap()
	}
}

// Duration writes a duration for a person: 0.4 s, 12 s, 3m 20s, 1h 5m.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
}

// ErrorLines takes an error apart that several were joined to (errors.Join), so that each can be said as one of its own; its own text has them on
// lines that look like a part of the first. text is what is said of err where it is one.
func ErrorLines(err error, text string) []string {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{text}
	}
	var lines []string
	var all strings.Builder
	for i, one := range joined.Unwrap() {
		if i > 0 {
			all.WriteString("\n")
		}
		all.WriteString(one.Error())
		lines = append(lines, ErrorLines(one, one.Error())...)
	}
	if all.String() != text { // it says more than they do, as fmt.Errorf with several %w
		return []string{text}
	}
	return lines
}

// Hang lets [Wrap] find out by itself where lines go on: below their second column, behind a mark that they begin with (-, ✓, 1.), or as far
// in as they begin.
const Hang = -1

// Wrap breaks lines that are wider than width at spaces. What follows a break is hang columns in, or below the second column of the line if hang is
// negative. A word that is wider alone stays whole, and sequences of a terminal (ECMA-48) take no room. A width below 1 breaks nothing.
func Wrap(text string, width, hang int) string {
	if width < 1 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		end := ""
		if rest, ok := strings.CutSuffix(line, "\n"); ok {
			line, end = rest, "\n"
		}
		if ansi.StringWidth(line) <= width {
			b.WriteString(line + end)
			continue
		}
		wrapLine(&b, line, width, hang)
		b.WriteString(end)
	}
	return b.String()
}

// wrapLine writes a line, broken at spaces. hang is the indentation after a break; if it is negative, that of the line's second column.
func wrapLine(b *strings.Builder, line string, width, hang int) {
	begin := len(line) - len(strings.TrimLeft(line, " "))
	if hang < 0 {
		hang = secondColumn(line, begin, width)
	}
	b.WriteString(line[:begin])
	column, gap, first := begin, 0, true
	for word := range strings.SplitSeq(line[begin:], " ") {
		if word == "" { // spaces between columns stay, but for those at a break
			gap++
			continue
		}
		wide := ansi.StringWidth(word)
		switch {
		case first:
		case column+gap+wide > width:
			b.WriteString("\n" + strings.Repeat(" ", hang))
			column = hang
		default:
			b.WriteString(strings.Repeat(" ", gap))
			column += gap
		}
		b.WriteString(word)
		column, gap, first = column+wide, 1, false
	}
}

// secondColumn returns the column at which the second column of a line begins: after two spaces or more, or after a mark of a list and a
// space. It returns begin if there is none in the first half of width.
func secondColumn(line string, begin, width int) int {
	if i := strings.Index(line[begin:], "  "); i >= 0 {
		i += begin
		i += len(line[i:]) - len(strings.TrimLeft(line[i:], " "))
		if at := ansi.StringWidth(line[:i]); at <= width/2 {
			return at
		}
	}
	mark, _, _ := strings.Cut(line[begin:], " ")
	if isMark(ansi.Strip(mark)) {
		return begin + ansi.StringWidth(mark) + 1
	}
	return begin
}

// isMark reports whether a word begins an item of a list: one sign, or a number with a point after it.
func isMark(word string) bool {
	number, point := strings.CutSuffix(word, ".")
	if point && number != "" && strings.Trim(number, "0123456789") == "" {
		return true
	}
	r, n := utf8.DecodeRuneInString(word)
	return n == len(word) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

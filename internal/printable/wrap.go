package printable

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Hang lets [Wrap] find out by itself where lines go on: below their second column, behind a mark that they begin with (-, ✓, 1.), or as far
// in as they begin.
const Hang = -1

// Wrap breaks lines that are wider than width at spaces. What follows a break is hang columns in. A word that is wider alone stays whole, and
// sequences of a terminal (ECMA-48) take no room. A width below 1 breaks nothing.
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

// secondColumn returns the place of the second column of a line, in its first half; begin where there is none. Two spaces or more stand
// before it, or a mark and one.
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

// isMark reports whether a word begins an item of a list: one sign, or a number with a point behind it.
func isMark(word string) bool {
	number, point := strings.CutSuffix(word, ".")
	if point && number != "" && strings.Trim(number, "0123456789") == "" {
		return true
	}
	r, n := utf8.DecodeRuneInString(word)
	return n == len(word) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

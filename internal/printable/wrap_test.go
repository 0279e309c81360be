package printable_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/plimsoll/plimsoll/internal/printable"
)

func TestLinesAreWrappedAtWords(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		hang  int
		want  string
	}{
		{"it would refuse every run", 16, printable.Hang, "it would refuse\nevery run"},
		{"fits as it is\n", 13, printable.Hang, "fits as it is\n"},
		{"one two\n\nthree four\n", 7, printable.Hang, "one two\n\nthree\nfour\n"},
		{"  a list of words", 10, printable.Hang, "  a list\n  of words"},
		{"  --flag  what it does here", 20, printable.Hang, "  --flag  what it\n          does here"},
		{"a sentence whose second column  is too far in", 30, printable.Hang, "a sentence whose second column\nis too far in"},
		{"  ✓ it ended well", 10, printable.Hang, "  ✓ it\n    ended\n    well"},
		{"  \x1b[2m│\x1b[0m - one two", 9, printable.Hang, "  \x1b[2m│\x1b[0m - one\n    two"},
		{"  1. the first", 9, printable.Hang, "  1. the\n     first"},
		{"  12 of them", 8, printable.Hang, "  12 of\n  them"},
		{"plimsoll: one two three", 14, 4, "plimsoll: one\n    two three"},
		{"averylongword that stays", 5, printable.Hang, "averylongword\nthat\nstays"},
		{"\x1b[1mbold\x1b[0m \x1b[31mred\x1b[0m", 8, printable.Hang, "\x1b[1mbold\x1b[0m \x1b[31mred\x1b[0m"},
		{"日本語 の 長い 名前", 8, printable.Hang, "日本語\nの 長い\n名前"},
		{"anything at all", 0, printable.Hang, "anything at all"},
		{"   ", 2, printable.Hang, "   "},
	} {
		if got := printable.Wrap(c.text, c.width, c.hang); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// Whatever is wrapped keeps its words in their order, and only a word that is alone on its line is wider than asked for.
func FuzzWrap(f *testing.F) {
	f.Add("  --flag  what it does, and more", 20, -1)
	f.Add("\x1b[31mred\x1b[0m   text \n\n x", 4, 2)
	f.Fuzz(func(t *testing.T, text string, width, hang int) {
		if width < 1 || width > 200 || hang < -1 || hang > 20 || len(text) > 1<<12 {
			return
		}
		got := printable.Wrap(text, width, hang)
		if a, b := strings.Fields(got), strings.Fields(text); strings.Join(a, " ") != strings.Join(b, " ") {
			t.Fatalf("%q became %q", text, got)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r >= 0x7f || r < ' ' && r != '\n' }) {
			return // some of it has no width, some of it joins to what is before it
		}
		for line := range strings.Lines(got) {
			words := strings.Fields(ansi.Strip(line))
			if ansi.StringWidth(strings.TrimRight(line, "\n")) > width && len(words) > 1 {
				t.Fatalf("%q is wider than %d in %q", line, width, got)
			}
		}
	})
}

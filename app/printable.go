package app

import "strings"

// Printable makes a name or a path fit for one cell of a listing on a terminal: no control
// character, line end, turn of direction or broken UTF-8 of it gets there.
func Printable(name string) string {
	return strings.NewReplacer("\n", "�", "\t", "�").Replace(printable(name))
}

// PrintableText is [Printable] for a whole text: line ends and tabs stay.
func PrintableText(text string) string { return printable(text) }

// printable keeps control characters of names and paths from reaching the terminal, and the
// overrides and isolates of direction, after which the rest of a line reads as something
// else. Line ends and tabs stay: it is for whole texts.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x2028, r == 0x2029:
			return '�'
		}
		return r
	}, text)
}

package app

import "strings"

// Printable makes a name or a path fit for one cell of a listing on a terminal: no control
// character, line end or broken UTF-8 of it gets there.
func Printable(name string) string {
	return strings.NewReplacer("\n", "�", "\t", "�").Replace(printable(name))
}

// PrintableText is [Printable] for a whole text: line ends and tabs stay.
func PrintableText(text string) string { return printable(text) }

// printable keeps control characters of names and paths from reaching the terminal. Line
// ends and tabs stay: it is for whole texts.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '�'
		}
		return r
	}, text)
}

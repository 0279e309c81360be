package builtin

import "unicode/utf8"

// clip cuts a text to at most so many bytes, between characters, and marks the cut.
func clip(text string, most int) string {
	const mark = "…"
	if len(text) <= most {
		return text
	}
	n := most - len(mark)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + mark
}

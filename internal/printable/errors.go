package printable

import "strings"

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

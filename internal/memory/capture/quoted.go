package capture

import (
	"strings"
)

// A quotation is a part of a person's text: the person's own words, or what is quoted in them.
type quotation struct {
	text   string
	quoted bool
}

// minQuotation is the least number of words of a quotation within a sentence; fewer are a name, or a word under discussion.
const minQuotation = 5

// splitQuotations splits a person's text into own and quoted parts. Quoted are lines that begin with ">" or "|", indented ones, code between fences,
// lines with "<" or ">", lines that name a speaker, and long quotations within a sentence. In doubt a part is quoted.
func splitQuotations(text string) []quotation {
	var out []quotation
	put := func(s string, quoted bool) {
		if s == "" {
			return
		}
		if n := len(out); n > 0 && out[n-1].quoted == quoted {
			out[n-1].text += s
			return
		}
		out = append(out, quotation{s, quoted})
	}
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		mark := fenceMark(bare)
		switch {
		case fence != "":
			put(line, true)
			if mark != "" && strings.HasPrefix(mark, fence) {
				fence = ""
			}
		case mark != "":
			fence = mark
			put(line, true)
		case strings.HasPrefix(bare, ">"), strings.HasPrefix(bare, "|"), strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "    "), strings.ContainsAny(bare, "<>"), namesSpeaker(bare):
			put(line, true)
		default:
			splitLine(line, put)
		}
	}
	return out
}

// fenceMark returns the run of at least three backquotes or tildes that a line begins with, "" if it has none.
func fenceMark(bare string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(bare) - len(strings.TrimLeft(bare, c)); n >= 3 {
			return strings.Repeat(c, n)
		}
	}
	return ""
}

// namesSpeaker reports whether a line begins with the name of a role whose words it gives: "User: …", "[assistant] …", "System prompt: …".
func namesSpeaker(bare string) bool {
	bare = strings.ToLower(strings.TrimLeft(bare, "*_#[(- "))
	for _, who := range []string{"user", "human", "assistant", "system", "tool", "developer", "function", "result", "output"} {
		if rest, ok := strings.CutPrefix(bare, who); ok {
			head, _, colon := strings.Cut(rest, ":")
			if colon && len(head) <= 24 || strings.HasPrefix(rest, "]") {
				return true
			}
		}
	}
	return false
}

// pairs of marks around quotations.
var pairs = []struct{ open, shut string }{{"\"", "\""}, {"“", "”"}, {"„", "“"}, {"«", "»"}, {"`", "`"}, {"「", "」"}}

// splitLine calls put for each part of a line in order, with true for a quotation of at least minQuotation words or 60 bytes.
func splitLine(line string, put func(string, bool)) {
	for line != "" {
		at, shut, open := -1, "", 0
		for _, p := range pairs {
			if i := strings.Index(line, p.open); i >= 0 && (at < 0 || i < at) {
				at, shut, open = i, p.shut, len(p.open)
			}
		}
		if at < 0 {
			put(line, false)
			return
		}
		put(line[:at], false)
		inside, rest := line[at+open:], ""
		if end := strings.Index(inside, shut); end >= 0 {
			rest = inside[end+len(shut):]
			inside = inside[:end]
		}
		whole := line[at : len(line)-len(rest)]
		put(whole, len(strings.Fields(inside)) >= minQuotation || len(inside) >= 60)
		line = rest
	}
}

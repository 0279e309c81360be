package extract

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/limit"
)

// A line is one candidate: a line of a turn, or a piece of one that is too long.
type line struct {
	text     string
	turn     int32
	kind     Kind
	first    bool // of its turn
	last     bool
	section  section
	template uint64
	shape    uint64
	tokens   []token
	words    int
	score    float64
	alike    int32   // number of lines with its template, or with its shape if those are more
	news     float64 // of a sentence of the agent's: how many new words it has, and how it stands
	head     int32   // of an item of a list: how many lines up its heading is; 0 for none
	heads    bool    // it is the heading of a list
	leads    bool    // it was said right before a change
	joins    bool    // it was on the same row as the line before it
}

const (
	// longLine is the length in bytes above which a line is split: a minified JSON result is one line of a megabyte, and no use as a whole.
	longLine = 320
	// piece is the approximate length of its parts, in bytes: an identifier and what it belongs to.
	piece = 180
	// longSentence is the length in bytes above which an agent's line is split into sentences: announcements and findings stand side by
	// side.
	longSentence = 40
	// longSpoken bounds one sentence of the user's or the agent's, in bytes: half of a decision is none.
	longSpoken = 640
	// pasted bounds the part of one user message that counts as the user's own words, in bytes; the rest (a log, a file) is weighed like a
	// tool's output.
	pasted = 4096
	// pastedEnd is the number of bytes at the end of a message that count too: people paste first and ask then.
	pastedEnd = 1024
)

// arguments turns the JSON text of a call into lines: one for each member, and those of its texts.
var arguments = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\"`, `"`, `","`, "\n", `":"`, ": ", `,"`, "\n", `":`, ": ")

// linesOf returns the lines of all turns that do not stay in the conversation (Kept).
func linesOf(turns []Turn) []line {
	size := 0
	for i := range turns {
		size += len(turns[i].Text)
	}
	found := make([]line, 0, size/60)
	for i, t := range turns {
		text := t.Text
		if t.Kept || text == "" {
			continue
		}
		if !utf8.ValidString(text) {
			text = strings.ToValidUTF8(text, "\uFFFD")
		}
		switch t.Kind {
		case User:
			text = Own(text)
		case Call:
			text = strings.Trim(arguments.Replace(text), `{"}`)
		case Prior:
			found = priorLines(found, text, int32(i))
			continue
		}
		start := len(found)
		longest, most := longLine, longLine
		switch t.Kind {
		case Assistant:
			longest, most = longSentence, longSpoken
		case User:
			most = longSpoken
		}
		row, head := 0, -1 // where the row began, and which line is the heading of a list
		for at, part := range pieces(text, longest, most) {
			l := line{text: part, turn: int32(i), kind: t.Kind, first: len(found) == start}
			if t.Kind == Assistant {
				l.joins = !l.first && strings.IndexByte(text[row:at], '\n') < 0
				row = at
				if !l.joins {
					if head = l.cutListMark(head, len(found)); l.head > 0 {
						found[head].heads = true
					}
				}
			}
			if t.Kind == User && at > pasted && at < len(text)-pastedEnd {
				l.kind = Result
			}
			if t.Kind == Result && t.Failed {
				l.section = sectionErrors
			}
			found = append(found, l)
		}
		if len(found) > start {
			found[len(found)-1].last = true
		}
	}
	return found
}

// pieces yields the trimmed lines of text that are not empty, each with its offset. A line over longest bytes is split into parts of at
// most most bytes, which end at the end of a sentence or after a separator.
func pieces(text string, longest, most int) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for at := 0; at < len(text); {
			end := strings.IndexByte(text[at:], '\n')
			next := at + end + 1
			if end < 0 {
				end, next = len(text)-at, len(text)
			}
			rest := text[at : at+end]
			for len(rest) > 0 {
				n := len(rest)
				if n > longest {
					if n = endOfSentence(rest, most); n == 0 || n > most {
						n = len(rest)
					}
				}
				if n > most {
					n = breakAt(rest)
				}
				if part := strings.TrimSpace(rest[:n]); isWorthReading(part) && !yield(at, part) {
					return
				}
				rest = rest[n:]
				at += n
			}
			at = next
		}
	}
}

// endOfSentence returns the end of the first sentence of text, 0 if it does not end within most bytes. A sentence ends at a terminal mark
// before a space, or in scripts without spaces anywhere. A point before a small letter ends none: "e.g. this".
func endOfSentence(text string, most int) int {
	for i := 20; i < min(len(text)-1, most); i++ {
		switch c := text[i]; {
		case c == '!' || c == '?' || c == '.':
			if text[i+1] == ' ' && (i+2 >= len(text) || text[i+2] < 'a' || text[i+2] > 'z') {
				return i + 1
			}
		case c >= 0xC0:
			r, size := utf8.DecodeRuneInString(text[i:])
			if end := i + size; unicode.Is(unicode.STerm, r) && (strings.ContainsRune("。！？｡", r) || end < len(text) && text[end] == ' ') {
				return end
			}
		}
	}
	return 0
}

// breakAt returns the end of the first part of a line that is too long: after a separator near piece bytes, else at the beginning of a
// rune.
func breakAt(text string) int {
	best := 0
	for i := piece / 2; i < longLine && i < len(text); i++ {
		switch text[i] {
		case ',', ';', '}', ']', ' ', '.':
			if text[i] == '.' && text[i+1:min(i+2, len(text))] != " " {
				continue // inside a number or the name of a file
			}
			// The separator ends the part; a sentence's end is the best of them.
			if best == 0 || i <= piece || text[i] == '.' {
				best = i + 1
			}
		}
		if i >= piece && best > 0 {
			return best
		}
	}
	if best > 0 {
		return best
	}
	return limit.Boundary(text, min(longLine, len(text)))
}

// isWorthReading reports whether a line has at least two letters or digits.
func isWorthReading(text string) bool {
	n := 0
	for i := range len(text) {
		if c := text[i]; c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80 {
			if n++; n >= 2 {
				return true
			}
		}
	}
	return false
}

// cutListMark removes the mark of a list item from a line, and sets l.head. head is the index of the line that may be the list's heading,
// -1 for none, and at that of the line itself. It returns the head for the lines that follow.
func (l *line) cutListMark(head, at int) int {
	rest := strings.TrimLeft(l.text, "-*+•·–0123456789.)、 ")
	marked := len(rest) < len(l.text) && isWorthReading(rest) && strings.ContainsAny(l.text[:len(l.text)-len(rest)], " 、") && !strings.HasPrefix(l.text, "**")
	switch {
	case marked:
		l.text = rest
		if head >= 0 {
			l.head = int32(at - head)
		}
		return head
	case strings.HasSuffix(l.text, ":"), strings.HasSuffix(l.text, "："), strings.HasPrefix(l.text, "#"), strings.HasPrefix(l.text, "**") && strings.HasSuffix(l.text, "**"):
		return at
	}
	return -1
}

// hasFailMark reports whether a line begins with a mark by which test runners show a failure.
func hasFailMark(line string) bool {
	for _, m := range failMarks {
		if strings.HasPrefix(line, m) {
			return true
		}
	}
	return strings.HasPrefix(line, "Failed ") && strings.HasSuffix(line, "]") // dotnet's "Failed Name [12 ms]"
}

// hasFailNumber reports whether a line begins with a number in the form in which test runners number failed tests: "1) Cart keeps its
// total" (RSpec, ExUnit, PHPUnit, Mocha).
func hasFailNumber(line string) bool {
	digits := 0
	for digits < len(line) && class[line[digits]] == 'd' {
		digits++
	}
	return digits > 0 && digits < 4 && strings.HasPrefix(line[digits:], ") ") && len(line) > digits+5
}

// reportsSuccess reports whether an output, in lower case, says that nothing failed.
func reportsSuccess(lower string) bool { return containsAny(lower, passMarks) }

// containsAny reports whether the text contains one of the words, also as a part of another word.
func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// namesPlace reports whether a line names a place in a file: "a_test.go:12", "src/a.ts(3,7)".
func namesPlace(line string) bool {
	if line != "" && class[line[0]] == 'd' { // "12:5  error  …", as linters have it under the file's name
		row, rest, ok := strings.Cut(line[:min(len(line), 16)], ":")
		return ok && len(row) < 7 && rest != "" && class[rest[0]] == 'd'
	}
	for i := 2; i < len(line)-1; i++ {
		if c := line[i]; (c == ':' || c == '(') && line[i+1] >= '0' && line[i+1] <= '9' {
			from := i
			for from > 0 && (class[line[from-1]] != 0 && line[from-1] != ':') {
				from--
			}
			if hasExtension(line[from:i]) {
				return true
			}
		}
	}
	return false
}

// beginsWithPlace reports whether a line, in lower case, begins with a place in a file and says something about it: "a.py:12:1: e302
// expected 2 blank lines", "src/a.ts(3,7): …". A line of a stack trace, which says nothing about it, does not count.
func beginsWithPlace(line string) bool {
	for i := 1; i < min(len(line)-2, 200); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			return false
		case (c == ':' || c == '(') && class[line[i+1]] == 'd' && hasExtension(line[:i]):
			rest := strings.TrimLeft(line[i+1:], "0123456789:,.-)")
			return len(rest) > 4 && !strings.HasPrefix(rest, " +0x")
		}
	}
	return false
}

// endMarks are the words with which runners of tests end the line of one that failed: "encodes 48 bytes ... FAIL", "Test #1: encode ***Failed
// 0.02 sec". Words that a sentence may end with are not among them.
var endMarks = []string{"[E]", "[F]", "FAIL", "FAIL!", "FAILED", "FAILED!", "***", "***Failed", "***Exception", "(FAIL)", "(FAILED)", "[FAIL]", "[FAILED]", "(failed)", "[failed]", "ERROR", "ERRORED", "✗", "✕", "✘", "×", "✖", "❌"}

// endsFailed reports whether a line ends with one of endMarks, or with one and a duration.
func endsFailed(line string) bool {
	words := strings.Fields(line[max(0, len(line)-160):])
	for len(words) > 1 && isDurationPart(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	if len(words) < 2 || !readable(line) {
		return false
	}
	last := words[len(words)-1]
	if last == "***" { // ScalaTest: "- carries the rest *** FAILED ***"
		return slices.Contains(endMarks[2:6], words[len(words)-2])
	}
	return slices.Contains(endMarks, strings.TrimLeft(last, ".…"))
}

// isDurationPart reports whether a word is part of a duration: "(5ms)", "0.02", "sec", "[12", "ms]", "1.2s".
func isDurationPart(word string) bool {
	word = strings.Trim(word, "()[]<>,")
	unit := strings.TrimLeft(word, "0123456789.,:")
	return slices.Contains([]string{"", "ms", "µs", "us", "ns", "s", "sec", "secs", "second", "seconds", "m", "min", "in", "after"}, unit)
}

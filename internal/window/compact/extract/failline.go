package extract

import (
	"slices"
	"strings"
)

func marks(line string) bool {
	for _, m := range failMarks {
		if strings.HasPrefix(line, m) {
			return true
		}
	}
	return strings.HasPrefix(line, "Failed ") && strings.HasSuffix(line, "]") // dotnet's "Failed Name [12 ms]"
}

// numbered reports whether a line begins with a number in the form in which runners number failed tests: "1) Cart keeps its total" (RSpec,
// ExUnit, PHPUnit, Mocha).
func numbered(line string) bool {
	digits := 0
	for digits < len(line) && class[line[digits]] == 'd' {
		digits++
	}
	return digits > 0 && digits < 4 && strings.HasPrefix(line[digits:], ") ") && len(line) > digits+5
}

func passes(lower string) bool { return contains(lower, passMarks) }

func contains(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// place reports whether a line names a place in a file: "a_test.go:12", "src/a.ts(3,7)".
func place(line string) bool {
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
	for len(words) > 1 && duration(words[len(words)-1]) {
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

// duration reports whether a word is a part of a duration: "(5ms)", "0.02", "sec", "[12", "ms]", "1.2s".
func duration(word string) bool {
	word = strings.Trim(word, "()[]<>,")
	unit := strings.TrimLeft(word, "0123456789.,:")
	return slices.Contains([]string{"", "ms", "µs", "us", "ns", "s", "sec", "secs", "second", "seconds", "m", "min", "in", "after"}, unit)
}

package recall

import (
	"strings"
	"unicode"
)

// proseOf returns what a person has written of a text, without code, logs and quotations, and how many bytes those have.
func proseOf(text string) (prose string, code int) {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		fence := strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")
		if fence {
			fenced = !fenced
		}
		if fence || fenced || strings.HasPrefix(trimmed, ">") || isCode(line, trimmed) {
			code += len(trimmed)
			continue
		}
		b.WriteString(line)
	}
	return b.String(), code
}

// isCode reports whether a line is one of code, of a log or of a trace, by its signs: how it ends, and how many of its characters are none of prose.
func isCode(line, trimmed string) bool {
	if trimmed == "" {
		return false
	}
	if indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    "); indented {
		return true
	}
	switch trimmed[len(trimmed)-1] {
	case ';', '{', '}', '\\', '=':
		return true
	}
	odd, letters, spaces := 0, 0, 0
	for _, r := range trimmed {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsSpace(r):
			spaces++
		case strings.ContainsRune("{}[]();=<>|&$#@_\\*/:\"", r), unicode.IsDigit(r):
			odd++
		}
	}
	if odd*4 > letters && odd >= 5 {
		return true
	}
	for _, mark := range []string{"Traceback (", "File \"", "panic:", "goroutine ", "at Object.", "FAIL", "--- FAIL", "exit status", "Exception in thread", "error TS", "error["} {
		if strings.HasPrefix(trimmed, mark) {
			return true
		}
	}
	name, _, cut := strings.Cut(trimmed, ": ") // KeyError: 'ledger'
	return cut && !strings.Contains(name, " ") && (strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception"))
}

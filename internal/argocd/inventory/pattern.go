package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/limit"
)

// MaxPattern bounds a pattern, in bytes.
const MaxPattern = 1024

// BadPattern is the error for an invalid regular expression. The pattern is never silently taken as literal text: the answer would look
// exact and be for another question.
type BadPattern struct {
	Pattern string
	Reason  string // the parser's text
	Part    string // the part of the pattern that is wrong; may be empty
	At      int    // the offset of Part in bytes; -1 if all of the pattern is wrong
	Escaped string // the pattern that finds the text itself; may be empty
}

func (e *BadPattern) Error() string {
	s := fmt.Sprintf("the pattern %q is no RE2 expression: %s", e.Pattern, e.Reason)
	if e.Part != "" {
		s += fmt.Sprintf(" %q", e.Part)
		if e.At >= 0 {
			s += fmt.Sprintf(" at byte %d", e.At+1)
		}
	}
	if e.Escaped != "" {
		s += fmt.Sprintf("; to look for the text itself send literal=true, or %q", e.Escaped)
		if strings.ContainsRune("*+?", rune(e.Pattern[0])) {
			s += fmt.Sprintf("; for any text in this place write %q", "."+e.Pattern)
		}
	}
	return s
}

// pattern is a compiled pattern.
type pattern struct {
	re *regexp.Regexp
	// plain is the text (in lower case with fold) of a pattern that is only ASCII text, which is found about ten
	// times faster than by re; nil for other patterns.
	plain []byte
	fold  bool
	// all matches a text from its first to its last byte; nil if the pattern cannot be put into a group.
	all *regexp.Regexp
}

// compilePattern returns the pattern for a text, which is an RE2 expression unless literal is set. The error is a [BadPattern].
func compilePattern(text string, literal, caseSensitive bool) (*pattern, error) {
	bad := &BadPattern{Pattern: text, At: -1}
	switch {
	case text == "":
		bad.Reason = "it is empty and would match everything; list the kinds instead"
		return nil, bad
	case len(text) > MaxPattern:
		bad.Pattern, bad.Reason = limit.Short(text, 67), fmt.Sprintf("it has %d bytes, more than %d", len(text), MaxPattern)
		return nil, bad
	case !utf8.ValidString(text):
		bad.Reason = "it is not UTF-8"
		return nil, bad
	}
	expression := text
	if literal {
		expression = regexp.QuoteMeta(text)
	}
	// Checked without the flag, so that the error is about what was sent.
	_, err := regexp.Compile(expression)
	var re *regexp.Regexp
	if err == nil {
		if !caseSensitive {
			expression = "(?i)" + expression // no group: what ends one may be quoted by an open \Q
		}
		re, err = regexp.Compile(expression)
	}
	if err != nil {
		bad.Reason, bad.Escaped = strings.TrimPrefix(err.Error(), "error parsing regexp: "), regexp.QuoteMeta(text)
		var problem *syntax.Error
		if errors.As(err, &problem) {
			bad.Reason, bad.Part = problem.Code.String(), problem.Expr
			bad.At = strings.Index(text, problem.Expr)
		}
		return nil, bad
	}
	p := &pattern{re: re, fold: !caseSensitive}
	if p.all, err = regexp.Compile(`^(?:` + expression + `)$`); err != nil {
		p.all = nil // a pattern with an open \Q cannot be put into a group
	}
	if plain := []byte(text); isASCII(plain) && (literal || regexp.QuoteMeta(text) == text) {
		if p.plain = plain; p.fold {
			p.plain = bytes.ToLower(plain)
		}
	}
	return p, nil
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// foundIn reports whether the pattern is found in text.
func (p *pattern) foundIn(text []byte) bool {
	switch {
	case len(text) == 0 && p.plain != nil:
		return false
	case p.plain != nil && !p.fold:
		return bytes.Contains(text, p.plain)
	case p.plain != nil && isASCII(text): // in other text K (U+212A) must match k
		return containsFold(text, p.plain)
	}
	return p.re.Match(text)
}

// matchWhole reports whether the pattern matches a text from beginning to end; false for an empty text. A status is only found by its whole
// word: "sync" is a part of many names, and of every status.
func (p *pattern) matchWhole(text []byte) bool {
	switch {
	case len(text) == 0:
		return false
	case p.plain != nil && !p.fold:
		return bytes.Equal(text, p.plain)
	case p.plain != nil:
		return bytes.EqualFold(text, p.plain)
	}
	return p.all != nil && p.all.Match(text)
}

// containsFold reports whether an ASCII text contains lower, in upper or lower case. lower must be ASCII in lower case.
func containsFold(text, lower []byte) bool {
	for i := 0; i+len(lower) <= len(text); i++ {
		j := 0
		for j < len(lower) && lowerASCII(text[i+j]) == lower[j] {
			j++
		}
		if j == len(lower) {
			return true
		}
	}
	return false
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

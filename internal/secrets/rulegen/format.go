package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// A format is one line of the table. A max of 0 means no bound.
type format struct {
	prefix   string
	alphabet string
	min, max int
}

func (f format) String() string {
	return fmt.Sprintf("%s %s %d %d", f.prefix, f.alphabet, f.min, f.max)
}

// The alphabets of the table, each one part of the next.
var alphabets = []struct{ name, runes string }{
	{"hex", "0123456789abcdefABCDEF"},
	{"alnum", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"},
	{"url", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"},
	{"dot", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-."},
	{"any", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-.+/=~@%:"},
}

// Bounds of the formats that are taken from a rule.
const (
	minTail    = 10 // characters after the prefix: fewer are a word
	relaxedTo  = 20
	minPrefix  = 3
	maxForms   = 4096 // of one rule
	smallClass = 6    // a class of so few characters is written out
)

var (
	flags    = regexp.MustCompile(`\(\?[a-z]*i?[a-z]*(-[a-z]+)?\)`)
	comment  = regexp.MustCompile(`\(\?#[^)]*\)`)
	subFlags = regexp.MustCompile(`\(\?-?i:`)
	remark   = regexp.MustCompile(`(?m)\s#.*$`)
	blank    = regexp.MustCompile(`\s+`)
)

// plainExpr returns an expression without the layout that the flag x allows.
func plainExpr(expr string) string {
	if strings.HasPrefix(strings.TrimSpace(expr), "(?x") {
		expr = blank.ReplaceAllString(remark.ReplaceAllString(expr, ""), "")
	}
	return strings.TrimSpace(expr)
}

// A step is one character of a rule, or several of one set.
type step struct {
	set      []rune // pairs, as in [syntax.Regexp]
	min, max int    // -1 is no bound
}

// literal returns the first character of s, and whether s stands for that one alone, once.
func (s step) literal() (rune, bool) {
	return s.set[0], len(s.set) == 2 && s.set[0] == s.set[1] && s.min == 1 && s.max == 1
}

func (s step) has(r rune) bool {
	for i := 0; i < len(s.set); i += 2 {
		if r >= s.set[i] && r <= s.set[i+1] {
			return true
		}
	}
	return false
}

// formatsOf returns the formats in a rule. One without a fixed prefix is an error.
func formatsOf(expr string) ([]format, error) {
	// Prefixes are taken in the case in which they are written: folded, half of the words of a language would begin with one.
	expr = subFlags.ReplaceAllString(flags.ReplaceAllString(comment.ReplaceAllString(expr, ""), ""), "(?:")
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	forms, err := expand(re)
	if err != nil {
		return nil, err
	}
	var list []format
	for _, form := range forms {
		f, ok := formatOf(form)
		if ok && !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("no fixed prefix")
	}
	return list, nil
}

// formatOf returns the format of one way through a rule; false if it is not distinctive enough. The part behind a place where anything may
// stand is a token by itself.
func formatOf(form []step) (format, bool) {
	for len(form) > 0 && form[len(form)-1].has(' ') {
		form = form[:len(form)-1]
	}
	context := false
	for i := len(form) - 1; i >= 0; i-- {
		if form[i].has(' ') {
			context, form = i > 0, form[i+1:]
			break
		}
	}
	var f format
	for len(form) > 0 {
		r, ok := form[0].literal()
		if !ok {
			break
		}
		f.prefix += string(r)
		form = form[1:]
	}
	strong := isDistinctive(f.prefix)
	if len(f.prefix) < minPrefix && !isTwilio(f.prefix) || context && !strong || strings.HasSuffix(f.prefix, "://") {
		return f, false
	}
	widest := 0
	for _, s := range form {
		f.min += s.min
		if f.max >= 0 && s.max >= 0 {
			f.max += s.max
		} else {
			f.max = -1
		}
		at := slices.IndexFunc(alphabets, func(a struct{ name, runes string }) bool { return coversStep(a.runes, s) })
		if at < 0 {
			return f, false
		}
		widest = max(widest, at)
	}
	f.alphabet = alphabets[widest].name
	if f.min < minTail {
		return f, false
	}
	if f.max < 0 || strong {
		f.max = 0
	}
	if strong && widest < level("dot") {
		f.min = min(f.min, relaxedTo)
	}
	return f, true
}

// isDistinctive reports whether a prefix has a letter, and a sign or a digit that no word has.
func isDistinctive(prefix string) bool {
	letter, sign, digit := false, false, false
	for _, r := range prefix {
		switch {
		case r >= '0' && r <= '9':
			digit = true
		case strings.ContainsRune(alphabets[1].runes, r):
			letter = true
		default:
			sign = true
		}
	}
	return letter && (sign || digit && len(prefix) >= 6)
}

// isTwilio reports whether a prefix is the one of two letters that is taken: 32 hexadecimal digits follow, no more and no less.
func isTwilio(prefix string) bool { return prefix == "SK" }

// coversStep reports whether runes has every character of s; false for one with a large range.
func coversStep(runes string, s step) bool {
	for i := 0; i < len(s.set); i += 2 {
		if s.set[i+1]-s.set[i] > 0x80 {
			return false
		}
		for r := s.set[i]; r <= s.set[i+1]; r++ {
			if !strings.ContainsRune(runes, r) {
				return false
			}
		}
	}
	return true
}

// expand returns all ways through a rule; too many, or an operator that it does not know, is an error.
func expand(re *syntax.Regexp) ([][]step, error) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return [][]step{nil}, nil
	case syntax.OpLiteral:
		var form []step
		for _, r := range re.Rune {
			form = append(form, step{[]rune{r, r}, 1, 1})
		}
		return [][]step{form}, nil
	case syntax.OpCharClass:
		return class(re.Rune), nil
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return [][]step{{{[]rune{0, 0x10FFFF}, 1, 1}}}, nil
	case syntax.OpCapture:
		return expand(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return repeat(re)
	case syntax.OpConcat:
		forms := [][]step{nil}
		for _, sub := range re.Sub {
			next, err := expand(sub)
			if err != nil {
				return nil, err
			}
			var all [][]step
			for _, a := range forms {
				for _, b := range next {
					all = append(all, append(slices.Clone(a), b...))
				}
			}
			if forms = all; len(forms) > maxForms {
				return nil, errors.New("too many forms")
			}
		}
		return forms, nil
	case syntax.OpAlternate:
		var forms [][]step
		for _, sub := range re.Sub {
			next, err := expand(sub)
			if err != nil {
				return nil, err
			}
			forms = append(forms, next...)
		}
		return forms, nil
	}
	return nil, fmt.Errorf("no way through %s", re)
}

// class returns a way for each character of a small class, as of gh[pousr]_, and one step for a larger one.
func class(set []rune) [][]step {
	count := rune(0)
	for i := 0; i < len(set); i += 2 {
		count += set[i+1] - set[i] + 1
	}
	if count > smallClass {
		return [][]step{{{set, 1, 1}}}
	}
	var forms [][]step
	for i := 0; i < len(set); i += 2 {
		for r := set[i]; r <= set[i+1]; r++ {
			forms = append(forms, []step{{[]rune{r, r}, 1, 1}})
		}
	}
	return forms
}

// repeat returns the ways through a repetition: with and without what is optional, else one step of all its characters and how many there may be.
func repeat(re *syntax.Regexp) ([][]step, error) {
	least, most := re.Min, re.Max
	switch re.Op {
	case syntax.OpStar:
		least, most = 0, -1
	case syntax.OpPlus:
		least, most = 1, -1
	case syntax.OpQuest:
		least, most = 0, 1
	}
	sub, err := expand(re.Sub[0])
	if err != nil {
		return nil, err
	}
	if re.Op == syntax.OpQuest {
		return append([][]step{nil}, sub...), nil
	}
	// A group that is repeated becomes one step of all its characters.
	all := step{min: -1}
	for _, form := range sub {
		low, high := 0, 0
		for _, s := range form {
			all.set = append(all.set, s.set...)
			low += s.min
			if high += s.max; s.max < 0 || high < 0 {
				high = -1
			}
		}
		if all.min < 0 || low < all.min {
			all.min = low
		}
		if all.max = max(all.max, high); high < 0 {
			all.max = -1
		}
	}
	if len(all.set) == 0 {
		return [][]step{nil}, nil
	}
	all.min *= least
	if all.max >= 0 && most >= 0 {
		all.max *= most
	} else {
		all.max = -1
	}
	return [][]step{{all}}, nil
}

// reduce sorts formats and drops those that another one covers.
func reduce(formats []format) []format {
	slices.SortFunc(formats, func(a, b format) int {
		return cmp.Or(strings.Compare(a.prefix, b.prefix), a.min-b.min, strings.Compare(a.alphabet, b.alphabet))
	})
	var list []format
	for _, f := range formats {
		wider := func(o format) bool {
			return o != f && strings.HasPrefix(f.prefix, o.prefix) && o.max == 0 && level(o.alphabet) >= level(f.alphabet) &&
				len(o.prefix)+o.min <= len(f.prefix)+f.min && coversStep(alphabets[level(o.alphabet)].runes, literals(f.prefix[len(o.prefix):]))
		}
		if !slices.ContainsFunc(formats, wider) && !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

func literals(text string) step {
	var s step
	for _, r := range text {
		s.set = append(s.set, r, r)
	}
	return s
}

// level returns the place of an alphabet among alphabets, the narrowest first; -1 if there is none of this name.
func level(alphabet string) int {
	return slices.IndexFunc(alphabets, func(a struct{ name, runes string }) bool { return a.name == alphabet })
}

// parseTable returns the formats in the lines of the table. left are the prefixes of the lists to leave out, whose lines begin with an exclamation
// mark.
func parseTable(text string) (list []format, left []string, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if prefix, ok := strings.CutPrefix(line, "! "); ok {
			left = append(left, strings.Fields(prefix)[0])
			continue
		}
		var f format
		if _, err := fmt.Sscan(line, &f.prefix, &f.alphabet, &f.min, &f.max); err != nil || level(f.alphabet) < 0 {
			return nil, nil, fmt.Errorf("the line %q has no prefix, alphabet and two numbers", line)
		}
		list = append(list, f)
	}
	return list, left, nil
}

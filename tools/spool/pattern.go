package spool

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// pattern is a compiled regular expression with literals, texts of which every match contains at least one. Literals are found many times
// faster than the expression.
type pattern struct {
	re       *regexp.Regexp
	literals []literal // empty if there are no such texts
	pure     bool      // a match is exactly the one literal
	longest  int       // bytes of the longest literal
	width    int       // the most bytes of a match; 0 if that is unbounded, above maxWidth, or matches depend on the text around them
}

// literal is a text that a match contains.
type literal struct {
	text   []byte // in lower case if fold is set
	fold   bool   // upper and lower case are equal
	anchor int    // the index of the byte that is searched for first if fold is set
	next   int    // where it comes next in the buffer; len(buffer) if not at all, -1 if not known
}

// maxLiterals bounds the literals that are searched side by side; with more the expression itself is as quick.
const maxLiterals = 16

// compile compiles a regular expression (RE2). To speed up the search it also determines literals that each match contains, and how long a
// match can be. The error is a *BadPattern.
func compile(text string, ignoreCase bool) (*pattern, error) {
	switch {
	case text == "":
		return nil, &BadPattern{"it is empty"}
	case len(text) > MaxPattern:
		return nil, &BadPattern{"it is longer than 1024 bytes"}
	case !utf8.ValidString(text):
		return nil, &BadPattern{"it is not UTF-8"}
	}
	if ignoreCase {
		text = "(?i:" + text + ")"
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, &BadPattern{strings.TrimPrefix(err.Error(), "error parsing regexp: ")}
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, &BadPattern{err.Error()}
	}
	if len(prog.Inst) > maxInstructions {
		return nil, &BadPattern{"its repetitions are too many"}
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, &BadPattern{err.Error()}
	}
	p := &pattern{re: re}
	if tree, err = syntax.Parse(text, syntax.Perl); err == nil {
		p.literals = requiredLiterals(tree)
		for i := range p.literals {
			l := &p.literals[i]
			l.anchor = rarest(l.text)
			p.longest = max(p.longest, len(l.text))
		}
		if n, ok := width(tree); ok && n <= maxWidth {
			p.width = n
		}
		p.pure = len(p.literals) == 1 && tree.Op == syntax.OpLiteral && tree.Flags&syntax.FoldCase == 0 && !bytes.ContainsAny(p.literals[0].text, "\r\n")
	}
	return p, nil
}

// requiredLiterals returns literals of which every match of the expression contains at least one, chosen so that the shortest of them is as long as
// possible; nil if there are none.
func requiredLiterals(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		l := literal{text: []byte(string(re.Rune))}
		if re.Flags&syntax.FoldCase != 0 {
			l = literal{text: foldable(re.Rune), fold: true}
		}
		if len(l.text) > 0 {
			return []literal{l}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiterals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiterals(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if some := requiredLiterals(sub); shortestLength(some) > shortestLength(best) {
				best = some
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			some := requiredLiterals(sub)
			if all = append(all, some...); len(some) == 0 || len(all) > maxLiterals {
				return nil
			}
		}
		if shortestLength(all) > 1 { // single letters are everywhere
			return all
		}
	}
	return nil
}

// shortestLength returns the length of the shortest literal; 0 for none.
func shortestLength(some []literal) int {
	n := 0
	for i, l := range some {
		if i == 0 || len(l.text) < n {
			n = len(l.text)
		}
	}
	return n
}

// foldable returns the longest run of characters that have one byte in both cases, in lower case. K and S are excluded: in a
// case-insensitive match the Kelvin sign and the long s equal them.
func foldable(runes []rune) (best []byte) {
	var run []byte
	for _, r := range runes {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		if r >= utf8.RuneSelf || r == 'k' || r == 's' {
			run = nil
			continue
		}
		if run = append(run, byte(r)); len(run) > len(best) {
			best = run
		}
	}
	return best
}

// common are the most frequent bytes of English and JSON, the most frequent first.
const common = " e\"taoinsrhl,:dcu0m1fpgwyb.v-_/23{}k"

// rarest returns the index of the byte of a text that is probably the rarest.
func rarest(literal []byte) (at int) {
	best := -1
	for i, c := range literal {
		rank := strings.IndexByte(common, c)
		if rank < 0 {
			return i
		}
		if rank > best {
			best, at = rank, i
		}
	}
	return at
}

// rewind must be called before index is called for another buffer.
func (p *pattern) rewind() {
	for i := range p.literals {
		p.literals[i].next = -1
	}
}

// index returns the index in b, at or behind at, of the first of the literals, or -1. Unless rewind was called b must be the same as in the
// call before, and at must not be smaller.
func (p *pattern) index(b []byte, at int) int {
	first := len(b)
	for i := range p.literals {
		l := &p.literals[i]
		if l.next < at {
			if l.next = l.index(b[at:]); l.next < 0 {
				l.next = len(b)
			} else {
				l.next += at
			}
		}
		first = min(first, l.next)
	}
	if first == len(b) {
		return -1
	}
	return first
}

// index returns the offset of the first place in b with this text, -1 if there is none; letters match in both cases if p.fold is set.
func (p *literal) index(b []byte) int {
	if !p.fold {
		return bytes.Index(b, p.text)
	}
	n := len(p.text)
	low := p.text[p.anchor]
	up := low
	if low >= 'a' && low <= 'z' {
		up -= 'a' - 'A'
	}
	// Where the anchor comes next in each case; each is only searched again once it was passed.
	nextLow, nextUp := -2, -2
	for at := p.anchor; at <= len(b)-n+p.anchor; {
		if nextLow != -1 && nextLow < at {
			nextLow = indexFrom(b, at, low)
		}
		if nextUp != -1 && nextUp < at {
			nextUp = indexFrom(b, at, up)
		}
		switch {
		case nextLow < 0 && nextUp < 0:
			return -1
		case nextLow >= 0 && (nextUp < 0 || nextLow <= nextUp):
			at = nextLow
		default:
			at = nextUp
		}
		start := at - p.anchor
		if start+n > len(b) {
			return -1
		}
		if equalFold(b[start:start+n], p.text) {
			return start
		}
		at++
	}
	return -1
}

// indexFrom returns the index of the first c in b at or behind at, or -1.
func indexFrom(b []byte, at int, c byte) int {
	if i := bytes.IndexByte(b[at:], c); i >= 0 {
		return at + i
	}
	return -1
}

// equalFold reports whether b equals lower, which is in lower case, if ASCII letters are compared without case.
func equalFold(b, lower []byte) bool {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

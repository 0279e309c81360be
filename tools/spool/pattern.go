package spool

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// pattern is a compiled regular expression with a text that every match holds, which is
// found many times faster.
type pattern struct {
	re      *regexp.Regexp
	literal []byte // "" when there is none; lower case when fold
	fold    bool   // the literal is found in either case
	pure    bool   // a match is the literal and nothing else
	anchor  int    // the byte of the literal that is looked for when fold
}

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
		p.literal, p.fold = required(tree)
		p.pure = !p.fold && tree.Op == syntax.OpLiteral && tree.Flags&syntax.FoldCase == 0 && !bytes.ContainsAny(p.literal, "\r\n")
		p.anchor = rarest(p.literal)
	}
	return p, nil
}

// required returns the longest text that every match of the expression holds.
func required(re *syntax.Regexp) (literal []byte, fold bool) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []byte(string(re.Rune)), false
		}
		return foldable(re.Rune), true
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if l, f := required(sub); len(l) > len(literal) {
				literal, fold = l, f
			}
		}
	}
	return literal, fold
}

// foldable returns the longest run, in lower case, of characters whose other case is one
// byte too. K and S are not among them: the Kelvin sign and the long s match them.
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

// common are the bytes of English and JSON from the most frequent on.
const common = " e\"taoinsrhl,:dcu0m1fpgwyb.v-_/23{}k"

// rarest is the place of the byte that a text is likely to have least of.
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

// index is where in b the literal is, or -1.
func (p *pattern) index(b []byte) int {
	if !p.fold {
		return bytes.Index(b, p.literal)
	}
	n := len(p.literal)
	low := p.literal[p.anchor]
	up := low
	if low >= 'a' && low <= 'z' {
		up -= 'a' - 'A'
	}
	// Where the anchor comes next in either case; each is looked for again only when passed.
	nextLow, nextUp := -2, -2
	for at := p.anchor; at <= len(b)-n+p.anchor; {
		if nextLow != -1 && nextLow < at {
			nextLow = from(b, at, low)
		}
		if nextUp != -1 && nextUp < at {
			nextUp = from(b, at, up)
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
		if equalFold(b[start:start+n], p.literal) {
			return start
		}
		at++
	}
	return -1
}

func from(b []byte, at int, c byte) int {
	if i := bytes.IndexByte(b[at:], c); i >= 0 {
		return at + i
	}
	return -1
}

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

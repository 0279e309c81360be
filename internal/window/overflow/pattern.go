package overflow

import "strings"

// A phrase is a pattern over a normalised text. Literal text stands for itself, "*" for
// anything, and a name in braces for a number:
//
//	{limit} {actual} {output}   what [Overflow] reports
//	{extra}                     more input: added to actual
//	{least}                     as {actual}, which is then a lower bound
//	{_}                         a number of no interest
//
// Between two "*" everything follows directly. Such a group starts with literal text, so
// that looking for it is one search from the left and all of it is linear.
type phrase string

// numbers are the token counts that a phrase found.
type numbers struct {
	limit, actual, output int
	least                 bool
}

// longestNumber bounds the characters read as one number; what is longer is no token count.
const longestNumber = 40

// matchText looks for the phrase in a text and returns the numbers in it; false if it is not there.
func (p phrase) matchText(text string) (numbers, bool) {
	var n numbers
	rest := string(p)
	for rest != "" {
		var group string
		group, rest, _ = strings.Cut(rest, "*")
		literal, tail := cutLiteral(group)
		found := false
		for {
			i := strings.Index(text, literal)
			if i < 0 {
				break
			}
			text = text[i+len(literal):]
			trial := n
			if end, ok := trial.matchRest(tail, text); ok {
				text, n, found = text[end:], trial, true
				break
			}
		}
		if !found {
			return numbers{}, false
		}
	}
	return n, true
}

// cutLiteral splits a pattern before its first '{'.
func cutLiteral(group string) (literal, tail string) {
	if i := strings.IndexByte(group, '{'); i >= 0 {
		return group[:i], group[i:]
	}
	return group, ""
}

// matchRest matches tail, the rest of a pattern, at the beginning of text and sets the numbers in it. It returns the length of the match;
// false if there is none.
func (n *numbers) matchRest(tail, text string) (end int, ok bool) {
	for tail != "" {
		if tail[0] != '{' {
			var literal string
			literal, tail = cutLiteral(tail)
			if !strings.HasPrefix(text[end:], literal) {
				return 0, false
			}
			end += len(literal)
			continue
		}
		var name string
		name, tail, _ = strings.Cut(tail[1:], "}")
		value, size := readNumber(text[end:])
		if size == 0 {
			return 0, false
		}
		end += size
		switch name {
		case "limit":
			n.limit = value
		case "actual":
			n.actual = value
		case "least":
			n.actual, n.least = value, true
		case "extra":
			n.actual += value
		case "output":
			n.output = value
		}
	}
	return end, true
}

// maxTokens is the largest number taken for a count of tokens.
const maxTokens = 1_000_000_000_000

// readNumber reads a decimal number at the start of text: its value, 0 when absurd, and its
// length in bytes. Groups of three digits may be separated by a comma, an underscore or a dot.
func readNumber(text string) (value, size int) {
	for size < len(text) && size < longestNumber {
		c := text[size]
		switch {
		case c >= '0' && c <= '9':
			if value = value*10 + int(c-'0'); value > maxTokens {
				value = maxTokens + 1
			}
			size++
		case size > 0 && (c == ',' || c == '_' || c == '.') && threeDigits(text[size+1:]):
			size++
		default:
			return plausibleTokens(value), size
		}
	}
	if size == longestNumber { // the rest of a run of digits belongs to it
		for size < len(text) && text[size] >= '0' && text[size] <= '9' {
			size++
		}
		return 0, size
	}
	return plausibleTokens(value), size
}

// plausibleTokens returns value, or 0 if it is too large for a number of tokens.
func plausibleTokens(value int) int {
	if value > maxTokens {
		return 0
	}
	return value
}

// threeDigits reports whether a text begins with exactly three digits.
func threeDigits(text string) bool {
	for i := range 3 {
		if i >= len(text) || text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return len(text) == 3 || text[3] < '0' || text[3] > '9'
}

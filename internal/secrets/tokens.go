package secrets

import (
	_ "embed" // the table
	"strconv"
	"strings"
	"sync"
)

//go:embed tokens.txt
var tokenTable string

// A format describes the tokens of one kind: a prefix, and then from min to max characters of an alphabet. With a max of 0
// there may be more.
type format struct {
	prefix   string
	alphabet alphabet
	min, max int
}

// An alphabet is a set of characters, each one part of the next.
type alphabet uint8

const (
	hexDigits alphabet = iota
	alnum
	urlSafe // and _ -
	dotted  // and .
	wide    // and what else stands in base64 and in URLs
)

func (a alphabet) has(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		return true
	case letter(c):
		return a >= alnum
	case c == '_' || c == '-':
		return a >= urlSafe
	case c == '.':
		return a >= dotted
	}
	return a == wide && strings.IndexByte("+/=~@%:", c) >= 0
}

func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// formats holds the formats by their first byte, and for each first byte the second bytes that any of its formats has.
type formats struct {
	by     [256][]format
	second [256][4]uint64
}

// tokenFormats reads the table when a text is first looked at. The tests check that it is well formed.
var tokenFormats = sync.OnceValue(readFormats)

// readFormats returns the formats in tokenTable, which rulegen has written: its lines are not checked.
func readFormats() *formats {
	var f formats
	names := map[string]alphabet{"hex": hexDigits, "alnum": alnum, "url": urlSafe, "dot": dotted, "any": wide}
	for line := range strings.Lines(tokenTable) {
		if line[0] == '#' {
			continue
		}
		prefix, rest, _ := strings.Cut(line, " ")
		name, rest, _ := strings.Cut(rest, " ")
		least, most, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), " ")
		one := format{prefix: prefix, alphabet: names[name]}
		one.min, _ = strconv.Atoi(least)
		one.max, _ = strconv.Atoi(most)
		first, second := one.prefix[0], one.prefix[1]
		f.by[first] = append(f.by[first], one)
		f.second[first][second>>6] |= 1 << (second & 63)
	}
	return &f
}

// mayBegin reports whether the first two bytes of a token's prefix stand at the first byte of text or, as behind a quote, at the second.
func (f *formats) mayBegin(text []byte) bool {
	for i := range min(2, len(text)-1) {
		if next := text[i+1]; f.second[text[i]][next>>6]&(1<<(next&63)) != 0 {
			return true
		}
	}
	return false
}

// maskTokens masks the tokens of known issuers, and returns their number.
func maskTokens(s string) (safe string, masked int) {
	f := tokenFormats()
	var b strings.Builder
	from := 0
	for i := 0; i+1 < len(s); i++ {
		c, next := s[i], s[i+1]
		if f.second[c][next>>6]&(1<<(next&63)) == 0 || i > from && alnum.has(s[i-1]) && alnum.has(c) {
			continue
		}
		if n := f.length(s[i:]); n > 0 {
			b.WriteString(s[from:i])
			b.WriteString(Hidden)
			masked++
			from, i = i+n, i+n-1
		}
	}
	if masked == 0 {
		return s, 0
	}
	b.WriteString(s[from:])
	return b.String(), masked
}

// length returns the length of the token that s, which is not empty, begins with, 0 if there is none.
func (f *formats) length(s string) int {
	for _, one := range f.by[s[0]] {
		if !strings.HasPrefix(s, one.prefix) {
			continue
		}
		tail := s[len(one.prefix):]
		n := 0
		for n < len(tail) && one.alphabet.has(tail[n]) {
			n++
		}
		if n < one.min || one.max > 0 && (n > one.max || n < len(tail) && alnum.has(tail[n])) || !random(tail[:n]) {
			continue
		}
		for n < len(tail) && (urlSafe.has(tail[n]) || tail[n] == '=') { // what is longer than it is known to be is a part of it
			n++
		}
		return len(one.prefix) + n
	}
	return 0
}

// stretch is the number of letters and digits in a row from which a text can be judged to be random.
const stretch = 8

// random reports whether s looks drawn at random, unlike words joined by dashes and dots. One word without any of these counts as random
// behind the prefix of a token.
func random(s string) bool {
	joined := false
	upper, lower, digits := 0, 0, 0
	for from := 0; from < len(s); {
		to := from
		for to < len(s) && alnum.has(s[to]) {
			switch c := s[to]; {
			case digit(c):
				digits++
			case c >= 'a':
				lower++
			default:
				upper++
			}
			to++
		}
		if to-from >= stretch && changesOften(s[from:to]) {
			return true
		}
		joined = joined || to < len(s)
		from = to + 1
	}
	return !joined || upper >= 3 && lower >= 3 && digits >= 3
}

// changesOften reports whether a word changes between digits, capitals and small letters at least once in four characters; "v20240101" changes once
// in nine.
func changesOften(s string) bool {
	changes := 0
	kind := func(c byte) int {
		switch {
		case digit(c):
			return 0
		case c >= 'a':
			return 1
		}
		return 2
	}
	for i := 1; i < len(s); i++ {
		if kind(s[i]) != kind(s[i-1]) {
			changes++
		}
	}
	return changes*4 >= len(s)
}

package index

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a loose search knows beside the terms: the words of short texts as they are written, and initials of words that follow each other.
const (
	// maxListed is the number of words that are listed. Those of later texts are found as they stand only.
	maxListed = 1 << 15
	// looseText is the length in bytes of the longest text whose words are listed.
	looseText = 1 << 10
	// maxExpanded bounds the words of a query that are looked up, and maxNear what is taken for one of them.
	maxExpanded, maxNear = 12, 4
	// leastInflected is the number of bytes that two forms of a word have in common at least.
	leastInflected = 5
	// nearWeight is the weight of a word that is nearly the one asked for.
	nearWeight = 0.6
	// initialsMark stands before initials, which are terms of their own kind.
	initialsMark = 0x01
)

// vocabulary lists words by their first byte, each with a line break behind it.
type vocabulary struct {
	by    [256][]byte
	count int
}

func (v *vocabulary) add(word []byte) {
	if len(word) < 3 || len(word) > 32 || v.count >= maxListed {
		return
	}
	v.by[word[0]] = append(append(v.by[word[0]], word...), '\n')
	v.count++
}

// near returns listed words that are nearly a word, at most maxNear; other forms of it only if it is known.
func (v *vocabulary) near(word string, known bool) (found []string) {
	list := v.by[word[0]]
	for len(list) > 0 && len(found) < maxNear {
		end := bytes.IndexByte(list, '\n')
		one := list[:end]
		list = list[end+1:]
		if string(one) == word || len(one) < 3 {
			continue
		}
		if known && !Inflected(word, view(one)) || !known && Near(word, view(one)) == 0 {
			continue
		}
		found = append(found, string(one))
	}
	return found
}

// list enters the words of a document that states something and of which no such document had any before, and appends the initials of its words to hashes.
func (x *Index) list(d Doc, hashes []uint64) []uint64 {
	if !d.States || len(d.Text) > looseText || x.listed.count >= maxListed {
		return hashes
	}
	var last []byte // first letters of the words up to here
	for t := range x.words.Tokens(d.Text) {
		switch {
		case t.Dense || t.Whole:
			continue
		case t.Breaks:
			last = last[:0]
		}
		if t.Term != "" && !x.isStated([]byte(t.Term)) {
			x.listed.add([]byte(t.Word))
		}
		first, n := utf8.DecodeRuneInString(t.Word)
		if !unicode.IsLetter(first) || n > 1 {
			last = last[:0]
			continue
		}
		last = append(last, byte(first))
		for size := 2; size <= 4; size++ {
			if len(last) >= size && (size > 2 || t.Part > 0) && t.Term != "" {
				hashes = append(hashes, x.terms.hash(append([]byte{initialsMark}, last[len(last)-size:]...)))
			}
		}
	}
	return hashes
}

// looseTerms returns what is nearly the words of a query, for those that stand in no document, and other forms of those that do.
func (x *Index) looseTerms(text string, seen map[uint64]int) (out []wanted) {
	looked := 0
	take := func(term []byte) {
		hash := x.terms.hash(term)
		if p, stated := x.terms.get(hash); stated > 0 && seen[hash] == 0 {
			seen[hash]++
			out = append(out, wanted{p, stated, nearWeight})
		}
	}
	for t := range x.words.Tokens(text) {
		if looked >= maxExpanded {
			break
		}
		if t.Dense || t.Term == "" || len(t.Word) < 2 {
			continue
		}
		known := x.isStated([]byte(t.Term))
		if known && len(t.Word) < leastInflected {
			continue
		}
		looked++
		if !known && len(t.Word) <= 4 {
			take(append([]byte{initialsMark}, t.Word...))
		}
		var spare Words
		for _, word := range x.listed.near(t.Word, known) {
			if term := spare.term([]byte(word)); term != nil {
				take(term)
			}
		}
	}
	return out
}

// isStated reports whether a document that states something holds a term.
func (x *Index) isStated(term []byte) bool {
	_, stated := x.terms.get(x.terms.hash(term))
	return stated > 0
}

// Stated returns how many documents state something, and how many of them hold each term of a text.
func (x *Index) Stated(text string) (held map[string]int, of int) {
	held = map[string]int{}
	x.words.Each(text, func(term []byte) {
		_, held[string(term)] = x.terms.get(x.terms.hash(term))
	})
	return held, x.stated
}

// Near tells how surely a word of a question means another one, from 0 to 1: the same with a letter off, a beginning of it (kube, kubernetes),
// with a number for its inner letters (k8s), or another form.
func Near(asked, word string) float64 {
	switch {
	case asked == word:
		return 1
	case asked == "" || word == "" || asked[0] != word[0]:
		return 0
	case len(asked) <= 4 && isNumeronym(asked):
		return same(numeronym(word) == asked)
	case len(word) <= 4 && isNumeronym(word):
		return same(numeronym(asked) == word)
	case Inflected(asked, word):
		return 0.9
	}
	short, long := asked, word
	if len(short) > len(long) {
		short, long = long, short
	}
	near := strings.HasPrefix(word, asked) || strings.HasPrefix(asked, word) && isNameEnding(asked[len(word):]) || len(short) >= 5 && len(long)-len(short) <= 1 && isSlip(asked, word) ||
		len(short) >= 9 && len(long)-len(short) <= 2 && editsWithin(asked, word, 2)
	if len(short) < 4 || !near || hasSign(asked) || hasSign(word) {
		return 0
	}
	return 0.9
}

// isNameEnding reports whether a name is as often written with an ending as without: ReactJS, PostgreSQL. With another one it is another word: a reactor is
// not about React.
func isNameEnding(end string) bool {
	switch end {
	case "js", "db", "sql", "ql", "lang", "app", "hub":
		return true
	}
	return false
}

// hasSign reports whether a word has a digit or a sign: with another one it is another name.
func hasSign(word string) bool {
	for i := range len(word) {
		if c := word[i]; c < utf8.RuneSelf && (class[c] == isDigit || class[c] == isJoiner) {
			return true
		}
	}
	return false
}

// isSlip reports whether at most one letter of a is changed, missing, too many or swapped with the next one in b.
func isSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	head := 0
	for head < len(a) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	switch left := len(a) - head - tail; len(b) - len(a) {
	case 0:
		return left <= 1 || left == 2 && a[head] == b[head+1] && a[head+1] == b[head]
	case 1:
		return left == 0
	}
	return false
}

func same(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Inflected reports whether two words differ in a short ending only, as the forms of one word do in many languages: Datenbank, Datenbanken.
func Inflected(a, b string) bool {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	return same >= leastInflected && len(a)-same <= 3 && len(b)-same <= 3 && 4*same >= 3*max(len(a), len(b))
}

// isNumeronym reports whether a word is a letter, the number of those that are left out, and the last letter.
func isNumeronym(word string) bool {
	n := len(word)
	if n < 3 || n > 4 || word[1] < '0' || word[1] > '9' || word[0] < 'a' || word[n-1] < 'a' || word[0] > 'z' || word[n-1] > 'z' {
		return false
	}
	_, err := strconv.ParseUint(word[1:n-1], 10, 8)
	return err == nil
}

func numeronym(word string) string {
	if len(word) < 5 {
		return ""
	}
	return word[:1] + strconv.Itoa(len(word)-2) + word[len(word)-1:]
}

// editsWithin reports whether at most most letters of a are changed, missing, too many or swapped with the next one in b.
func editsWithin(a, b string, most int) bool {
	const longest = 64
	if len(a) > longest || len(b) > longest || most < max(len(a)-len(b), len(b)-len(a)) {
		return false
	}
	var rows [3][longest + 2]int
	for j := range min(len(b), most) + 1 {
		rows[0][j] = j
	}
	rows[0][min(len(b), most)+1] = most + 1
	for i := 1; i <= len(a); i++ {
		row, up, upper := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		// A letter that is further off its place than most has more edits. So only those about the diagonal are looked at, and what is beside them
		// counts as too many.
		from, to := max(i-most, 1), min(i+most, len(b))
		row[from-1], row[to+1] = most+1, most+1
		if from == 1 {
			row[0] = i
		}
		least := row[from-1]
		for j := from; j <= to; j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(up[j]+1, row[j-1]+1, up[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], upper[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > most {
			return false
		}
	}
	return rows[len(a)%3][len(b)] <= most
}

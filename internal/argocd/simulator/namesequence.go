package simulator

import (
	"sort"
	"strconv"
	"strings"
)

// nameSequence gives n distinct names in the order of their bytes, and finds the number of a
// name again, without holding any of them: a name has a word of each list, and names are spread evenly over
// all that can be made; where there are more, each gets copies, "-02", "-03".
type nameSequence struct {
	words            [][]string
	n, copies, slots int
	digits           int
}

func newNameSequence(n int, words ...[]string) nameSequence {
	base := 1
	for _, list := range words {
		base *= len(list)
	}
	l := nameSequence{words: words, n: n, copies: max((n+base-1)/base, 1)}
	l.slots = base * l.copies
	l.digits = max(len(strconv.Itoa(l.copies)), 2)
	return l
}

// slot returns the place of name i among all possible ones.
func (l *nameSequence) slot(i int) int { return int(int64(i) * int64(l.slots) / int64(l.n)) }

// from returns the first name at or behind a slot.
func (l *nameSequence) from(slot int) int {
	return int((int64(slot)*int64(l.n) + int64(l.slots) - 1) / int64(l.slots))
}

// parts returns the words that name i consists of, and its copy, 0 for the first.
func (l *nameSequence) parts(i int) (at [3]int, copied int) {
	s := l.slot(i)
	copied = s % l.copies
	s /= l.copies
	for k := len(l.words) - 1; k >= 0; k-- {
		at[k] = s % len(l.words[k])
		s /= len(l.words[k])
	}
	return at, copied
}

// span returns the names with the first word a.
func (l *nameSequence) span(a int) (from, to int) {
	each := l.slots / len(l.words[0])
	return l.from(a * each), l.from((a + 1) * each)
}

func (l *nameSequence) name(i int) string {
	at, copied := l.parts(i)
	name := l.words[0][at[0]]
	for k, list := range l.words[1:] {
		name += "-" + list[at[k+1]]
	}
	if copied > 0 {
		n := strconv.Itoa(copied + 1)
		name += "-" + strings.Repeat("0", l.digits-len(n)) + n
	}
	return name
}

// find returns the number of a name.
func (l *nameSequence) find(name string) (int, bool) {
	i := sort.Search(l.n, func(i int) bool { return l.name(i) >= name })
	return i, i < l.n && l.name(i) == name
}

package simulator

import (
	"strconv"
	"strings"
)

// nameSequence gives n distinct names in the order of their bytes, and finds the number of a
// name again, without holding any of them: names are triples of words, spread evenly over
// all triples; where there are more names than triples each gets copies, "-02", "-03".
type nameSequence struct {
	first, second, third []string
	n, copies, slots     int
	digits               int
}

func newNameSequence(n int, first, second, third []string) nameSequence {
	l := nameSequence{first: first, second: second, third: third, n: n}
	base := len(first) * len(second) * max(len(third), 1)
	l.copies = max((n+base-1)/base, 1)
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

// triple returns the words that name i consists of, and its copy, 0 for the first.
func (l *nameSequence) triple(i int) (a, b, c, copied int) {
	s := l.slot(i)
	copied = s % l.copies
	s /= l.copies
	if k := len(l.third); k > 0 {
		c = s % k
		s /= k
	}
	return s / len(l.second), s % len(l.second), c, copied
}

// span returns the names with the first word a.
func (l *nameSequence) span(a int) (from, to int) {
	each := l.slots / len(l.first)
	return l.from(a * each), l.from((a + 1) * each)
}

func (l *nameSequence) name(i int) string {
	a, b, c, copied := l.triple(i)
	name := l.first[a] + "-" + l.second[b]
	if len(l.third) > 0 {
		name += "-" + l.third[c]
	}
	if copied > 0 {
		n := strconv.Itoa(copied + 1)
		name += "-" + strings.Repeat("0", l.digits-len(n)) + n
	}
	return name
}

// find returns the number of a name.
func (l *nameSequence) find(name string) (int, bool) {
	a, rest, ok := leading(l.first, name)
	if !ok {
		return 0, false
	}
	b, rest, ok := leading(l.second, rest)
	if !ok {
		return 0, false
	}
	slot := a*len(l.second) + b
	if len(l.third) > 0 {
		var c int
		if c, rest, ok = leading(l.third, rest); !ok {
			return 0, false
		}
		slot = slot*len(l.third) + c
	}
	copied := 1
	if rest != "" {
		n, err := strconv.Atoi(rest)
		if err != nil || len(rest) != l.digits || n < 2 || n > l.copies {
			return 0, false
		}
		copied = n
	}
	slot = slot*l.copies + copied - 1
	i := l.from(slot)
	return i, i < l.n && l.slot(i) == slot
}

// leading cuts the longest of the words from the front of a name; what is left begins
// behind the "-".
func leading(words []string, name string) (index int, rest string, ok bool) {
	longest := -1
	for i, w := range words {
		if len(w) <= longest || !strings.HasPrefix(name, w) {
			continue
		}
		switch behind := name[len(w):]; {
		case behind == "":
			index, rest, longest = i, "", len(w)
		case behind[0] == '-' && len(behind) > 1:
			index, rest, longest = i, behind[1:], len(w)
		}
	}
	return index, rest, longest >= 0
}

package simulator

import (
	"embed"
	"encoding/json"
	"sort"
	"strconv"
	"strings"
)

// files are the templates and words of the recorded installation. The order of words and states is part of what a seed means. Each list of
// names is sorted in the order of name+"-", and no entry with a "-" behind it begins another: so names in the order of their parts are in
// the order of their bytes, and a name is found by bisection.
//
//go:embed templates words.json
var files embed.FS

type word struct {
	Domains, Components, Teams, Fleets []string
	Places                             []string // environments, some of them with a region: production is met more often

	Regions, People, Charts, Tiers, Options, Failures, Requests []string

	Kinds  []resourceKind // sorted by group and kind, as the server sorts status.resources
	States []state        // with the counts of the recorded list

	Clusters []cluster
}

// resourceKind is a kind of Kubernetes object that applications consist of.
type resourceKind struct {
	Group, Version, Kind string
	Cluster              bool // has no namespace
	Healthy              bool // Argo CD knows a health of it
	Pods                 bool
}

// state is a health and a sync status that occur together, and how often of 819.
type state struct {
	Health, Sync string
	Weight       int
}

// lists returns the lists by the names that templates know them by.
func (w *word) lists() map[string][]string {
	return map[string][]string{"people": w.People, "tiers": w.Tiers, "places": w.Places, "requests": w.Requests}
}

// loadWords returns the words that names are made of, from words.json.
func loadWords() (w word) {
	text, err := files.ReadFile("words.json")
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		panic(err) // a file of this package, which every test reads
	}
	return w
}

// nameSequence gives n distinct names in the order of their bytes, and finds the number of a
// name again, without holding any of them: a name has a word of each list, and names are spread evenly over
// all that can be made; where there are more, each gets copies, "-02", "-03".
type nameSequence struct {
	words            [][]string
	n, copies, slots int
	digits           int
}

// newNameSequence returns a sequence of at least n different names, each with one word of every list. If there are too few combinations,
// names end in a number.
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

// name returns the i-th name of the sequence.
func (l *nameSequence) name(i int) string {
	at, copied := l.parts(i)
	words := make([]string, 0, 4)
	for k, list := range l.words {
		words = append(words, list[at[k]])
	}
	if copied > 0 {
		n := strconv.Itoa(copied + 1)
		words = append(words, strings.Repeat("0", l.digits-len(n))+n)
	}
	return strings.Join(words, "-")
}

// find returns the number of a name.
func (l *nameSequence) find(name string) (int, bool) {
	i := sort.Search(l.n, func(i int) bool { return l.name(i) >= name })
	return i, i < l.n && l.name(i) == name
}

// Package lazy makes what is costly to make when it is first wanted.
//
// Plimsoll is one binary of many commands, and `plimsoll run` stays beside every agent for as
// long as that runs: what another command needs should not be made, and kept, there. A
// regular expression with a class and a count of repetitions takes up to 300 KiB.
//
//	var digits = lazy.Regexp(`\d+`)
//	digits().FindString(text)
//
// [Lists] do the same for words, phrases and patterns, which stand in a text beside the code.
//
// What is made is kept, and may be used by any goroutine.
package lazy

import (
	"regexp"
	"strings"
	"sync"
)

// Regexp returns a regular expression that is compiled by its first use. One that does not
// compile panics there, so each wants a test that uses it.
//
//go:noinline
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Lists are lists of words, phrases and patterns in a text that is part of the binary. They are read by their first use.
//
//	//go:embed words.txt
//	var text string
//
//	var lists = lazy.Lists{Text: &text}
//
// A line that begins with # and a space begins a list and says what it is. The lines behind it are words, with spaces between them; with a first
// | phrases, with a | between them; with a first = the pattern. Whoever asks knows a list by its number in the text, from 0.
type Lists struct {
	Text *string // a pointer, so that a variable of this type is made by the linker

	once  sync.Once
	words map[string]uint64
	lists []list
}

type list struct {
	phrases []string
	pattern string
	once    sync.Once
	regexp  *regexp.Regexp
}

// parse fills the words and lists from the text.
func (l *Lists) parse() {
	l.words = map[string]uint64{}
	l.lists = make([]list, strings.Count("\n"+*l.Text, "\n# "))
	n := -1
	for line := range strings.Lines(*l.Text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "# "):
			n++
		case strings.HasPrefix(line, "|"):
			l.lists[n].phrases = append(l.lists[n].phrases, strings.Split(line[1:], "|")...)
		case strings.HasPrefix(line, "="):
			l.lists[n].pattern = line[1:]
		default:
			for w := range strings.FieldsSeq(line) {
				l.words[w] |= 1 << n
			}
		}
	}
}

// Words returns all words, with a bit set for each list that a word is in: bit 0 for the first list. It is not to be changed.
func (l *Lists) Words() map[string]uint64 {
	l.once.Do(l.parse)
	return l.words
}

// Of returns the bits of the lists that a word is in.
func (l *Lists) Of(word string) uint64 { return l.Words()[word] }

// Phrases returns the phrases of a list, in their order.
func (l *Lists) Phrases(n int) []string {
	l.once.Do(l.parse)
	return l.lists[n].phrases
}

// Pattern returns the pattern of a list.
func (l *Lists) Pattern(n int) *regexp.Regexp {
	l.once.Do(l.parse)
	p := &l.lists[n]
	p.once.Do(func() { p.regexp = regexp.MustCompile(p.pattern) })
	return p.regexp
}

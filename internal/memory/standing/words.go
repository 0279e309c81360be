package standing

import (
	_ "embed"
	"slices"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

//go:embed words.txt
var text string

var lists = lazy.Lists{Text: &text}

// Lists of words, in the order of words.txt, which says what they are.
const (
	fillers uint64 = 1 << iota
	greetings
	adverbs
	negations
	between
	targets
	pronouns
	subjects
	articles
	answers
	bare
	occasions
	every
	work
	alone
	builders
	programs
	manners
	usual
	infinitives
	relations
	forReplies
	forSome
	forAgents
	forBoth
	ofProducts
)

// Phrases and patterns, in the order of words.txt, behind the words.
const (
	addresses = 26 + iota
	foreign
	lasting
	local
	inProject
	named
	code
	statement
	languages
	messages
	comments
	documents
	managers
	pythons
	indents
	lengths
	replies
	emojis
	forms
	asking
	markers
	fromNow
	forever
	order
	workTime
	topical
	notLater
	pushes
	deploys
	installs
	deletes
	refactors
	merges
	running
)

// isIn reports whether a word is in one of some lists.
func isIn(word string, wanted uint64) bool { return lists.Of(word)&wanted != 0 }

// anyIn reports whether one of some words is in one of some lists.
func anyIn(words []string, wanted uint64) bool {
	return slices.ContainsFunc(words, func(w string) bool { return isIn(w, wanted) })
}

// matches reports whether a text has a match of a pattern.
func matches(s string, pattern int) bool { return lists.Pattern(pattern).MatchString(s) }

// blankMatches returns a text with a space in the place of each match of some patterns.
func blankMatches(s string, patterns ...int) string {
	for _, p := range patterns {
		s = lists.Pattern(p).ReplaceAllString(s, " ")
	}
	return s
}

// submatches returns the first match of a pattern and its groups; nil if there is none.
func submatches(s string, pattern int) []string { return lists.Pattern(pattern).FindStringSubmatch(s) }

// verbKind returns the first list of verbs that has the word; 0 if it is no verb.
func verbKind(word string) uint64 {
	in := lists.Of(word)
	for _, kind := range [...]uint64{forAgents, forSome, forReplies, forBoth} {
		if in&kind != 0 {
			return kind
		}
	}
	return 0
}

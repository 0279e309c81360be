package recall

import (
	"cmp"
	_ "embed"
	"math/bits"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/memory/index"
)

//go:embed words.txt
var wordsText string

var listed = lazy.Lists{Text: &wordsText}

// Lists of words, in the order of words.txt, which says what they are. The first three are ranks.
const (
	listTrade uint64 = 1 << iota
	listEveryday
	listFunction
	listHan
	listGerman
	listProgram
	listEnding
)

// rank tells how common a word is among people who talk to a tool.
type rank uint8

const (
	rare     rank = iota // in none of the lists: a name, a subject
	trade                // of those who write programs
	everyday             // of everybody
	function             // without a meaning of its own
)

// rankOfLists returns the rank of a word that is in these lists, the most common one; rare for none.
func rankOfLists(lists uint64) rank {
	return rank(bits.Len64(lists & (listTrade | listEveryday | listFunction)))
}

// termRanks are the ranks of terms in an index that are no listed words, or rank higher than those.
var termRanks = sync.OnceValue(func() map[string]rank {
	out := map[string]rank{}
	var words index.Words
	for w, in := range listed.Words() {
		r := rankOfLists(in &^ listFunction)
		if r == rare {
			continue
		}
		for t := range words.Tokens(w) {
			if t.Term != "" && t.Parts == 1 && r > max(out[t.Term], rankOfLists(listed.Of(t.Term))) {
				out[t.Term] = r
			}
		}
	}
	return out
})

// rankOfWord returns how common a word or the term of one is by the lists of common words; rare for a word in none.
func rankOfWord(w string) rank {
	r := rankOfLists(listed.Of(w))
	if r < function {
		r = max(r, termRanks()[w])
	}
	return r
}

// emptyHan are letters of Chinese that stand in words of no meaning of their own; a pair with one of them tells nothing.
const emptyHan = "的了是我你他她它们在有不就也和都吗呢吧啊什么怎哪这那个们到说要去会着没看好自么还多少几谁为以与或但把被给让对从向于及其之而且再又只才很太最更用"

// unit is a word as a reader sees it: the parts that only capital letters tell apart are one (TypeScript), those that a sign joins are several.
type unit struct {
	index.Token
	// initials are those of the parts of a word that has several: ts of TypeScript.
	initials string
	// shown is the word as it is written.
	shown string
	rank  rank
}

// parseUnits returns the words of a text with their ranks. The parts of a name such as camelCase that belong together are one unit.
func parseUnits(text string) (all []unit) {
	var words index.Words
	at := 0 // in the run, behind the part before
	for t := range words.Tokens(text) {
		if t.Whole {
			continue
		}
		if t.Dense || t.Part == 0 {
			at = 0
		}
		letters := strings.ToLower(t.Run)
		at = min(at, len(letters))
		from := max(strings.Index(letters[at:], t.Word), 0) + at
		joined := !t.Dense && t.Part > 0 && from == at && at > 0 && len(all) > 0
		at = from + len(t.Word)
		first, _ := utf8.DecodeRuneInString(t.Word)
		if !joined {
			shown := t.Word
			if !t.Dense && len(letters) == len(t.Run) && at <= len(t.Run) {
				shown = t.Run[from:at]
			}
			all = append(all, unit{Token: t, shown: shown})
			continue
		}
		last := &all[len(all)-1]
		if last.initials == "" {
			before, _ := utf8.DecodeRuneInString(last.Word)
			last.initials = string(before)
		}
		last.initials += string(first)
		last.Word += t.Word
		if len(letters) == len(t.Run) && at <= len(t.Run) {
			last.shown += t.Run[from:at]
		}
		last.Term, last.Part = last.Word, t.Part
	}
	for i := range all {
		all[i].rank = all[i].findRank()
	}
	return all
}

// isName reports whether a word is written as a name: with several capital letters, with a digit beside letters, or with one capital letter within a
// sentence, except in German, which writes all nouns so.
func (u *unit) isName(german bool) bool {
	upper := 0
	for i, r := range u.shown {
		if unicode.IsUpper(r) && (i > 0 || !u.Breaks && !german) {
			upper++
		}
	}
	return upper > 0 || strings.ContainsFunc(u.Word, unicode.IsDigit) && strings.ContainsFunc(u.Word, unicode.IsLetter)
}

// isAcronym reports whether a word is written in capital letters only, as HTTP is, however common it is.
func (u *unit) isAcronym() bool { return strings.ToUpper(u.shown) == u.shown }

// isGerman reports whether a text has words of German that no other of the four languages has.
func isGerman(all []unit) bool {
	for i := range all {
		if listed.Of(all[i].Word)&listGerman != 0 {
			return true
		}
	}
	return false
}

// key returns the term by which a word is compared as a part of a name; the word itself where it has no term, which counts there as well: point of
// view.
func (u *unit) key() string { return cmp.Or(u.Term, u.Word) }

// findRank returns how common the word is.
func (u *unit) findRank() rank {
	r := rankOfWord(u.Word)
	if r == rare && u.Term != u.Word {
		r = rankOfWord(u.Term)
	}
	switch {
	case u.Dense && strings.ContainsAny(u.Word, emptyHan):
		return function
	case u.Dense && listed.Of(u.Word)&listHan != 0:
		return trade
	case u.Term == "":
		return function
	}
	return r
}

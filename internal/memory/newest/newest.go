// Package newest tells when what was said later takes the place of what was said before, by words alone:
//
//	newest.Replaces("We use bun instead of pnpm now.", "We use pnpm in the frontend.") // true
//
// Two sentences are about the same thing if they have what they speak of in common and differ in what they say of it, or if the later one says that
// something is no longer so and names what. It is precise rather than complete: words are all it knows, in English, German, Chinese and Spanish.
package newest

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/memory/index"
)

// MaxText is the length in bytes of the longest text that is compared: what replaces something is said shortly.
const MaxText = 600

const (
	maxSentences = 3
	maxWords     = 40
	maxValue     = 5 // words that a value has at most
	maxGone      = 3
	maxShort     = 28 // words of a text that says one thing
)

// Text is a text that was read, to be compared with others.
type Text []sentence

// sentence is a sentence of a text.
type sentence struct {
	words  []word
	verb   int   // the first word that joins a subject with what is said of it; -1 for none
	change bool  // it says that something is no longer so, or so from now on
	gone   []int // the words that it says are no longer so
	adds   bool  // it says that something is so too
	asks   bool
}

type word struct {
	term  string // "" for a word without a meaning of its own
	text  string
	class class
	dense bool
	at    int // in the text, in bytes
}

// class is a sort of values of which one counts at a time.
type class uint8

const (
	other class = iota
	number
	weekday
	month
)

// Read takes a text apart, to be compared with others. The result is nil, which replaces nothing and is not replaced, for a text that is empty or
// longer than MaxText.
func Read(text string) Text {
	if len(text) > MaxText || strings.TrimSpace(text) == "" {
		return nil
	}
	var out Text
	var words index.Words
	from, last := 0, 0
	var s *sentence
	end := func(at int) {
		if s == nil {
			return
		}
		piece := strings.ToLower(text[from:at])
		s.change, s.adds = phraseEnd(piece, changes) >= 0, phraseEnd(piece, additions) >= 0
		s.readGone(piece, from)
		s.asks = strings.ContainsAny(text[from:min(len(text), at)], "?？")
		if len(s.words) > 0 {
			out = append(out, *s)
		}
	}
	for t := range words.Tokens(text) {
		if t.Whole {
			continue
		}
		if s == nil || t.Breaks && strings.ContainsAny(text[last:t.At], ".!?\n。！？；;") {
			if end(t.At); len(out) == maxSentences {
				return out
			}
			s, from = &sentence{verb: -1}, t.At
		}
		last = t.End
		if len(s.words) == maxWords {
			continue
		}
		in := lists.Of(t.Word)
		w := word{term: t.Term, text: t.Word, class: classOf(t.Word), dense: t.Dense, at: t.At}
		if t.Dense && strings.ContainsAny(t.Word, joining) || in&functions != 0 {
			w.term = ""
		}
		if s.verb < 0 && len(s.words) > 0 && (in&verbs != 0 || t.Dense && strings.ContainsAny(t.Word, denseVerbs)) {
			s.verb = len(s.words)
		}
		s.words = append(s.words, w)
	}
	end(len(text))
	return out
}

// readGone enters into s.gone the words that the sentence says no longer hold: those after "instead of", "no longer", "statt", "不再", up to a
// comma. piece is the sentence in lower case, which begins at an offset of the text.
func (s *sentence) readGone(piece string, offset int) {
	at := phraseEnd(piece, against)
	if at < 0 {
		return
	}
	end := len(piece)
	if n := strings.IndexAny(piece[at:], ",;，；"); n >= 0 {
		end = at + n
	}
	for i, w := range s.words {
		if offset+at <= w.at && w.at < offset+end && w.term != "" && lists.Of(w.text)&verbs == 0 && len(s.gone) < maxGone {
			s.gone = append(s.gone, i)
		}
	}
}

// phraseEnd returns the offset after the first phrase of a list that a text in lower case has as whole words; -1 if it has none.
func phraseEnd(piece string, list int) int {
	for _, p := range lists.Phrases(list) {
		for at := 0; ; {
			i := strings.Index(piece[at:], p)
			if i < 0 {
				break
			}
			i += at
			before, _ := utf8.DecodeLastRuneInString(piece[:i])
			after, _ := utf8.DecodeRuneInString(piece[i+len(p):])
			first, _ := utf8.DecodeRuneInString(p)
			if unicode.Is(unicode.Han, first) || !unicode.IsLetter(before) && !unicode.IsLetter(after) {
				return i + len(p)
			}
			at = i + len(p)
		}
	}
	return -1
}

// Replaces reports whether a text takes the place of one that was said before.
func Replaces(newer, older string) bool { return Read(newer).Replaces(Read(older)) }

// Replaces reports whether a text takes the place of one that was said before.
func (n Text) Replaces(older Text) bool {
	if !n.isShort() || !older.isShort() {
		return false
	}
	for i := range n {
		if n[i].asks || n[i].adds {
			continue
		}
		for k := range older {
			if !older[k].asks && n[i].replaces(&older[k]) {
				return true
			}
		}
	}
	return false
}

// isShort reports whether a text says one thing, by its length. In longer ones, of chat above all, sentences that are alike are often about nothing.
func (n Text) isShort() bool {
	words := 0
	for _, s := range n {
		words += len(s.words)
	}
	return len(n) <= 2 && words <= maxShort
}

// replaces reports whether a sentence takes the place of an older one: because it says that something in the older one no longer holds, or
// because both are alike and differ in what they say of their subject.
func (n *sentence) replaces(older *sentence) bool {
	for _, i := range n.gone {
		if older.hasWord(&n.words[i]) && !older.saysGone(&n.words[i]) {
			return true
		}
	}
	if !n.change && !n.sameFrame(older) {
		return false
	}
	common := n.compare(older)
	if common.fresh == 0 && common.gone == 0 {
		return false // it says the same
	}
	least, enough := min(common.newer, common.older), 1
	if older.words[0].dense { // two letters are no word
		enough = 2
	}
	switch {
	case common.telling == 0:
		return false
	case n.change:
		// It speaks of the same, or of the same with a value of the same sort.
		return common.telling >= 2 && 2*common.telling >= least && !n.otherSubjects(older) || common.class && common.telling >= enough ||
			common.telling > 0 && n.sameFrame(older) && n.sameVerb(older)
	case common.fresh == 0 || common.gone == 0 || common.fresh > maxValue || common.gone > maxValue:
		return false
	}
	return (2*common.telling >= least || common.class) && (common.telling >= 2 || common.class || n.sameVerb(older))
}

// saysGone reports whether a sentence says itself that a word is no longer so.
func (s *sentence) saysGone(w *word) bool {
	return slices.ContainsFunc(s.gone, func(i int) bool { return s.words[i].term == w.term })
}

// overlap counts the words that two sentences have in common.
type overlap struct {
	telling      int  // words with a meaning
	newer, older int  // of how many
	fresh, gone  int  // words that only the newer, only the older one has
	class        bool // they have different values of one sort
}

// compare counts the words that two sentences have in common, and those that only one of them has.
func (n *sentence) compare(older *sentence) (c overlap) {
	var mine, theirs [month + 1]bool
	for i := range older.words {
		w := &older.words[i]
		if w.term == "" {
			continue
		}
		c.older++
		if !n.hasWord(w) {
			c.gone++
			theirs[w.class] = true
		}
	}
	for i := range n.words {
		w := &n.words[i]
		if w.term == "" {
			continue
		}
		c.newer++
		switch {
		case older.hasWord(w):
			c.telling++
		default:
			c.fresh++
			mine[w.class] = true
		}
	}
	for k := number; k <= month; k++ {
		c.class = c.class || mine[k] && theirs[k]
	}
	return c
}

// hasWord reports whether a sentence has a word or another inflected form of it.
func (s *sentence) hasWord(w *word) bool {
	for i := range s.words {
		x := &s.words[i]
		if x.term != "" && (x.term == w.term || w.class == other && !w.dense && x.text[0] == w.text[0] && index.Inflected(x.text, w.text)) {
			return true
		}
	}
	return false
}

// sameFrame reports whether two sentences have the same subject and verb and differ only after the verb, or if there is no verb, in at most
// two words at one place.
func (n *sentence) sameFrame(o *sentence) bool {
	a, b := n.words, o.words
	head := 0
	for head < len(a) && head < len(b) && a[head].equals(&b[head]) {
		head++
	}
	if n.verb > 0 && o.verb > 0 {
		return head > n.verb && head > o.verb && anyMeaning(a[:head]) || anyMeaning(a[:n.verb]) && n.sameSubject(o)
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail].equals(&b[len(b)-1-tail]) {
		tail++
	}
	return head > 0 && len(a)-head-tail <= 2 && len(b)-head-tail <= 2 && anyMeaning(a[:head])
}

// sameSubject reports whether two sentences have the same words before their verbs.
func (n *sentence) sameSubject(o *sentence) bool {
	return !n.hasOtherSubject(&sentence{words: o.words[:o.verb]}, month) && !o.hasOtherSubject(&sentence{words: n.words[:n.verb]}, month)
}

// otherSubjects reports whether two sentences, both with a verb, speak of different things before it.
func (n *sentence) otherSubjects(o *sentence) bool {
	return n.verb > 0 && o.verb > 0 && n.hasOtherSubject(o, other) && o.hasOtherSubject(n, other)
}

// hasOtherSubject reports whether a sentence has a word before its verb, of a class up to last, that tells something and that the other
// sentence does not have.
func (n *sentence) hasOtherSubject(o *sentence, last class) bool {
	for i := range n.words[:n.verb] {
		if w := &n.words[i]; w.hasMeaning() && w.class <= last && !o.hasWord(w) {
			return true
		}
	}
	return false
}

// sameVerb reports whether two sentences have one verb, and one that says more than that something is.
func (n *sentence) sameVerb(o *sentence) bool {
	if n.verb < 0 || o.verb < 0 || n.words[n.verb].text != o.words[o.verb].text {
		return false
	}
	return lists.Of(n.words[n.verb].text)&beings == 0
}

// hasMeaning reports whether a word has a meaning of its own, as "the" has none.
func (w *word) hasMeaning() bool { return w.term != "" }

// anyMeaning reports whether one of some words has a meaning of its own.
func anyMeaning(words []word) bool {
	for i := range words {
		if words[i].hasMeaning() {
			return true
		}
	}
	return false
}

// equals reports whether two words are the same, or have the same term.
func (w *word) equals(x *word) bool { return w.text == x.text || w.hasMeaning() && w.term == x.term }

//go:embed words.txt
var listed string

var lists = lazy.Lists{Text: &listed}

// Lists of words, in the order of words.txt, which says what they are.
const (
	functions uint64 = 1 << iota
	verbs
	beings
	weekdays
	months
	numbers
)

// Phrases, behind the words there.
const (
	changes = 6 + iota
	against
	additions
)

// denseVerbs are verbs of Chinese, and joining are letters that stand in words without a meaning of their own.
const (
	denseVerbs = "是用在为叫住到设由放存"
	joining    = "的了是我你他她它们在有不就也和都吗呢吧啊这那个要去着过给把被用到成为改换再现从起以后"
)

// classOf returns the class of a word: weekday, month, number or other.
func classOf(w string) class {
	switch in := lists.Of(w); {
	case in&weekdays != 0:
		return weekday
	case in&months != 0:
		return month
	case in&numbers != 0, w != "" && unicode.IsDigit(rune(w[0])):
		return number
	case strings.ContainsAny(w, "一二三四五六七八九十百千万") && len(w) <= 6:
		return number
	}
	return other
}

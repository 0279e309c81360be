package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What an agent says in prose is told apart by its shape and its place, in whatever language: what was left open, what the cause was and
// what was decided stands in sentences whose words are new in the conversation; what is announced is said in the same few words again and
// again, right before the call that it announces, and names what the call names.
//
// A sentence's news is the number of its words that are new, each weighted by its rarity in what the agent said. Names and numbers are no
// words here: a sentence that says the same of another file says nothing new. Ten sentences of one form are ten, as long as what fills the form is new.

const (
	// leastNews is the news that a sentence needs to come before identifiers, leastNewsEnd one of the last words of a task, and
	// leastNewsPrior one that an earlier summary has kept.
	leastNews      = 2.5
	leastNewsEnd   = 2.0
	leastNewsPrior = 1.0
	// mostNews bounds the news that counts: a longer sentence is no better one.
	mostNews = 11.0
	// pairNews is the weight of two neighbouring letters in scripts that write without spaces, as parts of a word.
	pairNews = 0.5
	// A sentence counts more when it is among the last words of a task, a short one most: there every sentence matters, and the room holds more of
	// them. It counts more right before a change or when it tells of one: it gives the reason, and the cause of what failed before
	// it. It counts less right before another call, and when it names what the call names; more when it begins with a label, and when an
	// earlier summary has kept it.
	newsAtEnd      = 3.0
	endLength      = 120 // runes, of which a third are a sentence's cost where it is shortest
	newsOfChange   = 1.4
	newsOfCause    = 1.1
	newsBeforeCall = 0.8
	newsOfCall     = 0.6
	newsOfLabel    = 3.0
	newsOfPrior    = 1.3
	// maxNames bounds the names of a sentence that count, and maxLabel the length of a label, in bytes.
	maxNames = 2
	maxLabel = 36
	// callHead is the number of bytes of a call that are searched for what the sentence before it names.
	callHead = 2048
	// troubled is the number of calls after a failure in which a sentence may still be about it.
	troubled = 12
	// fewest is the least number of sentences that a conversation is taken to have: in a short one nothing is repeated yet.
	fewest = 20
)

// A lexicon counts the words of what an agent says. Words with the same place in the table count together: that is rare, and bounds the
// size.
type lexicon struct {
	count     [1 << 16]int32
	sentences int
}

// addSentence counts the words of a sentence.
func (x *lexicon) addSentence(text string) {
	x.sentences++
	forWords(text, func(hash uint64, _ float64) { x.count[hash%uint64(len(x.count))]++ })
}

// newsOf returns how much news a sentence has: the sum, over its words, of how rare they are in the agent's text, at most mostNews.
func (x *lexicon) newsOf(text string) (sum float64) {
	n := max(x.sentences, fewest)
	forWords(text, func(hash uint64, share float64) {
		rare := max(0, rarity(x.count[hash%uint64(len(x.count))], n))
		sum += share * rare * rare
	})
	return min(sum, mostNews)
}

// unspaced are scripts that write without spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// forWords calls f with the hash of every word of a text, in lower case, and its weight: 1, or pairNews for a pair of letters of a script
// without spaces. Identifiers, paths and numbers are left out.
func forWords(text string, f func(hash uint64, share float64)) {
	for i := 0; i < len(text); {
		if class[text[i]] == 0 {
			i++
			continue
		}
		end := i
		for end < len(text) && class[text[end]] != 0 {
			end++
		}
		forUnspacedWords(text[i:end], f)
		i = end
	}
}

// forUnspacedWords is forWords for a text without spaces and signs.
func forUnspacedWords(text string, f func(hash uint64, share float64)) {
	hash, n, name, before := uint64(fnvOffset), 0, false, rune(0)
	small := false
	flush := func() {
		if n > 1 && !name {
			f(hash, 1)
		}
		hash, n, name, small = fnvOffset, 0, false, false
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			before = 0
			i++
			switch class[c] {
			case 'd':
				name = true
			case 'p':
				if c == '-' || c == ':' || i == len(text) || class[text[i]] == 'p' { // a word with a dash is two
					flush()
				} else {
					name = true
				}
				continue
			case 'U':
				if small {
					name = true
				}
				c += 'a' - 'A'
			default:
				small = true
			}
			hash, n = (hash^uint64(c))*fnvPrime, n+1
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r >= 0xE00 && unicode.In(r, unspaced...):
			flush()
			if before != 0 {
				f(((fnvOffset^uint64(before))*fnvPrime^uint64(r))*fnvPrime, pairNews)
			}
			before = r
			continue
		case !unicode.IsLetter(r) && !unicode.Is(unicode.M, r):
			flush()
		default:
			hash, n, small = (hash^uint64(unicode.ToLower(r)))*fnvPrime, n+1, small || !unicode.IsUpper(r)
		}
		before = 0
	}
	flush()
}

// setNews sets how much news each of the agent's lines has, and the section of a line by its position in the conversation. occurs is the
// number of lines that contain a token.
func setNews(all []line, turns []Turn, known *records, occurs map[uint64]int32) {
	x := &lexicon{}
	for i := range all {
		if all[i].isProse() {
			x.addSentence(all[i].text)
		}
	}
	for i := range all {
		l := &all[i]
		if l.kind == Result && known.answers[l.turn] {
			l.news, l.section = mostNews, sectionDecisions
		}
		if !l.isProse() {
			continue
		}
		l.news = x.newsOf(l.text) + l.countNames(occurs)
		if hasLabel(l.text) {
			l.news *= newsOfLabel
		}
		switch {
		case l.kind == Prior && l.section == sectionEnds:
			l.news *= endFactor(l.text)
		case l.kind == Prior:
			l.news *= newsOfPrior
		case known.ends[l.turn]:
			l.news *= endFactor(l.text)
		case known.leads[l.turn]:
			l.leads = true
			l.news *= newsOfChange
			if known.trouble[l.turn] {
				l.news *= newsOfCause
			}
		case l.last:
			l.news *= newsBeforeCall
			if l.announces(turns) {
				l.news *= newsOfCall
			}
		}
		if l.kind != Prior {
			switch {
			case l.turn == known.stood:
				l.section = sectionNext
			case known.ends[l.turn]:
				l.section = sectionEnds
			case known.trouble[l.turn]:
				l.section = sectionCauses
			default:
				l.section = sectionDecisions
			}
		}
	}
}

// endFactor returns the factor for the news of a sentence among the last words of a task; it is largest for a short one.
func endFactor(text string) float64 {
	return newsAtEnd * endLength / (endLength/3 + float64(utf8.RuneCountInString(text)))
}

// countNames returns the number of names in the line that are in no other line, at most maxNames: each counts like a new word.
func (l *line) countNames(occurs map[uint64]int32) float64 {
	n := 0
	for _, t := range l.tokens {
		if t.weight >= weightIdentifier && occurs[t.hash] == 1 {
			n++
		}
	}
	return float64(min(n, maxNames))
}

// hasLabel reports whether a sentence begins with a label: "Decision: …", "待办：…".
func hasLabel(text string) bool {
	at := strings.IndexAny(text[:min(len(text), maxLabel)], ":：")
	if at < 3 || at+4 > len(text) || text[at] == ':' && text[at+1] != ' ' && text[at+1] != '*' {
		return false
	}
	for i := range at {
		if c := class[text[i]]; c == 'd' || c == 'p' || c == 0 && text[i] != ' ' && text[i] != '*' {
			return false
		}
	}
	return strings.Count(text[:at], " ") < 3
}

// isProse reports whether a line is prose of the agent's, also if an earlier summary has kept it.
func (l *line) isProse() bool {
	return l.kind == Assistant || l.kind == Prior && l.section.isSpoken()
}

// hasNews reports whether a line has enough news to be chosen before identifiers.
func (l *line) hasNews() bool {
	switch {
	case l.kind == Prior:
		return l.news >= leastNewsPrior
	case l.section == sectionEnds || l.section == sectionNext:
		return l.news >= leastNewsEnd
	case l.leads:
		return l.news >= leastNews*newsOfChange/newsBeforeCall
	}
	return l.news >= leastNews
}

// announces reports whether a sentence names an identifier that the call right after it names too.
func (l *line) announces(turns []Turn) bool {
	if int(l.turn)+1 >= len(turns) {
		return false
	}
	next := &turns[l.turn+1]
	if next.Kind != Call {
		return false
	}
	call := next.Text[:min(len(next.Text), callHead)]
	for _, t := range l.tokens {
		if t.weight >= weightIdentifier && strings.Contains(call, l.text[t.from:t.to]) {
			return true
		}
	}
	return false
}

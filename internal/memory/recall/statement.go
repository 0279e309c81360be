package recall

import (
	"slices"
	"strings"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/memory/index"
)

// statement is a record, read for what it is about.
type statement struct {
	mentions []mention
	first    map[byte][]int // mentions by their first byte
	initials map[string]int // initials of words that follow each other, to the first of them
	past     bool           // it says what was, and is no longer
}

// mention is a word in a statement.
type mention struct {
	word, term string
	rank       rank
	name       bool
	place      int     // among the words that say something
	about      float64 // how much the statement is about it, 1 for its subject
}

// maxMentions bounds the words of a record that are looked at.
const maxMentions = 400

// weights of a mention by its place: a statement names its subject early, and in its first sentence.
const (
	earlyWords    = 4
	laterWord     = 0.9
	farWord       = 0.8
	laterSentence = 0.9
	behindLink    = 0.9 // an object: runs ON it, depends ON it
	joinedBefore  = 0.5 // it only tells what kind another one is: MongoDB-backed
	againAndAgain = 0.05
)

// readStatement reads the text of a record.
func readStatement(text string) *statement {
	s := &statement{first: map[byte][]int{}, initials: map[string]int{}, past: saysPast(text)}
	var letters []byte
	var from []int
	place, sentence, linked, began := 0, -1, 0, 0
	for _, t := range tokens(text) {
		if len(s.mentions) >= maxMentions {
			break
		}
		if t.Breaks {
			sentence++
			linked, began = 0, place
			letters, from = letters[:0], from[:0]
		}
		if t.Whole {
			continue
		}
		if links(t.Word) {
			linked = 3
		} else if linked > 0 {
			linked--
		}
		m := mention{word: t.Word, term: t.Term, place: place, about: 1}
		if !t.Dense {
			letters, from = append(letters, t.Word[0]), append(from, len(s.mentions))
			for n := 2; n <= 4 && n <= len(letters); n++ {
				if n > 2 || t.Part > 0 {
					if _, ok := s.initials[string(letters[len(letters)-n:])]; !ok {
						s.initials[string(letters[len(letters)-n:])] = from[len(from)-n]
					}
				}
			}
		}
		m.rank = max(ranks()[t.Word], ranks()[t.Term])
		if t.Dense {
			m.rank = rare
		}
		if t.Term == "" || m.rank == function {
			if !t.Dense {
				s.mentions = append(s.mentions, mention{word: t.Word, rank: function, place: place, about: 0})
			}
			continue
		}
		m.name = isName(t)
		switch {
		case place >= 3*earlyWords:
			m.about = farWord
		case place >= earlyWords:
			m.about = laterWord
		}
		if sentence > 0 {
			m.about *= laterSentence
		}
		if linked > 0 && place > began {
			m.about *= behindLink
		}
		if describes(t) {
			m.about *= joinedBefore
		}
		s.first[t.Word[0]] = append(s.first[t.Word[0]], len(s.mentions))
		s.mentions = append(s.mentions, m)
		place++
	}
	return s
}

// links reports whether a word joins the subject of a sentence with something else.
func links(word string) bool {
	switch word {
	case "on", "with", "by", "via", "using", "through", "for", "over", "from", "in", "to", "mit", "über", "auf", "für", "bei", "von", "con", "en", "por", "sobre", "para":
		return true
	}
	return false
}

// describes reports whether a part of a run says only of what kind the next one is: MongoDB-backed, Redis-like.
func describes(t index.Token) bool {
	i := strings.LastIndexByte(t.Run, '-')
	if i < 0 || t.Part == t.Parts-1 {
		return false
	}
	last := strings.ToLower(t.Run[i+1:])
	return strings.HasSuffix(last, "ed") || strings.HasSuffix(last, "like") || strings.HasSuffix(last, "basiert") || strings.HasSuffix(last, "artig")
}

// saysPast reports whether a text begins by saying what was: that is over, and given alone it would mislead.
func saysPast(text string) bool {
	text = strings.ToLower(strings.TrimLeftFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }))
	return slices.ContainsFunc(pastOpeners, func(o string) bool { return strings.HasPrefix(text, o) }) ||
		slices.ContainsFunc(pastOpeners[:2], func(o string) bool { return strings.Contains(text, " "+o) })
}

var pastOpeners = []string{"previously ", "formerly ", "used to ", "was ", "were ", "earlier we ", "früher ", "war ", "vorher ", "ehemals ", "antes ", "anteriormente ", "era ", "以前", "之前", "曾经", "过去"}

// match is a word of the prompt that a statement has.
type match struct {
	prompt, mention int
	weight          float64 // how surely it is the same, and how much the statement is about it
}

// matches finds the words of a prompt in a statement.
func (s *statement) matches(words []word) (out []match) {
	for i := range words {
		w := &words[i]
		best := match{prompt: i, mention: -1}
		times := 0
		for _, n := range s.first[w.Word[0]] {
			m := &s.mentions[n]
			same := 0.0
			switch {
			case w.Term == m.term:
				same = 1
				times++
			case w.Dense:
			case w.rank == rare && m.rank == rare, index.Inflected(w.Word, m.word):
				same = index.Near(w.Word, m.word)
			}
			if weight := same * m.about; weight > best.weight {
				best.mention, best.weight = n, weight
			}
		}
		if best.mention >= 0 {
			best.weight *= 1 + againAndAgain*float64(min(max(times-1, 0), 3))
		} else if n, ok := s.initials[w.Word]; ok && len(w.Word) <= 4 && w.rank == rare && s.mentions[n].rank != function {
			best.mention, best.weight = n, max(s.mentions[n].about, 0.5)
		}
		if best.mention >= 0 {
			out = append(out, best)
		}
	}
	return out
}

package index

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// Token is a word of a text with its place, for those who weigh what the words of a text say.
type Token struct {
	// Word is in lower case, and Term what it is indexed as: "" for a stop word. Both are a pair of letters of a script without spaces if
	// Dense is set.
	Word, Term string
	// Run is the run of letters, digits and joiners that the word is a part of, as it stands; Part is the number of the word in it, and
	// Parts how many there are. Whole is set for the term that a run of several parts is itself.
	Run         string
	Part, Parts int
	Whole       bool
	Dense       bool
	// The run begins at the byte At and ends at End.
	At, End int
	// Breaks is set if a sentence, or a line, begins with it.
	Breaks bool
}

// Tokens yields every word of a text, in order, those that are left out of an index among them.
func (w *Words) Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		breaks, last, on := true, 0, true
		for i := 0; i < len(text) && on; {
			at := i
			dense := false
			end, run := w.next(text, i, func(term []byte) {
				if !dense {
					breaks = breaks || endsSentence(text[last:at])
				}
				dense = true
				pair := string(term)
				on = on && yield(Token{Word: pair, Term: pair, Run: pair, Parts: 1, Dense: true, At: i, End: i + len(term), Breaks: breaks})
				_, n := utf8.DecodeRuneInString(text[i:])
				breaks, i = false, i+n
			})
			i = end
			if dense {
				last = end
			}
			if !run {
				continue
			}
			breaks = breaks || endsSentence(text[last:at])
			for n, p := range w.parts {
				word := string(w.run[p.from:p.to])
				w.spare = append(w.spare[:0], word...)
				term := word
				if stemmed := w.term(w.spare); string(stemmed) != word {
					term = string(stemmed)
				}
				on = on && yield(Token{Word: word, Term: term, Run: withoutJoiners(text[at:end]), Part: n, Parts: len(w.parts), At: at, End: end, Breaks: breaks && n == 0})
			}
			if w.whole() {
				whole := string(w.run)
				on = on && yield(Token{Word: whole, Term: whole, Run: text[at:end], Parts: len(w.parts), Whole: true, At: at, End: end})
			}
			breaks, last = false, end
			if end > at && (text[end-1] == '.' || text[end-1] == ':') {
				last = end - 1
			}
		}
	}
}

// withoutJoiners cuts the signs off the end of a run that would join it with a next part.
func withoutJoiners(run string) string {
	for run != "" {
		if c := run[len(run)-1]; c >= utf8.RuneSelf || class[c] != isJoiner && class[c] != isQuote {
			break
		}
		run = run[:len(run)-1]
	}
	return run
}

// endsSentence reports whether what stands between two words ends a sentence or a line.
func endsSentence(between string) bool {
	for i, r := range between {
		if r < utf8.RuneSelf && strings.IndexByte(".!?;:\n", between[i]) >= 0 || r > utf8.RuneSelf && strings.ContainsRune("。！？；：", r) {
			return true
		}
	}
	return false
}

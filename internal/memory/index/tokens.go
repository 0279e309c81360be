package index

import (
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
	// At is where the run begins, in bytes, and End where it ends.
	At, End int
	// Breaks is set if a sentence, or a line, begins with it.
	Breaks bool
}

// Tokens calls f for every word of a text, in order, those that are left out of an index among them.
func (w *Words) Tokens(text string, f func(Token)) {
	breaks, last := true, 0
	for i := 0; i < len(text); {
		at := i
		dense := false
		end, run := w.next(text, i, func(term []byte) {
			if !dense {
				breaks = breaks || endsSentence(text[last:at])
			}
			dense = true
			f(Token{Word: string(term), Term: string(term), Run: string(term), Parts: 1, Dense: true, At: i, End: i + len(term), Breaks: breaks})
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
			f(Token{Word: word, Term: string(w.term([]byte(word))), Run: strings.TrimRight(text[at:end], "_-./:@#'"), Part: n, Parts: len(w.parts), At: at, End: end, Breaks: breaks && n == 0})
		}
		if w.whole() {
			f(Token{Word: string(w.run), Term: string(w.run), Run: text[at:end], Parts: len(w.parts), Whole: true, At: at, End: end})
		}
		breaks, last = false, end
		if end > at && strings.IndexByte(".:", text[end-1]) >= 0 {
			last = end - 1
		}
	}
}

// endsSentence reports whether what stands between two words ends a sentence or a line.
func endsSentence(between string) bool {
	return strings.ContainsAny(between, ".!?;:\n。！？；：")
}

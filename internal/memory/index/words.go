package index

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words cut a text into terms: lower case, without stop words, lightly stemmed. A name that is put together (readFile, max_bytes,
// app/run.go) gives its parts and itself. Scripts that have no spaces between words give pairs of letters. The zero value is ready; it
// is for one goroutine at a time.
type Words struct {
	raw   bool   // words in lower case, not stemmed and with stop words
	run   []byte // lower case
	parts []part
	spare []byte // a word of which a term is made
	buf   [utf8.UTFMax * 2]byte
}

type part struct{ from, to int }

const (
	// maxTerm is the longest term, in bytes: more of a run of letters is noise (encoded data, hashes put together).
	maxTerm = 64
	// maxRun bounds what is looked at of one run without spaces.
	maxRun = 256
)

// classes of ASCII characters.
const (
	isOther = iota
	isLower
	isUpper
	isDigit
	isJoiner // holds parts of one name together when letters or digits are on both sides
	isQuote
)

var class = func() (t [128]uint8) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = isLower
		case 'A' <= c && c <= 'Z':
			t[c] = isUpper
		case '0' <= c && c <= '9':
			t[c] = isDigit
		case strings.IndexByte("_-./:@#", byte(c)) >= 0:
			t[c] = isJoiner
		case c == '\'':
			t[c] = isQuote
		}
	}
	return t
}()

// Each calls term for every term of a text, in order; the argument is valid until term returns.
func (w *Words) Each(text string, term func([]byte)) {
	for i := 0; i < len(text); {
		var run bool
		if i, run = w.nextRun(text, i, term); !run {
			continue
		}
		for _, p := range w.parts {
			// A term is made in the place of its word: the y of max_retry is an i in the whole name, too.
			if one := w.termOf(w.run[p.from:p.to]); one != nil {
				term(one)
			}
		}
		if w.runIsTerm() {
			term(w.run)
		}
	}
}

// nextRun reads one character or one run of letters and digits at text[i:], and returns where it ends. If run is true, the run is in w.run and
// w.parts. Letters of a script without spaces are passed to term here, and other characters are skipped.
func (w *Words) nextRun(text string, i int, term func([]byte)) (end int, run bool) {
	if c := text[i]; c < utf8.RuneSelf {
		if k := class[c]; k != isLower && k != isUpper && k != isDigit {
			return i + 1, false
		}
	} else {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !isWordRune(r) {
			return i + n, false
		}
		if isUnspaced(r) {
			return w.letterPairs(text, i, term), false
		}
	}
	return w.collectRun(text, i), true
}

// collectRun reads a run of letters, digits and joiners at text[i:] into w.run, in lower case, and its parts into w.parts, and returns where
// it ends.
func (w *Words) collectRun(text string, i int) int {
	w.run, w.parts = w.run[:0], w.parts[:0]
	start := 0 // of the current part
	previous := uint8(isOther)
	uppers, width := 0, 0 // upper-case letters up to here, and the bytes of the last one
	for i < len(text) && len(w.run) < maxRun {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(text[i:])
			if r == '’' {
				c = '\''
			} else {
				if !isWordRune(r) || isUnspaced(r) {
					break
				}
				kind := uint8(isLower)
				if unicode.IsUpper(r) {
					kind = isUpper
				}
				if kind == isUpper && previous == isLower {
					start = w.endPart(start)
				}
				before := len(w.run)
				w.run = utf8.AppendRune(w.run, unicode.ToLower(r))
				if uppers, width = uppers+1, len(w.run)-before; kind != isUpper {
					uppers = 0
				}
				previous = kind
				i += n
				continue
			}
		}
		kind := class[min(c, 127)]
		switch kind {
		case isLower:
			if uppers > 1 { // HTTPServer: http, server
				end := len(w.run) - width
				w.parts = append(w.parts, part{start, end})
				start = end
			}
			uppers = 0
			w.run = append(w.run, c)
		case isUpper:
			if previous == isLower {
				start = w.endPart(start)
			}
			w.run = append(w.run, c+'a'-'A')
			uppers, width = uppers+1, 1
		case isDigit:
			uppers = 0
			w.run = append(w.run, c)
		case isJoiner, isQuote:
			skip := 1
			if c != text[i] {
				skip = len("’")
			}
			if !beginsWord(text[i+skip:]) {
				w.endPart(start)
				return i + skip
			}
			if kind == isJoiner {
				w.endPart(start)
				w.run = append(w.run, c)
				start = len(w.run)
			} else if next := text[i+skip]; (next == 's' || next == 'S') && !beginsWord(text[i+skip+1:]) {
				w.endPart(start) // Caroline's
				return i + skip + 1
			}
			previous, uppers = isOther, 0
			i += skip
			continue
		default:
			w.endPart(start)
			return i
		}
		previous = kind
		i++
	}
	w.endPart(start)
	return i
}

// endPart appends the part from start to the end of w.run, unless it is empty, and returns where the next one begins.
func (w *Words) endPart(start int) int {
	if len(w.run) > start {
		w.parts = append(w.parts, part{start, len(w.run)})
	}
	return len(w.run)
}

// termOf returns the term that a word is indexed as, nil for a stop word or one that is too long. It may overwrite word.
func (w *Words) termOf(word []byte) []byte {
	switch {
	case len(word) > maxTerm || !w.raw && isStop(word):
		return nil
	case w.raw:
		return word
	}
	return stemWord(word)
}

// runIsTerm reports whether the run in w.run is a term itself, beside its parts.
func (w *Words) runIsTerm() bool { return !w.raw && len(w.parts) > 1 && len(w.run) <= maxTerm }

// letterPairs calls term with each pair of adjacent letters of a run in a script without spaces, and returns its end. A single letter is a term.
func (w *Words) letterPairs(text string, i int, term func([]byte)) int {
	var last rune
	count := 0
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !isUnspaced(r) {
			break
		}
		if count++; count > 1 {
			term(utf8.AppendRune(utf8.AppendRune(w.buf[:0], last), r))
		}
		last = r
		i += n
	}
	if count == 1 {
		term(utf8.AppendRune(w.buf[:0], last))
	}
	return i
}

// beginsWord reports whether a text begins with a letter or a digit.
func beginsWord(text string) bool {
	if text == "" {
		return false
	}
	if c := text[0]; c < utf8.RuneSelf {
		return class[c] == isLower || class[c] == isUpper || class[c] == isDigit
	}
	r, _ := utf8.DecodeRuneInString(text)
	return isWordRune(r) && !isUnspaced(r)
}

// isWordRune reports whether words consist of such characters: letters, digits and the marks on letters.
func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r))
}

// isUnspaced reports whether a letter belongs to a script without spaces between words.
func isUnspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

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
			end, run := w.nextRun(text, i, func(term []byte) {
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
				if stemmed := w.termOf(w.spare); string(stemmed) != word {
					term = string(stemmed)
				}
				token := Token{Word: word, Term: term, Run: trimJoiners(text[at:end]), Part: n, Parts: len(w.parts), At: at, End: end}
				token.Breaks = breaks && n == 0
				on = on && yield(token)
			}
			if w.runIsTerm() {
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

// trimJoiners removes the characters at the end of a run, such as "-" and "'", that would join it with a next part.
func trimJoiners(run string) string {
	for run != "" {
		if c := run[len(run)-1]; c >= utf8.RuneSelf || class[c] != isJoiner && class[c] != isQuote {
			break
		}
		run = run[:len(run)-1]
	}
	return run
}

// endsSentence reports whether the characters between two words end a sentence or a line.
func endsSentence(between string) bool {
	for i, r := range between {
		if r < utf8.RuneSelf && strings.IndexByte(".!?;:\n", between[i]) >= 0 || r > utf8.RuneSelf && strings.ContainsRune("。！？；：", r) {
			return true
		}
	}
	return false
}

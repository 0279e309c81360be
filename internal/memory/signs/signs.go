// Package signs tells by the words of a text what sort of thing it says, in English, German, Chinese and Spanish:
//
//	signs.States("We use pnpm in the frontend.")      // true
//	signs.States("Which package manager do we use?")  // false: a question
//	signs.States("Fix the tests of the frontend")     // false: an order
//
// It goes by how sentences begin and end, and by lists of words that are about no subject. It is read for each record that is kept, so
// it looks at few words of each sentence and stops at the first that states something.
package signs

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/limit"
)

//go:embed signs.txt
var text string

var lists = lazy.Lists{Text: &text}

// Signs, in the order of signs.txt, which says what they are.
const (
	Order uint64 = 1 << iota
	Ask
	Polite
	Mine
	Here
	Question
	Said
	List
	Greeting
	General
	Person
	Likes
	Fact
	Reason
	Way
	Should
	speaker
	relation
	finite
	article
	lasting
	request
)

// Lookup returns the signs of a word in lower case; 0 if it has none.
func Lookup(word string) uint64 { return lists.Of(word) }

// Words returns all words with their signs. It is not to be changed.
func Words() map[string]uint64 { return lists.Words() }

const (
	maxText  = 4 << 10 // bytes of a text that are read
	maxWords = 12      // words of a sentence that are read
	leastHan = 4       // letters of a sentence of Chinese that says something
)

// States reports whether a text has a sentence that states something: one that neither asks nor tells what to do, and is more than an exclamation.
func States(text string) bool {
	text = limit.Clip(text, maxText)
	from := 0
	for i, r := range text {
		switch r {
		case '.', '?', '!', ';':
			next, _ := utf8.DecodeRuneInString(text[i+1:])
			if unicode.IsLetter(next) || unicode.IsDigit(next) || next == '=' { // v1.2, main.go, /?page=2
				continue
			}
		case '\n', '。', '！', '？', '；', '؟':
		default:
			continue
		}
		if sentenceStates(text[from:i], r) {
			return true
		}
		from = i + utf8.RuneLen(r)
	}
	return sentenceStates(text[from:], 0)
}

// sentenceStates reports whether a sentence states something. mark ends it, 0 if the text does.
func sentenceStates(sentence string, mark rune) bool {
	if strings.ContainsRune("?？؟", mark) {
		return questionStates(sentence)
	}
	var words []string
	for f := range strings.FieldsSeq(sentence) {
		w := strings.ToLower(strings.Trim(f, ",:()[]{}\"'“”„«»‘’*_-–—#>.!¿¡`"))
		first, _ := utf8.DecodeRuneInString(w)
		switch {
		case w == "" || len(words) == 0 && strings.Trim(w, "0123456789)") == "":
			continue
		case len(words) == 0 && unicode.Is(unicode.Han, first):
			return hanStates(sentence, mark)
		case len(words) == 0 && Lookup(w)&speaker == 0 && Lookup(w)&(Polite|Greeting) != 0:
			if Lookup(w)&request != 0 {
				return false // can we, could you
			}
			continue
		}
		if words = append(words, w); len(words) == maxWords {
			break
		}
	}
	if len(words) == 0 {
		return false
	}
	enough := len(words) >= 3 || len(words) == 2 && mark == '.'
	switch first := Lookup(words[0]); {
	case first&speaker != 0:
		return enough
	case first&(Order|Ask) != 0:
		return enough && (isNoun(words) || slices.ContainsFunc(words, func(w string) bool { return Lookup(w)&lasting != 0 }))
	case first&Question != 0 && first&relation == 0:
		return enough && (mark == '.' || strings.Contains(sentence, ": ")) // When a release is cut, Marta tags it.
	}
	return enough
}

// questionStates reports whether a question has a clause before the one that asks in which somebody speaks of himself: my keys stay in the safe, who
// knows of them?
func questionStates(question string) bool {
	clauses := strings.FieldsFunc(question, func(r rune) bool { return strings.ContainsRune(",:，：", r) })
	for _, c := range clauses[:max(len(clauses)-1, 0)] {
		c = strings.ToLower(strings.TrimSpace(c))
		first, _, _ := strings.Cut(c, " ")
		own := Lookup(first)&(speaker|Mine) != 0
		for w, in := range Words() {
			own = own || in&speaker != 0 && IsHan(w) && strings.HasPrefix(c, w)
		}
		if own && sentenceStates(c, 0) {
			return true
		}
	}
	return false
}

// isNoun reports whether the first word of a sentence, which may be an order, is a part of its subject: build servers are, test data has. Then a verb follows
// with nothing between them that begins an object.
func isNoun(words []string) bool {
	for _, w := range words[1:min(len(words), 4)] {
		if Lookup(w)&finite != 0 {
			return true
		}
		if Lookup(w)&article != 0 {
			return false
		}
	}
	return false
}

// hanStates is sentenceStates for a sentence of a script without spaces: its words are looked for as they stand.
func hanStates(sentence string, mark rune) bool {
	sentence = strings.TrimSpace(sentence)
	letters := 0
	for _, r := range sentence {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			letters++
		}
	}
	if letters < leastHan {
		return false
	}
	head := sentence
	for w := longestPrefix(head, Polite|Greeting); w != ""; w = longestPrefix(head, Polite|Greeting) {
		head = strings.TrimLeft(head[len(w):], "，, ")
	}
	for w, in := range Words() {
		if in&Question != 0 && IsHan(w) && mark != '。' && strings.Contains(sentence, w) {
			return false
		}
	}
	for _, from := range []string{head, sentence} { // what is taken for polite may begin the word of the order
		if w := longestPrefix(from, Order|Ask); w != "" {
			rest := strings.TrimPrefix(head, w)
			at := strings.IndexAny(rest, "是为")
			return at >= 0 && at <= 6*utf8.RuneLen('是') && !strings.ContainsAny(rest[:at], "把给的")
		}
	}
	return true
}

// longestPrefix returns the longest Chinese word with one of these signs that a text begins with (你好 and not 你); "" if there is none.
func longestPrefix(text string, signs uint64) (longest string) {
	for w, in := range Words() {
		if in&signs != 0 && len(w) > len(longest) && IsHan(w) && strings.HasPrefix(text, w) {
			longest = w
		}
	}
	return longest
}

// IsHan reports whether a word is one of Chinese.
func IsHan(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.Is(unicode.Han, r)
}

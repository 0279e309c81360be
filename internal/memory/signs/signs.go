package signs

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/limit"
)

//go:embed signs.txt
var text string

// All returns the words of each sign, by its name.
var All = sync.OnceValue(func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for name, words := range Sections(text) {
		out[name] = map[string]bool{}
		for _, w := range words {
			out[name][w] = true
		}
	}
	return out
})

// Sections reads a file of words: a line that is one word alone names a section, and the lines behind it hold its words. A line with # in front is a
// comment, and a section follows it.
func Sections(text string) map[string][]string {
	out := map[string][]string{}
	name, fresh := "", true
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == "#":
			fresh = true
		case fresh:
			name, fresh = fields[0], false
		default:
			out[name] = append(out[name], fields...)
		}
	}
	return out
}

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
		if states(text[from:i], r) {
			return true
		}
		from = i + utf8.RuneLen(r)
	}
	return states(text[from:], 0)
}

// states reports whether a sentence states something. mark ends it, 0 if the text does.
func states(sentence string, mark rune) bool {
	if strings.ContainsRune("?？؟", mark) {
		return statesBefore(sentence)
	}
	s := All()
	var words []string
	for f := range strings.FieldsSeq(sentence) {
		w := strings.ToLower(strings.Trim(f, ",:()[]{}\"'“”„«»‘’*_-–—#>.!¿¡`"))
		first, _ := utf8.DecodeRuneInString(w)
		switch {
		case w == "" || len(words) == 0 && strings.Trim(w, "0123456789)") == "":
			continue
		case len(words) == 0 && unicode.Is(unicode.Han, first):
			return statesHan(sentence, mark)
		case len(words) == 0 && !s["speaker"][w] && (s["polite"][w] || s["greeting"][w]):
			if s["request"][w] {
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
	switch first := words[0]; {
	case s["speaker"][first]:
		return enough
	case s["order"][first] || s["ask"][first]:
		return enough && (isNoun(words) || slices.ContainsFunc(words, func(w string) bool { return s["lasting"][w] }))
	case s["question"][first] && !s["relation"][first]:
		return enough && (mark == '.' || strings.Contains(sentence, ": ")) // When a release is cut, Marta tags it.
	}
	return enough
}

// statesBefore reports whether a question has a clause before the one that asks in which somebody speaks of himself: my keys stay in the safe, who knows of them?
func statesBefore(question string) bool {
	clauses := strings.FieldsFunc(question, func(r rune) bool { return strings.ContainsRune(",:，：", r) })
	for _, c := range clauses[:max(len(clauses)-1, 0)] {
		c = strings.ToLower(strings.TrimSpace(c))
		first, _, _ := strings.Cut(c, " ")
		own := All()["speaker"][first] || All()["mine"][first]
		for w := range All()["speaker"] {
			own = own || IsHan(w) && strings.HasPrefix(c, w)
		}
		if own && states(c, 0) {
			return true
		}
	}
	return false
}

// isNoun reports whether the first word of a sentence, which may be an order, is a part of its subject: build servers are, test data has. Then a verb follows
// with nothing between them that begins an object.
func isNoun(words []string) bool {
	s := All()
	for _, w := range words[1:min(len(words), 4)] {
		if s["finite"][w] {
			return true
		}
		if s["article"][w] {
			return false
		}
	}
	return false
}

// statesHan is states for a sentence of a script without spaces: its words are looked for as they stand.
func statesHan(sentence string, mark rune) bool {
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
	s := All()
	head := sentence
	for trimmed := true; trimmed; {
		trimmed = false
		for _, sign := range []string{"polite", "greeting"} {
			for w := range s[sign] {
				if IsHan(w) && strings.HasPrefix(head, w) {
					head, trimmed = strings.TrimLeft(head[len(w):], "，, "), true
				}
			}
		}
	}
	for w := range s["question"] {
		if IsHan(w) && mark != '。' && strings.Contains(sentence, w) {
			return false
		}
	}
	for _, sign := range []string{"order", "ask"} {
		for w := range s[sign] {
			if IsHan(w) && (strings.HasPrefix(head, w) || strings.HasPrefix(sentence, w)) {
				rest := strings.TrimPrefix(head, w)
				at := strings.IndexAny(rest, "是为")
				return at >= 0 && at <= 6*utf8.RuneLen('是') && !strings.ContainsAny(rest[:at], "把给的")
			}
		}
	}
	return true
}

// IsHan reports whether a word is one of Chinese.
func IsHan(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.Is(unicode.Han, r)
}

// Package standing finds the standing instructions in what a person typed: "always answer in German", "from now on use pnpm".
//
//	for _, i := range standing.Find(text) {
//		i.Sentence // word for word
//		i.Topic    // "language of answers": a later instruction with the same topic takes the place of this one
//	}
//
// No model is asked: a sentence counts by its form in English, German, Spanish or Chinese. It speaks to the agent (an imperative, "you should", "ich
// möchte, dass du") and says that it holds from now on or always. What an instruction missed costs is little, and one that was none is followed for
// ever: so questions, quotations, reports, code, what the task at hand is to do, and rules for somebody else's prompt are none. Whose words they
// are is the caller's to know. testdata has a set that this was written with, and one that was kept apart; the test holds precision and recall.
package standing

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Instruction is a standing instruction.
type Instruction struct {
	Sentence string // as it was typed
	// Topic names the thing that it is about. Of two with the same topic the later counts.
	Topic string
	// Everywhere is true for what concerns the person and how to talk to them, in any project.
	Everywhere bool
}

// Bounds of what is looked at, and of what is found in one message: who types more rules than that has pasted them.
const (
	maxText     = 1 << 10
	maxSentence = 240
	maxFound    = 5
)

// Find returns the standing instructions in a message; none for a long one, for one with more than maxFound of them, and for one that shows
// signs of being somebody else's text.
func Find(text string) []Instruction {
	if len(text) > maxText {
		return nil
	}
	low := strings.ToLower(text)
	all := splitSentences(text)
	if !hasHint(low) && !slices.ContainsFunc(all, func(s sentence) bool { return beginsOccasion(strings.ToLower(s.text)) }) {
		return nil
	}
	task := false // whether the message also says what is to be built
	for _, s := range all {
		task = task || tellsToBuild(s.text)
	}
	var found []Instruction
	for _, s := range all {
		if s.question || !hasHint(strings.ToLower(s.text)) && !beginsOccasion(strings.ToLower(s.text)) || len(s.text) > maxSentence || !isPlain(s.text) {
			continue
		}
		ok := false
		if isChinese(s.text) {
			ok = isChineseInstruction(s.text)
		} else {
			ok = isLatinInstruction(s.text, task)
		}
		if ok {
			topic, everywhere := findTopic(s.text)
			found = append(found, Instruction{s.text, topic, everywhere})
		}
	}
	if len(found) > maxFound || len(found) > 0 && matches(low, foreign) {
		return nil
	}
	return found
}

// hints are parts of the words without one of which no sentence is an instruction: most texts have none, and are read no further.
const (
	hints = `always,never,t ever,not ever,now on,forward,future,here on,immer,nie,stets,jetzt,sofort,künftig,zukunft,nun an,grundsätzlich,ausnahmslos,fortan,` +
		`siempre,nunca,jamás,ahora,adelante,futuro,sucesivo,以后,今后,现在,往后,永远,绝,千万,切勿,始终,一直,总是,一律,每次,从今`
	// begins are those with which a sentence about an occasion begins.
	begins = "before ,after ,when,every ,each ,on ,vor ,nach,bevor ,wenn ,jedes,antes ,después ,cada ,cuando "
)

// hasHint reports whether a text in lower case has a hint.
func hasHint(low string) bool {
	for h := range strings.SplitSeq(hints, ",") {
		if strings.Contains(low, h) {
			return true
		}
	}
	return false
}

// beginsOccasion reports whether a sentence in lower case begins like one about an occasion ("when", "before").
func beginsOccasion(low string) bool {
	for b := range strings.SplitSeq(begins, ",") {
		if strings.HasPrefix(low, b) {
			return true
		}
	}
	return false
}

type sentence struct {
	text     string
	question bool
}

// splitSentences cuts a text at line breaks and behind full stops, question marks and exclamation marks.
func splitSentences(text string) (out []sentence) {
	put := func(s string, question bool) {
		s = strings.TrimSpace(s)
		s = strings.TrimSpace(strings.TrimLeft(s, "-*•"))
		if s != "" {
			out = append(out, sentence{s, question || strings.HasPrefix(s, "¿")})
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		start := 0
		for i, r := range line {
			end := i + utf8.RuneLen(r)
			switch r {
			case '.', '!', ';':
				if end < len(line) && line[end] != ' ' {
					continue // a file's name, an ellipsis
				}
				put(line[start:end], false)
			case '?', '？':
				put(line[start:end], true)
			case '。', '！', '；':
				put(line[start:end], false)
			default:
				continue
			}
			start = end
		}
		put(line[start:], false)
	}
	return out
}

// isPlain reports whether a sentence has neither code nor quotation marks: what is quoted is not said.
func isPlain(s string) bool {
	return !strings.ContainsAny(s, "`{}<>=\"“”„«»「」|\\[]") && !strings.Contains(s, "()") && !strings.Contains(s, "://")
}

// isChinese reports whether a sentence is mostly Chinese.
func isChinese(s string) bool {
	han, letters := 0, 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return han > 0 && 3*han >= letters
}

// splitWords returns the words of a sentence in lower case, and which of them a comma or colon follows.
func splitWords(s string) (words []string, pause []bool) {
	for f := range strings.FieldsSeq(strings.ToLower(s)) {
		f = strings.Map(func(r rune) rune {
			if r == '\'' || r == '’' {
				return -1
			}
			return r
		}, f)
		w := strings.Trim(f, ".,!?:;()¡¿…–—")
		if w == "" {
			if len(pause) > 0 {
				pause[len(pause)-1] = true
			}
			continue
		}
		words = append(words, w)
		pause = append(pause, strings.HasSuffix(f, ",") || strings.HasSuffix(f, ":"))
	}
	return words, pause
}

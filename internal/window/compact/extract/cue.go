package extract

import "strings"

// cue is a set of bits that say whether the words of a line command something or report an error.
type cue uint8

const (
	cueConstraint cue = 1 << iota
	cueError
)

// The words are matched in lower case, each at the start of a word. They are English and a few of
// the commonest elsewhere; a line without any is still weighed by what it holds.
var cueWords = []struct {
	is    cue
	words []string
}{
	{cueConstraint, []string{
		"must", "never", "always", "do not", "don't", "only ", "required", "make sure", "ensure", "forbidden", "not allowed",
		"avoid", "without ", "at least", "at most", "no more than", "instead of", "keep ", "remember", "important", "should",
		"niemals", "immer ", "nicht ", "muss ", "jamais", "toujours", "nunca", "siempre", "不要", "必须", "禁止",
	}},
	{cueError, []string{
		"error", "failed", "failure", "panic", "exception", "fatal", "traceback", "denied", "refused", "timed out", "cannot", "undefined",
		"not found", "segfault", "exit status", "exit code", "assert",
	}},
}

// cues returns those of the cues in ask that a line has in its first longLine bytes. scratch is memory for it.
func cues(text string, ask cue, scratch []byte) (found cue) {
	text = text[:min(len(text), longLine)]
	lower := append(scratch[:0], ' ')
	for i := range len(text) {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower = append(lower, c)
	}
	view := string(lower)
	for _, group := range cueWords {
		if group.is&ask == 0 {
			continue
		}
		for _, word := range group.words {
			if beginsWord(view, word) {
				found |= group.is
				break
			}
		}
	}
	return found
}

// beginsWord reports whether a word stands in a text at the start of a word; the text begins with a space.
func beginsWord(text, word string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		if c := class[text[at-1]]; c == 0 || c == 'p' || word[0] >= 0x80 {
			return true
		}
		from = at + len(word)
	}
}

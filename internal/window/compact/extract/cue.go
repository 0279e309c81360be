package extract

import (
	"cmp"
	"slices"
	"strings"
)

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

// cuesIn returns which of the cues in ask the first longLine bytes of a line have. scratch is memory for its work.
func cuesIn(text string, ask cue, scratch []byte) (found cue) {
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
			if hasWordStart(view, word) {
				found |= group.is
				break
			}
		}
	}
	return found
}

// hasWordStart reports whether word stands in text at the beginning of a word; a word that is not ASCII may stand anywhere. text must begin
// with a space, because the byte before a match is read.
func hasWordStart(text, word string) bool {
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

// A line stands out of a result when it weighs at least notableScore, and notableRatio times what the
// line in the middle of the result does: of a log or a listing none does.
const (
	notableScore = 0.4
	notableRatio = 2
)

// Notable returns for each turn that is a Result the lines of it that a later turn probably needs: at most most of them, in their order,
// each in at most n bytes; "" if no line stands out, and for other turns. The other turns decide which words are rare and which were
// mentioned.
func Notable(turns []Turn, n, most int) []string {
	turns = newestTurns(turns, DefaultScan)
	all := linesOf(turns)
	weighLines(all, turns, nil)
	found := make([]string, len(turns))
	var scores []float64
	var best []int // the heaviest first
	for i := 0; i < len(all); {
		turn, end := all[i].turn, i
		scores, best = scores[:0], best[:0]
		for ; end < len(all) && all[end].turn == turn; end++ {
			scores = append(scores, all[end].score)
			if len(all[end].tokens) == 0 || all[end].score < notableScore {
				continue
			}
			at, _ := slices.BinarySearchFunc(best, all[end].score, func(k int, score float64) int { return cmp.Compare(score, all[k].score) })
			for at < len(best) && all[best[at]].score == all[end].score {
				at++
			}
			if at < most {
				best = slices.Insert(best, at, end)[:min(len(best)+1, most)]
			}
		}
		i = end
		if len(best) == 0 || turns[turn].Kind != Result {
			continue
		}
		slices.Sort(scores)
		if len(scores) > 1 {
			least := notableRatio * scores[(len(scores)-1)/2]
			best = slices.DeleteFunc(best, func(k int) bool { return all[k].score < least })
		}
		slices.Sort(best)
		var text []string
		for _, k := range best {
			text = append(text, shortenText(all[k].shortened(), n))
		}
		found[turn] = strings.Join(text, "\n")
	}
	return found
}

// Failed returns for each turn that is the Result of a command the lines about failures in it, in at most n bytes together; "" where there
// are none, and for other turns. A failure counts also if the command was run again later: it is what happened then.
func Failed(turns []Turn, n int) []string {
	turns = newestTurns(turns, DefaultScan)
	found := make([]string, len(turns))
	for _, f := range gatherRecords(turns).failures.list {
		text := ""
		for _, l := range f.lines {
			if len(text)+len(l)+1 > n {
				break
			}
			if text != "" {
				text += "\n"
			}
			text += l
		}
		found[f.turn] = text
	}
	return found
}

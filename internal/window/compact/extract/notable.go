package extract

import (
	"cmp"
	"slices"
	"strings"
)

// A line stands out of a result when it weighs at least notableScore, and notableRatio times what the
// line in the middle of the result does: of a log or a listing none does.
const (
	notableScore = 0.4
	notableRatio = 2
)

// Notable returns for each turn that is a Result the lines of it that a later turn is likeliest to need: at most most of them, in their
// order, each in at most n bytes; "" where no line stands out, and for other turns. The other turns decide which words are rare and which
// were spoken of.
func Notable(turns []Turn, n, most int) []string {
	turns = newest(turns, DefaultScan)
	all := lines(turns)
	weigh(all, turns, nil)
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
			text = append(text, shorten(all[k].shortened(), n))
		}
		found[turn] = strings.Join(text, "\n")
	}
	return found
}

// Failed returns for each turn that is the Result of a command the lines about failures in it, in at most n bytes together; "" where there
// are none, and for other turns. A failure counts also if the command was run again later: it is what happened then.
func Failed(turns []Turn, n int) []string {
	turns = newest(turns, DefaultScan)
	found := make([]string, len(turns))
	for _, f := range gather(turns).failures.list {
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

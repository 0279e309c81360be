package extract

import "slices"

// A line stands out of a result when it weighs at least notableScore, and notableRatio times what the
// line in the middle of the result does: of a log or a listing none does.
const (
	notableScore = 0.4
	notableRatio = 2
)

// Notable returns for each turn that is a Result the line of it that a later turn is likeliest to
// need, in at most n bytes; "" where no line stands out. The other turns decide with what
// is rare, and what was spoken of.
func Notable(turns []Turn, n int) []string {
	turns = newest(turns, DefaultScan)
	all := lines(turns)
	weigh(all, nil)
	found := make([]string, len(turns))
	var scores []float64
	for i := 0; i < len(all); {
		turn, end, best := all[i].turn, i, -1
		scores = scores[:0]
		for ; end < len(all) && all[end].turn == turn; end++ {
			scores = append(scores, all[end].score)
			if len(all[end].tokens) > 0 && (best < 0 || all[end].score > all[best].score) {
				best = end
			}
		}
		i = end
		if best < 0 || turns[turn].Kind != Result || all[best].score < notableScore {
			continue
		}
		slices.Sort(scores)
		if len(scores) == 1 || all[best].score >= notableRatio*scores[(len(scores)-1)/2] {
			found[turn] = shorten(all[best].shortened(), n)
		}
	}
	return found
}

// Failed returns for each turn that is the Result of a command what it says that went wrong, in
// at most n bytes on lines of their own; "" where nothing did. What was run again later is told
// of too: it is what happened then.
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

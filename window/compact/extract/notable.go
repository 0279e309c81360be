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
	all := lines(turns, DefaultScan)
	weigh(all)
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

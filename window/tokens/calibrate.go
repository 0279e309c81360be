package tokens

import (
	"math"
	"slices"
)

const (
	// window is the number of newest reports that a calibration uses.
	window = 32
	// perClass is the number of newest ratios of a class that are kept.
	perClass = window / int(classes-1)
	// minTail is the least number of tokens of a tail from which a ratio is learned: below, the markers between messages weigh more than
	// their text.
	minTail = 48
	// enough is the number of ratios of a class from which on they replace the family's own factors.
	enough = 3
)

// calibration relates one provider's reported counts of a model to the estimates.
type calibration struct {
	ratios [classes][perClass]float32 // report ÷ our best estimate, of tails of a class
	seen   [classes]int
	errors [window]float32 // |estimate − report| ÷ report
	noted  int
}

// record adds the error of an expected number of tokens against the reported input.
func (c *calibration) record(expected Estimate, input int) {
	c.errors[c.noted%window] = float32(math.Abs(float64(expected.Best-input)) / float64(input))
	c.noted++
}

// learn records how much more the provider counted than we did, for the messages with index through and later. input is the provider's
// count of the whole request, and before that of everything in front of those messages, give or take slack. It learns nothing unless two
// thirds of the text is of one class and less than a fifth is reasoning.
func (c *calibration) learn(t *Tally, through, before, input, slack int) {
	var of [classes]int
	all, thought := 0, 0
	for i := through; i < len(t.Messages); i++ {
		of[t.counts[i].class] += t.Messages[i].Best
		all += t.Messages[i].Best
		thought += int(t.counts[i].thought)
	}
	// Whether thoughts were counted shows in no number. Where they are few, take it that
	// they were not: the ratio is then on the high side.
	if thought*5 > all {
		return
	}
	all -= thought
	if through == 0 {
		// The head is in the number, and the rules of tools in the head.
		if t.Head.High-t.Head.Low > all/10 {
			return
		}
		before = t.Head.Best + t.Extra.Best
	}
	most := class(0)
	for k := range classes {
		if of[k] > of[most] {
			most = k
		}
	}
	if all < minTail+10*slack || of[most]*3 < all*2 || input <= before {
		return
	}
	ratio := float64(input-before) / float64(all)
	c.ratios[most][c.seen[most]%perClass] = float32(min(max(ratio, 0.2), 6))
	c.seen[most]++
}

// adjust returns e, an estimate for text of class k, with the family's band replaced by one around the ratios seen, if there are enough of
// them. thought is the part of e that is reasoning. The band keeps a margin: of the spread seen, of the family's own band (less with more
// reports), and of a few tokens for the markers between messages. A number above the family's High widens it.
func (c *calibration) adjust(f Family, e Estimate, k class, thought int32) Estimate {
	if c == nil || c.seen[k] == 0 {
		return e
	}
	if f.Exact() || e.Best == 0 || int(thought)*5 > e.Best || k == other || c.seen[k] < enough {
		return c.widen(f, e, k)
	}
	seen := c.ratios[k][:min(c.seen[k], perClass)]
	lowest, highest := float64(slices.Min(seen)), float64(slices.Max(seen))
	best := float64(e.Best)
	slack := max(0.04, (highest-lowest)/2)
	shrink := 0.5 / math.Sqrt(float64(len(seen)))
	above := max(slack, shrink*(float64(e.High)/best-1))
	below := max(slack, shrink*(1-float64(e.Low)/best))
	var sum float64
	for _, r := range seen {
		sum += float64(r)
	}
	return Estimate{
		Low:  max(0, int(best*(lowest-below))-4),
		Best: int(best*sum/float64(len(seen)) + 0.5),
		High: int(best*(highest+above)) + 8,
	}
}

// widen returns e with High raised to the highest ratio that was seen of the class.
func (c *calibration) widen(f Family, e Estimate, k class) Estimate {
	margin := 1.1
	if f.Exact() {
		margin = 1 // what was seen is what separates messages, and that hardly varies
	}
	highest := float64(slices.Max(c.ratios[k][:min(c.seen[k], perClass)]))
	e.High = max(e.High, int(float64(e.Best)*highest*margin)+8)
	return e
}

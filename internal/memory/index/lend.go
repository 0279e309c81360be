package index

import (
	"strings"
	"unicode"
)

// lender adds up the scores of documents for one word of a query after the other, and gives each document's neighbours a part of its score.
type lender struct {
	x             *Index
	docs          []cell
	word          uint32  // counted from 1
	most, sum     float32 // the weights of the largest part of a word, and of each part
	one, two      float32
	ahead, answer float32
	lanes         [lanes]float32
}

// newLender returns a lender with the index's weights.
func (x *Index) newLender() lender {
	l := lender{
		x: x, docs: x.scratch.docs, most: float32(x.p.Peak), sum: float32(1 - x.p.Peak),
		one: float32(x.p.Near[0]), two: float32(x.p.Near[1]), ahead: float32(x.p.Ahead), answer: float32(1 + x.p.Answer),
	}
	for i, w := range x.p.Lanes {
		l.lanes[i] = float32(w)
	}
	return l
}

// addPart adds a part of the current word's score to document n. Of several parts for one word the largest counts fully and the others partly.
func (l *lender) addPart(n uint32, part float32) {
	c := &l.docs[n]
	if c.word != l.word {
		c.word, c.peak = l.word, 0
	}
	c.score += l.sum * part
	if more := part - c.peak; more > 0 {
		c.score += l.most * more
		c.peak = part
	}
}

// lendToNeighbours adds a part of a document's score for the current word to the documents before and after it in the conversation, and a
// smaller part to the turns beyond those. An answer to a question gets more.
func (l *lender) lendToNeighbours(d *doc, own float32) {
	if l.one == 0 {
		return
	}
	own *= l.lanes[d.lane] // what counts less counts less for others too
	one, two := l.one*own, l.two*own
	if d.prev != 0 {
		l.addPart(d.prev-1, one)
		if n := l.x.neighbourOf(d.prev, false); n != 0 {
			l.addPart(n-1, two)
		}
	}
	if d.next != 0 {
		one, two := one*l.ahead, two*l.ahead
		if l.answer != 1 && l.x.isAnswered(d) {
			one *= l.answer
		}
		l.addPart(d.next-1, one)
		if n := l.x.neighbourOf(d.next, true); n != 0 {
			l.addPart(n-1, two)
		}
	}
}

// Spread weighs scores that were found otherwise than by words, one for each document, as a search does: each document gets parts of its neighbours'
// scores, unless alone is set, and is multiplied by the weight of its lane. It returns a new slice.
func (x *Index) Spread(own []float32, alone bool) []float32 {
	out := make([]float32, len(own))
	one, two := float32(x.p.Near[0]), float32(x.p.Near[1])
	for n, score := range own {
		if score == 0 {
			continue
		}
		d := &x.docs[n]
		out[n] += score
		score *= float32(x.p.Lanes[d.lane]) // what counts less counts less for others too
		if alone {
			continue
		}
		for _, way := range [2]struct {
			next  uint32
			ahead bool
		}{{d.prev, false}, {d.next, true}} {
			if way.next == 0 {
				continue
			}
			out[way.next-1] += one * score
			if far := x.neighbourOf(way.next, way.ahead); far != 0 {
				out[far-1] += two * score
			}
		}
	}
	for n := range out {
		out[n] *= float32(x.p.Lanes[x.docs[n].lane])
	}
	return out
}

// isAnswered reports whether a document ends with a question and the next one in the conversation is of another turn and the same lane.
func (x *Index) isAnswered(d *doc) bool {
	if d.flags&asks == 0 || d.next == 0 {
		return false
	}
	next := &x.docs[d.next-1]
	return next.lane == d.lane && next.turn != d.turn
}

// endsWithQuestion reports whether a text ends with a question mark, of any of the scripts that have one.
func endsWithQuestion(text string) bool {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "؟")
}

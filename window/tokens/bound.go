package tokens

import "github.com/plimsoll/plimsoll/window/wire"

// quickBytes is how much text is counted without asking whether that is needed: it takes less than a millisecond.
const quickBytes = 16 << 10

// below decides whether the texts of messages have to be counted to know that a request stays below a line.
type below struct {
	r    *wire.Request
	f    Family
	line int // what is left for the messages
}

func (b below) need(list []item, uncounted []int) bool {
	text, high := 0, 0
	for _, i := range uncounted {
		it, size := bound(b.r, b.f, i)
		text, high = text+size, high+int(it.high)
	}
	if text <= quickBytes {
		return true
	}
	for i := range list {
		high += int(list[i].high) // 0 of those that were not counted
	}
	return high > b.line
}

// Of text that is not read: most has a token for each 3.5 bytes (English 4.5, code 3, JSON 2.7, base64 1.3 to 1.8), and none less
// than one for each 10, but long runs of the same sign. No tokenizer that is known here has more than one for each byte.
const (
	boundLow, boundBest = 10, 3.5
)

// bound is what a message may cost, without reading its texts, of which size is the length in bytes.
func bound(r *wire.Request, f Family, i int) (it item, size int) {
	p := price{r: r, f: f, unread: true}
	p.message(i)
	most := clamp(max(p.most, p.sum.High))
	return item{low: clamp(p.sum.Low), best: clamp(p.sum.Best), high: most, most: most, thought: clamp(p.thought), class: unread}, p.size
}

// length is the estimate of so many bytes of text that are not read.
func (p *price) length(n int) Estimate {
	p.size += n
	p.most += n
	return Estimate{n / boundLow, int(float64(n) / boundBest), n}
}

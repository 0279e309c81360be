package tokens

import "github.com/plimsoll/plimsoll/window/wire"

// Estimate is a number of tokens that is known within a band: the truth is taken to lie
// from Low to High, and Best is where it most likely is. An exact count has all three equal.
type Estimate struct{ Low, Best, High int }

// Exactly returns the estimate whose three numbers are n.
func Exactly(n int) Estimate { return Estimate{n, n, n} }

// Plus returns the sum of two estimates.
func (e Estimate) Plus(o Estimate) Estimate {
	return Estimate{e.Low + o.Low, e.Best + o.Best, e.High + o.High}
}

// atMost returns the estimate with all three numbers lowered to at most n.
func (e Estimate) atMost(n int) Estimate {
	return Estimate{min(e.Low, n), min(e.Best, n), min(e.High, n)}
}

// Exact reports whether the number is known exactly.
func (e Estimate) Exact() bool { return e.Low == e.High }

// Over reports whether room must be made, for a trigger above which it should and a limit that must not be passed. If the band includes the
// trigger, sure is false, and over reports whether High is above the limit: a provider that counts for free should then be asked, and over
// is for callers who cannot. So nothing is touched that may be under the trigger, and nothing sent that may be over the limit.
func (e Estimate) Over(trigger, limit int) (over, sure bool) {
	switch {
	case e.High <= trigger:
		return false, true
	case e.Low > trigger:
		return true, true
	}
	return e.High > limit, false
}

// Counted is the source of a token count, in the words of the journal.
type Counted string

// The ways to know a number of input tokens.
const (
	CountedExact    Counted = "exact"    // the band is a point
	CountedEstimate Counted = "estimate" // nothing was reported for any prefix of the conversation
	CountedUsage    Counted = "usage"    // reported for a prefix, an upper estimate of the rest
	CountedProvider Counted = "provider" // the provider counted this very request
)

// A text that need not be counted is sampled: of each sampleStep bytes the sampleBytes in the middle are counted, a sixteenth.
// What 200 KB cost is then known to 5 in a hundred, 64 KB to 9, and rather above than below, since a word that is cut has one token more
// (TestSamplesAreNear, 2026-11-27). The band allows for a tenth.
const (
	sampleBytes, sampleStep = 192, 3072
	// sampleFrom is the length in bytes from which on a text is sampled.
	sampleFrom = 1 << 10
	// quickBytes is the number of bytes of text that are counted without a sample: it takes about a millisecond, and a smaller sample says
	// little.
	quickBytes = 64 << 10
)

// sampled returns the cost of message i, estimated from a sample of its texts.
func sampled(r *wire.Request, f Family, i int) item {
	p := price{r: r, f: f, enc: f.encoding(), sampled: true}
	p.s = p.enc.scratch()
	defer p.enc.release(p.s)
	p.addMessage(i)
	return item{
		known: bySample, low: clampInt32(p.sum.Low), best: clampInt32(p.sum.Best), high: clampInt32(p.sum.High),
		most: clampInt32(max(p.most, p.sum.High)), thought: clampInt32(p.thoughts), class: unread,
	}
}

// sample estimates the tokens of a text from parts of it at equal distances, with a wider band than a count has. literal means that b is a
// JSON string literal.
func (p *price) sample(b []byte, literal bool) Estimate {
	var m mix
	n := 0
	for at := (min(len(b), sampleStep) - sampleBytes) / 2; at < len(b); at += sampleStep {
		part := b[at:min(at+sampleBytes, len(b))]
		n += len(part)
		if literal {
			p.enc.countLiteral(p.s, part, &m)
		} else {
			p.enc.countText(p.s, part, &m)
		}
	}
	m.moveDense()
	m.scale(len(b), n)
	p.most += len(b)
	e := m.estimate(p.f)
	return Estimate{e.Low * 10 / 11, e.Best, min(e.High*11/10, len(b))}
}

// scale extrapolates a mix of part bytes to a text of whole bytes.
func (m *mix) scale(whole, part int) {
	for k := range kinds {
		m.tokens[k] = clampInt32(int(m.tokens[k]) * whole / part)
		m.bytes[k] = clampInt32(int(m.bytes[k]) * whole / part)
	}
}

// textBytes returns the number of bytes of a message that counting it would read.
func textBytes(r *wire.Request, i int) (n int) {
	for j := range r.Messages[i].Parts {
		p := &r.Messages[i].Parts[j]
		n += p.Raw.Len()
		if p.Raw.IsZero() {
			for _, s := range p.Texts {
				n += s.Len()
			}
		}
	}
	return n
}

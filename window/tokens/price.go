package tokens

import (
	"math"

	"github.com/plimsoll/plimsoll/window/wire"
)

// everyRequest returns the tokens that a provider adds to a request, whatever is in it.
func everyRequest(r *wire.Request, f Family) Estimate {
	price := &r.Dialect.Rules().Price
	e := Estimate(price.Request)
	if !f.Exact() {
		e = Estimate(price.Model)
	}
	switch {
	case len(r.Tools) > 0 && price.ToolsInside:
		return Estimate(price.Tools)
	case len(r.Tools) > 0:
		e = e.Plus(Estimate(price.Tools))
	}
	return e
}

// perMessage returns the tokens that separate one message from the next: the role and its markers.
func perMessage(r *wire.Request, f Family) Estimate {
	price := &r.Dialect.Rules().Price
	if f.Exact() {
		return Estimate(price.Own)
	}
	return Estimate(price.Message)
}

// Calls, results and tools have markers of their own, and ids where the model sees them.
var (
	perCall   = Estimate{2, 8, 30}
	perResult = Estimate{2, 6, 26}
	perTool   = Estimate{2, 8, 24}
)

// price is the sum of what an item costs, while it is computed.
type price struct {
	r   *wire.Request
	f   Family
	enc *Encoding
	s   *scratch
	sum Estimate
	// most is the upper bound of any estimate: every tokenizer that is known here has at most a token for each byte of text.
	most int
	mix  mix
	// thoughts is the reasoning included in sum.Best.
	thoughts int
	// sampled means that of long texts only a sample is counted.
	sampled bool
}

// countItem returns the counts of one item without its digests.
func countItem(r *wire.Request, f Family, w keySpace, i int) item {
	p := price{r: r, f: f, enc: f.encoding()}
	p.s = p.enc.scratch()
	defer p.enc.release(p.s)
	switch w {
	case aMessage:
		p.addMessage(i)
	case aSystem:
		p.addPart(&r.System[i])
	case aTool:
		p.addTool(r.Tools[i].Span)
	case anExtra:
		// A schema is rewritten, or only steers the sampling.
		e := p.raw(r.Extra[i])
		p.sum = Estimate{0, e.Best, e.High + 32}
	}
	return item{
		known: counted,
		low:   clampInt32(p.sum.Low), best: clampInt32(p.sum.Best), high: clampInt32(p.sum.High),
		most: clampInt32(max(p.most, p.sum.High)), class: p.mix.class(), thought: clampInt32(p.thoughts),
	}
}

// clampInt32 returns n, or the largest int32 if n is larger.
func clampInt32(n int) int32 { return int32(min(n, math.MaxInt32)) }

// addMessage adds the cost of message i.
func (p *price) addMessage(i int) {
	p.sum = perMessage(p.r, p.f)
	p.most = p.sum.High
	for j := range p.r.Messages[i].Parts {
		p.addPart(&p.r.Messages[i].Parts[j])
	}
}

// text returns the estimate for one text, and adds it to the mix. If literal is set, b is a JSON string literal.
func (p *price) text(b []byte, literal bool) Estimate {
	if p.sampled && len(b) >= sampleFrom {
		return p.sample(b, literal)
	}
	var m mix
	if literal {
		p.enc.countLiteral(p.s, b, &m)
	} else {
		p.enc.countText(p.s, b, &m)
	}
	return p.settle(&m)
}

// settle adds a mix to those of the item, and returns its estimate.
func (p *price) settle(m *mix) Estimate {
	m.moveDense()
	p.mix.plus(m)
	p.most += m.size()
	return m.estimate(p.f)
}

// raw returns the estimate for JSON as it stands, without the cache marks in it: providers do not show them to the model, and the memo must
// not depend on their position.
func (p *price) raw(s wire.Span) Estimate {
	if p.sampled && s.Len() >= sampleFrom {
		return p.sample(p.r.Raw(s), false)
	}
	var m mix
	st := stream{e: p.enc, s: p.s, m: &m}
	p.r.Unmarked(s, func(b []byte) {
		if len(b) == s.Len() {
			p.enc.countText(p.s, b, &m)
			return
		}
		st.writeText(b)
	})
	st.close()
	return p.settle(&m)
}

// opaque returns the estimate for the JSON of a part, without the base64 in it, which is counted as media.
func (p *price) opaque(part *wire.Part) (e Estimate) {
	at := part.Raw.Start
	for i := range part.Media {
		if s := part.Media[i].Span; s.Start >= at && s.End <= part.Raw.End {
			e = e.Plus(p.raw(wire.Span{Start: at, End: s.Start}))
			at = s.End
		}
	}
	return e.Plus(p.raw(wire.Span{Start: at, End: part.Raw.End}))
}

// texts returns the estimate for the texts or the JSON of a part.
func (p *price) texts(part *wire.Part) (e Estimate) {
	if !part.Raw.IsZero() {
		// Read as JSON, but written by the provider: spaces and escapes may differ.
		before := p.most
		e = p.opaque(part)
		return Estimate{e.Low * 8 / 10, e.Best, min(e.High*11/10+4, p.most-before)}
	}
	for _, s := range part.Texts {
		e = e.Plus(p.text(p.r.Raw(s), true))
	}
	return e
}

// addPart adds the cost of a part: its texts and media, and the tokens around a call or result.
func (p *price) addPart(part *wire.Part) {
	e := p.texts(part)
	texts := e.High
	switch part.Kind {
	case wire.Call:
		e = e.Plus(p.text([]byte(part.Name), false)).Plus(perCall)
	case wire.Result:
		e = e.Plus(perResult)
		if p.r.Dialect.Rules().Price.ResultName {
			e = e.Plus(p.text([]byte(part.Name), false))
		}
	case wire.Reasoning:
		// A provider may leave out the thoughts of earlier turns, and may show a summary
		// in place of what it counts; what is sealed has 3 to 4 characters of base64 for
		// each byte of text or less.
		sealed := part.Sealed.Len()
		e = Estimate{0, max(e.Best, sealed/12), e.High + sealed/4}
		for i := range part.Media {
			e = e.Plus(estimateSealed(&part.Media[i]))
		}
		p.thoughts += e.Best
		p.sum = p.sum.Plus(e)
		p.most += e.High - texts
		return
	case wire.Other:
		e.Low = 0
	case wire.Compaction:
		// A summary in words counts as words. One that is sealed has some 5 characters of base64 for a token of it.
		sealed := part.Sealed.Len()
		e = Estimate{e.Low, e.Best + sealed/6, e.High + sealed/4}
	}
	for i := range part.Media {
		m := &part.Media[i]
		e = e.Plus(estimateMedia(p.f, m, p.r.Raw(m.Head)))
	}
	p.sum = p.sum.Plus(e)
	p.most += e.High - texts
}

// addTool adds the declaration of a tool. OpenAI rewrites it as a shorter type declaration; the others put the JSON before the model more
// or less as it is.
func (p *price) addTool(s wire.Span) {
	before := p.most
	e := p.raw(s)
	price := &p.r.Dialect.Rules().Price
	e = Estimate{e.Low * price.Tool.Low / 100, e.Best * price.Tool.Best / 100, e.High * price.Tool.High / 100}
	if price.WholeTool {
		e.High = min(e.High, p.most-before)
	}
	p.sum = p.sum.Plus(e).Plus(perTool)
}

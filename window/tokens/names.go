package tokens

import (
	"crypto/sha256"

	"github.com/plimsoll/plimsoll/window/wire"
)

// Names are the messages of one request as a [Counter] knows them: looked up once for their names and their costs. They are for one goroutine.
type Names struct {
	c    *Counter
	r    *wire.Request
	f    Family
	l    *lookup
	less []int // messages that were not counted
}

// Name looks the messages of a request up. Call Done when all is known that is wanted: until then they hold the request's body.
func (c *Counter) Name(r *wire.Request, f Family) *Names {
	n := &Names{c: c, r: r, f: f, l: c.lookup()}
	n.less = c.look(r, f, aMessage, len(r.Messages), n.l)
	return n
}

// Done gives back what the names hold. More calls do nothing, also on nil.
func (n *Names) Done() {
	if n != nil && n.l != nil {
		n.c.done(n.l)
		n.l = nil
	}
}

// Chain names the messages up to and with each: the same as Chain of a [Tally], without a count.
func (n *Names) Chain() []Digest {
	list := n.c.find(n.r, n.f, aMessage, n.l, n.less, name)
	out := make([]Digest, len(list))
	for i := range list {
		out[i] = list[i].chain
	}
	return out
}

// TallyBelow is [Counter.TallyBelow] of the request.
func (n *Names) TallyBelow(line int) Tally {
	c, r, f := n.c, n.r, n.f
	t := newTally(r, f)
	var head Estimate
	sum := sha256.New()
	l := c.lookup()
	defer c.done(l)
	add := func(list []item) {
		for i := range list {
			head = head.Plus(list[i].estimate())
			sum.Write(list[i].digest[:])
		}
	}
	add(c.items(r, f, aSystem, len(r.System), l, count))
	add(c.items(r, f, aTool, len(r.Tools), l, count))
	copy(t.HeadDigest[:], sum.Sum(nil))
	t.Head = head.Plus(everyRequest(r, f))
	extra := c.items(r, f, anExtra, len(r.Extra), l, count)
	for i := range extra {
		t.Extra = t.Extra.Plus(extra[i].estimate())
	}
	t.Total = t.Head.Plus(t.Extra)
	find := count
	if line > 0 {
		find = below(line - t.Total.High)
	}
	list := c.find(r, f, aMessage, n.l, n.less, find)
	for i := range list {
		t.Chain[i] = list[i].chain
		t.set(i, &list[i])
		t.Total = t.Total.Plus(t.Messages[i])
	}
	return t
}

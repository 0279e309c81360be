package tokens

import (
	"crypto/sha256"

	"github.com/plimsoll/plimsoll/window/wire"
)

// Names are the digests of one request's messages and what a [Counter] knows of their costs, looked up once. They are for one goroutine.
type Names struct {
	c    *Counter
	r    *wire.Request
	f    Family
	l    *lookup
	less []int // messages that were not counted

	before *Tally // of a request whose first same messages are the same
	same   int
	chain  []Digest
}

// Name looks up the messages of a request. Until the caller calls Done, the Names hold the request's body.
func (c *Counter) Name(r *wire.Request, f Family) *Names { return c.NameAfter(r, f, &Tally{}, 0) }

// NameAfter is Name for a request whose first same messages are those of another request that was tallied as before: these are not looked
// up again. Of before only Family and Chain need be set.
func (c *Counter) NameAfter(r *wire.Request, f Family, before *Tally, same int) *Names {
	if before.Family != f {
		same = 0
	}
	n := &Names{c: c, r: r, f: f, l: c.lookup(), before: before, same: min(same, len(before.Chain), len(r.Messages))}
	n.less = c.recall(r, f, aMessage, len(r.Messages), n.l, before, n.same)
	return n
}

// Done releases the request. Further calls do nothing, nor does one on nil.
func (n *Names) Done() {
	if n != nil && n.l != nil {
		n.c.release(n.l)
		n.l = nil
	}
}

// Chain returns the digests of messages 0..i for each i: Chain of the [Tally], without counting. It must not be changed.
func (n *Names) Chain() []Digest {
	if n.chain == nil {
		n.chain = make([]Digest, len(n.l.list))
		list := n.c.countMissing(n.r, n.f, aMessage, n.l, n.less, findNothing)
		for i := copy(n.chain, n.before.Chain[:n.same]); i < len(list); i++ {
			n.chain[i] = list[i].chain
		}
	}
	return n.chain
}

// TallyBelow calls [Counter.TallyBelow] for the request.
func (n *Names) TallyBelow(line int) Tally {
	c, r, f := n.c, n.r, n.f
	t := Tally{
		Family: f, Model: r.Model, Chain: n.Chain(),
		Messages: make([]Estimate, len(r.Messages)), counts: make([]messageCounts, len(r.Messages)),
	}
	var head Estimate
	sum := sha256.New()
	l := c.lookup()
	defer c.release(l)
	add := func(list []item) {
		for i := range list {
			head = head.Plus(list[i].estimate())
			sum.Write(list[i].digest[:])
		}
	}
	add(c.items(r, f, aSystem, len(r.System), l, countAll))
	add(c.items(r, f, aTool, len(r.Tools), l, countAll))
	copy(t.HeadDigest[:], sum.Sum(nil))
	t.Head = head.Plus(everyRequest(r, f))
	extra := c.items(r, f, anExtra, len(r.Extra), l, countAll)
	for i := range extra {
		t.Extra = t.Extra.Plus(extra[i].estimate())
	}
	t.Total = t.Head.Plus(t.Extra)
	find := countAll
	if line > 0 {
		find = countBelow(line - t.Total.High)
	}
	list := c.countMissing(r, f, aMessage, n.l, n.less, find)
	for i := range list {
		t.setMessage(i, &list[i])
		t.Total = t.Total.Plus(t.Messages[i])
	}
	return t
}

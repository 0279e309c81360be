package tokens

import (
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/plimsoll/plimsoll/internal/recent"
	"github.com/plimsoll/plimsoll/window/wire"
)

// DefaultMemoBytes is the memory a [Counter] may use for what it remembers: about 20,000
// messages, system blocks and tools.
const DefaultMemoBytes = 4 << 20

// memoEntry is the approximate cost in bytes of one remembered message: 88 of content, and as much
// again and more that a map holds in reserve while it grows (measured: 121 to 197).
const memoEntry = 200

// Options configure a [Counter].
type Options struct {
	// MemoBytes bounds the memory of the memo; 0 means [DefaultMemoBytes].
	MemoBytes int
}

// Counter counts requests. It remembers every message it has counted under a hash of its content: for a request that continues an earlier
// one only the new messages are counted, the others hashed. It is safe for concurrent use.
type Counter struct {
	mu    sync.Mutex
	memo  recent.Map[wire.Key, item]
	pool  sync.Pool // of *lookup
	stats Stats
}

// Stats are counters of a [Counter] since it was made, and the size of its memo now.
type Stats struct {
	Hits, Misses, Evictions int64 // messages, system blocks and tools
	Entries, Bytes          int
}

// Digest identifies a message, or a chain of messages, by its content. It is the same in every process: the first half of a SHA-256.
type Digest [16]byte

// item holds the remembered counts of a message, a system block or a tool.
type item struct {
	digest    Digest
	known     level
	chain     Digest // of the messages up to this one, when those before had the digest prev
	prev      Digest
	low, high int32
	best      int32
	thought   int32 // part of best that is reasoning, which a provider may leave out
	most      int32 // upper bound of any estimate: a token for each byte, and what is around the text
	class     class
}

// level grades the knowledge of an item.
type level uint8

const (
	byName   level = iota // its digests only
	bySample              // its cost too, by a sample of its texts
	counted
)

// NewCounter returns a counter with an empty memo.
func NewCounter(o Options) *Counter {
	if o.MemoBytes <= 0 {
		o.MemoBytes = DefaultMemoBytes
	}
	c := &Counter{}
	c.memo.Max = max(o.MemoBytes/memoEntry/2, 16)
	return c
}

// Stats returns the counters.
func (c *Counter) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Evictions = c.memo.Evicted()
	s.Entries = c.memo.Len()
	s.Bytes = s.Entries * memoEntry
	return s
}

// Tally is the token cost of a request. It is immutable.
type Tally struct {
	Family Family
	Model  string
	// Head is the cost of system and tools with what the provider adds to every request, Extra that of schemas of the answer and the like.
	Head, Extra Estimate
	HeadDigest  Digest
	// Messages are the costs of the messages one by one. Chain[i] is the digest of messages 0..i: equal chains are equal conversations, in
	// any process.
	Messages []Estimate
	Chain    []Digest
	// Total is the sum of all costs.
	Total Estimate

	counts []messageCounts // of the messages one by one
}

// First returns the tally of the first n messages alone, with the same head.
func (t Tally) First(n int) Tally {
	t.Messages, t.Chain, t.counts = t.Messages[:n], t.Chain[:n], t.counts[:n]
	t.Total = t.Head.Plus(t.Extra)
	for _, e := range t.Messages {
		t.Total = t.Total.Plus(e)
	}
	return t
}

// messageCounts holds further counts of a tallied message.
type messageCounts struct {
	thought, most int32 // as in item
	class         class
}

// keySpace keeps the keys of different kinds of items apart whose bytes may be the same.
type keySpace uint64

const (
	aMessage keySpace = iota
	aSystem
	aTool
	anExtra
)

// Tally counts r as a model of family f reads it. Items that were counted before, in this or another request, are only looked up.
func (c *Counter) Tally(r *wire.Request, f Family) Tally { return c.TallyBelow(r, f, 0) }

// TallyBelow is Tally for a caller who only wants to know whether the request stays below line, in tokens. If a sample says that it does,
// with a tenth to spare, the texts of messages that were not counted before are not counted, and their estimates are wider. System and
// tools are always counted, and so are texts that take less than a millisecond.
func (c *Counter) TallyBelow(r *wire.Request, f Family, line int) Tally {
	names := c.Name(r, f)
	defer names.Done()
	return names.TallyBelow(line)
}

// setMessage sets the cost of message i.
func (t *Tally) setMessage(i int, it *item) {
	t.Messages[i] = it.estimate()
	t.counts[i] = messageCounts{thought: it.thought, most: it.most, class: it.class}
}

// item returns the counts and the chain digest of message i. Its own digest is not set.
func (t *Tally) item(i int) item {
	it := item{chain: t.Chain[i]}
	if i < len(t.Messages) {
		e, r := &t.Messages[i], &t.counts[i]
		it.low, it.best, it.high, it.thought, it.most, it.class = int32(e.Low), int32(e.Best), int32(e.High), r.thought, r.most, r.class
		it.known = counted
		if r.class == unread {
			it.known = bySample
		}
	}
	return it
}

// estimate returns the cost as an Estimate.
func (i *item) estimate() Estimate {
	return Estimate{int(i.low), int(i.best), int(i.high)}
}

// A finder completes items of r. list holds what is known of them, and less the indices of those that were not counted. It returns the
// indices of the items that it changed in list.
type finder func(r *wire.Request, f Family, w keySpace, list []item, less []int) []int

// findNothing is the finder that leaves all items with their digests alone.
func findNothing(*wire.Request, Family, keySpace, []item, []int) []int { return nil }

// countAll is the finder that counts all items in less.
func countAll(r *wire.Request, f Family, w keySpace, list []item, less []int) []int {
	for _, i := range less {
		list[i] = list[i].withDigests(countItem(r, f, w, i))
	}
	return less
}

// countBelow returns a finder that first counts samples of the texts. If the sum of all items by these samples is over line, or there is
// little text, it counts the texts as a whole.
func countBelow(line int) finder {
	return func(r *wire.Request, f Family, w keySpace, list []item, less []int) (found []int) {
		text, high := 0, 0
		for _, i := range less {
			if text += textBytes(r, i); text > quickBytes {
				break
			}
		}
		if text <= quickBytes {
			return countAll(r, f, w, list, less)
		}
		for _, i := range less {
			if list[i].known < bySample {
				list[i] = list[i].withDigests(sampled(r, f, i))
				found = append(found, i)
			}
		}
		for i := range list {
			high += int(list[i].high)
		}
		if high > line {
			return countAll(r, f, w, list, less)
		}
		return found
	}
}

// withDigests returns cost with the digests of i.
func (i item) withDigests(cost item) item {
	cost.digest, cost.chain, cost.prev = i.digest, i.chain, i.prev
	return cost
}

// lookup is the working memory for looking up the items of one request.
type lookup struct {
	list    []item
	keys    []wire.Key
	changed []bool
	less    []int
	missing []int
	same    int // number of the first items, which were taken from a tally
	views   *views
}

// keepItems is the capacity in items up to which a lookup is reused.
const keepItems = 4096

// lookup returns working memory for one request, which goes back by release.
func (c *Counter) lookup() *lookup {
	if l, ok := c.pool.Get().(*lookup); ok {
		return l
	}
	return &lookup{views: newViews()}
}

// release makes l usable for other requests, unless it has grown too large.
func (c *Counter) release(l *lookup) {
	if cap(l.list) <= keepItems {
		clear(l.views.list[:cap(l.views.list)]) // it holds no body
		c.pool.Put(l)
	}
}

// items returns n items of a request, those that are not in the memo completed by find and put there. Messages come with their chain
// digest. The result is valid until the next call with l.
func (c *Counter) items(r *wire.Request, f Family, w keySpace, n int, l *lookup, find finder) []item {
	less := c.recall(r, f, w, n, l, nil, 0)
	return c.countMissing(r, f, w, l, less, find)
}

// recall fills l with n items of a request, from the memo where it has them, else with their digests alone. The first same items are copied
// from the tally before. It returns the indices of the items that are still to be counted.
func (c *Counter) recall(r *wire.Request, f Family, w keySpace, n int, l *lookup, before *Tally, same int) (less []int) {
	v := l.views
	l.same = same
	l.keys, l.list = slices.Grow(l.keys[:0], n)[:n], slices.Grow(l.list[:0], n)[:n]
	l.changed = slices.Grow(l.changed[:0], n)[:n]
	clear(l.changed)
	list, keys := l.list, l.keys
	less = l.less[:0]
	for i := range same {
		if list[i] = before.item(i); list[i].known < counted {
			less = append(less, i)
		}
	}
	for i := same; i < n; i++ {
		keys[i] = c.key(r, f, w, i, v)
	}
	missing := l.missing[:0]
	c.mu.Lock()
	for i := same; i < n; i++ {
		it, ok := c.memo.Get(keys[i])
		if !ok {
			missing = append(missing, i)
		}
		if it.known < counted {
			less = append(less, i)
		}
		list[i] = it
	}
	c.stats.Hits += int64(n - len(missing))
	c.stats.Misses += int64(len(missing))
	c.mu.Unlock()
	l.less, l.missing = less, missing
	for _, i := range missing {
		list[i].digest = digest(r, w, i, v)
		l.changed[i] = true
	}
	if w != aMessage {
		return less
	}
	// Where a message follows other messages than last time, its chain is new.
	prev := Digest{byte(r.Dialect)}
	if same > 0 {
		prev = list[same-1].chain
	}
	for i := same; i < n; i++ {
		it := &list[i]
		if it.prev != prev || it.chain == (Digest{}) {
			it.prev, it.chain = prev, extendChain(prev, it.digest)
			l.changed[i] = true
		}
		prev = it.chain
	}
	return less
}

// countMissing has find complete the items in l, puts those that changed into the memo, and returns all of them. less has the indices of
// those that were not counted.
func (c *Counter) countMissing(r *wire.Request, f Family, w keySpace, l *lookup, less []int, find finder) []item {
	for _, i := range find(r, f, w, l.list, less) {
		l.changed[i] = true
	}
	if !slices.Contains(l.changed, true) {
		return l.list
	}
	prev := Digest{byte(r.Dialect)}
	for i := range l.same { // what the memo wants and a tally has not
		it := &l.list[i]
		if l.changed[i] {
			it.prev, it.digest, l.keys[i] = prev, digest(r, w, i, l.views), c.key(r, f, w, i, l.views)
		}
		prev = it.chain
	}
	c.mu.Lock()
	for i := range l.changed {
		if l.changed[i] {
			c.memo.Put(l.keys[i], l.list[i])
		}
	}
	c.mu.Unlock()
	clear(l.changed)
	return l.list
}

// extendChain returns the digest of the chain prev with one more message, next.
func extendChain(prev, next Digest) Digest {
	var b [32]byte
	copy(b[:16], prev[:])
	copy(b[16:], next[:])
	sum := sha256.Sum256(b[:])
	return Digest(sum[:16])
}

// views gathers the bytes that decide whether an item is the same as one seen before: mostly one run of bytes, more where cache marks are
// left out.
type views struct {
	list [][]byte
	add  func([]byte) // made once: a method value would be an allocation for each message
}

func newViews() *views {
	v := &views{list: make([][]byte, 0, 8)}
	v.add = func(b []byte) { v.list = append(v.list, b) }
	return v
}

// fill sets the list to the bytes of item i, in pieces and without cache marks.
func (v *views) fill(r *wire.Request, w keySpace, i int) {
	v.list = v.list[:0]
	switch w {
	case aMessage:
		r.Fingerprint(i, v.add)
	case aSystem:
		r.Unmarked(r.System[i].Span, v.add)
	case aTool:
		r.Unmarked(r.Tools[i].Span, v.add)
	case anExtra:
		v.add(r.Raw(r.Extra[i]))
	}
}

// key returns the key of item i in the memo, which differs by family, dialect and kind of item.
func (c *Counter) key(r *wire.Request, f Family, w keySpace, i int, v *views) (k wire.Key) {
	if w == aMessage {
		k = r.Messages[i].Key
	} else {
		v.fill(r, w, i)
		k = wire.KeyOf(v.list...)
	}
	k[0] ^= (uint64(f)<<16 | uint64(r.Dialect)<<8 | uint64(w)) * 0x9e3779b97f4a7c15
	return k
}

// digest returns the beginning of the SHA-256 of item i without its cache marks.
func digest(r *wire.Request, w keySpace, i int, v *views) Digest {
	v.fill(r, w, i)
	if len(v.list) == 1 {
		sum := sha256.Sum256(v.list[0])
		return Digest(sum[:16])
	}
	h := sha256.New()
	for _, b := range v.list {
		h.Write(b)
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return Digest(sum[:16])
}

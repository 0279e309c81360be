package tokens

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/plimsoll/plimsoll/internal/recent"
)

// DefaultUsageBytes is the memory a [Usage] may use: about 5,000 known prefixes.
const DefaultUsageBytes = 1 << 20

const (
	prefixEntry = 216 // bytes of a known prefix with its place in the map (measured: 131 to 213)
	scopeEntry  = 420 // bytes of a calibration
	// maxScopes limits the pairs of credential and model that are calibrated at once, twice.
	maxScopes = 128
)

// UsageOptions configure a [Usage].
type UsageOptions struct {
	// Bytes bounds the memory of the known prefixes; 0 means [DefaultUsageBytes].
	Bytes int
}

// Usage is the ledger of the input tokens that providers reported for exact prefixes of conversations, and of the ratios of their numbers
// to ours. It is safe for concurrent use.
//
// A scope is one credential at one upstream, named by any string the caller likes; only a hash of it is kept. Models of a scope are kept
// apart.
type Usage struct {
	seed     maphash.Seed
	mu       sync.Mutex
	prefixes recent.Map[prefixKey, prefix]
	scopes   recent.Map[uint64, *calibration]
	stats    UsageStats
}

// UsageStats are counters of a [Usage] since it was made, and its size now.
type UsageStats struct {
	Reports   int64 // that were believed
	Ignored   int64 // that were not believed: far below any count of ours
	Above     int64 // reports above what was the upper estimate: each should worry
	Evictions int64
	Prefixes  int
	Bytes     int
	// Error is the mean of |estimate − report| ÷ report over the newest reports of every
	// scope, 0 while there is none.
	Error float64
}

type prefixKey struct {
	scope uint64
	chain Digest
}

func (k prefixKey) sum() uint64 { return k.scope ^ binary.LittleEndian.Uint64(k.chain[:]) }

// prefix is the reported input of a chain of messages, with the head and the extras it was sent with.
type prefix struct {
	input    int
	head     Digest
	headCost Estimate
	extra    Estimate
}

// NewUsage returns an empty ledger.
func NewUsage(o UsageOptions) *Usage {
	if o.Bytes <= 0 {
		o.Bytes = DefaultUsageBytes
	}
	u := &Usage{seed: maphash.MakeSeed()}
	u.prefixes.Max, u.prefixes.Sum = max(o.Bytes/prefixEntry/2, 16), prefixKey.sum
	u.scopes.Max = maxScopes
	return u
}

// scopeKey returns the key under which the reports for a scope and a tally's model and family are kept.
func (u *Usage) scopeKey(scope string, t *Tally) uint64 {
	var h maphash.Hash
	h.SetSeed(u.seed)
	h.WriteString(scope)
	h.WriteByte(0)
	h.WriteString(t.Model)
	h.WriteByte(byte(t.Family))
	return h.Sum64()
}

// Input is the expected number of input tokens of a request and the source of that number.
type Input struct {
	Estimate
	Counted Counted
	// Known is the number of messages that the provider's own count covers.
	Known int
}

// silent is the share of our lowest estimate below which a report is not taken for that of the whole request: servers that cut a long input
// silently (Ollama does) report what was left.
const silent = 0.5

// countsAll reports whether a family's providers never cut the input silently. Then a small number is true: Anthropic clears old results
// itself when a request asks for it (clear_* edits).
func (f Family) countsAll() bool {
	return f.Claude() || f == FamilyGemini
}

// Report records that the provider counted input tokens (cache reads and writes included) for exactly the request of t. It returns false,
// and learns nothing, if the number cannot be right: it is not above 0, or far below any count of ours while the provider may cut silently.
func (u *Usage) Report(scope string, t Tally, input int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	plausible := float64(input) >= silent*float64(t.Total.Low)
	if input <= 0 || !plausible && !t.Family.countsAll() {
		u.stats.Ignored++
		return false
	}
	u.stats.Reports++
	id := u.scopeKey(scope, &t)
	c, ok := u.scopes.Get(id)
	if !ok {
		c = &calibration{}
		u.scopes.Put(id, c)
	}
	expected, through, from := u.estimateInput(id, &t)
	counted := !slices.ContainsFunc(t.counts[min(through, len(t.counts)):], func(r messageCounts) bool { return r.class == unread })
	if plausible && counted {
		c.record(expected, input)
	}
	if input > expected.High {
		u.stats.Above++
	}
	if n := len(t.Chain); n > 0 {
		if through < n && plausible && counted {
			// Clients change a line of their head every turn. When it changed more, two
			// things did, and nothing can be learned from the sum.
			moved := 0
			if through > 0 && from.head != t.HeadDigest {
				moved = t.Head.Best - from.headCost.Best
			}
			c.learn(&t, through, from.input+moved, input, max(moved, -moved))
		}
		u.prefixes.Put(prefixKey{id, t.Chain[n-1]}, prefix{
			input: input, head: t.HeadDigest, headCost: t.Head, extra: t.Extra,
		})
	}
	return true
}

// Known returns the longest prefix of the conversation whose tokens the provider reported: the number of its messages, and their tokens
// with head and extras. If system or tools changed since, their difference by our own count is added, with its band. ok is false if there
// is none.
func (u *Usage) Known(scope string, t Tally) (through int, tokens Estimate, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	through, tokens, _, ok = u.lastReported(u.scopeKey(scope, &t), &t)
	return through, tokens, ok
}

// lastReported returns the provider's count for the longest prefix of a request that was reported: its number of messages, and the tokens,
// corrected by what has changed outside the messages. ok is false without any.
func (u *Usage) lastReported(id uint64, t *Tally) (through int, tokens Estimate, p prefix, ok bool) {
	p, i := u.prefixes.Last(len(t.Chain), func(i int) prefixKey { return prefixKey{id, t.Chain[i]} })
	if i < 0 {
		return 0, Estimate{}, prefix{}, false
	}
	tokens = Exactly(p.input)
	if p.head != t.HeadDigest {
		tokens = tokens.Plus(difference(p.headCost, t.Head))
	}
	if p.extra != t.Extra {
		tokens = tokens.Plus(difference(p.extra, t.Extra))
	}
	tokens.Low, tokens.Best = max(tokens.Low, 0), max(tokens.Best, 0)
	return i + 1, tokens, p, true
}

// difference returns to-from for two estimates of nearly the same content. What is in both cancels out, so that only the difference has a
// band; but a fiftieth of the whole may have changed without showing in the sums.
func difference(from, to Estimate) Estimate {
	best := to.Best - from.Best
	slack := to.Best/50 + 32
	low, high := best, best
	if to.Best > 0 {
		low = min(best, best*to.Low/to.Best)
		high = max(best, best*to.High/to.Best)
	}
	return Estimate{low - slack, best, high + slack}
}

// Input returns the number of tokens expected for a request before it is sent: the provider's own number for the longest known prefix, and
// an estimate of the rest, whose factors follow the provider's earlier reports for text of the same class. Without a known prefix (a new
// conversation, or one that was made shorter) it is such an estimate of all. See [Estimate.Over] for comparing it with a limit.
func (u *Usage) Input(scope string, t Tally) Input {
	u.mu.Lock()
	defer u.mu.Unlock()
	e, through, _ := u.estimateInput(u.scopeKey(scope, &t), &t)
	in := Input{Estimate: e, Counted: CountedEstimate, Known: through}
	switch {
	case through > 0:
		in.Counted = CountedUsage
	case e.Exact():
		in.Counted = CountedExact
	}
	return in
}

// estimateInput returns the expected tokens of a request, the number of messages that the provider's own count covers, and that count.
func (u *Usage) estimateInput(id uint64, t *Tally) (Estimate, int, prefix) {
	through, sum, p, ok := u.lastReported(id, t)
	if !ok {
		sum = t.Head.Plus(t.Extra)
	}
	c, _ := u.scopes.Get(id)
	for i := through; i < len(t.Messages); i++ {
		r := &t.counts[i]
		if r.class == unread {
			sum = sum.Plus(t.Messages[i])
			continue
		}
		sum = sum.Plus(c.adjust(t.Family, t.Messages[i], r.class, r.thought).atMost(int(r.most)))
	}
	return sum, through, p
}

// Stats returns the counters.
func (u *Usage) Stats() UsageStats {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.stats
	s.Evictions = u.prefixes.Evicted() + u.scopes.Evicted()
	s.Prefixes = u.prefixes.Len()
	s.Bytes = s.Prefixes*prefixEntry + u.scopes.Len()*scopeEntry
	var sum float64
	var n int
	for _, c := range u.scopes.All() {
		for _, e := range c.errors[:min(c.noted, len(c.errors))] {
			sum += float64(e)
			n++
		}
	}
	if n > 0 {
		s.Error = sum / float64(n)
	}
	return s
}

// Error returns the mean of |estimate − report| ÷ report over the newest reports (at most
// 32) of one scope and the model and family of t, and how many they are.
func (u *Usage) Error(scope, model string, f Family) (mean float64, reports int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c, ok := u.scopes.Get(u.scopeKey(scope, &Tally{Model: model, Family: f}))
	if !ok {
		return 0, 0
	}
	n := min(c.noted, len(c.errors))
	for _, e := range c.errors[:n] {
		mean += float64(e)
	}
	return mean / float64(max(n, 1)), n
}

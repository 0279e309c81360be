package agent

import (
	"context"
	"math/rand/v2"

	"github.com/plimsoll/plimsoll/window/wire"
)

// What the tests look at from outside of the package.
var (
	CutHistory = cutHistory
	CapText    = capText
	Legible    = legible
	SizeOf     = sizeOf
	Backoff    = backoff
)

const (
	CutMarker        = cutMarker
	NoOutput         = noOutput
	LastNote         = lastNote
	GoOn             = goOn
	MaxAbandonedTool = maxAbandonedTool
	LeakGrace        = leakGrace
	MaxResults       = maxResults
	MemorySessions   = memorySessions
	MemoryBytes      = memoryBytes
)

// Recount counts what the query holds anew.
func (r *Run) Recount() MemoryUsage {
	h := r.state
	h.mu.Lock()
	defer h.mu.Unlock()
	u := MemoryUsage{Messages: sizeOf(h.messages) + int64(len(h.partial)+h.streamed.Len())}
	for _, s := range h.results {
		u.StepResults += s.size()
	}
	if h.calls != nil {
		u.CallHistory = h.calls.Bytes()
	}
	u.Total = u.Messages + u.StepResults + u.CallHistory
	return u
}

// Queues tells how many sessions have queries.
func (a *Agent) Queues() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queues)
}

// Fit makes a history fit the window of a model once.
func Fit(ctx context.Context, m Model, system string, ms []Message, specs []ToolSpec) (out []Message, body *wire.Request, err error) {
	c := newCore(m.Info(), Limits{}, Room{})
	c.encoder, _ = m.(Encoder)
	out, did, err := c.query(nil).fit(ctx, system, ms, specs, 0)
	return out, did.Encoded, err
}

// RandomHistory is a conversation as cuts, crashes and odd models leave it.
func RandomHistory(seed uint64) []Message { return randomHistory(rand.New(rand.NewPCG(seed, 7))) }

// FitSpecs are tools.
var FitSpecs = fitSpecs

// FitWords are about n tokens of text that no tokenizer shortens.
var FitWords = fitWords

// newFitter returns a fitter with a core of its own. If summarize is nil, lines of old turns are chosen as their summary.
func newFitter(info ModelInfo, l Limits, summarize summarizer) *fitter {
	return newCore(info, l, Room{}).query(summarize)
}

// Package compact makes room in a request with the least loss, for the proxy and the agent (package fit).
//
// A compaction climbs a ladder ([Result].Rungs) and stops at the target, oldest messages first: large results keep head and tail, then are
// named only; old turns are summarised by a model, else by chosen lines (package extract), else dropped. Messages go in whole units (see
// [wire.Request.Units]). One summary stands after the task and covers earlier ones.
//
// System, tools, the task, the newest message of the user and the last unit stay; the newest messages are spared where that suffices. What
// makes tools known stays too. At the very last results of the running unit are cut; what is still too much is a [DoesNotFit].
//
// Each step makes the request smaller or is undone, and the same request, measure and goal give the same bytes. [Result].Patches describe the
// changes in terms of the client's own messages: kept as a checkpoint and put in by [Replay], they give later requests the same bytes. A
// [Compactor] may be used from any goroutine, and a [View] read by many.
package compact

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/reasoning"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Sizes are the costs of a request and its parts, in tokens.
type Sizes struct {
	Total    int
	Head     int   // system, tools and whatever else is no message
	Messages []int // of each message of the request
}

// Measure returns the sizes of a request as it would be sent. It is called several times for one compaction, with requests that differ
// little, and must depend on the request alone.
type Measure func(*wire.Request) Sizes

// A Goal is the aim of a compaction, in tokens.
type Goal struct {
	// Target is the size to stop at, usually half of what fits.
	Target int
	// Limit must not be exceeded; the request is refused if it cannot be met. 0 means Target.
	Limit int
	// Trigger is the size at which the next compaction would begin; 0 means four fifths of Limit. A
	// result near it is no good: the next turns would be compacted again, each time at
	// the cost of the provider's cache.
	Trigger int
	// Strict halves what is kept of a tool's result.
	Strict bool
	// Since is the index of the client's message with which the task under way begins, where that is known: messages from there on are
	// spared like the newest ones. 0 means that it is not known.
	Since int
	// DropReasoning takes all of the model's reasoning out with the cut: for a model whose reasoning is valid only behind the messages it
	// was made behind (see package reasoning). Later reasoning stays valid, because what a cut leaves is not changed again.
	DropReasoning bool
	// Summary is a text that a model wrote ahead of the cut (see Assign) in place of the turns that go; "" for none.
	Summary string
	// NoModel asks no model for a summary, as while somebody waits for a request that was refused already. Then also a request in which the
	// client compacts is cut.
	NoModel bool
}

// minGain is the part of the limit by which a result must stay below the trigger to be good enough when the target is not reached.
const minGain = 0.05

// withDefaults returns the goal with the limit and trigger filled in, and the target no higher than the limit.
func (g Goal) withDefaults() Goal {
	if g.Limit <= 0 {
		g.Limit = g.Target
	}
	g.Target = min(g.Target, g.Limit)
	if g.Trigger <= 0 || g.Trigger > g.Limit {
		g.Trigger = int(0.8 * float64(g.Limit))
	}
	return g
}

// leavesAlone reports whether the request must not be changed: the client compacts its history by means of it, and the provider has not
// refused it.
func (g Goal) leavesAlone(r *wire.Request) bool {
	return !g.NoModel && r.Bypass.Room() == wire.RoomNever
}

// goodEnough returns the size in tokens that is accepted when the target cannot be reached without touching the newest messages: minGain of
// the limit below the trigger.
func (g Goal) goodEnough() int {
	return max(g.Target, g.Trigger-int(minGain*float64(g.Limit)))
}

// Style is a way to summarise old turns.
type Style uint8

// The styles, by the names they have in the configuration.
const (
	Extractive Style = iota // "extractive": lines are chosen, no model is asked
	Model                   // "model": Options.Summarizer writes, Extractive steps in
	Off                     // "off": old turns are dropped, and a line says so
)

var styleNames = [...]string{Extractive: "extractive", Model: "model", Off: "off"}

// String returns the style's name in the configuration.
func (s Style) String() string { return styleNames[min(int(s), len(styleNames)-1)] }

// ParseStyle returns the style of a name in the configuration; false, and Extractive, for an unknown name.
func ParseStyle(name string) (Style, bool) {
	i := slices.Index(styleNames[:], name)
	return Style(max(0, i)), i >= 0
}

// Options of a Compactor. Zero means the default.
type Options struct {
	// MinMessages is the number of the newest messages that are left alone, with the units they belong to, unless nothing else helps.
	MinMessages int
	// ResultBytes bounds every tool's result when it is sent first, whether room is needed or not (see Bound); the rung "cut" keeps as much
	// of one. With 0 there is no bound, and the rung's size derives from the window.
	ResultBytes int
	// WholeResults leaves out the rungs "cut" and "mask": results of tools stay as they are or
	// go with their turn. The last resort, "open", stays.
	WholeResults bool
	// SummarizeResults has the Summarizer summarise old results, in place of cutting and masking them; those rungs are used if it does not
	// answer. A request waits meanwhile, so it is for users whose own model that is.
	SummarizeResults bool
	// Keep is given a tool's result that is to be masked, stores it where the agent can read it again, and returns a few words on how to,
	// or "" if it could not. Nil stores none.
	Keep       func(tool, text string) string
	Style      Style
	Summarizer Summarizer
	// SummaryBudget bounds what all model summaries of this Compactor may cost together,
	// input and output, in tokens.
	SummaryBudget int
	// SummaryTimeout bounds one of them.
	SummaryTimeout time.Duration
	// Breaker decides when a Summarizer that hangs or fails is not asked; nil means one of this Compactor's own.
	Breaker *SummaryBreaker
	// Summaries is called with the outcome of each summary that was wanted of a model; it may be nil. It may be called from
	// several goroutines at once, while a request waits.
	Summaries func(Summary)
}

// The defaults of [Options].
const (
	DefaultMinMessages    = 4
	DefaultSummaryBudget  = 1_000_000
	DefaultSummaryTimeout = 20 * time.Second
)

// A Compactor makes room in requests. It is safe for concurrent use.
type Compactor struct {
	o     Options
	spent atomic.Int64 // tokens of model summaries
}

// New returns a Compactor. Without a Summarizer the style Model becomes Extractive.
func New(o Options) *Compactor {
	o.MinMessages = cmp.Or(max(o.MinMessages, 0), DefaultMinMessages)
	o.SummaryBudget = cmp.Or(max(o.SummaryBudget, 0), DefaultSummaryBudget)
	o.SummaryTimeout = cmp.Or(max(o.SummaryTimeout, 0), DefaultSummaryTimeout)
	if o.Breaker == nil {
		o.Breaker = &SummaryBreaker{}
	}
	if o.Summarizer == nil && o.Style == Model {
		o.Style = Extractive
	}
	return &Compactor{o: o}
}

// AsksModel reports whether Compact may ask a model for a summary, for which a request waits seconds.
func (c *Compactor) AsksModel() bool { return c.o.Style == Model }

// Spent returns the tokens that model summaries have used so far, and their budget.
func (c *Compactor) Spent() (tokens, budget int) {
	return int(c.spent.Load()), c.o.SummaryBudget
}

// The rungs, as they are named in [Result].Rungs.
const (
	RungThinking = "thinking" // the model's thoughts went, which are valid behind the old beginning only
	RungUnread   = "unread"   // messages that a compaction of the provider's stands for are gone; it did not read them
	RungResults  = "results"  // tool results were summarised by a model
	RungCut      = "cut"      // tool results keep their head and tail
	RungMask     = "mask"     // tool results and media are named, not kept
	RungProvider = "provider" // the provider summarised what came before
	RungModel    = "model"    // old turns were summarised by a model
	RungExtract  = "extract"  // old turns were summarised by choosing lines
	RungDrop     = "drop"     // old turns are gone, a line says so
	RungRelax    = "relax"    // the newest messages were not spared
	RungOpen     = "open"     // results of the turn that is still running were cut
)

// A Result is the outcome of a compaction.
type Result struct {
	// Request is the one to send: the view's own when nothing could be done.
	Request *wire.Request
	// Patches make Request out of the client's; nil when nothing was done.
	Patches  []Patch
	Covers   int      // number of the client's messages, from the first on, that Patches are about
	Rungs    []string // names of the rungs that did something, in order
	Before   int      // tokens
	After    int      // tokens
	Messages int      // of the view that were changed, replaced or dropped
	CutBytes int64    // bytes by which the body got shorter
	Cut      []byte   // the changed, replaced and dropped messages as they were, one JSON value a line
	Thoughts int      // parts of the model's reasoning that went because of Goal.DropReasoning
	// SummaryIn and SummaryOut are the tokens used by a model summary, also when it could
	// not be used.
	SummaryIn, SummaryOut int
	// SummaryError is the reason for which a model's summary was not used; nil if it was used, or none was asked for. It holds no text of
	// the conversation.
	SummaryError error
}

// Changed reports whether the compaction changed the request.
func (r *Result) Changed() bool { return r.Patches != nil }

// Compact makes the view's request as small as goal.Target, or as near to it as the ladder gets. The error is a *DoesNotFit when even what
// must stay is over goal.Limit, the context's, or an edit that failed; the result then is the view as it was, with the cost of a summary.
func (c *Compactor) Compact(ctx context.Context, v *View, measure Measure, goal Goal) (Result, error) {
	goal = goal.withDefaults()
	if !goal.DropReasoning || goal.leavesAlone(v.Request) {
		return c.climbLadder(ctx, v, measure, goal)
	}
	next, thoughts, err := reasoning.Without(v.Request, 0)
	if err != nil || thoughts == 0 {
		return c.climbLadder(ctx, v, measure, goal)
	}
	before := measure(v.Request).Total
	if before <= goal.Target {
		return Result{Request: v.Request, Before: before, After: before}, ctx.Err()
	}
	bare := v.Cut(next)
	res, err := c.climbLadder(ctx, bare, measure, goal)
	unchanged := Result{Request: v.Request, Before: before, After: before, SummaryIn: res.SummaryIn, SummaryOut: res.SummaryOut, SummaryError: res.SummaryError}
	if err != nil {
		return unchanged, err
	}
	if !res.Changed() { // the thoughts were enough, or all that can go
		res.Request, res.Patches, res.Covers = bare.Request, bare.Patches, bare.covers
	}
	// One that nothing forces and that does not come below the trigger is none: with the thoughts of each turn there would be another in the next.
	if before <= goal.Limit && res.After > goal.Trigger || len(res.Request.Body) >= len(v.Request.Body) {
		return unchanged, nil
	}
	res.Before, res.Thoughts, res.Rungs = before, thoughts, append([]string{RungThinking}, res.Rungs...)
	res.CutBytes = int64(len(v.Request.Body) - len(res.Request.Body))
	return res, nil
}

// climbLadder tries one level of the ladder after the other until the request is small enough. It is Compact without DropReasoning.
func (c *Compactor) climbLadder(ctx context.Context, v *View, measure Measure, goal Goal) (Result, error) {
	before := measure(v.Request)
	unchanged := Result{Request: v.Request, Before: before.Total, After: before.Total}
	if before.Total <= goal.Target || goal.leavesAlone(v.Request) {
		return unchanged, ctx.Err()
	}
	w := newWork(ctx, c, v, measure, before, goal)
	for level := levelSpare; level <= levelOpen && w.needsLevel(level); level++ {
		for _, rung := range ladder {
			if w.sizes.Total <= w.aim(level) || ctx.Err() != nil || w.err != nil {
				break
			}
			total := w.sizes.Total
			rung(w, level)
			if level == levelRelax && w.sizes.Total < total {
				w.addRung(RungRelax)
			}
		}
	}
	unchanged.SummaryIn, unchanged.SummaryOut, unchanged.SummaryError = w.spentIn, w.spentOut, w.modelErr
	if err := ctx.Err(); err != nil {
		return unchanged, err
	}
	if w.err != nil {
		return unchanged, w.err
	}
	if w.sizes.Total > goal.Limit {
		return unchanged, w.doesNotFit(v)
	}
	if w.cur == v.Request {
		return unchanged, nil
	}
	return w.completeResult(v, unchanged)
}

// ladder is the order in which the rungs are climbed. Each does as little as brings the request to
// the aim, oldest messages first, and leaves the rest to the next.
var ladder = []func(*work, level){
	(*work).dropUnread,
	(*work).summariseResults,
	(*work).cutResults,
	(*work).maskResults,
	(*work).summarise,
	(*work).dropToLine,
}

// dropUnread drops the messages before the provider's own compaction, which the provider does not read, unless that does not make the
// request smaller.
func (w *work) dropUnread(at level) {
	n := w.base.Unread()
	if at != levelSpare || n == 0 {
		return
	}
	before := w.saveState()
	for i := range n {
		w.dropped[i] = true
	}
	if !w.build() || w.sizes.Total >= before.sizes.Total {
		w.restoreState(before)
		return
	}
	w.addRung(RungUnread)
}

// A level is a degree of intrusion: each allows more of the messages to be changed.
type level uint8

const (
	levelSpare level = iota // the newest messages are spared, and all that is not free, see standing
	levelRelax              // the newest messages are treated like old ones
	levelOpen               // all but the task and the newest user message may be dropped, results of the open unit cut
)

// needsLevel reports whether the request is still so large that level l has to be tried.
func (w *work) needsLevel(l level) bool {
	switch l {
	case levelSpare:
		return true
	case levelRelax:
		return w.sizes.Total > w.goal.goodEnough()
	}
	return w.sizes.Total > w.goal.Limit
}

// aim returns the size in tokens at which a level stops: the target, or on levelOpen the limit, since the running turn is cut only as far
// as it must be.
func (w *work) aim(l level) int {
	if l == levelOpen {
		return w.goal.Limit
	}
	return w.goal.Target
}

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/fit"
	"github.com/plimsoll/plimsoll/internal/window/topic"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

const (
	// shrinkFactor scales the room after the provider refused a request that should have fitted: the estimate was too low.
	shrinkFactor = 0.8
	// maxFitTries bounds how often one request is compacted because the result was still too large.
	maxFitTries = 3
)

// fitResult describes what [fitter.fit] did, and the tokens before and after.
type fitResult struct {
	Tokens int // of the input after the pass, by the best estimate
	Limit  int // tokens that the input may have
	Free   int // tokens that the input may grow by before room is made
	Before int // tokens of the input before the pass
	// Actions describes for people what was done; "" if nothing was.
	Actions  string
	Changed  bool // the messages differ from those that were given
	MadeRoom bool // room was made, now
	Between  bool // room was made where one question ended and another began
	// Rungs are the compaction steps that did something, CutBytes by how much the request got shorter, Messages how many messages changed.
	Rungs    []string
	CutBytes int64
	Messages int
	// MaxOutput is the output to ask for beside this input, in tokens; 0 leaves it to the adapter.
	MaxOutput int
	Summary   Usage // what summaries by the model cost
	// Encoded is the body to send, nil for a model that is not an Encoder.
	Encoded *wire.Request
}

// fitter makes the requests of a query fit the window of the model: it pairs calls and results, counts tokens, and compacts the
// history when there are too many. It is used by one goroutine at a time; what is learned is shared in core.
type fitter struct {
	*core
	summarize summarizer
	compactor *compact.Compactor

	specs        []ToolSpec // the tools of the last request that had any
	chat         chatEncoder
	maxInput     int      // tokens that the input may have after a refusal; 0 means what the window allows
	refused      bool     // since the last fit
	floor        int      // tokens that the last compaction left although it should have left fewer; 0 means none
	mendedBefore int      // the number of repairs in the last pass
	last         fit.Pass // of what fit returned last
}

// query returns a fitter for one query. It may be called from any goroutine.
func (c *core) query(summarize summarizer) *fitter {
	f := &fitter{core: c, summarize: summarize, chat: chatEncoder{model: c.info.Name}}
	o := compact.Options{
		MinMessages: c.rules.MinMessages, WholeResults: c.rules.WholeResults, ResultBytes: int(c.rules.MaxToolOutput),
		Keep: c.rules.Keep, SummaryBudget: summaryBudget, SummaryTimeout: summaryTimeout, Breaker: &c.summaries, Summaries: c.summarised,
	}
	switch {
	case c.noSummary:
		o.Style = compact.Off
	case summarize != nil:
		o.Style, o.Summarizer, o.SummarizeResults = compact.Model, modelSummarizer{f}, true
	}
	f.compactor = compact.New(o)
	return f
}

// fit returns the messages of a conversation in a form that a strict provider accepts and that fits the window. Messages that need no
// change are returned as they were given. maxOutput is the number of tokens of output that the caller wants to ask for, 0 for none.
//
// The error is that of ctx, that of a history that cannot be read, or a *[TooLargeError] when even the parts that must stay do not fit:
// the system prompt, the tools, the first and the newest message of the user and the step under way.
func (f *fitter) fit(ctx context.Context, system string, ms []Message, specs []ToolSpec, maxOutput int) ([]Message, fitResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, fitResult{}, err
	}
	if len(specs) > 0 {
		f.specs = specs
	}
	p := &compactionPass{fitter: f, Pass: fit.Pass{Model: f.Model, Lines: f.lines}, ctx: ctx, given: ms, system: system, tools: specs}
	if err := p.pair(); err != nil {
		return nil, fitResult{}, err
	}
	if err := p.replay(); err != nil {
		return nil, fitResult{}, err
	}
	p.Recount(p.Counter.Tally(p.now, p.Family))
	p.setLimits(maxOutput)
	p.result.Before = p.In.Best
	if err := p.shrink(); err != nil {
		p.finish(maxOutput)
		return nil, p.result, err
	}
	p.finish(maxOutput)
	f.last, f.refused = p.Pass, false
	f.last.View = nil // of the request only the counts are wanted
	out, err := p.sentMessages()
	return out, p.result, err
}

// shrinkAfterRefusal lowers the room for input to a fraction of the last request, which the provider refused as too long. So the same
// request is not sent again, whatever the limit is. If the refusal named a limit in tokens, it is recorded for later queries too; 0 means
// that it named none.
func (f *fitter) shrinkAfterRefusal(limit int) {
	if limit > 0 {
		f.Refused(limit)
	}
	f.refused, f.floor = true, 0
	// Whatever limit is assumed, the same request must not be sent again.
	if sent := f.last.In.Best; sent > 0 {
		f.maxInput = max(1, int(shrinkFactor*float64(sent)))
	}
}

// report learns from the provider's count of the last request: it corrects the estimates, and lowers the window if the provider has
// silently dropped input.
func (f *fitter) report(u Usage) {
	if u.Input > 0 && len(f.last.Tally.Messages) > 0 {
		f.last.Counted(u.Input)
	}
}

// A compactionPass is one call of fit.
type compactionPass struct {
	*fitter
	fit.Pass
	ctx    context.Context
	system string
	tools  []ToolSpec
	given  []Message // as they came
	// encoded are the messages with calls and results paired, and the request that they were encoded as, which is View.Client.
	encoded *encoding
	now     *wire.Request   // the request as it would be sent now
	patches []compact.Patch // the edits that make now from the encoded request
	chain   []tokens.Digest // of the view's client request
	result  fitResult
	notes   []string
}

// did notes for people what was done.
func (p *compactionPass) did(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// pair repairs the history and encodes it. Each call gets its result and each result has its call; empty messages and unusable names and
// arguments are replaced. A new repair is added to the notes.
func (p *compactionPass) pair() error {
	ms, done := dropUnsendable(p.given)
	if !isPaired(ms, p.maxID) {
		mended, n, err := p.mend(ms)
		if err != nil {
			return err
		}
		ms, done = mended, done+n
	}
	ms, added := completeCalls(ms, p.strictIDs)
	ms, named := fixCalls(ms, p.knows)
	done += added + named
	if done > 0 {
		p.result.Changed = true
		if done != p.mendedBefore { // once, not with every step
			p.did("mended the history (%d)", done)
		}
	}
	p.mendedBefore = done
	return p.encode(ms)
}

// encode encodes the request, with the model's own adapter if that is an Encoder.
func (p *compactionPass) encode(ms []Message) error {
	encode := p.chat.encode
	if p.encoder != nil {
		encode = p.encoder.Encode
	}
	r, err := encode(&Request{System: p.system, Messages: ms, Tools: p.tools})
	if err != nil {
		return uncountable(ms, err)
	}
	if p.encoded, err = newEncoding(ms, r); err != nil {
		return uncountable(ms, err)
	}
	p.now = r
	return nil
}

// knows reports whether the last request with tools had a tool of that name.
func (f *fitter) knows(name string) bool {
	return slices.ContainsFunc(f.specs, func(s ToolSpec) bool { return s.Name == name })
}

// replay applies the stored compaction of this conversation, if there is one, so that the beginning of the request stays what the provider
// has in its cache and no summary is written twice.
func (p *compactionPass) replay() error {
	p.chain = p.Counter.Tally(p.now, p.Family).Chain
	c := checkpoint.Lookup(p.checkpoints, checkpoint.Scope{}, p.chain)
	view, err := fit.Replay(p.now, c)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	p.View, p.now = view, view.Request
	if view.Replayed() {
		p.result.Changed, p.patches = true, view.Patches
	}
	return nil
}

// setLimits sets the window in force and the room for input, which leaves maxOutput tokens or a reserve for the answer. Changes of the
// breaker are journalled.
func (p *compactionPass) setLimits(maxOutput int) {
	for _, m := range p.Limit() {
		p.note(journal.WindowBreaker{
			Upstream: p.info.Provider, Model: p.info.Name, State: m.State, LimitTokens: int64(m.Factor * float64(p.Whole.Context)), Reason: m.Reason,
		})
	}
	if p.info.MaxOutput > 0 {
		p.Window.Output = p.info.MaxOutput
	}
	p.Reserve(p.allowed(maxOutput), fit.DefaultReserve)
	if p.Room = max(1, p.Room); p.maxInput > 0 {
		p.Room = min(p.Room, p.maxInput)
	}
}

// allowed returns the output that may be asked for, of what the caller wants, in tokens.
func (p *compactionPass) allowed(asked int) int {
	if p.Window.Output > 0 {
		return min(asked, p.Window.Output)
	}
	return asked
}

// shrink compacts the request if it is over the trigger; after a compaction that could not get below that, only when more was said. It returns a
// [TooLargeError] if the request cannot be made to fit. Where only a refusal counts, it does nothing before one.
func (p *compactionPass) shrink() error {
	if p.maxInput == 0 && (p.rules.AfterRefusal || !p.Enforced()) {
		return nil // the model's provider refuses it when it is too much
	}
	trigger := p.TriggerTokens()
	if over, _ := p.In.Over(trigger, p.Room); !over {
		return nil
	}
	// When the last compaction could not get below the trigger, another one is of use only when something new was said.
	if p.floor > 0 && p.In.High <= p.Room && p.In.Best < p.floor+p.Room/20 {
		return nil
	}
	for range maxFitTries {
		goal, between := p.dueGoal()
		err := p.MakeRoom(goal, p.maxInput > 0, p.compact)
		p.result.Between = p.result.Between || between && p.result.MadeRoom
		if large, ok := errors.AsType[*fit.TooLarge](err); ok {
			err = p.tooLarge(large.DoesNotFit)
		}
		if err != nil {
			return err
		}
		if p.In.Best <= p.Room {
			break
		}
	}
	p.floor = 0
	if p.In.Best > trigger {
		p.floor = p.In.Best
	}
	return nil
}

// dueGoal returns the target of a compaction that is due. If the request begins a new question, all that belongs to it stays whole, and
// between is true. After a refusal no model is asked for a summary.
func (p *compactionPass) dueGoal() (goal compact.Goal, between bool) {
	goal = p.Goal()
	goal.NoModel = p.refused
	if b, ok := topic.Newest(p.View.Client, topic.Options{}); ok && !p.refused {
		goal.Since, between = b.At, true
	}
	return goal, between
}

// compact makes room once, with the given goal, and stores the result for replay.
func (p *compactionPass) compact(goal compact.Goal) error {
	res, err := p.Compact(p.ctx, p.compactor, goal)
	p.result.Summary.Input += res.SummaryIn
	p.result.Summary.Output += res.SummaryOut
	if res.SummaryError != nil {
		p.did("the model wrote no summary (%s)", limit.Short(res.SummaryError.Error(), 120))
	}
	if err != nil {
		if _, ok := errors.AsType[*compact.DoesNotFit](err); ok || p.ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("agent: make room in the conversation: %w", err)
	}
	if !res.Changed() {
		return nil
	}
	if err := wire.ValidateEdit(p.now.Dialect, p.View.Client.Body, res.Request.Body); err != nil {
		return fmt.Errorf("agent: make room in the conversation: %w", err)
	}
	p.now, p.patches = res.Request, res.Patches
	p.result.Changed, p.result.MadeRoom = true, true
	for _, rung := range res.Rungs {
		if !slices.Contains(p.result.Rungs, rung) {
			p.result.Rungs = append(p.result.Rungs, rung)
		}
	}
	p.result.CutBytes += res.CutBytes
	p.result.Messages += res.Messages
	if c := compact.Checkpoint(p.View, &res, p.chain); c != nil {
		// In memory there is nothing that can fail. Another query of this conversation may have
		// been first; what is sent now is good all the same.
		_, _ = p.checkpoints.Put(checkpoint.Scope{}, c, checkpoint.Cut{})
	}
	p.Recount(p.Counter.Tally(p.now, p.Family))
	p.did("made room (%s): %d tokens became %d", strings.Join(res.Rungs, ", "), res.Before, res.After)
	return nil
}

// finish fills in p.result from the request that is to be sent. maxOutput is as in fit.
func (p *compactionPass) finish(maxOutput int) {
	p.result.Tokens, p.result.Limit = p.In.Best, p.Room
	p.result.Free = max(0, p.TriggerTokens()-p.In.High)
	p.result.Actions = strings.Join(p.notes, "; ")
	p.result.MaxOutput = p.outputToAsk(maxOutput)
	if p.encoder != nil {
		p.result.Encoded = p.now
	}
}

// outputToAsk returns the tokens of output to ask for: asked, but at most what is free beside the input. If asked is 0 it returns 0, which
// leaves the number to the adapter, unless so little is free that the adapter's default might not fit.
func (p *compactionPass) outputToAsk(asked int) int {
	floor := cmp.Or(p.allowed(asked), p.allowed(fit.DefaultReserve)) // nothing asked for: an answer of a few tokens is of no use
	floor = fit.Reserve(floor, fit.DefaultReserve, p.Window)
	free := max(p.Window.Context-p.In.High, floor, 1)
	most := p.Window.Output
	if asked > 0 {
		if most > 0 {
			asked = min(asked, most)
		}
		return min(asked, free)
	}
	most = cmp.Or(most, fit.DefaultReserve)
	if p.Window.Guessed() || free >= min(most, fit.DefaultReserve) {
		return 0
	}
	return free
}

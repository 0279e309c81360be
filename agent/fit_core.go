package agent

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/fit"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/tokens"
)

const (
	// countBytes and usageBytes bound the memory for token counts and for what the provider reported: some 5,000 messages, more
	// than 64 queries of 40 have.
	countBytes = 1 << 20
	usageBytes = 256 << 10
	// checkpointBytes bounds the memory for the compactions of conversations.
	checkpointBytes = 4 << 20
	// ledger is the key of all reports in the usage of a core, which has only one user.
	ledger = "agent"
)

// core is shared by the fitters of all queries of an agent: the limits of its model, token counts, the provider's reports, and compactions
// that were made. All of it is bounded, and may be used from any goroutine.
type core struct {
	fit.Model
	info      ModelInfo
	lines     fit.Lines // trigger and target
	maxID     int
	strictIDs bool
	noSummary bool
	encoder   Encoder // nil if the model is not an Encoder
	rules     Room
	note      func(journal.Event)

	seed        maphash.Seed
	checkpoints *checkpoint.Store
	summaries   compact.SummaryBreaker
}

// newCore returns a core. A Window in the limits is believed until the provider names a smaller one.
func newCore(info ModelInfo, l Limits, room Room) *core {
	c := &core{
		Model: fit.Model{
			Provider: info.Provider, Upstream: upstreamOf(info), Name: info.Name, Family: tokens.FamilyOf(info.Provider, info.Name), Ledger: ledger,
			Counter: tokens.NewCounter(tokens.Options{MemoBytes: countBytes}), Usage: tokens.NewUsage(tokens.UsageOptions{Bytes: usageBytes}),
			Windows: room.Windows, Breaker: room.Breaker,
		},
		rules: room, note: func(journal.Event) {}, info: info, seed: maphash.MakeSeed(), lines: fit.Lines{Trigger: l.Trigger, Target: l.Target},
	}
	if c.lines.Trigger <= 0 || c.lines.Trigger > 1 { // a share of the window that makes no sense
		c.lines.Trigger = fit.DefaultTrigger
	}
	if c.lines.Target <= 0 || c.lines.Target >= c.lines.Trigger {
		c.lines.Target = fit.AutoTarget(c.lines.Trigger)
	}
	if info.Standin {
		c.Family = tokens.FamilyO200K // as package standin counts
	}
	if models.Provider(c.Upstream) == "bedrock" {
		c.maxID = repair.BedrockMaxID
	}
	c.strictIDs = c.Family.Claude()
	window := l.Window
	if window <= 0 && room.Windows == nil {
		window = info.Window
	}
	if window > 0 || c.Windows == nil {
		c.Windows = models.NewResolver(models.Options{Overrides: models.Overrides{Max: max(0, window)}})
	}
	// Without a directory nothing is opened that could fail; a nil store remembers nothing.
	c.checkpoints, _ = checkpoint.Open(checkpoint.Options{MemoryBytes: checkpointBytes})
	return c
}

// upstreamOf returns the name under which package models keeps what it learns about the service: "provider+address", or only the part that
// is known.
func upstreamOf(info ModelInfo) string {
	if !strings.Contains(info.URL, "://") {
		return info.Provider
	}
	if info.Provider == "" {
		return info.URL
	}
	return info.Provider + "+" + info.URL
}

// summarised writes the outcome of a summary by the model into the journal.
func (c *core) summarised(s compact.Summary) {
	e := journal.WindowSummary{Outcome: s.Outcome, Took: s.Took, Rest: s.Rest}
	if s.Err != nil {
		e.Error = limit.Short(s.Err.Error(), 200)
	}
	c.note(e)
}

const (
	// summaryTimeout bounds one summary by the model; after it lines of the old turns are chosen instead.
	summaryTimeout = 20 * time.Second
	// summaryBudget bounds the tokens of all summaries of one query together.
	summaryBudget = 400_000
	// summaryHead is the size of a summary's instructions, in tokens, with some reserve.
	summaryHead = 400
)

// summarizer makes a request to a model; it is [Model].Generate without the pieces.
type summarizer func(ctx context.Context, r *Request) (*Reply, error)

// modelSummarizer lets the agent's own model write summaries.
type modelSummarizer struct{ f *fitter }

var (
	errNoRoom   = errors.New("what is to be summarised is more than twice what the model takes")
	errCutOff   = errors.New("the model did not come to an end")
	errNoAnswer = errors.New("the model gave no answer")
)

// Summarize makes one request; package compact has the deadline and judges the text. Errors hold no text of the conversation, which those
// of adapters may repeat.
func (w modelSummarizer) Summarize(ctx context.Context, a compact.Assignment) (compact.Written, error) {
	window := w.f.Windows.Window(w.f.Upstream, w.f.info.Name, nil)
	room := leastBytes * (window.ForInput(a.MaxTokens) - summaryHead)
	if w.f.maxInput > 0 {
		room = min(room, leastBytes*(w.f.maxInput-summaryHead))
	}
	if room < len(a.Transcript)/2 {
		return compact.Written{}, errNoRoom
	}
	text := limit.Cut(a.Transcript, room, func(int) string { return "\n[…]\n" })
	r := &Request{System: a.Instructions, Messages: []Message{{Role: RoleUser, Text: text}}, MaxOutput: a.MaxTokens}
	reply, err := w.f.ask(ctx, r)
	if err != nil {
		return compact.Written{}, err
	}
	out := compact.Written{In: max(0, reply.Usage.Input), Out: max(0, reply.Usage.Output)}
	if reply.Stop != StopEnd || len(reply.Message.Calls) > 0 {
		return out, errCutOff
	}
	out.Text = reply.Message.Text
	return out, nil
}

// ask makes the request for a summary and waits for the answer or the end of ctx, even if the model ignores ctx. A panic of the model
// becomes an error. Errors hold no text of the conversation.
func (f *fitter) ask(ctx context.Context, r *Request) (*Reply, error) {
	type answer struct {
		reply *Reply
		err   error
	}
	came := make(chan answer, 1)
	go func() {
		a := answer{err: errNoAnswer}
		defer func() {
			if recover() != nil {
				a = answer{err: errNoAnswer}
			}
			came <- a
		}()
		a.reply, a.err = f.summarize(ctx, r)
	}()
	select {
	case a := <-came:
		switch e, ok := errors.AsType[*ModelError](a.err); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case ok:
			return nil, fmt.Errorf("the model failed: %s", e.Failure)
		case a.err != nil || a.reply == nil:
			return nil, errNoAnswer
		}
		return a.reply, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

package agent

import (
	"hash/maphash"
	"strings"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/fit"
	"github.com/plimsoll/plimsoll/journal"
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
	info            ModelInfo
	upstream        string // as package models names it
	family          tokens.Family
	trigger, target float64
	maxID           int
	strictIDs       bool
	noSummary       bool
	encoder         Encoder // nil if the model is not an Encoder
	rules           Room
	note            func(journal.Event)

	seed        maphash.Seed
	windows     *models.Resolver
	counter     *tokens.Counter
	usage       *tokens.Usage
	checkpoints *checkpoint.Store
	summaries   compact.SummaryBreaker
}

// newCore returns a core. A Window in the limits is believed until the provider names a smaller one.
func newCore(info ModelInfo, l Limits, room Room) *core {
	c := &core{rules: room, note: func(journal.Event) {}, info: info, upstream: upstreamOf(info), seed: maphash.MakeSeed(), trigger: l.Trigger, target: l.Target}
	if c.trigger <= 0 || c.trigger > 1 { // a share of the window that makes no sense
		c.trigger = fit.DefaultTrigger
	}
	if c.target <= 0 || c.target >= c.trigger {
		c.target = fit.AutoTarget(c.trigger)
	}
	window := l.Window
	if window <= 0 && room.Windows == nil {
		window = info.Window
	}
	c.family = tokens.FamilyOf(info.Provider, info.Name)
	if info.Standin {
		c.family = tokens.FamilyO200K // as package standin counts
	}
	if models.Provider(c.upstream) == "bedrock" {
		c.maxID = repair.BedrockMaxID
	}
	c.strictIDs = c.family == tokens.FamilyClaude || c.family == tokens.FamilyClaude47
	if c.windows = room.Windows; window > 0 || c.windows == nil {
		c.windows = models.NewResolver(models.Options{Overrides: models.Overrides{Max: max(0, window)}})
	}
	c.counter = tokens.NewCounter(tokens.Options{MemoBytes: countBytes})
	c.usage = tokens.NewUsage(tokens.UsageOptions{Bytes: usageBytes})
	// Without a directory nothing is opened that could fail; a nil store remembers nothing.
	c.checkpoints, _ = checkpoint.Open(checkpoint.Options{MemoryBytes: checkpointBytes})
	return c
}

// upstreamOf returns a name of the service for package models: provider and address, as far as they are known.
func upstreamOf(info ModelInfo) string {
	if !strings.Contains(info.URL, "://") {
		return info.Provider
	}
	if info.Provider == "" {
		return info.URL
	}
	return info.Provider + "+" + info.URL
}

// narrowed returns the window in force: a part of w for a while after the agent ran out of memory.
func (c *core) narrowed(w models.Window) models.Window {
	if c.rules.Breaker == nil {
		return w
	}
	state, moves := c.rules.Breaker.State(c.upstream, c.info.Name)
	for _, m := range moves {
		c.note(journal.WindowBreaker{Upstream: c.info.Provider, Model: c.info.Name, State: m.State, LimitTokens: int64(m.Factor * float64(w.Context)), Reason: m.Reason})
	}
	if state.Factor < 1 {
		w.Context = int(float64(w.Context) * state.Factor)
		w.Input = int(float64(w.Input) * state.Factor)
		w.Source = "breaker"
	}
	return w
}

// summarised writes the outcome of a summary by the model into the journal.
func (c *core) summarised(s compact.Summary) {
	e := journal.WindowSummary{Outcome: s.Outcome, Took: s.Took, Rest: s.Rest}
	if s.Err != nil {
		e.Error = clipText(s.Err.Error(), 200)
	}
	c.note(e)
}

package agent

import (
	"hash/maphash"
	"strings"

	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
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
	// ledger names the only account in the usage of a core.
	ledger = "agent"
)

// core is shared by the fitters of all queries of an agent: the limits of its model, token counts, what the provider reported,
// and compactions that were made. All of it is bounded, and may be used by any goroutine.
type core struct {
	info            ModelInfo
	upstream        string // as package models names it
	family          tokens.Family
	trigger, target float64
	maxID           int
	strictIDs       bool
	noSummary       bool
	encoder         Encoder // nil when the model is none

	seed        maphash.Seed
	windows     *models.Resolver
	counter     *tokens.Counter
	usage       *tokens.Usage
	checkpoints *checkpoint.Store
}

// newCore makes a core. A Window in the limits is believed, until the provider names a smaller one.
func newCore(info ModelInfo, l Limits) *core {
	c := &core{info: info, upstream: upstreamOf(info), seed: maphash.MakeSeed(), trigger: l.Trigger, target: l.Target}
	if c.trigger <= 0 || c.trigger > 1 {
		c.trigger = defaultTrigger
	}
	if c.target <= 0 || c.target >= c.trigger {
		c.target = c.trigger * defaultTarget / defaultTrigger
	}
	window := l.Window
	if window <= 0 {
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
	c.windows = models.NewResolver(models.Options{Overrides: models.Overrides{Max: max(0, window)}})
	c.counter = tokens.NewCounter(tokens.Options{MemoBytes: countBytes})
	c.usage = tokens.NewUsage(tokens.UsageOptions{Bytes: usageBytes})
	// Without a directory nothing is opened that could fail; a nil store remembers nothing.
	c.checkpoints, _ = checkpoint.Open(checkpoint.Options{MemoryBytes: checkpointBytes})
	return c
}

// upstreamOf names the service: by its address where there is one, else by the provider.
func upstreamOf(info ModelInfo) string {
	if !strings.Contains(info.URL, "://") {
		return info.Provider
	}
	if info.Provider == "" {
		return info.URL
	}
	return info.Provider + "+" + info.URL
}

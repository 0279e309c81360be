package scripted

import (
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/window/wire"
)

// thinks reports whether the model thinks: where the request turned it on, and on models that do by
// themselves where it did not turn it off.
func (r *Request) thinks() bool {
	switch r.thinking().Type {
	case "enabled", "adaptive":
		return true
	case "":
		return r.bound != nil && r.bound.rule.Adaptive
	}
	return false
}

// reason completes an answer with what it owes to Options.Reasoning: signatures, a summary, and
// what was done to the request.
func (p *Provider) reason(r *Request, reply Reply, a *modelserver.Answer) {
	b := r.bound
	if r.Dialect == wire.Messages && (b == nil || !r.Summarize) {
		if !r.thinks() {
			a.Thinking, reply.Redacted = "", 0
		}
	}
	if b == nil {
		return
	}
	switch r.Dialect {
	case wire.Responses:
		p.completeItems(r, a)
	case wire.Messages:
		if b.has(BetaBinding) {
			a.Transformations = r.transformations()
		}
		if r.Summarize {
			a.Iteration, a.Usage = &modelserver.Usage{}, modelserver.Usage{}
			*a.Iteration = p.usage(r, reply)
			a.Thinking, a.Calls = "", nil
			if a.Stop == "" && a.Text != "" {
				a.Summary = &modelserver.Summary{Content: a.Text, Signature: b.compaction(a.Text)}
				a.Stop = "compaction"
			}
			a.Text = ""
			return
		}
		if r.thinking().Display == "omitted" && a.Thinking != "" {
			a.Thinking = ""
			a.Signature = b.seal("thinking", "")
		} else if a.Thinking != "" {
			a.Signature = b.seal("thinking", a.Thinking)
		}
		for i := range reply.Redacted {
			a.Redacted = append(a.Redacted, b.seal("redacted", strconv.Itoa(i)))
		}
		r.Reasoning.Made = len(a.Redacted)
		if a.Signature != "" {
			r.Reasoning.Made++
		}
	}
}

// transformations returns the entries of input_transformations: a list, also where there are none.
func (r *Request) transformations() []Transformation {
	return append([]Transformation{}, r.Reasoning.Transformations...)
}

// A Bound is the extent to which a model's reasoning is bound: what must be as it was for a block
// that comes back to be read.
type Bound uint8

// What reasoning is bound to, from the loosest.
const (
	ToNothing Bound = iota // it comes back as it may
	ToModel                // the signature must be the provider's, the model one that reads its blocks, the account the same
	ToPrefix               // and system, tools and every message before it must be as they were
)

// A Rule holds a provider's requirements for the requests for one model. The zero value is a model
// whose reasoning is free and that has nothing of what is new.
type Rule struct {
	Bound Bound
	// Family separates models whose reasoning is not one another's; models of one family
	// read each other's.
	Family string
	// Rank orders families: a model reads blocks of its own family and of lower ranks.
	Rank int
	// Alone is a model that reads no other's blocks, while its own are read by all.
	Alone bool
	// Adaptive models think where the request does not say otherwise.
	Adaptive bool
	// NoPrefill models refuse a last message of the assistant.
	NoPrefill bool
	// Compacts is a model that summarizes on demand (Messages) or by /responses/compact.
	Compacts bool
}

// rules are the published ones, by the beginning of a model's name without its provider's
// prefix; the longest beginning holds.
//
// Messages: platform.claude.com, "Preserved thinking", "Prefix checks on thinking blocks",
// "Compaction on demand" and "What's new in Claude Fable 5.2" (November 2026): the prefix is
// checked from Fable 5.1 on; Fable 5.1 reads what Opus 5 and Opus 5.5 thought and not the other
// way round; Fable 5.2 is read by nobody else; what Haiku 5.5
// thought is read by all, and Haiku reads nobody's (docs.aws.amazon.com, "Preserved thinking").
// Nothing is published about Opus 5.5 and Sonnet 5.5 reading each other: here they do not.
// Prefill ended with Opus 4.6. On-demand compaction lists the models that have it.
//
// Responses: developers.openai.com, "Keep the prefix unchanged" and "Using GPT-6.2" (November
// 2026): reasoning behind a change is dropped from GPT-6.2 on.
var rules = map[string]Rule{
	"claude-fable-5-2":      {Bound: ToPrefix, Family: "5.2", Rank: 50, Adaptive: true, NoPrefill: true, Compacts: true},
	"claude-mythos-5-2":     {Bound: ToPrefix, Family: "5.2", Rank: 50, Adaptive: true, NoPrefill: true, Compacts: true},
	"claude-fable-5-1":      {Bound: ToPrefix, Family: "5.1", Rank: 40, Adaptive: true, NoPrefill: true, Compacts: true},
	"claude-mythos-5-1":     {Bound: ToPrefix, Family: "5.1", Rank: 40, Adaptive: true, NoPrefill: true, Compacts: true},
	"claude-opus-5-5":       {Bound: ToPrefix, Family: "opus-5.5", Rank: 30, Adaptive: true, NoPrefill: true, Compacts: true},
	"claude-sonnet-5-5":     {Bound: ToPrefix, Family: "sonnet-5.5", Rank: 30, Adaptive: true, NoPrefill: true, Compacts: true},
	"claude-haiku-5-5":      {Bound: ToPrefix, Family: "haiku-5.5", Rank: 30, Alone: true, Adaptive: true, NoPrefill: true, Compacts: true},
	"claude-fable-5":        {Bound: ToModel, Family: "5", Rank: 20, Adaptive: true, NoPrefill: true, Compacts: true},
	"claude-mythos-5":       {Bound: ToModel, Family: "5", Rank: 20, Adaptive: true, NoPrefill: true, Compacts: true},
	"claude-mythos-preview": {Bound: ToModel, Family: "5", Rank: 20, Adaptive: true, NoPrefill: true, Compacts: true},
	"claude-opus-5":         {Bound: ToModel, Family: "opus-5", Rank: 20, Adaptive: true, NoPrefill: true, Compacts: true},
	"claude-sonnet-5":       {Bound: ToModel, Family: "sonnet-5", Rank: 20, Adaptive: true, NoPrefill: true, Compacts: true},
	"claude-opus-4-6":       {Bound: ToModel, Family: "4", Rank: 10, NoPrefill: true, Compacts: true},
	"claude-opus-4-7":       {Bound: ToModel, Family: "4", Rank: 10, NoPrefill: true, Compacts: true},
	"claude-opus-4-8":       {Bound: ToModel, Family: "4", Rank: 10, NoPrefill: true, Compacts: true},
	"claude-sonnet-4-6":     {Bound: ToModel, Family: "4", Rank: 10, NoPrefill: true, Compacts: true},
	"claude-":               {Bound: ToModel, Family: "4", Rank: 10},
	"gpt-6.2":               {Bound: ToPrefix, Family: "gpt-6.2", Rank: 62, Compacts: true},
	"gpt-":                  {Bound: ToModel, Family: "gpt", Rank: 50, Compacts: true},
}

// RuleOf returns the published rule for a model, for Options.Reasoning. A model it does not know
// has the zero Rule: its reasoning is free.
func RuleOf(model string) Rule {
	name := model
	for _, before := range []string{"anthropic.", "us.anthropic.", "eu.anthropic.", "global.anthropic.", "anthropic/", "openai/"} {
		name = strings.TrimPrefix(name, before)
	}
	best := ""
	for beginning := range rules {
		if strings.HasPrefix(name, beginning) && len(beginning) > len(best) {
			best = beginning
		}
	}
	return rules[best]
}

// reads reports whether a model reads the reasoning of one of the other rule.
func (r Rule) reads(other *token) bool {
	switch {
	case r.Family == other.Family || other.Open:
		return true
	case r.Alone:
		return false
	}
	return other.Rank < r.Rank
}

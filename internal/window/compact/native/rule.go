// Package native has a model provider compact a conversation itself, for the proxy (package background asks). Where reasoning is bound to
// what stood before it, any cut of ours takes the reasoning with it; a summary by the provider itself passes its own check, and the turns
// behind it keep their reasoning.
//
// [Rules] is the table of providers that have it, each with the page of its documentation; [Wanted] decides when it is used. A [Rule] makes
// the request out of the bytes of the ordinary one, so that the cache holds, reads the answer, which is kept to the byte because it is
// signed, and puts later requests into the form that the provider takes. A provider that does not have it (any more) answers with a
// [Refused], which is to be remembered.
//
// A compaction costs what a request of that size costs, and takes seconds to minutes. Rules are values, for any goroutine.
package native

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// The providers, by the names that package proxy has for them.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
	Azure     = "azure" // Microsoft Foundry
	Bedrock   = "bedrock"
	Vertex    = "vertex" // Google Cloud
)

// A Rule is one way to have a conversation compacted: a row of [Rules].
type Rule struct {
	Provider string
	Dialect  wire.Dialect
	// Models are parts of the names of the models that have it.
	Models []string
	// Source is the page that says so, with the day on which it was read.
	Source string

	// betaInBody means that beta names stand in the body, as anthropic_beta, and not in a header.
	betaInBody bool
	// members are the members of a request to /responses that /responses/compact takes too; nil for Anthropic's.
	members []string
}

// claudes have on-demand compaction. The Models API says it of each model as capabilities.compaction; the pages list these, and
// models of the same names with a later number have it too.
var claudes = []string{
	"claude-fable-5", "claude-mythos", "claude-opus-5", "claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8",
	"claude-sonnet-5", "claude-sonnet-4-6", "claude-haiku-5",
}

// gpts have /responses/compact: all models with reasoning that /responses lists. Those before gpt-5 lose no reasoning by a cut.
var gpts = []string{"gpt-5", "gpt-6"}

const (
	claudePage  = "platform.claude.com/docs/en/build-with-claude/compaction-on-demand, 2026-11-26"
	bedrockPage = "docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-compaction, 2026-11-26"
	openAIPage  = "developers.openai.com/api/docs/guides/compaction and api/reference, POST /responses/compact, 2026-11-26"
	azurePage   = "learn.microsoft.com/en-us/azure/foundry/reference/rest/compactconversation, 2026-11-26"
)

// Rules are all rules there are. Amazon's Converse has none, nor has Gemini's API; a gateway in front of a provider is asked as the
// provider is, and its refusals are remembered.
var Rules = []Rule{
	{Provider: Anthropic, Dialect: wire.Messages, Models: claudes, Source: claudePage},
	{Provider: Azure, Dialect: wire.Messages, Models: claudes, Source: claudePage},
	{Provider: Vertex, Dialect: wire.Messages, Models: claudes, Source: claudePage},
	// Anthropic's own page of that day lists no Bedrock, and Amazon's says InvokeModel.
	{Provider: Bedrock, Dialect: wire.Messages, Models: claudes, Source: bedrockPage, betaInBody: true},
	{
		Provider: OpenAI, Dialect: wire.Responses, Models: gpts, Source: openAIPage,
		members: []string{"model", "input", "instructions", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "service_tier"},
	},
	{
		Provider: Azure, Dialect: wire.Responses, Models: gpts, Source: azurePage,
		members: []string{"model", "input", "instructions", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"},
	},
}

// RuleFor returns the rule for a model behind a provider, in the dialect in which it is spoken to. ok is false if the provider has no
// compaction for it.
func RuleFor(provider string, d wire.Dialect, model string) (r Rule, ok bool) {
	model = strings.ReplaceAll(strings.ToLower(model), ".", "-")
	i := slices.IndexFunc(Rules, func(r Rule) bool {
		return r.Provider == provider && r.Dialect == d &&
			slices.ContainsFunc(r.Models, func(name string) bool { return strings.Contains(model, name) })
	})
	if i < 0 {
		return Rule{}, false
	}
	return Rules[i], true
}

// Use is the extent to which the user lets the provider compact, by the setting [window] summarizer.
type Use uint8

// The uses. The zero value is Never.
const (
	Never    Use = iota // "extractive", "model", "off"
	Auto                // "auto"
	Provider            // "provider"
)

// ParseUse returns the use that a value of [window] summarizer stands for; Never for any that does not ask the provider.
func ParseUse(summarizer string) Use {
	switch summarizer {
	case "auto":
		return Auto
	case "provider":
		return Provider
	}
	return Never
}

// A Case is the input of the decision to ask a provider for the compaction of a conversation.
type Case struct {
	OwnCompaction bool // the client compacts by itself
	Subscription  bool // it shows the login of a subscription, no API key
	Bound         bool // the model's reasoning is bound to what stood before it
}

// Wanted reports whether to ask the provider for a compaction, and if not, in a few words why.
//
//	                                     auto   provider
//	the client compacts by itself        no     no
//	the login of a subscription          no     yes
//	reasoning that no cut invalidates    no     yes
//
// A client that compacts by itself would pay for two summaries and use one. A subscription's login is the client's for the client's own
// requests: one more in its name is made only where the user says so.
func Wanted(u Use, c Case) (ok bool, why string) {
	switch {
	case u == Never:
		return false, "summarizer says otherwise"
	case c.OwnCompaction:
		return false, "the client compacts by itself"
	case c.Subscription && u != Provider:
		return false, `the login is a subscription's, and summarizer is not "provider"`
	case !c.Bound && u != Provider:
		return false, "the model's reasoning outlives a cut"
	}
	return true, ""
}

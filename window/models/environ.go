package models

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// DefaultContext is the window, in tokens, of a model of which nothing is known.
const DefaultContext = 100_000

// Overrides in tokens must lie between these: no model that is offered takes more than ten
// million, and under 1024 not even the system prompt of an agent fits. What a provider
// names is believed within the same bounds.
const (
	MinContext = 1 << 10
	MaxContext = 20 << 20
)

// Overrides are windows that a user has set, in tokens.
type Overrides struct {
	// Provider names the provider of an upstream whose address does not show it, as one of the
	// names of LLM_PROVIDER: "azure-openai" makes the override for Azure count at an upstream that
	// speaks OpenAI's protocol. "" and "auto" leave it to the upstream.
	Provider string
	// Max is the window of every model; 0 means none.
	Max int
	// ByModel has limits by the model's name in lower case; a name without a slash also applies to names that end in it behind a slash. It
	// counts before all others.
	ByModel map[string]ModelOverride
	// ByProvider has windows by "azure_openai", "openai", "bedrock", "anthropic", "gemini", "vertex"; 0 means none. It counts before Max.
	ByProvider map[string]int
}

// A ModelOverride holds a user's limits for one model, in tokens; 0 is unset.
type ModelOverride struct{ Context, Output int }

// forModel returns the user's limits for a model; the zero value if there are none.
func (o Overrides) forModel(model string) ModelOverride {
	if len(o.ByModel) == 0 {
		return ModelOverride{}
	}
	name := strings.ToLower(strings.TrimSpace(model))
	if m, ok := o.ByModel[name]; ok {
		return m
	}
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return o.ByModel[name[i+1:]]
	}
	return ModelOverride{}
}

// environment lists the providers that the environment may name: the variable, the name in LLM_PROVIDER, the key in ByProvider, the
// catalogue's name, the default window of an unknown model, and the protocols it is reached by, named after the upstream of each.
var environment = [...]struct {
	variable, name, key, provider string
	fallback                      int
	protocols                     string
}{
	{"AZURE_OPENAI_MAX_CONTEXT_TOKENS", "azure-openai", "azure_openai", "azure", 100_000, "openai"},
	{"OPENAI_MAX_CONTEXT_TOKENS", "openai", "openai", "openai", 100_000, "openai"},
	{"AWS_BEDROCK_MAX_CONTEXT_TOKENS", "aws-bedrock", "bedrock", "bedrock", 150_000, "anthropic openai"},
	{"ANTHROPIC_MAX_CONTEXT_TOKENS", "anthropic-claude", "anthropic", "anthropic", 150_000, "anthropic"},
	{"GOOGLE_GEMINI_MAX_CONTEXT_TOKENS", "google-gemini", "gemini", "gemini", 800_000, "gemini"},
	{"GCP_VERTEXAI_MAX_CONTEXT_TOKENS", "gcp-vertexai", "vertex", "vertex", 150_000, "gemini anthropic"},
}

// FromEnviron reads LLM_PROVIDER, MAX_CONTEXT_TOKENS and the six variables like
// OPENAI_MAX_CONTEXT_TOKENS through lookup, which is os.LookupEnv outside tests. An empty
// value counts as not set. The error joins one per bad value; the good ones are returned.
func FromEnviron(lookup func(string) (string, bool)) (Overrides, error) {
	var (
		o    Overrides
		errs []error
	)
	tokens := func(variable string) int {
		text, _ := lookup(variable)
		if text = strings.TrimSpace(text); text == "" {
			return 0
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < MinContext || n > MaxContext {
			errs = append(errs, fmt.Errorf("%s=%.64q is no window: write a whole number of tokens from %d to %d, or unset it", variable, text, MinContext, MaxContext))
			return 0
		}
		return n
	}
	var names []string
	text, _ := lookup("LLM_PROVIDER")
	provider, known := strings.TrimSpace(text), false
	o.Max = tokens("MAX_CONTEXT_TOKENS")
	for _, e := range environment {
		names = append(names, e.name)
		known = known || e.name == provider
		if n := tokens(e.variable); n > 0 {
			if o.ByProvider == nil {
				o.ByProvider = map[string]int{}
			}
			o.ByProvider[e.key] = n
		}
	}
	switch {
	case known || provider == "auto":
		o.Provider = provider
	case provider != "":
		errs = append(errs, fmt.Errorf("LLM_PROVIDER=%.64q is no provider: write one of %s, or unset it", provider, strings.Join(names, ", ")))
	}
	return o, errors.Join(errs...)
}

// row returns the index in environment of the provider behind an upstream, -1 if there is none.
func (o Overrides) row(upstream string) int {
	provider := Provider(upstream)
	name, _ := splitUpstream(upstream)
	found := -1
	for i, e := range environment {
		if e.provider == provider {
			found = i
			break
		}
		// Somebody else's address, set as the upstream of that name.
		if e.provider == Provider(name) {
			found = i
		}
	}
	for i, e := range environment {
		if e.name != o.Provider {
			continue
		}
		// The named one may be behind an upstream of its protocol, or behind one that tells
		// nothing; a known upstream of somebody else stays what it is.
		if provider == "" || e.provider == provider || found >= 0 && containsWord(e.protocols, environment[found].provider) {
			return i
		}
	}
	return found
}

// containsWord reports whether a list of words separated by blanks has a word.
func containsWord(words, word string) bool {
	for one := range strings.FieldsSeq(words) {
		if one == word {
			return true
		}
	}
	return false
}

// window returns the window that the user has set for all models of an upstream, 0 if there is none.
func (o Overrides) window(upstream string) int {
	if i := o.row(upstream); i >= 0 {
		if n := o.ByProvider[environment[i].key]; n > 0 {
			return n
		}
	}
	return max(0, o.Max)
}

// fallback returns the window to assume for an unknown model at an upstream.
func (o Overrides) fallback(upstream string) int {
	if i := o.row(upstream); i >= 0 {
		return environment[i].fallback
	}
	return DefaultContext
}

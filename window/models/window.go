package models

import "strings"

// Where a window comes from.
const (
	SourceConfig    = "config"    // an override
	SourceLearned   = "learned"   // a provider named it, or it was found out
	SourceServer    = "server"    // the server said what it serves the model with
	SourceCatalogue = "catalogue" // the table
	SourceRefreshed = "refreshed" // what the user has put in front of the table, see Refresh
	SourceElsewhere = "elsewhere" // a guess: the largest that others give the model; this provider's own is not known
	SourceFamily    = "family"    // a guess: that of the newest known model of its family
	SourceDefault   = "default"   // a guess: the provider's default, or DefaultContext
)

// A Window holds the limits of a model, in tokens; 0 means unknown.
type Window struct {
	Context int // input and output together
	Input   int // the part of Context that input may have, where the provider limits it
	Output  int // the largest output that may be asked for
	Source  string
}

// Guessed reports whether the window is a guess: nobody has said that it is this model's at this provider.
func (w Window) Guessed() bool {
	return w.Source == SourceElsewhere || w.Source == SourceFamily || w.Source == SourceDefault
}

// ForInput returns the number of input tokens that fit beside reserve tokens of output, at least 0.
func (w Window) ForInput(reserve int) int {
	room := max(0, w.Context-max(0, reserve))
	if w.Input > 0 {
		room = min(room, w.Input)
	}
	return room
}

// longContext is the window in tokens with the beta of a million tokens.
const longContext = 1_000_000

// shortContext is the window in tokens, without that beta, of models that could have it.
const shortContext = 200_000

// Lookup returns a model's window in the built-in catalogue; false if there is none. Upstream is the name of a provider ("openai",
// "bedrock", "azure-openai", …) or an address of one; for "" and unknown ones it looks at the models' makers and at all providers. Betas
// are the values of anthropic-beta headers, separated or not. For servers that a user starts (Ollama, LM Studio, llama.cpp) it returns
// false: their window is the one they were started with, whatever their model could take.
func Lookup(upstream, model string, betas []string) (Window, bool) {
	return new(Catalogue).Lookup(upstream, model, betas)
}

// Lookup is [Lookup] in this catalogue.
func (c *Catalogue) Lookup(upstream, model string, betas []string) (Window, bool) {
	provider := Provider(upstream)
	if isLocal(provider) {
		return Window{}, false
	}
	n := parseName(model)
	if n.explicit > 0 {
		return Window{Context: n.explicit, Source: SourceCatalogue}, true
	}
	w, ok := c.window(n, provider)
	if ok && w.Context >= longContext && n.longByBeta() {
		w.Context, w.Input = shortContext, 0 // the catalogue has what the beta gives
	}
	if ok && w.Context < longContext && (n.long || asksForLong(betas)) && n.longByBeta() && provider != "copilot" {
		w.Context, w.Input = longContext, 0
	}
	return w, ok
}

// window looks the name up as it stands, and then in ever shorter forms, each first among the provider's own models, then among the
// makers', which others serve unchanged, but for providers that answer with models of their own. A window that is only known of other providers is a guess: they give an open model from 8,000
// tokens to all that it was trained for. So is that of a sibling, if the name is not found.
func (c *Catalogue) window(n name, provider string) (Window, bool) {
	for _, spelled := range n.spellings {
		for _, where := range [...]string{provider, "anthropic", "openai", "gemini"} {
			if where == "" || where != provider && OwnModels(provider) {
				continue
			}
			if w, ok := c.find(where + "/" + spelled); ok {
				return c.widenAlias(spelled, w), true
			}
		}
		if w, ok := retiredWindow(spelled); ok {
			return w, true
		}
		if w, ok := c.find("any/" + spelled); ok {
			w.Source = SourceElsewhere
			return w, true
		}
	}
	return c.siblingWindow(n, provider)
}

// widenAlias returns w, the window of a model, or, for an alias such as "mistral-large-latest", the largest window of a dated model of its
// family if that is larger, as a guess: an alias stands for another model from time to time, and the table ages.
func (c *Catalogue) widenAlias(spelled string, w Window) Window {
	family, alias := strings.CutSuffix(spelled, "-latest")
	if !alias {
		return w
	}
	for key, other := range c.linesOf("any") {
		member, ok := strings.CutPrefix(key, "any/"+family)
		if !ok || other.Context <= w.Context {
			continue
		}
		if at := dated().FindStringIndex(member); member == "-latest" || at != nil && at[0] == 0 || isMonth(strings.TrimPrefix(member, "-")) {
			w = other
			w.Source = SourceElsewhere
		}
	}
	return w
}

// asksForLong reports whether one of the anthropic-beta headers asks for a window of a million tokens.
func asksForLong(betas []string) bool {
	for _, header := range betas {
		for one := range strings.SplitSeq(header, ",") {
			if strings.HasPrefix(strings.ToLower(strings.TrimSpace(one)), "context-1m-") {
				return true
			}
		}
	}
	return false
}

// A ruled is the window of the model whose whole folded name is prefix.
type ruled struct {
	prefix                 string
	context, input, output int
}

// window returns the window of the retired model.
func (r ruled) window() Window {
	return Window{Context: r.context, Input: r.input, Output: r.output, Source: SourceCatalogue}
}

// retired are models that the catalogue has dropped and whose names, shortened, would be
// taken for others. They match whole names.
var retired = [...]ruled{
	{"gpt-4-1106-preview", 128_000, 0, 4_096},
	{"gpt-4-0125-preview", 128_000, 0, 4_096},
	{"gpt-4-turbo-preview", 128_000, 0, 4_096},
	{"gpt-4-vision-preview", 128_000, 0, 4_096},
	{"gpt-4-32k", 32_768, 0, 32_768},
	{"gpt-4-32k-0613", 32_768, 0, 32_768},
	{"gpt-3-5-turbo-16k", 16_385, 0, 4_096},
	{"gpt-35-turbo", 16_385, 0, 4_096},
	{"gpt-35-turbo-16k", 16_385, 0, 4_096},
	{"chatgpt-4o-latest", 128_000, 0, 16_384},
	{"o1-preview", 128_000, 0, 32_768},
	{"o1-mini", 128_000, 0, 65_536},
	{"codex-mini-latest", 200_000, 0, 100_000},
	{"gemini-1-5-pro", 2_097_152, 0, 8_192},
	{"gemini-1-5-flash", 1_048_576, 0, 8_192},
	{"claude-2-0", 100_000, 0, 4_096},
	{"claude-2-1", 200_000, 0, 4_096},
	{"claude-instant-1-2", 100_000, 0, 4_096},
}

// retiredWindow returns the window of a retired model that is not in the catalogue any more; false for any other.
func retiredWindow(spelled string) (Window, bool) {
	for _, r := range retired {
		if spelled == r.prefix {
			return r.window(), true
		}
	}
	return Window{}, false
}

// Package sources reads the public catalogues of models: models.dev's api.json and LiteLLM's model_prices_and_context_window.json. It is
// shared by the generator of the built-in table and by its refreshing.
//
//	list, err := sources.Read(data)
//
// What is read may be anything: an entry that makes no sense is left out and counted, and the rest stays.
package sources

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/window/models/spelling"
)

// Bounds of a catalogue: in tokens, and how much of it is read.
const (
	minContext = 1_024
	maxContext = 20 << 20 // as package models believes it
	// MaxModels is the most entries; the largest public catalogue has 8,300.
	MaxModels = 100_000
)

// A Limits is [context, input, output] in tokens; 0 is unknown.
type Limits = [3]int

// List is a catalogue in our form.
type List struct {
	Form      string // "models.dev" or "LiteLLM"
	Date      string // of its newest entry, where it says so
	Providers map[string]map[string]Limits
	LeftOut   int // number of invalid entries
}

// Providers maps our names of providers to those of models.dev. Where several of theirs are one of ours, the first that has a model counts.
var Providers = map[string][]string{
	"anthropic": {"anthropic"}, "openai": {"openai"}, "gemini": {"google"}, "vertex": {"google-vertex", "google-vertex-anthropic"},
	"bedrock": {"amazon-bedrock"}, "azure": {"azure", "azure-cognitive-services"}, "copilot": {"github-copilot"},
	"openrouter": {"openrouter"}, "mistral": {"mistral"}, "xai": {"xai"}, "groq": {"groq"}, "deepseek": {"deepseek"},
	"kimi": {"moonshotai", "moonshotai-cn", "kimi-for-coding"}, "minimax": {"minimax", "minimax-cn"}, "glm": {"zai", "zhipuai"},
	"qwen": {"alibaba", "alibaba-cn"}, "cerebras": {"cerebras"}, "together": {"togetherai"}, "fireworks": {"fireworks-ai"},
	"cohere": {"cohere"}, "nvidia": {"nvidia"}, "huggingface": {"huggingface"}, "opencode": {"opencode"}, "llama": {"llama"},
	"ollama-cloud": {"ollama-cloud"}, "perplexity": {"perplexity"}, "deepinfra": {"deepinfra"}, "baseten": {"baseten"},
}

// litellm maps LiteLLM's providers to ours; a name may go on behind these ("bedrock_converse").
var litellm = [...][2]string{
	{"anthropic", "anthropic"},
	{"openai", "openai"},
	{"gemini", "gemini"},
	{"vertex_ai", "vertex"},
	{"bedrock", "bedrock"},
	{"azure", "azure"},
	{"github_copilot", "copilot"},
	{"openrouter", "openrouter"},
	{"mistral", "mistral"},
	{"xai", "xai"},
	{"groq", "groq"},
	{"deepseek", "deepseek"},
	{"moonshot", "kimi"},
	{"minimax", "minimax"},
	{"zai", "glm"},
	{"dashscope", "qwen"},
	{"cerebras", "cerebras"},
	{"together_ai", "together"},
	{"fireworks_ai", "fireworks"},
	{"cohere", "cohere"},
	{"nvidia_nim", "nvidia"},
	{"perplexity", "perplexity"},
	{"deepinfra", "deepinfra"},
	{"baseten", "baseten"},
}

// Read returns a catalogue in either form. The error says where the JSON is broken, or that it is not a catalogue.
func Read(data []byte) (*List, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, withLine(data, err)
	}
	if len(top) > MaxModels {
		return nil, fmt.Errorf("it has %d entries, and %d is the most", len(top), MaxModels)
	}
	dev, lite := 0, 0
	for _, raw := range top {
		var probe struct {
			Models   map[string]json.RawMessage `json:"models"`
			Provider string                     `json:"litellm_provider"`
		}
		if json.Unmarshal(raw, &probe) != nil {
			continue
		}
		switch {
		case probe.Models != nil:
			dev++
		case probe.Provider != "":
			lite++
		}
	}
	switch {
	case dev > lite:
		return modelsDev(top)
	case lite > 0:
		return liteLLM(top)
	}
	return nil, errors.New("it is neither models.dev's api.json nor LiteLLM's model_prices_and_context_window.json")
}

// withLine returns err with the number of the line in data, if it is a JSON syntax error; else err itself.
func withLine(data []byte, err error) error {
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("line %d: %w", 1+strings.Count(string(data[:min(int(at.Offset), len(data))]), "\n"), err)
	}
	return err
}

// modelsDev reads api.json, which has limits by provider, but none of a model wherever it is served: for that the largest window counts
// that any provider gives it. Too much room costs a refusal, which the client does not see; too little costs what is cut.
func modelsDev(top map[string]json.RawMessage) (*List, error) {
	type model struct {
		Updated string `json:"last_updated"`
		Limit   struct {
			Context float64 `json:"context"`
			Input   float64 `json:"input"`
			Output  float64 `json:"output"`
		} `json:"limit"`
		Modalities struct {
			Output []string `json:"output"`
		} `json:"modalities"`
	}
	l := newList("models.dev")
	api := map[string]map[string]Limits{}
	total := 0
	for name, raw := range top {
		var p struct {
			Models map[string]json.RawMessage `json:"models"`
		}
		if json.Unmarshal(raw, &p) != nil {
			l.LeftOut++
			continue
		}
		if total += len(p.Models); total > MaxModels {
			return nil, fmt.Errorf("it has more than %d models", MaxModels)
		}
		api[name] = map[string]Limits{}
		for id, raw := range p.Models {
			var m model
			if json.Unmarshal(raw, &m) != nil {
				l.LeftOut++
				continue
			}
			l.Date = max(l.Date, dateOf(m.Updated))
			if len(m.Modalities.Output) > 0 && !slices.Contains(m.Modalities.Output, "text") {
				continue
			}
			if limits, ok := l.limitsOf(id, m.Limit.Context, m.Limit.Input, m.Limit.Output); ok {
				api[name][id] = limits
			}
		}
	}
	anywhere := newVotes()
	for _, name := range slices.Sorted(maps.Keys(api)) {
		for id, limits := range api[name] {
			anywhere.addVote(id, limits)
		}
	}
	for ours, theirs := range Providers {
		for _, name := range theirs {
			for id, limits := range api[name] {
				l.addLimits(ours, id, limits)
			}
		}
	}
	anywhere.addTo(l)
	return l, l.checkCounts()
}

// liteLLM reads a map from a model's name to its limits. For most models max_input_tokens is the window; for those that have separate
// limits for input and output it is the input alone.
func liteLLM(top map[string]json.RawMessage) (*List, error) {
	l, anywhere := newList("LiteLLM"), newVotes()
	for _, id := range slices.Sorted(maps.Keys(top)) {
		var m struct {
			Provider string  `json:"litellm_provider"`
			Mode     string  `json:"mode"`
			Input    float64 `json:"max_input_tokens"`
			Output   float64 `json:"max_output_tokens"`
		}
		if id == "sample_spec" {
			continue
		}
		if json.Unmarshal(top[id], &m) != nil {
			l.LeftOut++
			continue
		}
		if m.Mode != "chat" && m.Mode != "responses" {
			continue
		}
		limits, ok := l.limitsOf(id, m.Input, 0, m.Output)
		if !ok {
			continue
		}
		anywhere.addVote(id, limits)
		for _, pair := range litellm {
			if m.Provider == pair[0] || strings.HasPrefix(m.Provider, pair[0]+"_") || strings.HasPrefix(m.Provider, pair[0]+"-") {
				l.addLimits(pair[1], strings.TrimPrefix(id, m.Provider+"/"), limits)
				break
			}
		}
	}
	anywhere.addTo(l)
	return l, l.checkCounts()
}

func newList(form string) *List {
	return &List{Form: form, Providers: map[string]map[string]Limits{}}
}

// dateOf returns the date at the beginning of a text, "" when there is none.
func dateOf(s string) string {
	if len(s) < 10 || strings.Trim(s[:10], "0123456789-") != "" || s[4] != '-' || s[7] != '-' {
		return ""
	}
	return s[:10]
}

// limitsOf returns the limits of a model; false for one without a window or too small, and, counted in LeftOut, for an impossible one.
func (l *List) limitsOf(id string, context, input, output float64) (Limits, bool) {
	if context == 0 || strings.Contains(id, "embed") {
		return Limits{}, false
	}
	folded := spelling.Fold(id)
	if id == "" || len(id) > spelling.MaxName || strings.Trim(folded, "-/") == "" || !(context >= 1 && context <= maxContext && input >= 0 && output >= 0) {
		l.LeftOut++
		return Limits{}, false
	}
	if context < minContext {
		return Limits{}, false
	}
	if input > context { // says nothing
		input = 0
	}
	return Limits{int(context), int(input), int(min(output, maxContext))}, true
}

// addLimits sets the limits of a model of the provider ours, unless it has some already.
func (l *List) addLimits(ours, id string, limits Limits) {
	if l.Providers[ours] == nil {
		l.Providers[ours] = map[string]Limits{}
	}
	if _, taken := l.Providers[ours][id]; !taken {
		l.Providers[ours][id] = limits
	}
}

// checkCounts returns an error if there is no model with a window.
func (l *List) checkCounts() error {
	if len(l.Providers["any"]) == 0 {
		return errors.New("it has no model with a window")
	}
	return nil
}

// votes collects the limits that a model has at all providers.
type votes struct {
	limits  map[string]Limits // the largest, by folded name
	spelled map[string]string
}

func newVotes() *votes { return &votes{map[string]Limits{}, map[string]string{}} }

// addVote records the limits that one source has for a model; of several it keeps the largest, and the first spelling of its name.
func (v *votes) addVote(id string, limits Limits) {
	plain := id[strings.LastIndexByte(id, '/')+1:] // without the lab that made it
	key := spelling.Fold(plain)
	if strings.Trim(key, "-") == "" {
		return
	}
	if old := v.limits[key]; slices.Compare(old[:], limits[:]) < 0 {
		v.limits[key] = limits
	}
	if old, ok := v.spelled[key]; !ok || plain < old {
		v.spelled[key] = plain
	}
}

// addTo adds the collected limits to a catalogue, as those of the provider "any".
func (v *votes) addTo(l *List) {
	for key, limits := range v.limits {
		l.addLimits("any", v.spelled[key], limits)
	}
}

// Lines returns the lines "provider/model context input output" of a catalogue, sorted by the folded name, as package models reads them.
func Lines(providers map[string]map[string]Limits) []string {
	lines := map[string]string{}
	for provider, list := range providers {
		for model, limits := range list {
			key := provider + "/" + spelling.Fold(model)
			line := fmt.Sprintf("%s %d %d %d", key, limits[0], limits[1], limits[2])
			if old, taken := lines[key]; taken && old != line {
				line = min(old, line) // two spellings of one model: either, but always the same
			}
			lines[key] = line
		}
	}
	out := make([]string, 0, len(lines))
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		out = append(out, lines[key])
	}
	return out
}

package models

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/recent"
	"github.com/plimsoll/plimsoll/internal/window/models/spelling"
)

// A name is a model's name, parsed.
type name struct {
	spellings []string // folded: the name as it stands first, then ever shorter ones
	long      bool     // it ends in [1m]
	explicit  int      // the window in tokens that a variant of Bedrock's names ("…-v1:0:48k"); 0 for none
}

// maxSpellings bounds how often a name is looked up; real ones have up to ten spellings.
const maxSpellings = 32

// A request asks several times for its model's name and its upstream's, and the next one asks for the same.
var (
	names     = recent.NewShared[string, name](64, nil)
	upstreams = recent.NewShared[string, server](64, nil)
)

// maxKept is the longest name, in bytes, whose parse result is remembered.
const maxKept = 128

// parseName returns the parts of a model's name. It remembers the results for short names.
func parseName(model string) name {
	if n, ok := names.Get(model); ok {
		return n
	}
	if len(model) > maxKept {
		return takeApart(model)
	}
	model = strings.Clone(model) // the caller's may be a view of a body
	n := takeApart(model)
	names.Put(model, n)
	return n
}

// takeApart splits a model's name as any platform spells it: it folds it, removes paths, methods, versions and vendors, and lists the
// spellings to look up, the most specific first.
func takeApart(model string) name {
	var n name
	model = strings.TrimSpace(model)
	model = model[:min(len(model), spelling.MaxName)]
	if i := strings.LastIndex(model, "models/"); i >= 0 { // Gemini, Vertex, Fireworks
		model = model[i+len("models/"):]
	}
	if strings.HasPrefix(model, "arn:") {
		model = model[strings.LastIndexByte(model, '/')+1:]
	}
	if head, method, ok := strings.Cut(model, ":"); ok && isMethod(method) {
		model = head
	}
	if len(model) >= 4 && strings.EqualFold(model[len(model)-4:], "[1m]") {
		model, n.long = model[:len(model)-4], true
	}
	model, n.explicit = cutVariant(model)
	folded := strings.Trim(spelling.Fold(model), "-/")
	for {
		n.addWithoutVendor(folded)
		_, rest, ok := strings.Cut(folded, "/")
		if !ok {
			break
		}
		folded = rest
	}
	// The least shortened of every prefix before the next shorter ones: what has an entry of
	// its own must not be found under a shorter name.
	for i := 0; i < len(n.spellings) && len(n.spellings) < maxSpellings; i++ {
		if shorter, ok := cutSuffix(n.spellings[i]); ok {
			n.add(shorter)
		}
	}
	return n
}

func (n *name) add(spelled string) {
	if spelled != "" && len(n.spellings) < maxSpellings && !slices.Contains(n.spellings, spelled) {
		n.spellings = append(n.spellings, spelled)
	}
}

var (
	// regions and vendors in front of Bedrock's names, folded.
	regions = []string{"us-gov-", "us-", "eu-", "apac-", "ap-", "jp-", "au-", "ca-", "sa-", "global-"}
	vendors = []string{
		"anthropic-", "amazon-", "meta-", "mistral-", "deepseek-", "cohere-", "openai-", "qwen-", "moonshot-", "moonshotai-",
		"minimax-", "nvidia-", "google-", "writer-", "ai21-", "zai-", "azure-", "vertex-", "gemini-",
	}
)

// addWithoutVendor adds a name, and the name without a region and without a vendor. A vendor is only removed if the rest begins with a
// letter, so that "gemini-2-5-pro" is not cut.
func (n *name) addWithoutVendor(folded string) {
	n.add(folded)
	for _, region := range regions {
		if rest, ok := strings.CutPrefix(folded, region); ok {
			folded = rest
			n.add(folded)
			break
		}
	}
	for _, vendor := range vendors {
		if rest, ok := strings.CutPrefix(folded, vendor); ok && rest != "" && (rest[0] < '0' || rest[0] > '9') {
			n.add(rest)
			break
		}
	}
}

// suffixes name the time or shape in which a model is served, not the model.
var suffixes = []string{
	"-latest", "-default", "-preview", "-experimental", "-exp", "-beta", "-free", "-thinking", "-extended", "-nitro", "-floor", "-online",
	"-customtools", "-xhigh", "-high", "-medium", "-low", "-minimal", "-fp8", "-fp4", "-int4", "-int8", "-bf16", "-awq", "-gguf", "-turbo-tput",
}

// dated matches dates and versions at the end of a folded name: 2025-09-29, 09-2025,
// 20250929, 06-05, 0613, v1-0, v1, 001. It is compiled by the first lookup.
var dated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-(20\d\d-[01]\d-[0-3]\d|[01]\d-20\d\d|20\d{6}|[01]\d-[0-3]\d|[01]\d[0-3]\d|v\d{1,2}(-\d{1,2})?|00\d)$`)
})

// cutSuffix removes one suffix that does not change the window, such as a date or "-latest"; false if there is none.
func cutSuffix(spelled string) (string, bool) {
	for _, suffix := range suffixes {
		if head, ok := strings.CutSuffix(spelled, suffix); ok {
			return head, true
		}
	}
	if at := dated().FindStringIndex(spelled); at != nil {
		return spelled[:at[0]], true
	}
	return "", false
}

// cutVariant returns a name of Bedrock's without the window at its end, and that window in tokens:
// "anthropic.claude-3-haiku-20240307-v1:0:48k". For other names it returns the name and 0.
func cutVariant(model string) (head string, tokens int) {
	head, variant, ok := cutLast(model, ':')
	if !ok || !strings.Contains(head, ":") || len(variant) < 2 || len(variant) > 5 || variant[len(variant)-1] != 'k' {
		return model, 0
	}
	for _, c := range variant[:len(variant)-1] {
		if c < '0' || c > '9' {
			return model, 0
		}
		tokens = tokens*10 + int(c-'0')
	}
	return head, tokens * 1000
}

// cutLast splits s around the last sep. Without one, before is s and ok false.
func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// isMethod reports whether a word is one of the methods that follow a colon in paths of Gemini and Vertex.
func isMethod(s string) bool {
	switch s {
	case "generateContent", "streamGenerateContent", "countTokens", "rawPredict", "streamRawPredict", "predict":
		return true
	}
	return false
}

// longByBeta reports whether a model has a window of a million tokens only with the beta header: Sonnet 4 and 4.5 do. Newer models have it
// without, others never.
func (n name) longByBeta() bool {
	return slices.ContainsFunc(n.spellings, func(s string) bool {
		return s == "claude-sonnet-4" || s == "claude-sonnet-4-0" || s == "claude-sonnet-4-5" || s == "claude-4-sonnet"
	})
}

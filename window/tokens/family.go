package tokens

import (
	"slices"
	"strings"
)

// Family is a group of models that count alike.
type Family uint8

// The families. The first two are counted exactly, text for text; the others by factors
// over exact o200k_base counts, with a band.
const (
	FamilyUnknown  Family = iota // wide enough for all of the others
	FamilyO200K                  // GPT-4o, GPT-4.1, GPT-5, o1 and later, gpt-oss
	FamilyCL100K                 // GPT-4, GPT-4 Turbo, GPT-3.5
	FamilyClaude                 // Claude up to 4.6
	FamilyClaude47               // Claude from 4.7 on: a tokenizer with shorter tokens
	FamilyGemini                 // Gemini and Gemma
	FamilyLlama                  // Llama 3 and 4
	FamilyQwen
	FamilyMistral
	FamilyDeepSeek
	FamilyGrok
	families
)

var familyNames = [families]string{"unknown", "o200k", "cl100k", "claude", "claude-4.7", "gemini", "llama", "qwen", "mistral", "deepseek", "grok"}

// String returns the family's short stable name, such as "claude".
func (f Family) String() string {
	if f >= families {
		return "unknown"
	}
	return familyNames[f]
}

// Exact reports whether text of this family is counted as the provider counts it.
func (f Family) Exact() bool { return f == FamilyO200K || f == FamilyCL100K }

// Estimate returns the tokens of a text alone, without markers around it. It takes as long as [Encoding.Count] and allocates nothing.
func (f Family) Estimate(text []byte) Estimate {
	e := f.encoding()
	s := e.scratch()
	defer e.release(s)
	var m mix
	e.countText(s, text, &m)
	m.moveDense()
	return m.estimate(f)
}

// encoding returns the vocabulary on which the family's counts are based.
func (f Family) encoding() *Encoding {
	if f == FamilyCL100K {
		return CL100K()
	}
	return O200K()
}

// Claude reports whether the family is one of Claude's.
func (f Family) Claude() bool { return f == FamilyClaude || f == FamilyClaude47 }

// FamilyOf returns the family of a model as it is named in a request or a path:
// "gpt-5.1-codex", "openai/gpt-4o", "us.anthropic.claude-opus-4-1-20250805-v1:0". Where
// the name says nothing (a deployment's own name), upstream may: its name or kind, such as
// "anthropic". A name that is not known is FamilyUnknown, never a guess that it is exact.
func FamilyOf(upstream, model string) Family {
	m := strings.ToLower(model)
	if i := strings.LastIndexByte(m, '/'); i >= 0 {
		m = m[i+1:]
	}
	m = strings.TrimPrefix(m, "ft:")
	has := func(names ...string) bool {
		for _, n := range names {
			if strings.Contains(m, n) {
				return true
			}
		}
		return false
	}
	if upstream == "deepseek" {
		return FamilyDeepSeek // whatever a client calls it: see models.OwnModels
	}
	switch {
	case has("claude") && isOwnMaker(upstream): // likewise
		return FamilyUnknown
	case has("claude"):
		return claudeFamily(m)
	case has("gemini", "gemma"):
		return FamilyGemini
	// A distilled model has the tokenizer of the model it was made from, so these two go
	// before the name of who distilled it.
	case has("llama"):
		return FamilyLlama
	case has("qwen", "qwq"):
		return FamilyQwen
	case has("mistral", "mixtral", "ministral", "magistral", "codestral", "devstral", "pixtral", "voxtral"):
		return FamilyMistral
	case has("deepseek"):
		return FamilyDeepSeek
	case has("grok"):
		return FamilyGrok
	case has("gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "chatgpt-4o", "codex-mini", "computer-use-preview"), openAIReasoning(m):
		return FamilyO200K
	case has("gpt-4", "gpt-3.5", "gpt-35"):
		return FamilyCL100K
	}
	if ofOwnMaker(m) {
		return FamilyUnknown
	}
	switch strings.ToLower(upstream) {
	case "anthropic", "claude":
		return FamilyClaude47
	case "gemini", "google", "vertex":
		return FamilyGemini
	}
	return FamilyUnknown
}

// MayBeClaude reports whether a model may be one of Claude's: its name says so, or says nothing ("my-deployment", a part of an ARN) and the
// upstream does not answer with models of its own.
func MayBeClaude(upstream, model string) bool {
	switch f := FamilyOf(upstream, model); {
	case f.Claude():
		return true
	case f != FamilyUnknown, isOwnMaker(upstream):
		return false
	}
	return !ofOwnMaker(strings.ToLower(model))
}

// isOwnMaker reports whether an upstream answers with models of its own, whose tokenizers are not known: see models.OwnModels.
func isOwnMaker(upstream string) bool {
	return upstream == "kimi" || upstream == "glm" || upstream == "minimax"
}

// ofOwnMaker reports whether a model's name, in lower case, is one of theirs.
func ofOwnMaker(model string) bool {
	return slices.ContainsFunc([]string{"kimi", "moonshot", "glm", "minimax"}, func(word string) bool { return strings.Contains(model, word) })
}

// openAIReasoning reports whether a name is o1, o3-mini, o4-mini-2025-04-16 or the like.
func openAIReasoning(m string) bool {
	return len(m) >= 2 && m[0] == 'o' && m[1] >= '1' && m[1] <= '4' && (len(m) == 2 || m[2] == '-')
}

// claudeFamily returns which of the two tokenizers a model with "claude" in its name has, by its version: the first two numbers of one or
// two digits ("claude-3-5-sonnet-20241022", "claude-opus-4-7"). Without a version it is the newer one, which yields more tokens.
func claudeFamily(m string) Family {
	major, minor, seen := 0, 0, 0
	rest := m[strings.Index(m, "claude"):]
	if i := strings.Index(rest, "-v1"); i >= 0 {
		rest = rest[:i] // Bedrock's own version
	}
	for part := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r < '0' || r > '9' }) {
		if len(part) > 2 {
			break // a date
		}
		n := 0
		for _, c := range []byte(part) {
			n = n*10 + int(c-'0')
		}
		switch seen++; seen {
		case 1:
			major = n
		case 2:
			minor = n
		}
	}
	if seen == 0 || major > 4 || major == 4 && minor >= 7 {
		return FamilyClaude47
	}
	return FamilyClaude
}

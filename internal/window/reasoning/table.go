// Package reasoning knows what binds a model's reasoning to the conversation it was made in, how providers refuse reasoning that does not
// fit, and how to take it out of a request. The proxy and package compact use it.
//
// Newer models bind a thought to everything before it ([Prefix]): once that has changed, the thought and all later ones are refused, or
// dropped without a word. Whoever changes the history takes the reasoning behind the change out with it ([Without]); what the model thinks
// from then on fits the new history. Older models bind thoughts to the model ([Model]) or to nothing ([Free]).
//
// The rules are one table, the refusals another, each row with its source and date. A model newer than the table counts as the newest of
// its family: that may lose thoughts at a cut, where the other way round requests would be refused. All functions are pure, and linear in
// the first 64 KiB of a refusal.
package reasoning

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/window/models"
)

// Binding is the bond of a model's reasoning to the model and to what stood before it.
type Binding uint8

// The bindings.
const (
	Free   Binding = iota // reasoning is plain text, or is not looked at when it comes back
	Model                 // only the model that made it, or one of its kin, takes it back
	Prefix                // and only behind exactly what stood before it when it was made
)

// String returns "free", "model" or "prefix".
func (b Binding) String() string { return [...]string{"free", "model", "prefix"}[min(int(b), 2)] }

// Rule describes a provider's treatment of a model's reasoning that comes back to it.
type Rule struct {
	Family  string // whose rule it is: "claude", "gpt", …; "" where the model is not known
	Binding Binding
	// Refuses is true when reasoning behind a changed prefix is refused with a 400, for some accounts at
	// least. Where it is false the provider drops it without an error and names it in
	// input_transformations.
	Refuses bool
	// Beta is the value of the anthropic-beta header with which a request may ask for dropping in place
	// of a refusal; "" where it cannot be asked for.
	Beta string
	// Source is the page that says so, Date the day it was read, as 2006-01-02.
	Source, Date string
}

// DropBeta goes with a request that asks for thinking to be dropped where it does not fit
// (platform.claude.com, fix-bound-to-a-different-conversation, 2026-11-26).
const DropBeta = "thinking-binding-controls-2026-08-01"

const (
	prefixChecks   = "platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks"
	preserved      = "platform.claude.com/docs/en/build-with-claude/preserved-thinking"
	keepPrefix     = "developers.openai.com/api/docs/guides/keep-prefix-unchanged"
	openaiThinking = "developers.openai.com/api/docs/guides/reasoning"
	geminiThinking = "ai.google.dev/gemini-api/docs/thought-signatures"
	xaiThinking    = "docs.x.ai/docs/guides/reasoning"
	deepseek       = "api-docs.deepseek.com/guides/thinking_mode"
	openrouter     = "openrouter.ai/docs/use-cases/reasoning-tokens"
)

// A line of the table is for the models of one family from a version on.
type line struct {
	family string // the word in a model's name that says whose it is
	since  version
	rule   Rule
}

// table is searched from the top: of one family the newest comes first.
var table = [...]line{
	// Claude Fable 5.1, Mythos 5.1, Opus 5.5, Sonnet 5.5, Haiku 5.5, and what came after them: the page
	// lists them as those that run the check. On by default for accounts made from 2026-08-31 on, on
	// Bedrock, and for everybody from Fable 5.2 on. (Early in September the page left Mythos 5.1 out:
	// opencode#46848. The present one has it.)
	{"claude", version{5, 1}, Rule{Binding: Prefix, Refuses: true, Beta: DropBeta, Source: prefixChecks, Date: "2026-11-26"}},
	// A model reads its own thinking and that of some others; the rest is dropped without an error.
	{"claude", version{}, Rule{Binding: Model, Source: preserved, Date: "2026-11-26"}},
	// From GPT-6.2 (2026-11-18) on: dropped behind an edit of the prefix, at a change to a smaller model,
	// and for another end user or organization. Never refused for that.
	{"gpt", version{6, 2}, Rule{Binding: Prefix, Source: keepPrefix, Date: "2026-11-26"}},
	{"gpt", version{}, Rule{Binding: Model, Source: openaiThinking, Date: "2026-11-26"}},
	{"chatgpt", version{}, Rule{Binding: Model, Source: openaiThinking, Date: "2026-11-26"}},
	{"o", version{}, Rule{Binding: Model, Source: openaiThinking, Date: "2026-11-26"}}, // o1, o3, o4-mini
	// A signature has to come back in the part it came in; what stands before it is not looked at.
	{"gemini", version{}, Rule{Binding: Model, Source: geminiThinking, Date: "2026-11-26"}},
	{"grok", version{}, Rule{Binding: Model, Source: xaiThinking, Date: "2026-11-26"}}, // encrypted where it is asked for
	// Words in a member of the message, signed by nobody.
	{"deepseek", version{}, Rule{Source: deepseek, Date: "2026-11-26"}},
	{"kimi", version{}, Rule{Source: openrouter, Date: "2026-11-26"}},
	{"glm", version{}, Rule{Source: openrouter, Date: "2026-11-26"}},
	{"qwen", version{}, Rule{Source: openrouter, Date: "2026-11-26"}},
	{"minimax", version{}, Rule{Source: openrouter, Date: "2026-11-26"}},
}

// open are words in the names of models whose weights anybody has: "gpt-oss-120b" is no GPT of
// OpenAI's service, and a distilled Claude no Claude.
var open = []string{"oss", "distill", "distilled", "gguf"}

// RuleFor finds the rule for a model by its name as any platform spells it: "claude-opus-5-5",
// "us.anthropic.claude-opus-5-5-v1:0", "claude-opus-5-5@20260901", "anthropic/claude-fable-5.1". A name of
// a family without a version is an alias for the newest. Provider is the catalogue's name ("anthropic",
// "openai", "bedrock"; see package models) or ""; it decides where the model's name says nothing: Anthropic
// serves nothing but Claude, and a server of the user's own has no bound model. For [models.OwnModels] it decides alone. A model that is not known
// at all has the zero rule, with no Family.
func RuleFor(provider, model string) Rule {
	switch provider {
	case "ollama", "lmstudio", "llama.cpp", "vllm", "sglang":
		return Rule{}
	}
	family, v := parse(model)
	switch {
	case models.OwnModels(provider):
		family, v = provider, newest
	case family == "" && provider == "anthropic" && model != "":
		family, v = "claude", newest
	}
	for i := range table {
		if l := &table[i]; l.family == family && !v.before(l.since) {
			rule := l.rule
			rule.Family = family
			return rule
		}
	}
	return Rule{}
}

// version is that of a model within its family.
type version struct{ major, minor int }

// newest is the version of a name that has none.
var newest = version{1 << 20, 0}

// before reports whether v is older than other.
func (v version) before(other version) bool {
	return v.major < other.major || v.major == other.major && v.minor < other.minor
}

// maxName bounds what is read of a name, in bytes.
const maxName = 256

// parse finds the family of the table that a model's name has a word of, and the version behind or before
// that word; no family where there is none. In a name with vendors and platforms around it the last word
// counts: "openrouter/anthropic/claude-opus-5.5".
func parse(model string) (string, version) {
	model = strings.ToLower(model[:min(len(model), maxName)])
	words := strings.FieldsFunc(model, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(open, w) }) {
		return "", version{}
	}
	for i := len(words) - 1; i >= 0; i-- {
		letters := strings.TrimRight(words[i], "0123456789")
		if !slices.ContainsFunc(table[:], func(l line) bool { return l.family == letters }) {
			continue
		}
		digits := words[i][len(letters):]
		if letters == "o" {
			if digits == "" || i > 0 && words[i-1] == "4" {
				continue // not the name of a model: "gpt-4-o"
			}
			return letters, version{}
		}
		return letters, findVersion(digits, words[i+1:])
	}
	return "", version{}
}

// findVersion returns a version: digits, which are written to the family's word ("gpt5.5"), or else the first number among the words after
// it ("claude-3-5-sonnet", "claude-opus-5-5"). Without a number, or with a date alone, it is the newest.
func findVersion(digits string, words []string) version {
	at := 0
	if digits == "" {
		if len(words) > 0 {
			words[0] = strings.TrimPrefix(words[0], "v") // Bedrock's "claude-v2:1"; the v1 at the end of others is none
		}
		for at < len(words) && versionNumber(words[at]) < 0 && !isDate(words[at]) {
			at++
		}
		if at == len(words) || isDate(words[at]) {
			return newest
		}
		digits = words[at]
		at++
	}
	v := version{major: versionNumber(digits)}
	if v.major >= 20 { // Azure's "gpt-35-turbo"
		return version{v.major / 10, v.major % 10}
	}
	if at < len(words) && len(words[at]) <= 2 && isDigits(words[at]) {
		v.minor = versionNumber(words[at])
	}
	return v
}

// versionNumber returns the number in a word such as 5 or 4o; -1 if it is no version.
func versionNumber(word string) int {
	word = strings.TrimSuffix(word, "o")
	if len(word) == 0 || len(word) > 2 || !isDigits(word) {
		return -1
	}
	n := 0
	for i := range len(word) {
		n = n*10 + int(word[i]-'0')
	}
	return n
}

// isDate reports whether a word is digits alone, four or more.
func isDate(word string) bool { return len(word) >= 4 && isDigits(word) }

// isDigits reports whether a word is digits alone and not empty.
func isDigits(word string) bool {
	for i := range len(word) {
		if word[i] < '0' || word[i] > '9' {
			return false
		}
	}
	return word != ""
}

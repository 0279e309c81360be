package tokens

import (
	"math/rand/v2"
	"testing"
)

func TestFamilyOf(t *testing.T) {
	for _, c := range []struct {
		upstream, model string
		want            Family
	}{
		{"openai", "gpt-4o-2024-08-06", FamilyO200K},
		{"openai", "gpt-4.1-mini", FamilyO200K},
		{"openai", "gpt-5.1-codex-max", FamilyO200K},
		{"openai", "o3", FamilyO200K},
		{"openai", "o4-mini-2025-04-16", FamilyO200K},
		{"openai", "ft:gpt-4o-mini:acme::abc", FamilyO200K},
		{"openai", "gpt-oss-120b", FamilyO200K},
		{"openai", "gpt-4", FamilyCL100K},
		{"openai", "gpt-4-turbo-2024-04-09", FamilyCL100K},
		{"azure", "gpt-35-turbo", FamilyCL100K},
		{"openrouter", "openai/gpt-4o", FamilyO200K},
		{"openai", "my-deployment", FamilyUnknown},
		{"openai", "olmo-2", FamilyUnknown},
		{"openai", "gpt-9", FamilyUnknown},
		{"", "", FamilyUnknown},
		{"anthropic", "claude-3-5-sonnet-20241022", FamilyClaude},
		{"anthropic", "claude-3-haiku-20240307", FamilyClaude},
		{"anthropic", "claude-opus-4-20250514", FamilyClaude},
		{"anthropic", "claude-opus-4-6", FamilyClaude},
		{"anthropic", "claude-haiku-4-5-20251001", FamilyClaude},
		{"anthropic", "claude-opus-4-7", FamilyClaude47},
		{"anthropic", "claude-opus-4-8[1m]", FamilyClaude47},
		{"anthropic", "claude-sonnet-5", FamilyClaude47},
		{"anthropic", "sonnet", FamilyClaude47},
		{"bedrock", "us.anthropic.claude-opus-4-1-20250805-v1:0", FamilyClaude},
		{"bedrock", "anthropic.claude-3-5-sonnet-20240620-v1:0", FamilyClaude},
		{"bedrock", "eu.anthropic.claude-opus-4-7-v1", FamilyClaude47},
		{"vertex", "claude-sonnet-4@20250514", FamilyClaude},
		{"gemini", "models/gemini-2.5-pro", FamilyGemini},
		{"x", "meta-llama/Llama-3.3-70B-Instruct", FamilyLlama},
		{"x", "deepseek-r1-distill-llama-70b", FamilyLlama},
		{"x", "Qwen/Qwen3-Coder-480B", FamilyQwen},
		{"x", "deepseek-chat", FamilyDeepSeek},
		{"x", "devstral-small", FamilyMistral},
		{"x", "grok-4-fast", FamilyGrok},
		{"x", "kimi-k2", FamilyUnknown},
		{"anthropic", "kimi-k2.5", FamilyUnknown}, // at a gateway that speaks its protocol
		{"anthropic", "GLM-5", FamilyUnknown},
		{"deepseek", "claude-opus-4-8", FamilyDeepSeek}, // which answers with its own
		{"kimi", "claude-opus-4-8", FamilyUnknown},
		{"openrouter", "anthropic/claude-opus-4.8", FamilyClaude47},
	} {
		if got := FamilyOf(c.upstream, c.model); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.upstream, c.model, got, c.want)
		}
	}
}

func TestMayBeClaude(t *testing.T) {
	for _, c := range []struct {
		upstream, model string
		want            bool
	}{
		{"anthropic", "claude-opus-4-8", true},
		{"anthropic", "opus", true},
		{"bedrock", "ab12", true}, // an inference profile of one's own
		{"azure", "my-opus", true},
		{"openai", "smart", true},
		{"openrouter", "anthropic/claude-opus-4.8", true},
		{"anthropic", "kimi-k2.5", false},
		{"anthropic", "deepseek-v4-pro", false},
		{"openai", "GLM-5", false},
		{"kimi", "claude-opus-4-8", false},
		{"deepseek", "claude-opus-4-8", false},
		{"minimax", "opus", false},
	} {
		if got := MayBeClaude(c.upstream, c.model); got != c.want {
			t.Errorf("%s %s: %v", c.upstream, c.model, got)
		}
	}
}

// An unknown tokenizer may be any of the known ones.
func TestUnknownIsAsWideAsAll(t *testing.T) {
	wide := factors[FamilyUnknown]
	for f := range families {
		if f.Exact() {
			continue
		}
		for k, b := range factors[f] {
			if b.low <= 0 || b.low > b.best || b.best > b.high {
				t.Errorf("%s, kind %d: %+v is no band", f, k, b)
			}
			if wide[k].high < b.high {
				t.Errorf("kind %d: %s goes up to %d, unknown to %d", k, f, b.high, wide[k].high)
			}
		}
	}
}

func TestEstimatesHoldWhatWasPublished(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	english := string(mixture(rng, vocabularyOf["english"], 8000))
	code := string(sources(t, 40000))
	for _, c := range []struct {
		what, text string
		f          Family
		ratio      float64 // to o200k
	}{
		{"English articles", english, FamilyClaude, 1.16},
		{"Python, and so about other code", code, FamilyClaude, 1.30},
		{"hexdump by Claude 2", texts(rng, "hexdump", 8000), FamilyClaude, 0.82},
		{"mixed Unicode by Claude 2", texts(rng, "mixed", 8000), FamilyClaude, 1.57},
		{"English", english, FamilyClaude47, 1.16 * 1.46},
		{"code", code, FamilyClaude47, 1.30 * 1.36},
		{"log lines in JSON", texts(rng, "json", 8000), FamilyClaude47, 1.22 * 1.31},
	} {
		var m mix
		s := new(scratch)
		n := O200K().countText(s, []byte(c.text), &m)
		m.moveDense()
		e, want := m.estimate(c.f), int(float64(n)*c.ratio)
		if want < e.Low || want > e.High {
			t.Errorf("%s, %s: %d tokens were measured (%d of o200k), the estimate is %+v", c.f, c.what, want, n, e)
		}
		if e.High > 2*e.Best {
			t.Errorf("%s, %s: a band up to twice the best estimate is of no use: %+v", c.f, c.what, e)
		}
	}
}

func TestNoEstimateIsAboveTheBytes(t *testing.T) {
	for _, s := range corpus(t, 8<<10) {
		for f := range families {
			if e := f.Estimate(s.text); e.High > len(s.text) || e.Low > e.Best || e.Best > e.High {
				t.Errorf("%s as %s: %+v of %d bytes", s.name, f, e, len(s.text))
			}
		}
	}
}

func TestClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for kind, want := range map[string]class{"english": prose, "json": structure, "base64": packed, "hexdump": packed, "mixed": foreign} {
		var m mix
		O200K().countText(new(scratch), []byte(texts(rng, kind, 4000)), &m)
		m.moveDense()
		if got := m.class(); got != want {
			t.Errorf("%s is of class %d, want %d: %+v", kind, got, want, m)
		}
	}
}

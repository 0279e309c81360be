package reasoning

import (
	"strings"
	"testing"
	"time"
)

func TestRuleFor(t *testing.T) {
	for _, tt := range []struct {
		provider, model string
		family          string
		binding         Binding
	}{
		// One model over all platforms.
		{"anthropic", "claude-opus-5-5", "claude", Prefix},
		{"anthropic", "claude-opus-5-5-20260901", "claude", Prefix},
		{"bedrock", "anthropic.claude-opus-5-5-v1:0", "claude", Prefix},
		{"bedrock", "us.anthropic.claude-opus-5-5-20260901-v1:0", "claude", Prefix},
		{"bedrock", "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-fable-5-1-v1:0", "claude", Prefix},
		{"vertex", "claude-opus-5-5@20260901", "claude", Prefix},
		{"vertex", "publishers/anthropic/models/claude-sonnet-5-5@default", "claude", Prefix},
		{"openrouter", "anthropic/claude-fable-5.1", "claude", Prefix},
		{"openrouter", "~anthropic/claude-opus-5.5:beta", "claude", Prefix},
		{"copilot", "claude-haiku-5.5", "claude", Prefix},
		{"azure", "claude-mythos-5-2", "claude", Prefix},
		{"anthropic", "claude-sonnet-5-5[1m]", "claude", Prefix},
		{"", "litellm_proxy/bedrock/eu.anthropic.claude-mythos-5-1-v1:0", "claude", Prefix},
		{"openai", "Claude_Opus_5.5", "claude", Prefix},
		// What came before the check.
		{"anthropic", "claude-opus-5", "claude", Model},
		{"anthropic", "claude-opus-5-20260301", "claude", Model},
		{"bedrock", "global.anthropic.claude-opus-5-v1:0", "claude", Model},
		{"vertex", "claude-sonnet-4-6@20260101", "claude", Model},
		{"anthropic", "claude-3-5-sonnet-20241022", "claude", Model},
		{"anthropic", "claude-3-opus-latest", "claude", Model},
		{"bedrock", "anthropic.claude-v2:1", "claude", Model},
		{"bedrock", "anthropic.claude-instant-1.2", "claude", Model},
		// What may come, and names that say no version.
		{"anthropic", "claude-opus-6", "claude", Prefix},
		{"anthropic", "claude-quartz-5-6-20270101", "claude", Prefix},
		{"bedrock", "apac.anthropic.claude-opus-7-v1:0", "claude", Prefix},
		{"anthropic", "claude-opus-latest", "claude", Prefix},
		{"anthropic", "claude-opus-20270101", "claude", Prefix},
		{"anthropic", "quartz-preview", "claude", Prefix},
		{"bedrock", "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", "", Free},

		{"openai", "gpt-6.2-sol", "gpt", Prefix},
		{"openai", "gpt-6.2-astra-2026-11-18", "gpt", Prefix},
		{"openai", "gpt-6.2-codex", "gpt", Prefix},
		{"openrouter", "openai/gpt-6.3", "gpt", Prefix},
		{"openai", "gpt-7-mini", "gpt", Prefix},
		{"openai", "gpt-6.1-sol", "gpt", Model},
		{"openai", "gpt-6-luna", "gpt", Model},
		{"azure", "gpt-5-2025-08-07", "gpt", Model},
		{"openai", "gpt-5.3-codex", "gpt", Model},
		{"openai", "gpt-4o-mini", "gpt", Model},
		{"openai", "chatgpt-4o-latest", "chatgpt", Model},
		{"azure", "gpt-35-turbo", "gpt", Model},
		{"azure", "gpt-35-turbo-16k", "gpt", Model},
		{"openai", "ft:gpt-4.1-2025-04-14:acme::x", "gpt", Model},
		{"openai", "o4-mini", "o", Model},
		{"openai", "o3", "o", Model},

		{"gemini", "models/gemini-3.7-flash", "gemini", Model},
		{"xai", "grok-5", "grok", Model},
		{"deepseek", "deepseek-chat", "deepseek", Free},
		{"deepseek", "claude-opus-5-5", "deepseek", Free},
		{"glm", "claude-sonnet-5-5", "glm", Free},
		{"groq", "openai/gpt-oss-120b", "", Free},
		{"ollama", "claude-opus-9-abliterated", "", Free},
		{"together", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "", Free},
		{"openai", "my-deployment", "", Free},
		{"mistral", "mistral-large", "", Free},
		{"anthropic", "", "", Free},
	} {
		rule := RuleFor(tt.provider, tt.model)
		if rule.Family != tt.family || rule.Binding != tt.binding {
			t.Errorf("%s of %q: %q is bound to %s, want %q, %s", tt.model, tt.provider, rule.Family, rule.Binding, tt.family, tt.binding)
		}
		if rule.Family != "" && rule.Source == "" {
			t.Errorf("%s: the rule has no source", tt.model)
		}
	}
}

func TestTableIsInOrder(t *testing.T) {
	last := map[string]version{}
	for _, l := range table {
		if before, ok := last[l.family]; ok && !l.since.before(before) {
			t.Errorf("%s %v is never reached", l.family, l.since)
		}
		last[l.family] = l.since
		if _, err := time.Parse("2006-01-02", l.rule.Date); err != nil || !strings.Contains(l.rule.Source, ".") {
			t.Errorf("%s %v: source %q of %q", l.family, l.since, l.rule.Source, l.rule.Date)
		}
		if (l.rule.Refuses || l.rule.Beta != "") && l.rule.Binding != Prefix {
			t.Errorf("%s %v: only a bound model refuses", l.family, l.since)
		}
	}
	for family, v := range last {
		if v != (version{}) {
			t.Errorf("%s has no rule for what is older than %v", family, v)
		}
	}
}

package models

import (
	"strings"
	"testing"
)

func environ(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, pair := range pairs {
			if key, value, _ := strings.Cut(pair, "="); key == name {
				return value, true
			}
		}
		return "", false
	}
}

func TestFromEnviron(t *testing.T) {
	o, err := FromEnviron(environ("LLM_PROVIDER=azure-openai", "MAX_CONTEXT_TOKENS= 50000 ", "AZURE_OPENAI_MAX_CONTEXT_TOKENS=60000", "OPENAI_MAX_CONTEXT_TOKENS=",
		"AWS_BEDROCK_MAX_CONTEXT_TOKENS=70000", "ANTHROPIC_MAX_CONTEXT_TOKENS=80000", "GOOGLE_GEMINI_MAX_CONTEXT_TOKENS=90000", "GCP_VERTEXAI_MAX_CONTEXT_TOKENS=95000"))
	if err != nil || o.Provider != "azure-openai" || o.Max != 50_000 {
		t.Fatalf("%+v, %v", o, err)
	}
	for upstream, want := range map[string]int{
		"openai":                                60_000, // the provider that is named is behind it
		"https://api.groq.com":                  50_000,
		"https://me.example.com":                60_000,
		"anthropic":                             80_000,
		"bedrock":                               70_000,
		"gemini":                                90_000,
		"vertex":                                95_000,
		"azure":                                 60_000,
		"https://ai.azure.com/v1":               60_000,
		"openai+https://gateway.example.com/v1": 60_000,
		"openai+http://127.0.0.1:11434/v1":      60_000,
		"openai+https://api.groq.com/openai/v1": 60_000, // set as the upstream of that name
		"anthropic+https://bedrock-runtime.us-east-1.amazonaws.com": 70_000,
		"gemini+http://127.0.0.1:1":                                 90_000,
	} {
		if got := o.window(upstream); got != want {
			t.Errorf("%s: %d, want %d", upstream, got, want)
		}
	}
	if o, err := FromEnviron(environ()); err != nil || o.Max != 0 || o.ByProvider != nil || o.window("openai") != 0 {
		t.Errorf("an empty environment gives %+v, %v", o, err)
	}
}

func TestBadEnvironIsAnError(t *testing.T) {
	for _, pair := range []string{
		"MAX_CONTEXT_TOKENS=many", "MAX_CONTEXT_TOKENS=-1", "MAX_CONTEXT_TOKENS=0", "MAX_CONTEXT_TOKENS=1023", "MAX_CONTEXT_TOKENS=99999999999999999999",
		"MAX_CONTEXT_TOKENS=128k", "MAX_CONTEXT_TOKENS=1e5", "OPENAI_MAX_CONTEXT_TOKENS=20971521", "LLM_PROVIDER=hal", "GCP_VERTEXAI_MAX_CONTEXT_TOKENS=12_000",
	} {
		name, value, _ := strings.Cut(pair, "=")
		o, err := FromEnviron(environ(pair, "ANTHROPIC_MAX_CONTEXT_TOKENS=80000"))
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), value) || !strings.Contains(err.Error(), "unset it") {
			t.Errorf("%s: %v", pair, err)
		}
		if o.Max != 0 || o.Provider != "" || o.window("anthropic") != 80_000 {
			t.Errorf("%s: what is good is lost: %+v", pair, o)
		}
	}
	_, err := FromEnviron(environ("LLM_PROVIDER=hal", "MAX_CONTEXT_TOKENS=x"))
	if err == nil || !strings.Contains(err.Error(), "LLM_PROVIDER") || !strings.Contains(err.Error(), "MAX_CONTEXT_TOKENS") {
		t.Errorf("two mistakes give %v", err)
	}
}

// Provider variable, then the one for all, then learned, catalogue, provider's default,
// 100,000; an override above a learned limit yields.
func TestPrecedence(t *testing.T) {
	for _, c := range []struct {
		what            string
		o               Overrides
		learned         int
		upstream, model string
		want            int
		source          string
	}{
		{"provider before all", Overrides{Max: 50_000, ByProvider: map[string]int{"anthropic": 60_000}}, 0, "anthropic", "claude-sonnet-4-5", 60_000, SourceConfig},
		{"all", Overrides{Max: 50_000}, 0, "anthropic", "claude-sonnet-4-5", 50_000, SourceConfig},
		{"all, other provider set", Overrides{Max: 50_000, ByProvider: map[string]int{"openai": 60_000}}, 0, "anthropic", "claude-sonnet-4-5", 50_000, SourceConfig},
		{"override above the catalogue", Overrides{Max: 900_000}, 0, "anthropic", "claude-sonnet-4-5", 900_000, SourceConfig},
		{"override below what was learned", Overrides{Max: 50_000}, 80_000, "anthropic", "claude-sonnet-4-5", 50_000, SourceConfig},
		{"override above what was learned", Overrides{Max: 90_000}, 80_000, "anthropic", "claude-sonnet-4-5", 80_000, SourceLearned},
		{"learned before the catalogue", Overrides{}, 80_000, "anthropic", "claude-sonnet-4-5", 80_000, SourceLearned},
		{"learned above the catalogue", Overrides{}, 500_000, "anthropic", "claude-sonnet-4-5", 500_000, SourceLearned},
		{"catalogue", Overrides{}, 0, "anthropic", "claude-sonnet-4-5", 200_000, SourceCatalogue},
		{"provider's default", Overrides{}, 0, "gemini", "house-model", 800_000, SourceDefault},
		{"named provider's default", Overrides{Provider: "gcp-vertexai"}, 0, "https://models.example.com", "house-model", 150_000, SourceDefault},
		{"a known upstream stays what it is", Overrides{Provider: "google-gemini"}, 0, "openai", "house-model", 100_000, SourceDefault},
		{"default of the protocol", Overrides{}, 0, "anthropic+http://127.0.0.1:1", "house-model", 150_000, SourceDefault},
		{"default", Overrides{}, 0, "https://models.example.com", "house-model", DefaultContext, SourceDefault},
		{"auto", Overrides{Provider: "auto"}, 0, "", "house-model", DefaultContext, SourceDefault},
	} {
		x := NewResolver(Options{Overrides: c.o})
		if c.learned > 0 {
			if ok, why := x.Learn(c.upstream, c.model, nil, c.learned, true); !ok {
				t.Errorf("%s: %s", c.what, why)
			}
		}
		if w := x.Window(c.upstream, c.model, nil); w.Context != c.want || w.Source != c.source {
			t.Errorf("%s: %+v, want %d from %s", c.what, w, c.want, c.source)
		}
	}
}

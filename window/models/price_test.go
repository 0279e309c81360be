package models

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestLookupPrice(t *testing.T) {
	for _, c := range []struct {
		upstream, model string
		input, output   float64
	}{
		{"anthropic", "claude-sonnet-4-5-20250929", 3, 15},
		{"https://api.anthropic.com", "claude-opus-5-5", 4, 20},
		{"anthropic", "claude-opus-5-5[1m]", 4, 20},
		{"openai", "gpt-5.2", 1.75, 14},
		{"bedrock", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", 3.3, 16.5},
		{"anthropic", "claude-of-tomorrow", 0, 0},
		{"anthropic", "gpt-5.2", 0, 0},
		{"https://models.example.org/v1", "gpt-5.2", 0, 0},
		{"", "gpt-5.2", 0, 0},
	} {
		p, ok := LookupPrice(c.upstream, c.model)
		if ok != (c.input > 0) || p.Input != c.input || p.Output != c.output {
			t.Errorf("%s of %s: %+v, %t", c.model, c.upstream, p, ok)
		}
	}
}

func TestPriceOf(t *testing.T) {
	sonnet, _ := LookupPrice("anthropic", "claude-sonnet-4-5")
	gpt, _ := LookupPrice("openai", "gpt-5.5")
	for name, c := range map[string]struct{ got, want float64 }{
		"fresh":                    {sonnet.Of(1_000_000, 0, 0, 0, 0), 3},
		"read from a cache":        {sonnet.Of(1_000_000, 1_000_000, 0, 0, 0), 0.3},
		"written for five minutes": {sonnet.Of(1_000_000, 0, 1_000_000, 0, 0), 3.75},
		"written for an hour":      {sonnet.Of(1_000_000, 0, 0, 1_000_000, 0), 6},
		"all of it":                {sonnet.Of(1_000_000, 500_000, 200_000, 100_000, 10_000), 0.6 + 0.15 + 0.75 + 0.6 + 0.15},
		"more parts than a whole":  {sonnet.Of(10, 1_000_000, 0, 0, 0), 0.3},
		"a short request":          {gpt.Of(272_000, 0, 0, 0, 1_000_000), 1.36 + 30},
		"a long one":               {gpt.Of(272_001, 0, 0, 0, 1_000_000), 2.72001 + 45},
		"no price for writes":      {gpt.Of(100_000, 0, 100_000, 0, 0), 0.5},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

// Every line of the table can be read and costs something; they are sorted, so that each is found.
func TestPriceTable(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(prices), "\n")
	if len(lines) < 1000 || !slices.IsSorted(lines) {
		t.Errorf("%d lines, sorted %t", len(lines), slices.IsSorted(lines))
	}
	for _, line := range lines {
		key, text, _ := strings.Cut(line, " ")
		fields := len(strings.Fields(text))
		provider, model, _ := strings.Cut(key, "/")
		p := parsePrice(text)
		if fields < 4 || (fields-4)%5 != 0 || p.Input+p.Output <= 0 || p.Input < 0 || p.Output > 1000 || Provider(provider) != provider || model == "" {
			t.Errorf("%q", line)
		}
		for i, l := range p.Longer {
			if l.Above < 1000 || l.Input < p.Input || i > 0 && l.Above <= p.Longer[i-1].Above {
				t.Errorf("%q: %+v", line, l)
			}
		}
	}
}

// A model on a server of one's own costs nothing, and that is known; what such a server passes on to its maker's service has no known price.
func TestOwnServersAreFree(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{"qwen3": true, "glm-5:cloud": false, "gpt-oss:120b-cloud": false} {
		if p, ok := LookupPrice("ollama+http://127.0.0.1:11434", model); ok != want || p.Of(1000, 0, 0, 0, 1000) != 0 {
			t.Errorf("%s: %+v, %v", model, p, ok)
		}
	}
}

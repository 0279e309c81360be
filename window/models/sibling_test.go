package models

import (
	"slices"
	"strings"
	"testing"
)

func TestLineage(t *testing.T) {
	for spelled, want := range map[string]struct {
		words string
		v     version
	}{
		"claude-opus-5-5":            {"claude opus", version{5, 5}},
		"claude-3-5-sonnet":          {"claude sonnet", version{3, 5}},
		"claude-sonnet-4-5-20250929": {"claude sonnet", version{4, 5}},
		"gpt-4o-2024-11-20":          {"gpt 4o", nil},
		"gpt-oss-120b":               {"gpt oss 120b", nil},
		"kimi-k2-6":                  {"kimi k", version{2, 6}},
		"qwen3-30b-a3b":              {"qwen 30b a3b", version{3}},
		"anthropic/claude-opus-4":    {"claude opus", version{4}},
		"mistral-small-4-119b-2603":  {"mistral small 119b", version{4, 2603}},
		"gpt-4-0613":                 {"gpt", version{4}},
		"deepseek-v4":                {"deepseek v", version{4}},
		"deepseek-v4-2026-03-01":     {"deepseek v", version{4}},
		"nova-2-pro-v1-0":            {"nova pro", version{2}},
		"":                           {"", nil},
	} {
		words, v := lineage(spelled)
		if strings.Join(words, " ") != want.words || !slices.Equal(v, want.v) {
			t.Errorf("%s: %q %v, want %q %v", spelled, words, v, want.words, want.v)
		}
	}
}

// Whatever comes after the newest model of a family that is known is not taken for smaller than that.
func TestNewerIsNeverSmaller(t *testing.T) {
	families := 0
	providers, _ := new(Catalogue).Providers()
	for _, provider := range providers {
		type member struct {
			v version
			w Window
		}
		newest := map[string]member{}
		for key, w := range new(Catalogue).linesOf(provider) {
			words, v := lineage(key)
			family := strings.Join(words, "-")
			if old := newest[family]; len(v) > 0 && slices.Compare(v, old.v) >= 0 {
				if slices.Equal(v, old.v) && old.w.Context > w.Context {
					w = old.w
				}
				newest[family] = member{v, w}
			}
		}
		for family, m := range newest {
			families++
			next := family + "-99"
			if m.v[len(m.v)-1] >= 1000 { // a month
				next = family + "-2912"
			}
			if _, known := new(Catalogue).find(provider + "/" + next); known {
				continue
			}
			if w, ok := Lookup(provider, next, nil); !ok || w.Context < m.w.Context || !w.Guessed() {
				t.Errorf("%s %s: %+v, %v; its sibling %v has %d", provider, next, w, ok, m.v, m.w.Context)
			}
		}
	}
	if families < 300 {
		t.Errorf("only %d families", families)
	}
}

func BenchmarkGuess(b *testing.B) {
	for b.Loop() {
		new(Catalogue).guessWindow(parseName("claude-saga-6"), "anthropic")
	}
}

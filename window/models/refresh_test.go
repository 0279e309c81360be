package models

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

const modelsDev = `{
 "anthropic": {"id": "anthropic", "models": {
  "claude-next-7": {"last_updated": "2026-12-01", "limit": {"context": 3000000, "output": 200000}},
  "claude-sonnet-5": {"limit": {"context": 1000000, "output": 128000}},
  "claude-paint": {"limit": {"context": 100000}, "modalities": {"output": ["image"]}},
  "absurd": {"limit": {"context": 1e300}}, "wrong": {"limit": []}, "": {"limit": {"context": 5000}}
 }},
 "somebody": {"models": {"lab/open-model-9": {"limit": {"context": 700000, "input": 600000, "output": 1}}}}
}`

const liteLLM = `{
 "sample_spec": {"max_input_tokens": "…"},
 "claude-next-7": {"litellm_provider": "anthropic", "mode": "chat", "max_input_tokens": 3000000, "max_output_tokens": 1000},
 "gpt-5.2": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 272000, "max_output_tokens": 128000},
 "bedrock_converse/zz.model-1": {"litellm_provider": "bedrock_converse", "mode": "chat", "max_input_tokens": 640000},
 "dall-e-9": {"litellm_provider": "openai", "mode": "image_generation", "max_input_tokens": 5000}
}`

// What the user refreshes counts before the built-in catalogue, in a Resolver that is at work too, and until it is taken out.
func TestRefreshedCatalogueCounts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "limits")
	x := NewResolver(Options{Dir: dir, Warn: func(text string) { t.Error(text) }})
	if w := x.Window("anthropic", "claude-next-7", nil); w.Context == 3_000_000 {
		t.Fatalf("known already: %+v", w)
	}
	r, err := Refresh(dir, "api.json", []byte(modelsDev))
	if err != nil || r.Models != 3 || r.LeftOut != 3 || r.Form != "models.dev" || r.Date != "2026-12-01" {
		t.Fatalf("%+v, %v; want claude-next-7 at its provider and anywhere, and open-model-9", r, err)
	}
	info, err := os.Stat(filepath.Join(dir, refreshedFile))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	x.refreshed.checked = x.refreshed.checked.Add(-recheck)
	for _, c := range []struct {
		upstream, model string
		context         int
		source          string
	}{
		{"anthropic", "claude-next-7", 3_000_000, SourceRefreshed},
		{"bedrock", "us.anthropic.claude-next-7-v1:0", 3_000_000, SourceRefreshed},
		{"anthropic", "claude-sonnet-5", 1_000_000, SourceCatalogue},
		{"anthropic", "claude-next-8", 3_000_000, SourceFamily},
		{"groq", "lab/open-model-9", 700_000, SourceElsewhere},
		{"anthropic", "claude-haiku-4-5", 200_000, SourceCatalogue},
	} {
		if w := x.Window(c.upstream, c.model, nil); w.Context != c.context || w.Source != c.source {
			t.Errorf("%s %s: %+v, want %d from %s", c.upstream, c.model, w, c.context, c.source)
		}
	}
	if ok, why := x.Learn("anthropic", "claude-next-7", nil, 500_000, true); !ok {
		t.Fatal(why)
	}
	if w := x.Window("anthropic", "claude-next-7", nil); w.Context != 500_000 || w.Source != SourceLearned {
		t.Errorf("what the provider refused: %+v", w)
	}
	c, err := Open(dir)
	if err != nil || c.Refreshed.Origin != "api.json" || c.Refreshed.Models != 3 || len(c.Of("anthropic")) != len(new(Catalogue).Of("anthropic"))+1 {
		t.Errorf("%+v, %v", c.Refreshed, err)
	}
	if had, err := Forget(dir); !had || err != nil {
		t.Errorf("%v, %v", had, err)
	}
	if had, err := Forget(dir); had || err != nil {
		t.Errorf("again: %v, %v", had, err)
	}
	x.refreshed.checked = x.refreshed.checked.Add(-recheck)
	if w := x.Window("groq", "lab/open-model-9", nil); w.Source == SourceElsewhere {
		t.Errorf("it still counts: %+v", w)
	}
}

// LiteLLM knows only the room of the input; what the built-in catalogue says of the rest stays.
func TestRefreshFromLiteLLM(t *testing.T) {
	dir := t.TempDir()
	r, err := Refresh(dir, "https://h/x.json", []byte(liteLLM))
	if err != nil || r.Form != "LiteLLM" {
		t.Fatalf("%+v, %v", r, err)
	}
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if w, _ := c.Lookup("openai", "gpt-5.2", nil); w.Context != 400_000 || w.Input != 272_000 || w.Source != SourceCatalogue {
		t.Errorf("gpt-5.2: %+v", w)
	}
	if w, ok := c.Lookup("bedrock", "zz.model-1", nil); !ok || w.Context != 640_000 || w.Source != SourceRefreshed {
		t.Errorf("%+v, %v", w, ok)
	}
	if _, ok := c.find("openai/dall-e-9"); ok {
		t.Error("a model that paints has a window")
	}
}

// What cannot be read changes nothing, and a file that was damaged is told of once and not used.
func TestRefreshMistakes(t *testing.T) {
	dir := t.TempDir()
	if _, err := Refresh(dir, "good", []byte(modelsDev)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, refreshedFile)
	good := testfile.Read(t, path)
	for text, want := range map[string]string{
		"":                      "unexpected end",
		"{\n\n\"a\": }":         "line 3",
		"[]":                    "cannot unmarshal array",
		"{}":                    "neither",
		`{"a":{"models":{}}}`:   "no model with a window",
		"<html>Log in</html>":   "invalid character '<'",
		modelsDev[:100]:         "unexpected end",
		`{"a":{"models":null}}`: "neither",
	} {
		if _, err := Refresh(dir, "bad", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(good) {
		t.Errorf("changed, %v: %s", err, now)
	}
	for i, damaged := range []string{
		"", "x", strings.Replace(string(good), "models 1", "models 2", 1), string(good[:len(good)-3]),
		strings.Replace(string(good), "3000000", "-5", 1), string(good) + "any/a 5000 0 0\n", strings.Replace(string(good), "any/", "any ", 1),
	} {
		testfile.Write(t, path, damaged)
		told := 0
		x := NewResolver(Options{Dir: dir, Warn: func(text string) {
			told++
			if !strings.Contains(text, "--reset") {
				t.Error(text)
			}
		}})
		for range 3 {
			if w := x.Window("anthropic", "claude-haiku-4-5", nil); w.Context != 200_000 || w.Source != SourceCatalogue {
				t.Errorf("%d: %+v", i, w)
			}
			x.refreshed.checked = x.refreshed.checked.Add(-recheck)
		}
		if told != 1 {
			t.Errorf("%d: told %d times", i, told)
		}
	}
}

func FuzzRefresh(f *testing.F) {
	f.Add([]byte(modelsDev))
	f.Add([]byte(liteLLM))
	f.Add([]byte(`{"a":{"models":{"/":{"limit":{"context":5000}},"A b":{"limit":{"context":5000.5}},"a-b":{"limit":{"context":6000}}}}}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Refresh(dir, string(data[:min(len(data), 20)]), data)
		if err != nil {
			return
		}
		c, err := Open(dir)
		if err != nil || c.Refreshed.Models != r.Models {
			t.Fatalf("what was written is not read: %v, %d of %d", err, c.Refreshed.Models, r.Models)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(c.text, "\n"), "\n") {
			key, limits, _ := strings.Cut(line, " ")
			if w, ok := c.find(key); line != "" && (!ok || limits != fmt.Sprintf("%d %d %d", w.Context, w.Input, w.Output)) {
				t.Fatalf("%q: %+v, %v", line, w, ok)
			}
		}
	})
}

func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	if _, err := Refresh(dir, "o", []byte(modelsDev)); err != nil {
		f.Fatal(err)
	}
	good := testfile.Read(f, filepath.Join(dir, refreshedFile))
	f.Add(good)
	f.Add([]byte(refreshedHead + "2026-11-23 x - 1 o\nany/a 5000 0 0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, lines, err := readRefreshed(data)
		if err != nil {
			return
		}
		c := &Catalogue{text: lines}
		for _, model := range []string{"claude-next-7", "a", "zz/a-9", string(data[:min(len(data), 30)])} {
			if w, ok := c.Lookup("anthropic", model, nil); ok && (w.Context < MinContext || w.Context > MaxContext) {
				t.Fatalf("%q: %+v", model, w)
			}
		}
	})
}

package models

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

const sonnet = "claude-sonnet-4-5"

func tokens(x *Resolver, upstream, model string) int { return x.Window(upstream, model, nil).Context }

func TestImplausibleLimitsAreNotLearned(t *testing.T) {
	x := NewResolver(Options{})
	for _, limit := range []int{3, 0, -1, MinContext - 1, MaxContext + 1, 1 << 62} {
		if ok, why := x.Learn("anthropic", sonnet, nil, limit, true); ok || !strings.Contains(why, "plausible") {
			t.Errorf("%d: %v, %q", limit, ok, why)
		}
	}
	if got := tokens(x, "anthropic", sonnet); got != 200_000 {
		t.Errorf("window %d", got)
	}
}

func TestWhatWentThroughSpeaksAgainstASmallerLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := NewResolver(Options{})
		x.Accepted("u", "m", nil, 90_000)
		x.Accepted("u", "m", nil, 40_000)
		x.Accepted("u", "m", nil, -5)
		time.Sleep(time.Minute)
		if ok, why := x.Learn("u", "m", nil, 60_000, true); ok || why != "an input of 90000 tokens went through 1m0s ago" {
			t.Errorf("%v, %q", ok, why)
		}
		if ok, _ := x.Learn("u", "m", nil, 50_000, true); ok {
			t.Error("another number was believed at once")
		}
		if ok, why := x.Learn("u", "m", nil, 50_000, true); !ok {
			t.Errorf("the provider insists: %s", why)
		}
		if got := tokens(x, "u", "m"); got != 50_000 {
			t.Errorf("window %d", got)
		}
		// More goes through again: the limit was wrong.
		x.Accepted("u", "m", nil, 70_000)
		if got := x.Window("u", "m", nil); got.Source != SourceDefault {
			t.Errorf("%+v", got)
		}
		time.Sleep(justAccepted + time.Second)
		if ok, why := x.Learn("u", "m", nil, 30_000, true); !ok {
			t.Errorf("the server may be another by now: %s", why)
		}
	})
}

func TestGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		x := NewResolver(Options{Dir: dir})
		if ok, why := x.Learn("u", "m", nil, 60_000, false); !ok {
			t.Fatal(why)
		}
		if got := x.Window("u", "m", nil); got.Context != 60_000 || got.Source != SourceLearned {
			t.Errorf("%+v", got)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("a guess was written: %v", entries)
		}
		if ok, _ := x.Learn("u", "m", nil, 30_000, true); !ok {
			t.Error("a named limit does not replace a guess")
		}
		if ok, why := x.Learn("u", "m", nil, 45_000, false); ok || why != "the provider named 30000 tokens" {
			t.Errorf("a guess above a named limit: %v, %q", ok, why)
		}
		if ok, _ := x.Learn("u", "n", nil, 20_000, false); !ok {
			t.Error("n")
		}
		// Tried 75,000 in vain, then 45,000 with success, after 58,000 had gone through.
		x.Accepted("u", "o", nil, 58_000)
		if ok, why := x.Learn("u", "o", nil, 57_000, false); !ok {
			t.Error(why)
		}
		if got := x.Window("u", "o", nil); got.Context != 58_000 {
			t.Errorf("a guess below what went through: %+v", got)
		}
		time.Sleep(GuessedFor + time.Second)
		if got := x.Window("u", "n", nil); got.Source != SourceDefault {
			t.Errorf("a guess lives on: %+v", got)
		}
		time.Sleep(LearnedFor)
		if got := x.Window("u", "m", nil); got.Source != SourceDefault {
			t.Errorf("a limit lives on: %+v", got)
		}
	})
}

func TestLongContextIsLearnedApart(t *testing.T) {
	x := NewResolver(Options{})
	beta := []string{"context-1m-2025-08-07"}
	x.Learn("anthropic", sonnet, nil, 200_000, true)
	if w := x.Window("anthropic", sonnet, beta); w.Context != 1_000_000 {
		t.Errorf("with the beta header: %+v", w)
	}
	x.Learn("anthropic", sonnet, beta, 900_000, true)
	if w := x.Window("anthropic", sonnet+"[1m]", nil); w.Context != 900_000 {
		t.Errorf("with the suffix: %+v", w)
	}
	if got := tokens(x, "anthropic", sonnet); got != 200_000 {
		t.Errorf("without: %d", got)
	}
}

func TestInputLimits(t *testing.T) {
	x := NewResolver(Options{})
	if w := x.Window("openai", "gpt-5", nil); w.Context != 400_000 || w.Input != 272_000 || w.ForInput(20_000) != 272_000 {
		t.Errorf("%+v", w)
	}
	x.Learn("openai", "gpt-5", nil, 272_000, true) // "the configured limit" is of the input
	if w := x.Window("openai", "gpt-5", nil); w.Context != 272_000 || w.Input != 0 {
		t.Errorf("%+v", w)
	}
}

func TestLimitsOutliveTheProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "models")
	x := NewResolver(Options{Dir: dir, Warn: func(s string) { t.Error(s) }})
	x.Learn("https://api.groq.com/openai/v1", "llama", nil, 40_000, true)
	x.Learn("openai", "gpt-x", nil, 50_000, true)
	again := NewResolver(Options{Dir: dir, Warn: func(s string) { t.Error(s) }})
	if got := tokens(again, "https://api.groq.com/openai/v1", "llama"); got != 40_000 {
		t.Errorf("groq: %d", got)
	}
	if got := tokens(again, "openai", "gpt-x"); got != 50_000 {
		t.Errorf("openai: %d", got)
	}
	if got := again.Window("openai", "llama", nil); got.Source == SourceLearned {
		t.Errorf("learned at another upstream: %+v", got)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 { // a file and its lock each
		t.Errorf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", info.Mode(), err)
	}
	// What turned out wrong is forgotten for others too.
	again.Accepted("openai", "gpt-x", nil, 60_000)
	if got := NewResolver(Options{Dir: dir}).Window("openai", "gpt-x", nil); got.Source != SourceDefault {
		t.Errorf("%+v", got)
	}
}

func TestNoUpdateIsLost(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for p := range 4 {
		x := NewResolver(Options{Dir: dir, Warn: func(s string) { t.Error(s) }}) // as in a process of its own
		wg.Go(func() {
			for m := range 10 {
				x.Learn("u", fmt.Sprintf("p%d-m%d", p, m), nil, 10_000+100*p+m, true)
			}
		})
	}
	wg.Wait()
	x := NewResolver(Options{Dir: dir})
	for p := range 4 {
		for m := range 10 {
			if got := tokens(x, "u", fmt.Sprintf("p%d-m%d", p, m)); got != 10_000+100*p+m {
				t.Errorf("process %d, model %d: %d", p, m, got)
			}
		}
	}
}

// What could not be written is written later, although the provider only says it again.
func TestWhatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var said []string
		x := NewResolver(Options{Dir: dir, Warn: func(s string) { said = append(said, s) }})
		inTheWay := x.path("u") + ".lock"
		if err := os.Mkdir(inTheWay, 0o700); err != nil {
			t.Fatal(err)
		}
		x.Learn("u", "m", nil, 44_000, true)
		if got := tokens(x, "u", "m"); got != 44_000 || len(said) != 1 || !strings.Contains(said[0], "tries again") {
			t.Fatalf("window %d, said %q", got, said)
		}
		if err := os.Remove(inTheWay); err != nil {
			t.Fatal(err)
		}
		time.Sleep(retrySave)
		x.Accepted("u", "m", nil, 40_000)
		if got := tokens(NewResolver(Options{Dir: dir}), "u", "m"); got != 44_000 {
			t.Errorf("the file has %d", got)
		}
	})
}

func TestOthersAreHeardAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a, b := NewResolver(Options{Dir: dir}), NewResolver(Options{Dir: dir})
		if got := a.Window("u", "m", nil); got.Source != SourceDefault {
			t.Fatalf("%+v", got)
		}
		b.Learn("u", "m", nil, 44_000, true)
		time.Sleep(recheck + time.Second)
		if got := tokens(a, "u", "m"); got != 44_000 {
			t.Errorf("window %d", got)
		}
	})
}

func TestDamagedAndNewerFiles(t *testing.T) {
	for _, c := range []struct {
		what, text, said string
		aside, kept      bool
	}{
		{"cut off", `{"schema":1,"upst`, "damaged", true, true},
		{"not JSON", "\x00\x00\x00", "damaged", true, true},
		{"no schema", `{}`, "it has no schema", true, true},
		{"huge", strings.Repeat(" ", maxFile+1), "more than", true, true},
		{"wrong type", `{"schema":1,"models":{"m":{"limit":"x"}}}`, "damaged", true, true},
		{"newer", `{"schema":2,"what":"ever"}`, "newer version", false, false},
	} {
		dir := t.TempDir()
		var said []string
		x := NewResolver(Options{Dir: dir, Warn: func(s string) { said = append(said, s) }})
		path := x.path("u")
		testfile.Write(t, path, c.text)
		if got := x.Window("u", "m", nil); got.Source != SourceDefault {
			t.Errorf("%s: %+v", c.what, got)
		}
		if len(said) != 1 || !strings.Contains(said[0], c.said) || !strings.Contains(said[0], path) {
			t.Errorf("%s: said %q", c.what, said)
		}
		if aside, _ := filepath.Glob(path + ".damaged-*"); (len(aside) == 1) != c.aside {
			t.Errorf("%s: set aside: %q", c.what, aside)
		}
		if ok, _ := x.Learn("u", "m", nil, 44_000, true); !ok || tokens(x, "u", "m") != 44_000 {
			t.Errorf("%s: nothing is learned any more", c.what)
		}
		if got := tokens(NewResolver(Options{Dir: dir}), "u", "m"); (got == 44_000) != c.kept {
			t.Errorf("%s: after that the file gives %d", c.what, got)
		}
		if text, err := os.ReadFile(path); !c.kept && (err != nil || string(text) != c.text) {
			t.Errorf("%s: the file was changed: %q, %v", c.what, text, err)
		}
	}
}

func TestImplausibleFileContentIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	x := NewResolver(Options{Dir: dir})
	future := time.Now().Add(1000 * time.Hour).Format(time.RFC3339)
	now := time.Now().Format(time.RFC3339)
	text := `{"schema":1,"models":{"a":{"limit":3,"learned":"` + now + `"},"b":{"limit":50000,"learned":"` + future + `"},"c":null,"d":{"limit":60000,"learned":"` + now + `"}}}`
	testfile.Write(t, x.path("u"), text)
	for model, want := range map[string]int{"a": DefaultContext, "b": DefaultContext, "c": DefaultContext, "d": 60_000} {
		if got := tokens(x, "u", model); got != want {
			t.Errorf("%s: %d, want %d", model, got, want)
		}
	}
}

func TestUnwritableDirectoryIsSaidOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testfile.Write(t, file, "")
	var said []string
	x := NewResolver(Options{Dir: filepath.Join(file, "below"), Warn: func(s string) { said = append(said, s) }})
	for i := range 3 {
		if ok, _ := x.Learn("u", "m", nil, 40_000+i, true); !ok {
			t.Error("not learned")
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "can't be written") {
		t.Errorf("said %q", said)
	}
	if got := tokens(x, "u", "m"); got != 40_002 {
		t.Errorf("window %d", got)
	}
}

func TestBounds(t *testing.T) {
	dir := t.TempDir()
	x := NewResolver(Options{Dir: dir})
	for i := range MaxModels + 20 {
		x.Accepted("u", fmt.Sprintf("seen-%d", i), nil, 2000)
	}
	for i := range MaxUpstreams + 10 {
		x.Window(fmt.Sprintf("upstream-%d", i), "m", nil)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.upstreams) != MaxUpstreams {
		t.Errorf("%d upstreams", len(x.upstreams))
	}
	u := &upstream{models: map[string]*learnedLimit{}}
	for i := range MaxModels + 20 {
		u.limitOf(fmt.Sprintf("m-%d", i)).Learned = time.Unix(int64(i), 0)
	}
	if len(u.models) != MaxModels || u.models["m-0"] != nil || u.models[fmt.Sprintf("m-%d", MaxModels+19)] == nil {
		t.Errorf("%d models are kept, or not the newest", len(u.models))
	}
}

func FuzzLearnedFile(f *testing.F) {
	f.Add([]byte(`{"schema":1,"upstream":"u","models":{"m":{"limit":50000,"learned":"2026-07-02T00:00:00Z"}}}`))
	f.Add([]byte(`{"schema":1,"models":{"m":null}}`))
	f.Add([]byte(`[[[[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := fileAt("").Decode(text)
		if err != nil {
			return
		}
		u := &upstream{models: map[string]*learnedLimit{}}
		u.merge(&d)
		for key, l := range u.models {
			if l == nil || l.Limit != 0 && (l.Limit < MinContext || l.Limit > MaxContext) || len(key) > maxKey+4 {
				t.Errorf("%q: %+v", key, l)
			}
		}
		if len(u.models) > MaxModels {
			t.Errorf("%d models", len(u.models))
		}
	})
}

func BenchmarkWindow(b *testing.B) {
	x := NewResolver(Options{Dir: b.TempDir()})
	for b.Loop() {
		x.Window("anthropic", "claude-sonnet-4-5-20250929", nil)
	}
}

// A server that might cut an input without a word is asked what it serves a model with; a provider that refuses is not, and what the
// user says or a refusal taught counts before it.
func TestServersThatCutAreAsked(t *testing.T) {
	const local = "openai+http://127.0.0.1:11434/v1"
	var asked []string
	ask := func(upstream, model string) int {
		asked = append(asked, upstream+" "+model)
		return map[string]int{"qwen3:8b": 4096, "tiny": 3}[model]
	}
	x := NewResolver(Options{Ask: ask})
	if w := x.Window(local, "qwen3:8b", nil); w.Context != 4096 || w.Source != SourceServer || w.Guessed() {
		t.Errorf("%+v", w)
	}
	if w := x.Window(local, "tiny", nil); w.Source == SourceServer {
		t.Errorf("a window of 3 tokens is believed: %+v", w)
	}
	x.Learn(local, "qwen3:8b", nil, 8192, true)
	if w := x.Window(local, "qwen3:8b", nil); w.Context != 8192 || w.Source != SourceLearned {
		t.Errorf("after a refusal: %+v", w)
	}
	before := len(asked)
	x.Window("openai+https://api.openai.com/v1", "gpt-4o", nil)
	NewResolver(Options{Ask: ask, Overrides: Overrides{Max: 9000}}).Window(local, "qwen3:8b", nil)
	if len(asked) != before {
		t.Errorf("asked %v", asked[before:])
	}
}

// What the user says of a model counts before what he says of a provider or of all, and a refusal bounds it.
func TestOverridesOfModels(t *testing.T) {
	const up = "openai+https://gateway.example/v1"
	x := NewResolver(Options{Overrides: Overrides{Max: 9000, ByModel: map[string]ModelOverride{"new-model": {Context: 500_000, Output: 70_000}, "vendor/odd": {Output: 100}}}})
	for model, want := range map[string]Window{
		"New-Model": {Context: 500_000, Output: 70_000, Source: SourceConfig}, "vendor/new-model": {Context: 500_000, Output: 70_000, Source: SourceConfig},
		"new-model-2": {Context: 9000, Source: SourceConfig}, "vendor/odd": {Context: 9000, Output: 100, Source: SourceConfig}, "odd": {Context: 9000, Source: SourceConfig},
	} {
		if got := x.Window(up, model, nil); got != want {
			t.Errorf("%s: %+v, want %+v", model, got, want)
		}
	}
	x.Learn(up, "new-model", nil, 200_000, true)
	if got := x.Window(up, "new-model", nil); got.Context != 200_000 || got.Source != SourceLearned {
		t.Errorf("after a refusal: %+v", got)
	}
}

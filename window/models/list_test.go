package models

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

func TestLearnedIsListed(t *testing.T) {
	dir := t.TempDir()
	x := NewResolver(Options{Dir: dir})
	for _, upstream := range []string{"openai+http://b", "anthropic"} {
		if ok, why := x.Learn(upstream, "some-model", nil, 50_000, true); !ok {
			t.Fatal(why)
		}
	}
	x.Learn("anthropic", "guessed-model", nil, 60_000, false) // only in memory
	list, err := Learned(dir)
	if err != nil || len(list) != 2 || list[0].Upstream != "anthropic" || list[1].Upstream != "openai+http://b" {
		t.Fatalf("%+v, %v", list, err)
	}
	if e := list[0]; e.Model != "some-model" || e.Window.Context != 50_000 || e.Window.Source != SourceLearned || time.Since(e.Learned) > time.Minute {
		t.Errorf("%+v", e)
	}
	testfile.Write(t, filepath.Join(dir, "limits-x-1.json"), `{"schema":1,`)
	if list, err = Learned(dir); len(list) != 2 || err == nil || !strings.Contains(err.Error(), "limits-x-1.json") {
		t.Errorf("beside a damaged file: %+v, %v", list, err)
	}
	if list, err = Learned(filepath.Join(dir, "none")); len(list) != 0 || err != nil {
		t.Errorf("without a directory: %+v, %v", list, err)
	}
}

func TestKnown(t *testing.T) {
	at := map[string]Window{}
	for _, e := range new(Catalogue).Known("claude-opus-4-6") {
		at[e.Upstream] = e.Window
	}
	if at["anthropic"].Context != 1_000_000 || at["any"].Context == 0 || len(at) < 3 {
		t.Errorf("%+v", at)
	}
	if list := new(Catalogue).Known("nothing-at-all"); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	names, count := new(Catalogue).Providers()
	sum := 0
	for _, name := range names {
		if n := len(new(Catalogue).Of(name)); n != count[name] || n == 0 {
			t.Errorf("%s has %d models, counted %d", name, n, count[name])
		}
		sum += count[name]
	}
	if sum < 1000 {
		t.Errorf("%d models", sum)
	}
}

package usage_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/store"
)

func TestDamageIsSetAsideAndTold(t *testing.T) {
	t.Parallel()
	good := `{"schema":1,"project":"web-1f3a","appends":1,"tools":[{"tool":"claude","recorded":1,"oom_kills":0,"last":1,"runs":[{"time":"2026-01-01T00:00:00Z","peak":1,"anon":0,"outcome":"ok","ms":1,"exit":0}]}]}`
	for name, body := range map[string]string{
		"empty":            "",
		"truncated":        good[:len(good)/2],
		"not JSON":         "\x00\xff\xfe",
		"two documents":    good + good,
		"no schema":        `{}`,
		"schema 0":         strings.Replace(good, `"schema":1`, `"schema":0`, 1),
		"other project":    strings.Replace(good, "web-1f3a", "api", 1),
		"negative peak":    strings.Replace(good, `"peak":1`, `"peak":-1`, 1),
		"absurd peak":      strings.Replace(good, `"peak":1`, `"peak":9007199254740992`, 1),
		"giant number":     strings.Replace(good, `"peak":1`, `"peak":1e400`, 1),
		"negative time":    strings.Replace(good, `"ms":1`, `"ms":-1`, 1),
		"recorded < kept":  strings.Replace(good, `"recorded":1`, `"recorded":0`, 1),
		"recorded < 0":     strings.Replace(good, `"recorded":1`, `"recorded":-5`, 1),
		"tool twice":       strings.Replace(good, `"tools":[`, `"tools":[{"tool":"claude"},`, 1),
		"a null tool":      strings.Replace(good, `"tools":[`, `"tools":[null,`, 1),
		"a nameless tool":  strings.Replace(good, `"claude"`, `""`, 1),
		"larger than ever": strings.Repeat(" ", usage.MaxFileBytes+1),
	} {
		t.Run(name, func(t *testing.T) {
			h, w := open(t)
			mustAppend(t, h, web, "claude", usage.Run{Peak: 1})
			path := filepath.Join(h.Directory(), web.Key+".json")
			if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
				t.Fatal(err)
			}
			if runs, err := h.Runs(web.Key, "claude"); err != nil || len(runs) != 0 {
				t.Errorf("a reader got %d runs, %v", len(runs), err)
			}
			mustAppend(t, h, web, "claude", usage.Run{Peak: 2})
			if diff := cmp.Diff([]usage.WarningKind{usage.CorruptFound, usage.CorruptSetAside}, w.kinds()); diff != "" {
				t.Error(diff)
			}
			aside := w.list[1].Path
			if kept, err := os.ReadFile(aside); err != nil || string(kept) != body {
				t.Errorf("%s does not hold what was damaged: %v", aside, err)
			}
			if runs, err := h.Runs(web.Key, "claude"); err != nil || len(runs) != 1 || runs[0].Peak != 2 {
				t.Errorf("the new history has %v, %v", runs, err)
			}
		})
	}
}

func TestDamagedFilesDoNotPileUp(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	path := filepath.Join(h.Directory(), web.Key+".json")
	for range store.KeptDamaged + 3 {
		mustAppend(t, h, web, "claude", usage.Run{Peak: 1})
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, h, web, "claude", usage.Run{Peak: 1})
	kept, err := filepath.Glob(path + ".damaged-*")
	if err != nil || len(kept) != store.KeptDamaged {
		t.Errorf("%d damaged files are kept, want %d: %v", len(kept), store.KeptDamaged, err)
	}
}

func TestANewerSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	h, w := open(t)
	mustAppend(t, h, web, "claude", usage.Run{Peak: 1})
	path := filepath.Join(h.Directory(), web.Key+".json")
	const newer = `{"schema":2,"tools":"in a way nobody knows yet"}`
	if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	_, readErr := h.Runs(web.Key, "claude")
	for _, err := range []error{readErr, h.Append(web, "claude", usage.Run{Peak: 1})} {
		if off, ok := errors.AsType[*usage.OffError](err); !ok || off.Reason != usage.OffNewer || !strings.HasPrefix(err.Error(), "history is off: ") {
			t.Errorf("got %v, want OffNewer", err)
		}
	}
	if body, err := os.ReadFile(path); err != nil || string(body) != newer {
		t.Errorf("the file was touched: %q, %v", body, err)
	}
	if _, err := h.ToolRuns("claude"); err != nil || !slices.Contains(w.kinds(), usage.NewerSchema) {
		t.Errorf("a listing told %v, %v; want NewerSchema", w.kinds(), err)
	}
}

func FuzzReadAnyFile(f *testing.F) {
	f.Add([]byte(`{"schema":1,"project":"k","appends":1,"tools":[{"tool":"claude","recorded":1,"last":1,"runs":[{"time":"2026-01-01T00:00:00Z","peak":1,"outcome":"ok","ms":1}]}]}`))
	f.Add([]byte(`{"schema":1e3}`))
	f.Add([]byte(`[[[[`))
	f.Add([]byte("\xff"))
	state := f.TempDir()
	f.Fuzz(func(t *testing.T, body []byte) {
		h := usage.Open(state, usage.Options{Warn: func(usage.Warning) {}})
		if err := os.MkdirAll(h.Directory(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.Directory(), "k.json"), body, 0o600); err != nil {
			t.Fatal(err)
		}
		before, readErr := h.Project("k")
		for _, s := range before {
			if s.Recorded < int64(len(s.Runs)) || len(s.Runs) > usage.KeptRuns {
				t.Fatalf("impossible counts %d, %d", s.Recorded, len(s.Runs))
			}
			for _, r := range s.Runs {
				if r.Peak < 0 || r.PeakAnon < 0 || r.Limit < 0 || r.Duration < 0 {
					t.Fatalf("a negative run %+v", r)
				}
			}
		}
		if err := h.Append(usage.Project{Key: "k"}, "claude", usage.Run{Peak: 9}); err != nil {
			if off, ok := errors.AsType[*usage.OffError](err); !ok || off.Reason != usage.OffNewer || readErr == nil {
				t.Fatalf("after reading (%v) nothing can be appended: %v", readErr, err)
			}
			return
		}
		runs, err := h.Runs("k", "claude")
		if err != nil || len(runs) == 0 || runs[len(runs)-1].Peak != 9 {
			t.Fatalf("the appended run is not the newest: %v, %v", runs, err)
		}
	})
}

package toolset

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTrimLeavesOutTheLargeAndDeepFirst(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	raw := []byte(`{"a":{"keep":1,"big":"` + long + `"},"b":["` + strings.Repeat(`y","`, 300) + `z"],"c":{"d":{"e":"` + long + long + `"}}}`)
	got, left := trimTo(raw, 1500)
	if len(got)+size(left) > 1500 || !json.Valid(got) || !strings.Contains(string(got), `"keep":1`) {
		t.Errorf("%d bytes, %q: %.200s", len(got), left, got)
	}
	if !strings.HasPrefix(left[0], "c.d.e (") && !strings.HasPrefix(left[0], "c.d (") {
		t.Errorf("%q", left)
	}
	if same, none := trimTo(raw, len(raw)); string(same) != string(raw) || none != nil {
		t.Error("what fits was changed")
	}
}

func FuzzTrim(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,2,{"c":"`+strings.Repeat("d", 300)+`"}]},"e":"`+strings.Repeat("f", 200)+`"}`), 100)
	f.Add([]byte(`{"":{"":"`+strings.Repeat("\\u0000", 99)+`"}}`), 0)
	f.Fuzz(func(t *testing.T, raw []byte, budget int) {
		var v map[string]any
		if json.Unmarshal(raw, &v) != nil || v == nil {
			return
		}
		compacted, err := compact(json.RawMessage(raw))
		if err != nil {
			return
		}
		got, left := trimTo(compacted, budget)
		if !json.Valid(got) || len(got) > len(compacted) || len(left) > maxTrim {
			t.Fatalf("%q became %q (%q)", compacted, got, left)
		}
		if len(left) == 0 && string(got) != string(compacted) {
			t.Fatalf("%q became %q without a word", compacted, got)
		}
	})
}

func FuzzDiff(f *testing.F) {
	f.Add(`{"a":1,"b":[{"name":"x","v":1}]}`, `{"a":2,"b":[{"name":"x","v":2},{"name":"y"}]}`)
	f.Add(`{"kind":"Secret","data":{"a":"x"}}`, `null`)
	f.Add(`[1,2,3]`, `[1,3]`)
	f.Fuzz(func(t *testing.T, live, desired string) {
		lines, all, err := diffManifests(live, desired, false)
		if err != nil {
			return
		}
		if len(lines) > maxDiffLines || all < len(lines) {
			t.Fatalf("%d lines of %d", len(lines), all)
		}
		if _, same, err := diffManifests(live, live, false); err != nil || same != 0 {
			t.Fatalf("%q differs from itself in %d places: %v", live, same, err)
		}
		if _, back, err := diffManifests(desired, live, false); err != nil || (back == 0) != (all == 0) {
			t.Fatalf("%q and %q: %d differences one way, %d the other, %v", live, desired, all, back, err)
		}
	})
}

func FuzzLogLine(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b[31mred\x1b[0m \x1b[ \x1b")
	f.Add(strings.Repeat("é\xff", maxLogLine))
	f.Fuzz(func(t *testing.T, line string) {
		got := cleanLine(line)
		if !utf8.ValidString(got) || len(got) > 4*maxLogLine || strings.ContainsRune(got, '\x1b') {
			t.Fatalf("%q became %q", line, got)
		}
	})
}

func FuzzRename(f *testing.F) {
	f.Add([]byte(`{"path_name":"a","param_project":null}`))
	f.Add([]byte(`{"path_name":"a","name":"b"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := withNewNames(raw, formerApplication(map[string]string{"refresh": ""}))
		if json.Valid(raw) && !json.Valid(got) {
			t.Fatalf("%q became %q", raw, got)
		}
	})
}

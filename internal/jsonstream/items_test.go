package jsonstream

import (
	"encoding/json"
	"slices"
	"testing"
)

// ignored takes whatever is found.
type ignored struct{}

func (ignored) Opened(int64)             {}
func (ignored) Item(_, _ int64) bool     { return true }
func (ignored) Closed(int64)             {}
func (ignored) Object(int, int64, int64) {}

// FuzzItems holds the grammar against encoding/json, in pieces of any size.
func FuzzItems(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e+7,"\u12aF\\"],"b":{}}`, `-`, `1.`, `"a`, `tru`, `nul1`, `[1 2]`, `{"a" 1}`, `{1:2}`, "\"\x7f\"", `]`, ``} {
		f.Add([]byte(seed), uint8(2))
	}
	f.Fuzz(func(t *testing.T, text []byte, step uint8) {
		s := NewItems(ignored{}, 0)
		ok := true
		for rest := append(slices.Clone(text), ' '); len(rest) > 0 && ok; { // a number ends at what follows
			n := min(len(rest), int(step)+1)
			_, ok = s.Feed(rest[:n])
			rest = rest[n:]
		}
		if got, want := ok && s.Whole(), json.Valid(text); got != want {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	})
}

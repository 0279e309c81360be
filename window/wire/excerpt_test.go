package wire_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/window/wire"
)

// TestExcerpt: what is taken out of a real request reads as it did there.
func TestExcerpt(t *testing.T) {
	for name, d := range map[string]wire.Dialect{
		"claude-results": wire.Messages, "codex-results": wire.Responses, "gemini-results": wire.Gemini, "opencode-chat": wire.Chat,
	} {
		body := testfile.Read(t, filepath.Join("testdata", "recorded", name+".json"))
		r, err := wire.Parse(d, body)
		if err != nil {
			t.Fatal(err)
		}
		var some []int
		for i := range r.Messages {
			if i%2 == 1 || i == len(r.Messages)-1 {
				some = append(some, i)
			}
		}
		got, err := wire.Parse(d, r.Excerpt(some))
		if err != nil || len(got.Messages) != len(some) {
			t.Fatalf("%s: %v, %d messages of %d", name, err, len(got.Messages), len(some))
		}
		for n, i := range some {
			a, b := r.Messages[i], got.Messages[n]
			if a.Role != b.Role || len(a.Parts) != len(b.Parts) || !bytes.Equal(r.Raw(a.Span), got.Raw(b.Span)) {
				t.Errorf("%s: message %d is another", name, i)
			}
		}
		if none, err := wire.Parse(d, r.Excerpt(nil)); err != nil || len(none.Messages) != 0 {
			t.Errorf("%s: %v of nothing", name, err)
		}
	}
	r, err := wire.Parse(wire.Responses, []byte(`{"input":"say \"hello\""}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := wire.Parse(wire.Responses, r.Excerpt([]int{0})); err != nil || got.Words(&got.Messages[0].Parts[0]) != `say "hello"` {
		t.Errorf("an input that is a string: %v", err)
	}
}

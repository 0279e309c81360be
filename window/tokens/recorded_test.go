package tokens

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/window/wire"
)

// The first requests of real clients, mostly tools and system: the estimate must be of use
// before anything was reported.
func TestRecordedRequestsHaveUsefulBands(t *testing.T) {
	dialects := map[string]wire.Dialect{
		"claude": wire.Messages, "codex": wire.Responses, "gemini": wire.Gemini, "qwen-gemini": wire.Gemini,
		"opencode-chat": wire.Chat, "opencode-messages": wire.Messages, "opencode-responses": wire.Responses,
	}
	files, err := filepath.Glob("../wire/testdata/recorded/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded requests: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		d, ok := dialects[name]
		if !ok {
			client, _, _ := strings.Cut(name, "-")
			if d, ok = dialects[client]; !ok {
				continue
			}
		}
		body := testfile.Read(t, file)
		r, err := wire.Parse(d, body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		raw := O200K().Count(body)
		for _, f := range []Family{FamilyO200K, FamilyClaude, FamilyClaude47, FamilyGemini, FamilyUnknown} {
			e := NewCounter(Options{}).Tally(r, f).Total
			if e.Low < raw/5 || e.Low > raw || e.Best < raw*2/5 || e.Best > raw*2 || e.High < raw/2 || e.High > 3*raw {
				t.Errorf("%s as %s: %+v of a body that has %d o200k tokens as it stands", name, f, e, raw)
			}
		}
	}
}

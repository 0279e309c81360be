package repair_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Bodies that a provider refuses, whoever compacts in them and whatever it keeps.
func TestPartialFiles(t *testing.T) {
	for name, want := range map[string]string{
		"responses-R2.json":           "synthesised", // the provider is to compact now
		"responses-R3.json":           "synthesised", // behind a compaction
		"responses-R4.json":           "dropped",     // behind a compaction, and behind words of the user
		"responses-R5.json":           "synthesised", // the provider compacts when it has to
		"compaction-item-orphan.json": "synthesised",
	} {
		text := testfile.Read(t, filepath.Join("testdata", name))
		text = bytes.TrimSpace(text)
		next, actions := fix(t, wire.Responses, text, repair.Options{})
		if kinds(actions) != want {
			t.Errorf("%s: %q, want %q", name, kinds(actions), want)
		}
		if err := wire.Validate(wire.Responses, next.Body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is repaired where the provider keeps a part of the history.
func TestPartial(t *testing.T) {
	const (
		item  = `{"type":"compaction","encrypted_content":"eA=="}`
		block = `{"role":"assistant","content":[{"type":"compaction","content":"s","signature":"z"}]}`
	)
	R := func(words string) string { return list(wire.Responses, words) }
	M := func(words string) string { return list(wire.Messages, words) }
	G := func(words string) string { return list(wire.Gemini, words) }
	for _, tt := range []struct {
		name    string
		dialect wire.Dialect
		body    string
		want    string // kinds of the actions
	}{
		{"stored: results of what is kept", wire.Responses, `{"previous_response_id":"r","input":[` + R("t:1=a t:2=b u:x t:3=c u:y") + `]}`, ""},
		{"stored: a call without a result", wire.Responses, `{"previous_response_id":"r","input":[` + R("t:1=a c:2 u:y") + `]}`, "synthesised"},
		{"stored: a result twice", wire.Responses, `{"conversation":"c","input":[` + R("c:2 t:2=a t:2=a u:y") + `]}`, "duplicate"},
		{"referenced", wire.Responses, `{"input":[{"type":"item_reference","id":"fc_1"},` + R("t:1=a c:2 u:y") + `]}`, "synthesised"},
		{"compacted: a result at once", wire.Responses, `{"input":[` + item + `,` + R("t:1=a t:2=b u:x") + `]}`, ""},
		{"compacted: one that is too late", wire.Responses, `{"input":[` + item + `,` + R("t:1=a u:x t:2=b u:y") + `]}`, "dropped"},
		{"compacted: what stands before is left alone", wire.Responses, `{"input":[` + R("u:x c:1 u:y t:9=z") + `,` + item + `,` + R("u:x") + `]}`, ""},
		{"compacted: a result of a call before", wire.Responses, `{"input":[` + R("u:x c:1") + `,` + item + `,` + R("u:x t:1=a u:y") + `]}`, ""},
		{"a block: nothing is put before it", wire.Messages, `{"messages":[` + block + `,` + M("u:x c:1 t:1=a u:y") + `]}`, ""},
		{"a block: a call without a result", wire.Messages, `{"messages":[` + block + `,` + M("u:x c:1 u:y") + `]}`, "synthesised"},
		{"a block holds no call", wire.Messages, `{"messages":[` + block + `,` + M("t:1=a u:y") + `]}`, "dropped"},
		{"a block: what stands before is left alone", wire.Messages, `{"messages":[` + M("u:x c:1 u:y") + `,` + block + `,` + M("u:x c:1 t:1=a u:z") + `]}`, ""},
		{"a block that failed is none", wire.Messages, `{"messages":[` + M("u:x c:1 u:y") + `,{"role":"assistant","content":[{"type":"compaction","content":null},{"type":"text","text":"t"}]},` + M("u:x") + `]}`, "synthesised"},
		{"the provider compacts", wire.Messages, `{"compaction":{"type":"summarize"},"messages":[` + M("u:x c:1 u:y") + `]}`, "synthesised"},
		{"cached: the first response", wire.Gemini, `{"cachedContent":"c","contents":[` + G("t:1=a a:x u:y") + `]}`, ""},
		{"cached: the first call", wire.Gemini, `{"cachedContent":"c","contents":[` + G("c:1 t:1=a a:x u:y") + `]}`, ""},
		{"cached: a later response", wire.Gemini, `{"cachedContent":"c","contents":[` + G("u:x t:1=a a:x u:y") + `]}`, "dropped"},
		{"cached: a call without a response", wire.Gemini, `{"cachedContent":"c","contents":[` + G("t:1=a c:2 u:y") + `]}`, "synthesised"},
	} {
		next, actions := fix(t, tt.dialect, []byte(tt.body), repair.Options{})
		if kinds(actions) != tt.want {
			t.Errorf("%s: %q, want %q\n%s\n%s", tt.name, kinds(actions), tt.want, tt.body, next.Body)
		}
		if err := wire.ValidateEdit(tt.dialect, []byte(tt.body), next.Body); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if tt.want != "" {
			if err := wire.Validate(tt.dialect, next.Body); err != nil {
				t.Errorf("%s: %v\n%s", tt.name, err, next.Body)
			}
		}
	}
}

// partial makes a damaged history that goes on from another one, which the provider keeps in one of three ways. What may be kept begins the
// list, up to the returned number of bytes, and results of its calls have ids that begin with "kept".
func partial(d wire.Dialect, seed uint64) (text []byte, sacred string) {
	rng := rand.New(rand.NewPCG(seed, uint64(d)|8))
	var before, behind []string
	for _, word := range history(rng, false) {
		before = append(before, message(d, word)...)
	}
	for _, word := range history(rng, false) {
		behind = append(behind, message(d, word)...)
	}
	after := harm(rng, behind)
	switch {
	case d == wire.Messages:
		sacred = strings.Join(append(harm(rng, before), `{"role":"assistant","content":[{"type":"compaction","content":"s"}]}`), ",")
	case d == wire.Gemini:
		return fmt.Appendf(nil, `{"cachedContent":"c","contents":[%s]}`, strings.Join(after, ",")), ""
	case rng.IntN(2) == 0:
		sacred = strings.Join(append(harm(rng, before), `{"type":"compaction","encrypted_content":"eA=="}`, `{"type":"function_call_output","call_id":"kept_1","output":"k"}`), ",")
	default:
		sacred = `{"type":"function_call_output","call_id":"kept_1","output":"k"}`
		after = append([]string{`{"type":"function_call_output","call_id":"kept_2","output":"k"}`}, after...)
		return fmt.Appendf(nil, `{"previous_response_id":"r","input":[%s,%s]}`, sacred, strings.Join(after, ",")), sacred
	}
	return body(d, strings.TrimSuffix(sacred+","+strings.Join(after, ","), ",")), sacred
}

// What the provider may keep is never touched, and the rest keeps its rules.
func checkPartial(t *testing.T, d wire.Dialect, seed uint64) {
	t.Helper()
	text, sacred := partial(d, seed)
	next, _ := fix(t, d, text, repair.Options{})
	if !bytes.Contains(next.Body, []byte(sacred)) || bytes.Count(next.Body, []byte("kept_")) != bytes.Count(text, []byte("kept_")) {
		t.Errorf("what may be kept was touched\nof   %s\ncame %s", text, next.Body)
	}
	if msg, part := next.Edge(); part == 0 || msg < len(next.Messages)-1 {
		valid(t, d, next, text)
	}
}

func TestRandomPartialHistories(t *testing.T) {
	for seed := range uint64(300) {
		for _, d := range []wire.Dialect{wire.Responses, wire.Messages, wire.Gemini} {
			checkPartial(t, d, seed)
			if t.Failed() {
				t.Fatalf("seed %d, %s", seed, d)
			}
		}
	}
}

func FuzzPartialHistories(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, d := range []wire.Dialect{wire.Responses, wire.Messages, wire.Gemini} {
			checkPartial(t, d, seed)
		}
	})
}

package mend_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/window/wire"
)

// What real clients sent is in order.
func TestRecordedRequestsStay(t *testing.T) {
	files, err := filepath.Glob("../../../window/wire/testdata/recorded/*.json*")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded requests", err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".zst") {
			if body, err = wire.Decode("zstd", body, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		for prefix, d := range map[string]wire.Dialect{
			"claude": wire.Messages, "opencode-messages": wire.Messages, "codex": wire.Responses,
			"opencode-responses": wire.Responses, "opencode-chat": wire.Chat, "gemini": wire.Gemini,
		} {
			if !strings.HasPrefix(filepath.Base(file), prefix) {
				continue
			}
			if next, actions := fix(t, d, string(body), mend.Options{}); len(actions) > 0 || string(next.Body) != string(body) {
				t.Errorf("%s: %v", file, actions)
			}
		}
	}
}

// Sound conversations stay as they are, in every dialect.
func TestSoundConversationsStay(t *testing.T) {
	for seed := range uint64(100) {
		for _, d := range dialects {
			if _, actions := fix(t, d, string(transcripts.Valid(d, seed)), mend.Options{}); len(actions) > 0 && kinds(actions) != mend.Prompted { // some end with the model's words
				t.Errorf("%s, seed %d: %v", d, seed, actions)
			}
		}
	}
}

// odd are values that clients put where others belong.
var odd = []string{
	`""`, `" \n"`, `null`, `[]`, `{}`, `"x"`, `{"a":1}`, `"{\"a\":\"b"`, `"{\"a\":1}"`, `[{"type":"text","text":""}]`, `[{"type":"text","text":"x"}]`, `7`, `true`,
	`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"bm90"}}]`, `[{"type":"input_image","image_url":"data:image/png;base64,bm90"}]`, `"a b.c"`,
}

// harmed puts odd values into members of a request.
func harmed(rng *rand.Rand, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = harmed(rng, v[i])
		}
	case map[string]any:
		for k := range v {
			switch k {
			case "content", "text", "arguments", "input", "output", "args", "response", "parts", "name", "signature", "is_error", "thoughtSignature", "tool_calls", "function":
				if rng.IntN(40) == 0 {
					v[k] = json.RawMessage(odd[rng.IntN(len(odd))])
					continue
				}
			}
			v[k] = harmed(rng, v[k])
		}
	}
	return v
}

func broken(t testing.TB, d wire.Dialect, seed uint64) string {
	var v any
	if err := json.Unmarshal(transcripts.Valid(d, seed), &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(harmed(rand.New(rand.NewPCG(seed, uint64(d))), v))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Whatever stands in a request, what comes out is a request, and mending it again finds nothing.
func TestRandomHarm(t *testing.T) {
	mended := 0
	for seed := range uint64(300) {
		for _, d := range dialects {
			body := broken(t, d, seed)
			if _, err := wire.Parse(d, []byte(body)); err != nil {
				continue
			}
			if _, actions := fix(t, d, body, mend.Options{Provider: "anthropic", From: int(seed % 3)}); len(actions) > 0 {
				mended++
			}
			fix(t, d, body, mend.Options{
				Model: "qwen3.5-27b", From: int(seed % 3), SystemFirst: seed%2 == 0, NoSystem: seed%2 == 1, NoDeveloper: true, NoReferences: true, MaxImages: 1 + int(seed%3),
			})
			if t.Failed() {
				t.Fatalf("%s, seed %d", d, seed)
			}
		}
	}
	if mended < 100 {
		t.Errorf("only %d of them were mended", mended)
	}
}

func FuzzMend(f *testing.F) {
	for i, d := range dialects {
		for seed := range uint64(3) {
			f.Add(uint8(i), 0, broken(f, d, seed))
		}
	}
	f.Add(uint8(2), 1, messages(hello, using, returned(`[`+pictureOf("image/png", "bm90")+`],"is_error":true`)))
	f.Fuzz(func(t *testing.T, which uint8, from int, body string) {
		d := dialects[int(which)%len(dialects)]
		if _, err := wire.Parse(d, []byte(body)); err != nil || !json.Valid([]byte(body)) {
			return
		}
		fix(t, d, body, mend.Options{From: from, Provider: "anthropic", NoBlank: which&16 != 0, NoPrefill: which&32 != 0, Decode: which&64 != 0, MaxImages: int(which >> 7)})
	})
}

// Whatever a refusal teaches, the body that is mended by it is a request, and mending it again finds nothing.
func FuzzLearn(f *testing.F) {
	for i, row := range lessonRows(f) {
		f.Add(uint8(i), row.words, row.body)
	}
	f.Add(uint8(0), "messages.1.content.0.text.text: Extra inputs are not permitted; messages.0.role: Extra inputs are not permitted", broken(f, wire.Messages, 1))
	f.Fuzz(func(t *testing.T, which uint8, refusal, body string) {
		d := dialects[int(which)%len(dialects)]
		if _, err := wire.Parse(d, []byte(body)); err != nil || !json.Valid([]byte(body)) {
			return
		}
		o := mend.Options{Provider: "anthropic"}
		for range 4 { // the same words may teach more than one thing
			next, ok := mend.Learn(o, refusal)
			if !ok {
				break
			}
			o = next
		}
		fix(t, d, body, o)
	})
}

// Bodies made to be slow: a mending that was quadratic would not end before the test does.
func TestHostileBodies(t *testing.T) {
	const n = 20_000
	for d, body := range map[wire.Dialect]string{
		wire.Messages: messages(hello, `{"role":"assistant","content":[`+strings.Repeat(`{"type":"tool_use","id":"a","name":"","input":"{\"a\":"},`, n)+`{"type":"text","text":""}]}`, one(strings.Repeat(`{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":""}]},`, n)+`{"type":"text","text":"x"}`)),
		wire.Chat:     chat("gpt-5", strings.Repeat(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":" ","arguments":"{"}}]},{"role":"tool","tool_call_id":"a","content":[]},`, n)+then),
	} {
		fix(t, d, body, mend.Options{})
	}
}

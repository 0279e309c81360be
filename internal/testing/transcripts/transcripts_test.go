package transcripts

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

var dialects = []wire.Dialect{wire.Chat, wire.Responses, wire.Messages, wire.Gemini, wire.Converse}

func TestValidHistoriesAreValid(t *testing.T) {
	for _, d := range dialects {
		for seed := range uint64(100) {
			body := Valid(d, seed)
			if err := wire.Validate(d, body); err != nil {
				t.Fatalf("%s, seed %d: %v\n%s", d, seed, err, body)
			}
			if !bytes.Equal(body, Valid(d, seed)) {
				t.Fatalf("%s, seed %d: two bodies differ", d, seed)
			}
		}
	}
}

// Together the histories have everything that a parser can trip over.
func TestHistoriesAreVaried(t *testing.T) {
	wants := map[wire.Dialect][]string{
		wire.Chat:      {`"tool_calls"`, `\ud800`, `\u0001`, `\/`, `\u003c`, `"reasoning_content"`, "image_url", "日本語", `"content": null`, `"x_unknown"`, `"call_1"`},
		wire.Responses: {"custom_tool_call_output", `"reasoning"`, "input_image", "developer", "encrypted_content", `"call_0"`},
		wire.Messages:  {"cache_control", `"thinking"`, `"role":"system"`, "is_error", "base64"},
		wire.Gemini:    {"functionResponse", "thoughtSignature", "inlineData", `"thought":true`, `"id":"run-`},
		wire.Converse:  {"toolResult", "reasoningContent", "cachePoint", `"status":"error"`, `"image"`, "additionalModelRequestFields"},
	}
	for d, texts := range wants {
		var all bytes.Buffer
		for seed := range uint64(300) {
			all.Write(Valid(d, seed))
		}
		for _, text := range texts {
			if !bytes.Contains(all.Bytes(), []byte(text)) {
				t.Errorf("%s: no history has %s", d, text)
			}
		}
	}
}

func TestBrokenHistoriesAreBroken(t *testing.T) {
	for _, d := range dialects {
		rules, kinds := map[string]int{}, map[string]int{}
		results := 0
		for seed := range uint64(100) {
			body, done, inv := Broken(d, seed)
			invalid, ok := wire.Validate(d, body).(*wire.Invalid)
			if !ok || !json.Valid(body) {
				t.Fatalf("%s, seed %d (%v): valid, or no JSON: %s", d, seed, done, body)
			}
			if invalid.Rule == wire.RuleShape || invalid.Rule == wire.RuleJSON {
				t.Fatalf("%s, seed %d (%v): %v: the damage is to be in the pairs alone", d, seed, done, invalid)
			}
			rules[invalid.Rule]++
			for _, one := range done {
				kinds[one.Kind]++
			}
			for _, marker := range append(inv.Users, inv.Results...) {
				if bytes.Count(body, []byte(marker)) != 1 {
					t.Fatalf("%s, seed %d (%v): marker %s is there %d times", d, seed, done, marker, bytes.Count(body, []byte(marker)))
				}
			}
			results += len(inv.Results)
		}
		if len(rules) < 3 || len(kinds) < 8 || results == 0 {
			t.Errorf("%s: rules %v, damage %v, %d results to keep", d, rules, kinds, results)
		}
		t.Logf("%s: %v", d, rules)
	}
}

func FuzzValid(f *testing.F) {
	f.Add(byte(1), uint64(1))
	f.Fuzz(func(t *testing.T, dialect byte, seed uint64) {
		d := wire.Dialect(dialect%4) + wire.Chat
		if err := wire.Validate(d, Valid(d, seed)); err != nil {
			t.Errorf("%s, seed %d: %v", d, seed, err)
		}
		if body, done, _ := Broken(d, seed); wire.Validate(d, body) == nil {
			t.Errorf("%s, seed %d: %v broke nothing", d, seed, done)
		}
	})
}

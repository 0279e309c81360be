package tokens

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/plimsoll/plimsoll/window/wire"
)

// letters is a line of letters of a range, without anything between them.
func letters(r *rand.Rand, from, to rune, size int) string {
	var b strings.Builder
	for b.Len() < size {
		if c := from + rune(r.IntN(int(to-from))); unicode.IsLetter(c) {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// bodiesOf are requests of every dialect that say the text as a question, in the arguments of a call and in its result.
func bodiesOf(t *testing.T, model, text string) map[wire.Dialect]string {
	t.Helper()
	quote := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	q, object := quote(text), quote(map[string]string{"a": text})
	arguments := quote(object)
	return map[wire.Dialect]string{
		wire.Chat:      fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%s},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":%s}}]},{"role":"tool","tool_call_id":"a","content":%s}]}`, model, q, arguments, q),
		wire.Messages:  fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%s},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":%s}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":%s}]}]}`, model, q, object, q),
		wire.Responses: fmt.Sprintf(`{"model":%q,"input":[{"role":"user","content":%s},{"type":"function_call","call_id":"a","name":"f","arguments":%s},{"type":"function_call_output","call_id":"a","output":%s}]}`, model, q, arguments, q),
		wire.Gemini:    fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":%s}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":%s}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"r":%s}}}]}]}`, q, object, q),
	}
}

// No tokenizer has more tokens than bytes, so no estimate has: of a line of letters that no vocabulary knows, in no dialect, of no
// family, and also after a provider has reported more than was expected of other texts. Where the vocabulary is known the best
// estimate is within 1.3 of the exact count.
func TestAnEstimateIsNeverAboveTheBytes(t *testing.T) {
	const size, around = 31_000, 80
	r := rand.New(rand.NewPCG(14, 3))
	for name, text := range map[string]string{
		"two bytes": letters(r, 0x80, 0x800, size), "Latin": letters(r, 0xc0, 0x250, size), "Cyrillic": letters(r, 0x400, 0x500, size), "Arabic": letters(r, 0x600, 0x700, size),
		"three bytes": letters(r, 0x800, 0x2000, size), "Han": letters(r, 0x4e00, 0x9fff, size), "one letter": strings.Repeat("ƕ", size/2),
	} {
		exact := O200K().Count([]byte(text))
		for _, model := range []string{"gpt-4o", "claude-sonnet-4", "claude-opus-5", "gemini-3-pro", "qwen3", "llama3", "deepseek-v4", "grok-5", "mistral-large", "mystery"} {
			f := FamilyOf("", model)
			for d, body := range bodiesOf(t, model, text) {
				req, err := wire.Parse(d, []byte(body))
				if err != nil {
					t.Fatal(err)
				}
				tally := NewCounter(Options{}).Tally(req, f)
				usage := NewUsage(UsageOptions{})
				for n := range 8 { // a provider that counts much more of what is not ASCII
					other, err := wire.Parse(d, []byte(bodiesOf(t, model, strings.Repeat(fmt.Sprint("Ää́ß жук ", n), 200))[d]))
					if err != nil {
						t.Fatal(err)
					}
					before := NewCounter(Options{}).Tally(other, f)
					usage.Report("s", before, 5*before.Total.Best)
				}
				most := 0
				for i, m := range tally.Messages {
					if m.High > len(text)+around || m.Low > m.Best || m.Best > m.High {
						t.Errorf("%s, %s, %s: message %d of %d bytes is estimated at %+v", name, model, d, i, len(text), m)
					}
					if f.Exact() && float64(m.Best) > 1.3*float64(exact)+around {
						t.Errorf("%s, %s, %s: message %d of %d tokens is estimated at %+v", name, model, d, i, exact, m)
					}
					most += len(text) + around
				}
				if in := usage.Input("s", tally); in.High > most+tally.Head.High+tally.Extra.High {
					t.Errorf("%s, %s, %s: after reports above what was expected, a request of %d bytes is estimated at %+v", name, model, d, most, in.Estimate)
				}
			}
		}
	}
}

package tokens

import (
	"bytes"
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

// Whatever a conversation is made of, a sample of it says what it costs, and its band holds the count.
func TestSamplesAreNear(t *testing.T) {
	check := func(t *testing.T, name string, talk []byte, message int, high, low float64) {
		t.Helper()
		var messages []any
		for text := range slices.Chunk(talk, message) {
			messages = append(messages, say("user", string(bytes.ToValidUTF8(text, nil))))
		}
		r := parse(t, wire.Chat, object{"model": "gpt-4o", "messages": messages})
		for _, f := range []Family{FamilyO200K, FamilyClaude, FamilyGemini} {
			want := NewCounter(Options{}).Tally(r, f).Total
			got := NewCounter(Options{}).TallyBelow(r, f, 1<<30).Total
			if float64(got.Best) > high*float64(want.Best) || float64(got.Best) < low*float64(want.Best) || got.High < want.High || got.Low > want.Low {
				t.Errorf("%s, %s, messages of %d bytes: %+v by a sample, %+v counted", name, f, message, got, want)
			}
		}
	}
	for _, s := range corpus(t, 200<<10) {
		check(t, s.name, s.text, 5000, 1.07, 0.97)
		for part := range slices.Chunk(s.text, 80_000) { // a short one is known less well
			check(t, s.name, part, 3000, 1.1, 0.9)
			check(t, s.name, part, 12_000, 1.1, 0.9)
		}
	}
}

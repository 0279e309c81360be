package tokens

import (
	"bytes"
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

// Whatever a conversation is made of, a sample of it says what it costs, and its band holds the count.
func TestSamplesAreNear(t *testing.T) {
	for _, s := range corpus(t, 200<<10) {
		var messages []any
		for text := range slices.Chunk(s.text, 5000) {
			messages = append(messages, say("user", string(bytes.ToValidUTF8(text, nil))))
		}
		r := parse(t, wire.Chat, object{"model": "gpt-4o", "messages": messages})
		for _, f := range []Family{FamilyO200K, FamilyClaude, FamilyGemini} {
			want := NewCounter(Options{}).Tally(r, f).Total
			got := NewCounter(Options{}).TallyBelow(r, f, 1<<30).Total
			if float64(got.Best) > 1.07*float64(want.Best) || float64(got.Best) < 0.97*float64(want.Best) || got.High < want.High || got.Low > want.Low {
				t.Errorf("%s, %s: %+v by a sample, %+v counted", s.name, f, got, want)
			}
		}
	}
}

package repair

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/window/wire"
)

// The quick check and the walk agree: the walk does nothing to what is in order, and what
// it made is in order.
func TestCheckAndWalkAgree(t *testing.T) {
	quick, all := 0, 0
	look := func(d wire.Dialect, seed uint64, text []byte, valid bool) {
		r, err := wire.Parse(d, text)
		if err != nil {
			t.Fatal(err)
		}
		next, actions, err := repair(r, Options{})
		if err != nil {
			t.Fatalf("%s, seed %d: %v", d, seed, err)
		}
		sound := needsNoRepair(r, Options{})
		if (valid || sound) && (next != r || actions != nil) {
			t.Errorf("%s, seed %d: valid %v, in order %v, and the walk did %+v\n%s", d, seed, valid, sound, actions, text)
		}
		if again, more, err := repair(next, Options{}); err != nil || again != next || more != nil {
			t.Errorf("%s, seed %d: a second walk did %+v, %v", d, seed, more, err)
		}
		all++
		if needsNoRepair(next, Options{}) {
			quick++
		}
	}
	for seed := range uint64(300) {
		for d := wire.Chat; d <= wire.Gemini; d++ {
			look(d, seed, transcripts.Valid(d, seed), true)
			text, _, _ := transcripts.Broken(d, seed)
			look(d, seed, text, false)
		}
	}
	// Rare forms go the long way; most must not.
	if quick < all*8/10 {
		t.Errorf("only %d of %d sound requests pass the quick check", quick, all)
	}
}

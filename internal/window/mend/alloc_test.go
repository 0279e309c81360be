//go:build !race

package mend_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/window/wire"
)

// What is in order costs next to nothing.
func TestInOrderAllocatesLittle(t *testing.T) {
	for _, d := range dialects {
		body := transcripts.Valid(d, 1)
		r, err := wire.Parse(d, body)
		if err != nil {
			t.Fatal(err)
		}
		o := mend.Options{Provider: "anthropic", From: len(r.Messages) - 2}
		if n := testing.AllocsPerRun(20, func() {
			if next, _, err := mend.Mend(r, o); err != nil || next != r {
				t.Fatal(err)
			}
		}); n > 8 {
			t.Errorf("%s: %v allocations", d, n)
		}
	}
}

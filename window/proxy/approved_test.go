package proxy

import (
	"testing"

	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/tokens"
)

// What was approved is one checkpoint before one message: another continuation, a newer or a
// smaller checkpoint is held to the rules.
func TestApprovedReplays(t *testing.T) {
	chain := []tokens.Digest{{1}, {2}, {3}, {4}}
	c := checkpoint.Checkpoint{Covers: 2, Generation: 1, Tokens: 500}
	var a approved
	a.add(nameReplay(&c, chain))
	if !a.has(nameReplay(&c, chain)) || !a.has(nameReplay(&c, append(chain, tokens.Digest{5}))) {
		t.Error("the conversation went on and is not known again")
	}
	newer, smaller := c, c
	newer.Generation++
	smaller.Tokens = 300
	for name, r := range map[string]replayed{
		"another message behind it": nameReplay(&c, []tokens.Digest{{1}, {2}, {9}, {4}}),
		"nothing behind it":         nameReplay(&c, chain[:2]),
		"a newer one":               nameReplay(&newer, chain),
		"a smaller one":             nameReplay(&smaller, chain),
		"any other edit":            {},
	} {
		if a.has(r) {
			t.Errorf("approved: %s", name)
		}
	}
	a.add(replayed{})
	for i := range 2 * maxApproved {
		a.add(replayed{generation: i + 2})
	}
	if a.has(replayed{}) || len(a.known) > maxApproved {
		t.Errorf("%d are known", len(a.known))
	}
}

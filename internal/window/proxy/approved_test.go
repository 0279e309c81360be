package proxy

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// What was approved is one log before one message: another continuation, a newer cut or one decision more is held to the rules.
func TestApprovedReplays(t *testing.T) {
	t.Parallel()
	r, err := wire.Parse(wire.Chat, []byte(`{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},{"role":"user","content":"d"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	chain := []tokens.Digest{{1}, {2}, {3}, {4}}
	patch := func(at int, raw string) []compact.Patch {
		return []compact.Patch{{From: at, To: at + 1, With: [][]byte{[]byte(raw)}}}
	}
	name := func(chain []tokens.Digest, log ...*checkpoint.Checkpoint) replayed {
		t.Helper()
		v, err := compact.Replay(r, log...)
		if err != nil {
			t.Fatal(err)
		}
		return identifyReplay(v, chain)
	}
	cut := &checkpoint.Checkpoint{Covers: 2, Generation: 1, Patches: patch(0, `{"role":"user","content":"short"}`)}
	newer := &checkpoint.Checkpoint{Covers: 2, Generation: 2, Patches: cut.Patches}
	longer := &checkpoint.Checkpoint{Covers: 2, Generation: 1, Patches: patch(0, `{"role":"user","content":"longer"}`)}
	decision := &checkpoint.Checkpoint{Covers: 2, Patches: patch(1, `{"role":"assistant","content":"b"}`)}
	known := map[replayed]bool{name(chain, cut): true}
	if !known[name(append(chain, tokens.Digest{5}), cut)] {
		t.Error("the conversation went on and is not known again")
	}
	for what, r := range map[string]replayed{
		"another message behind it": name([]tokens.Digest{{1}, {2}, {9}, {4}}, cut),
		"nothing behind it":         name(chain[:2], cut),
		"a newer one":               name(chain, newer),
		"other bytes":               name(chain, longer),
		"a decision more":           name(chain, cut, decision),
		"any other edit":            {},
	} {
		if known[r] {
			t.Errorf("approved: %s", what)
		}
	}
}

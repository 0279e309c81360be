package compact_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/window/wire"
)

// covered puts a compaction of the provider's before a unit in the middle of a history.
func covered(t testing.TB, d wire.Dialect, seed uint64) *wire.Request {
	t.Helper()
	r := parse(t, d, transcripts.Valid(d, seed))
	units := r.Units()
	if len(units) < 4 {
		return nil
	}
	at := len(units) / 2
	for at < len(units) && r.Messages[units[at].From].Role != wire.RoleUser {
		at++
	}
	if at == len(units) || r.Bypass != 0 {
		return nil
	}
	raw := `{"type":"compaction","encrypted_content":"eA=="}`
	if d == wire.Messages {
		raw = `{"role":"assistant","content":[{"type":"compaction","content":"what was","signature":"z"}]}`
	}
	draft := r.Draft()
	draft.InsertMessages(units[at].From, []byte(raw))
	next, err := draft.Build()
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// What a compaction of the provider's stands for is never edited: it stays, or goes as a whole where nobody reads it.
func TestCoveredStays(t *testing.T) {
	tried, unread := 0, 0
	for seed := range uint64(150) {
		for _, d := range []wire.Dialect{wire.Responses, wire.Messages} {
			r := covered(t, d, seed)
			if r == nil || wire.Validate(d, r.Body) != nil {
				continue
			}
			before := quarter(r).Total
			limit := before * (10 + int(seed)*7%80) / 100
			c := compact.New(compact.Options{MinMessages: 1 + int(seed)%4})
			res, err := c.Compact(t.Context(), view(t, r), quarter, compact.Goal{Target: limit / 2, Limit: limit})
			if _, tooLarge := errors.AsType[*compact.DoesNotFit](err); tooLarge {
				continue
			} else if err != nil {
				t.Fatalf("%s %d: %v", d, seed, err)
			}
			tried++
			if err := wire.Validate(d, res.Request.Alternating()); err != nil {
				t.Fatalf("%s %d: %v", d, seed, err)
			}
			edge, _ := r.Edge()
			from := 0
			if slices.Contains(res.Rungs, compact.RungUnread) {
				unread++
				from = r.Unread()
			}
			for i := from; i <= edge; i++ {
				if !bytes.Equal(res.Request.Raw(res.Request.Messages[i-from].Span), r.Raw(r.Messages[i].Span)) {
					t.Fatalf("%s %d: message %d, which is compacted, was edited\n%s\n%s", d, seed, i, r.Body, res.Request.Body)
				}
			}
		}
	}
	if tried < 50 || unread < 20 {
		t.Errorf("%d histories were cut, %d of them before the edge", tried, unread)
	}
}

// What a client or a provider is about to compact is left alone until it is refused.
func TestWhoCompactsIsLeftAlone(t *testing.T) {
	r := parse(t, wire.Responses, transcripts.Valid(wire.Responses, 3))
	r = parse(t, wire.Responses, append([]byte(`{"context_management":[{"type":"compaction"}],`), r.Body[1:]...))
	total := quarter(r).Total
	goal := compact.Goal{Target: total / 4, Limit: total / 2}
	c := compact.New(compact.Options{})
	if res, err := c.Compact(t.Context(), view(t, r), quarter, goal); err != nil || res.Changed() {
		t.Errorf("it was cut: %v, %v", res.Rungs, err)
	}
	goal.NoModel = true // somebody waits for a request that was refused
	if res, err := c.Compact(t.Context(), view(t, r), quarter, goal); err != nil || !res.Changed() {
		t.Errorf("after a refusal nothing was cut: %v", err)
	}
}

package compact_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/window/wire"
)

// words are the literals of the first and the newest message with words of the user's own.
func words(r *wire.Request) (first, latest [][]byte) {
	for i := range r.Messages {
		m := &r.Messages[i]
		own := false
		var texts [][]byte
		for _, p := range m.Parts {
			for _, s := range p.Texts {
				if m.Role == wire.RoleUser && p.Kind == wire.Text {
					texts = append(texts, r.Raw(s))
					own = own || extract.Own(string(wire.Unquote(nil, r.Raw(s)))) != ""
				}
			}
		}
		if own {
			if latest = texts; first == nil {
				first = texts
			}
		}
	}
	return first, latest
}

// settled holds Anthropic's rule for system messages among the others against those whose
// neighbours an edit changed: behind a user's message, before an assistant's or the end.
func settled(t *testing.T, before, after *wire.Request) {
	t.Helper()
	raw := func(r *wire.Request, i int) string {
		if i < 0 || i >= len(r.Messages) {
			return ""
		}
		return string(r.Raw(r.Messages[i].Span))
	}
	known := map[string]bool{}
	for i, m := range before.Messages {
		if m.Role == wire.RoleSystem {
			known[raw(before, i)+"before"+raw(before, i-1)] = true
			known[raw(before, i)+"after"+raw(before, i+1)] = true
		}
	}
	for i, m := range after.Messages {
		if after.Dialect != wire.Messages || m.Role != wire.RoleSystem {
			continue
		}
		if !known[raw(after, i)+"before"+raw(after, i-1)] && (i == 0 || after.Messages[i-1].Role != wire.RoleUser) {
			t.Errorf("message %d: a system message that no user's message stands before", i)
		}
		if last := i == len(after.Messages)-1; !known[raw(after, i)+"after"+raw(after, i+1)] && !last && after.Messages[i+1].Role != wire.RoleAssistant {
			t.Errorf("message %d: a system message before one of %s", i, after.Messages[i+1].Role)
		}
	}
}

// Any history a provider takes, any goal: always valid, always smaller, always ending, and what is
// sacred is there.
func FuzzValidHistories(f *testing.F) {
	for d := range 4 {
		for seed := range uint64(6) {
			f.Add(uint8(d), seed, uint8(30+10*seed), uint8(seed))
		}
	}
	f.Add(uint8(254), uint64(93), uint8(95), uint8(239)) // a system message begins the running turn
	f.Fuzz(func(t *testing.T, dialect uint8, seed uint64, percent, flags uint8) {
		d := dialects[dialect%4]
		r := parse(t, d, transcripts.Valid(d, seed))
		before := quarter(r).Total
		limit := before * (5 + int(percent)%100) / 100
		goal := compact.Goal{Target: limit * (40 + int(flags>>4)*4) / 100, Limit: limit, Strict: flags&1 != 0}
		c := compact.New(compact.Options{Style: compact.Style(flags & 2), MinMessages: int(flags>>2)&3 + 1})
		res, err := c.Compact(t.Context(), view(t, r), quarter, goal)
		if err != nil {
			if fit, ok := errors.AsType[*compact.DoesNotFit](err); !ok || fit.Total <= limit || fit.Message >= len(r.Messages) {
				t.Fatalf("%s %d: %v", d, seed, err)
			}
			return
		}
		if r.Bypass.Room() == wire.RoomNever {
			if res.Changed() {
				t.Fatalf("%s %d: edited a request to stand aside of", d, seed)
			}
			return
		}
		if err := wire.Validate(d, res.Request.Alternating()); err != nil {
			t.Fatalf("%s %d: %v", d, seed, err)
		}
		if res.Changed() && (res.After >= before || len(res.Request.Body) >= len(r.Body)) || res.After > limit {
			t.Fatalf("%s %d: %d tokens became %d, %d fit", d, seed, before, res.After, limit)
		}
		settled(t, r, res.Request)
		first, latest := words(r)
		kept := func(b []byte) {
			for _, text := range append(first, latest...) {
				if !bytes.Contains(b, text) {
					t.Fatalf("%s %d: gone: %.80s", d, seed, text)
				}
			}
		}
		kept(res.Request.Body)
		chain := make([][16]byte, len(r.Messages))
		made := compact.Checkpoint(view(t, r), &res, chain)
		if made == nil {
			return
		}
		// The next turn gets the same bytes, and can be compacted again.
		next, err := compact.Replay(r, made)
		if err != nil || !bytes.Equal(next.Request.Body, res.Request.Body) {
			t.Fatalf("%s %d: what is stored gives other bytes, %v", d, seed, err)
		}
		goal.Target, goal.Limit = goal.Target*2/3, goal.Limit*2/3
		if res, err = c.Compact(t.Context(), next, quarter, goal); err != nil || !res.Changed() {
			return
		}
		if err := wire.Validate(d, res.Request.Alternating()); err != nil {
			t.Fatalf("%s %d, again: %v", d, seed, err)
		}
		kept(res.Request.Body)
		again, err := compact.Replay(r, compact.Checkpoint(next, &res, chain))
		if err != nil || !bytes.Equal(again.Request.Body, res.Request.Body) {
			t.Fatalf("%s %d: what is stored of the second gives other bytes, %v", d, seed, err)
		}
	})
}

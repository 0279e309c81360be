package compact_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/night"
	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A replica does what the proxy does with a request.
type replica struct {
	store   *checkpoint.Store
	counter *tokens.Counter
	c       *compact.Compactor
}

const (
	sessionLimit   = 16_000
	sessionTrigger = 12_800
	sessionTarget  = 8_000
)

func (p *replica) tally(r *wire.Request) tokens.Tally {
	return p.counter.Tally(r, tokens.FamilyOf("openai", "gpt-5"))
}

func (p *replica) measure(r *wire.Request) (s compact.Sizes) {
	t := p.tally(r)
	s.Total, s.Head = t.Total.Best, t.Head.Best
	for _, m := range t.Messages {
		s.Messages = append(s.Messages, m.Best)
	}
	return s
}

// forward returns what goes to the provider, and whether the conversation was compacted.
func (p *replica) forward(t *testing.T, r *wire.Request) (*wire.Request, bool) {
	t.Helper()
	scope, chain := p.store.Scope([]byte("key")), p.tally(r).Chain
	v, err := compact.Replay(r, checkpoint.Lookup(p.store, scope, chain))
	if err != nil {
		t.Fatal(err)
	}
	if p.measure(v.Request).Total <= sessionTrigger {
		return v.Request, false
	}
	res, err := p.c.Compact(t.Context(), v, p.measure, compact.Goal{Target: sessionTarget, Limit: sessionLimit, Trigger: sessionTrigger})
	if err != nil {
		t.Fatal(err)
	}
	c := compact.Checkpoint(v, &res, chain)
	if c == nil {
		return v.Request, false
	}
	name, _ := compact.Conversation(r, chain)
	if got, err := p.store.Put(scope, c, checkpoint.Cut{Text: res.Cut, Entry: checkpoint.Entry{Conversation: name}}); got != c || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
	return res.Request, true
}

// flip turns contents of one text into a string or a block, as clients do when a mark moves.
func flip(t *testing.T, r *wire.Request, plain bool) *wire.Request {
	t.Helper()
	var edits []wire.Edit
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role != wire.RoleUser || len(m.Parts) != 1 || m.Parts[0].Kind != wire.Text || len(m.Parts[0].Texts) != 1 || m.Plain == plain ||
			bytes.Contains(r.Raw(m.Span), []byte("cache_control")) {
			continue
		}
		text := r.Raw(m.Parts[0].Texts[0])
		if !plain {
			text = append(append([]byte(`[{"type":"text","text":`), text...), `}]`...)
		}
		edits = append(edits, wire.Edit{Span: m.Content, With: text})
	}
	b, err := wire.Splice(r.Body, edits)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, r.Dialect, b)
}

// history is what of a request a provider's cache is keyed by, marks left out.
func history(r *wire.Request) (b []byte) {
	for i := range r.Messages {
		r.Fingerprint(i, func(p []byte) { b = append(b, p...) })
	}
	return b
}

// The point of frozen checkpoints: outside the turns that compact, each forwarded request
// extends the one before, whatever the client moves and flips, and another replica sends the
// same bytes.
func TestEveryRequestExtendsTheOneBefore(t *testing.T) {
	const turns = 200
	for _, d := range dialects {
		for _, style := range []compact.Style{compact.Extractive, compact.Off} {
			if style == compact.Off && d != wire.Messages {
				continue
			}
			dir := t.TempDir()
			open := func() *replica {
				s, err := checkpoint.Open(checkpoint.Options{Dir: dir})
				if err != nil {
					t.Fatal(err)
				}
				return &replica{s, tokens.NewCounter(tokens.Options{}), compact.New(compact.Options{Style: style})}
			}
			first, second := open(), open()
			s := transcripts.NewSession(transcripts.SessionOptions{Dialect: d, Seed: 5, ResultBytes: 1200, SystemBytes: 3000, Thinking: true, ChangingHead: true, Parallel: 2})
			var before []byte
			compactions := 0
			name := ""
			for turn := range turns {
				r := parse(t, d, s.Request(turn))
				if d == wire.Messages || d == wire.Chat {
					r = flip(t, r, turn%3 == 0)
				}
				got, compacted := first.forward(t, r)
				if compacted {
					compactions++
				}
				if compacted || turn%20 == 0 {
					if err := wire.ValidateEdit(d, r.Body, got.Alternating()); err != nil {
						t.Fatalf("%s, turn %d: %v", d, turn, err)
					}
				}
				if size := first.measure(got).Total; size > sessionLimit {
					t.Fatalf("%s, turn %d: %d tokens", d, turn, size)
				}
				after := history(got)
				if !compacted && !bytes.HasPrefix(after, before) {
					t.Fatalf("%s, turn %d: does not extend the one before", d, turn)
				}
				before = after
				if other, again := second.forward(t, r); again || !bytes.Equal(other.Body, got.Body) {
					t.Fatalf("%s, turn %d: the second replica sends other bytes (compacted: %v)", d, turn, again)
				}
				if turn%50 == 49 { // a restart
					first = open()
				}
				for _, want := range []string{transcripts.Task} {
					if !bytes.Contains(got.Body, []byte(want)) {
						t.Fatalf("%s, turn %d: the task is gone", d, turn)
					}
				}
				chain := first.tally(r).Chain
				if n, _ := compact.Conversation(r, chain); name == "" {
					name = n
				} else if n != name {
					t.Fatalf("%s, turn %d: the conversation was %s and is %s", d, turn, name, n)
				}
			}
			if compactions < 3 || compactions > 30 {
				t.Errorf("%s: %d compactions in %d turns", d, compactions, turns)
			}
			list, err := first.store.List()
			if err != nil || len(list) != compactions {
				t.Errorf("%s: %d entries, %v, for %d compactions", d, len(list), err, compactions)
			}
			t.Logf("%s: %d compactions in %d turns", d, compactions, turns)
		}
	}
}

// A provider that says "too long" and no number is answered with smaller and smaller tries.
func TestRecoveryFromAnUnknownLimit(t *testing.T) {
	for _, d := range dialects {
		p := &replica{nil, tokens.NewCounter(tokens.Options{}), compact.New(compact.Options{})}
		for _, turns := range []int{12, 40, 120} {
			s := transcripts.NewSession(transcripts.SessionOptions{Dialect: d, Seed: 9, ResultBytes: 6000, SystemBytes: 2000})
			r := parse(t, d, s.Request(turns))
			whole := p.measure(r).Total
			for _, percent := range night.Else([]int{85, 60, 40, 25}, []int{60, 25}) {
				window := whole * percent / 100
				sent, goal := r, whole
				for try := 0; p.measure(sent).Total > window; try++ {
					if goal = goal * 6 / 10; try > 8 {
						t.Fatalf("%s: no end", d)
					}
					res, err := p.c.Compact(t.Context(), view(t, r), p.measure, compact.Goal{Target: goal, NoModel: true})
					if err != nil {
						t.Fatalf("%s, %d turns, %d: %v", d, turns, goal, err)
					}
					sent = res.Request
				}
				if got := p.measure(sent).Total; got < window/4 {
					t.Errorf("%s, %d turns: %d of %d tokens are used", d, turns, got, window)
				}
				newest := ""
				for i := range r.Messages {
					if m := &r.Messages[i]; m.Role == wire.RoleUser && len(m.Parts) > 0 && m.Parts[0].Kind == wire.Text {
						newest = string(r.Raw(m.Parts[0].Texts[0]))
					}
				}
				if !bytes.Contains(sent.Body, []byte(transcripts.Task)) || !bytes.Contains(sent.Body, []byte(newest)) {
					t.Errorf("%s, %d turns to %d %%: the task or the newest message is gone", d, turns, percent)
				}
			}
		}
	}
}

// Patches of patches speak of the client's messages again.
func TestComposition(t *testing.T) {
	r := parse(t, wire.Chat, body(wire.Chat, session(60, 300)))
	c := compact.New(compact.Options{})
	chain := make([][16]byte, len(r.Messages))
	for i := range chain {
		chain[i][0] = byte(i + 1)
	}
	v := view(t, r)
	for generation, goal := 1, 4000; goal > 500; generation, goal = generation+1, goal*2/3 {
		res, err := c.Compact(t.Context(), v, quarter, compact.Goal{Target: goal, Limit: 3 * goal, Trigger: 3 * goal})
		if err != nil {
			t.Fatal(err)
		}
		made := compact.Checkpoint(v, &res, chain)
		if made == nil || made.Generation != generation || made.Covers > len(r.Messages) || made.Chain != chain[made.Covers-1] {
			t.Fatalf("goal %d: %+v", goal, made)
		}
		next, err := compact.Replay(r, made)
		if err != nil || !reflect.DeepEqual(next.Request.Body, res.Request.Body) {
			t.Fatalf("goal %d: what is stored gives other bytes, %v", goal, err)
		}
		v = next
	}
	if _, err := compact.Replay(parse(t, wire.Chat, body(wire.Chat, session(1, 10))), &checkpoint.Checkpoint{Covers: 99}); err == nil {
		t.Error("a checkpoint of another conversation was put in")
	}
}

// A cut in a request for which something was put in before its newest message covers that decision: later requests get it from the cut, not
// from both.
func TestACutCoversTheDecisionsOfItsRequest(t *testing.T) {
	store, err := checkpoint.Open(checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []wire.Dialect{wire.Chat, wire.Messages, wire.Responses, wire.Gemini, wire.Converse} {
		r := parse(t, d, body(d, session(40, 600)))
		chain := tokens.NewCounter(tokens.Options{}).Tally(r, tokens.FamilyOf("openai", "gpt-5")).Chain
		draft := r.Draft()
		draft.InsertMessages(len(r.Messages)-1, wire.TextMessage(d, wire.RoleUser, "What was put in."))
		next, err := draft.Build()
		if err != nil {
			t.Fatal(err)
		}
		v, patches, err := view(t, r).Amend(next, 0, 0)
		if err != nil || len(patches) != 1 {
			t.Fatalf("%s: %d decisions, %v", d, len(patches), err)
		}
		scope := store.Scope([]byte(d.String()))
		for _, decision := range compact.Decisions(patches, chain) {
			if _, err := store.Freeze(scope, decision, nil); err != nil {
				t.Fatal(err)
			}
		}
		res, err := compact.New(compact.Options{}).Compact(t.Context(), v, quarter, compact.Goal{Target: 3000})
		if err != nil || !res.Changed() {
			t.Fatalf("%s: %v", d, err)
		}
		if _, err := store.Put(scope, compact.Checkpoint(v, &res, chain), checkpoint.Cut{}); err != nil {
			t.Fatal(err)
		}
		again, err := compact.Replay(r, checkpoint.Log(store, scope, chain, 0)...)
		if err != nil || !bytes.Equal(again.Request.Body, res.Request.Body) {
			t.Errorf("%s: the log gives other bytes than were sent, %v", d, err)
		}
	}
}

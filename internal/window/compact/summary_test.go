package compact_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/window/wire"
)

// runes counts a token for every three letters of any script.
func runes(r *wire.Request) (s compact.Sizes) {
	s.Head = (len(r.Body) - r.List.Len()) / 3
	s.Total = s.Head
	for i := range r.Messages {
		s.Messages = append(s.Messages, utf8.RuneCount(r.Raw(r.Messages[i].Span))/3)
		s.Total += s.Messages[i]
	}
	return s
}

// greek is a conversation of n tasks that says something new in each of its sentences, in letters of two bytes.
func greek(n int) (steps []step) {
	r := rand.New(rand.NewPCG(3, 9))
	sentence := func() string {
		var words []string
		for range 9 {
			var word strings.Builder
			for range 3 + r.IntN(7) {
				word.WriteRune('α' + rune(r.IntN(17)))
			}
			words = append(words, word.String())
		}
		return strings.Join(words, " ") + "."
	}
	steps = []step{{user: sentence()}}
	for range n {
		steps = append(steps, step{assistant: sentence(), call: "write", args: `{"path":"a.go","content":"x\ny"}`, result: "ok"}, step{assistant: sentence() + " " + sentence()}, step{user: sentence()})
	}
	return steps
}

// A small window's summary takes most of the room, and all that is left of it, however many bytes a token of its script has.
func TestASmallSummaryFillsItsRoom(t *testing.T) {
	r := parse(t, wire.Chat, body(wire.Chat, greek(100)))
	for _, target := range []int{1200, 2000, 3000} {
		res, err := compact.New(compact.Options{}).Compact(t.Context(), view(t, r), runes, compact.Goal{Target: target, Limit: 2 * target})
		if err != nil {
			t.Fatal(err)
		}
		sizes, summary := runes(res.Request), 0
		for i := range res.Request.Messages {
			if strings.Contains(string(res.Request.Raw(res.Request.Messages[i].Span)), extract.Opening) {
				summary = sizes.Messages[i]
			}
		}
		if res.After > target || res.After < target*9/10 || summary < target*2/3 {
			t.Errorf("%d of %d tokens are used, %d of them by the summary", res.After, target, summary)
		}
	}
}

// Where there is little to say of what goes, less of it goes.
func TestNewTurnsStayWhereASummaryIsShort(t *testing.T) {
	r := parse(t, wire.Chat, body(wire.Chat, session(60, 300)))
	for _, target := range []int{4000, 2666} {
		res := run(t, compact.New(compact.Options{}), r, compact.Goal{Target: target, Limit: 2 * target})
		if res.After > target || res.After < target*4/5 {
			t.Errorf("%d of %d tokens are used: %v", res.After, target, res.Rungs)
		}
		r = parse(t, wire.Chat, res.Request.Body)
	}
}

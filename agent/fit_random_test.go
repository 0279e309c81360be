package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

// randomHistory is a conversation as cuts, crashes and odd models leave it.
func randomHistory(r *rand.Rand) []Message {
	text := func() string {
		switch r.IntN(6) {
		case 0:
			return ""
		case 1:
			return " \n\t"
		case 2:
			return "\xff\x00\"\\ ü 漢字 \u2028" + fitWords(r.IntN(300), r.Uint64())
		case 3:
			return fitWords(r.IntN(6000), r.Uint64())
		}
		return fitWords(r.IntN(200), r.Uint64())
	}
	id := func() string {
		return []string{"", "a", "b", "call:1", "x" + fmt.Sprint(r.IntN(40)), strings.Repeat("long", 30)}[r.IntN(6)]
	}
	var ms []Message
	for range r.IntN(30) {
		switch r.IntN(8) {
		case 0, 1:
			ms = append(ms, userSays(text()))
		case 2:
			ms = append(ms, modelSays(text()))
		case 3:
			ms = append(ms, Message{Role: RoleTool, CallID: id(), Text: text(), Failed: r.IntN(2) == 0})
		case 4:
			ms = append(ms, Message{Role: Role([]string{"", "system", "tool ", "developer"}[r.IntN(4)]), Text: text()})
		default:
			m := Message{Role: RoleAssistant, Text: text(), Opaque: json.RawMessage(`{"sealed":"` + fmt.Sprint(r.Uint64()) + `"}`)}
			for range 1 + r.IntN(4) {
				m.Calls = append(m.Calls, Call{ID: id(), Name: []string{"t", "get_a", "", "a b.c"}[r.IntN(4)], Arguments: text()})
			}
			ms = append(ms, m)
			for _, c := range m.Calls {
				if r.IntN(8) > 0 {
					ms = append(ms, Message{Role: RoleTool, CallID: c.ID, Name: "t", Text: text(), Failed: r.IntN(4) == 0})
				}
			}
		}
	}
	return append(ms, userSays("and now?"))
}

// What comes out is valid for the strictest providers, fits, holds no message that was changed
// without need, and is its own result; what went in is as it was.
func TestFitOfRandomHistories(t *testing.T) {
	t.Parallel()
	seeds := uint64(60)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 5))
		model := fitModel([]int{0, 1500, 6000, 20_000}[r.IntN(4)])
		if r.IntN(2) == 0 {
			model = fitClaude(model.Window)
		}
		f := newFitter(model, Limits{}, nil)
		ms := randomHistory(r)
		before := cloneMessages(ms)
		out, did, err := f.fit(t.Context(), "You help.", ms, fitSpecs, 0)
		if !reflect.DeepEqual(ms, before) {
			t.Fatalf("seed %d: the messages that were given were changed", seed)
		}
		if _, ok := errors.AsType[*TooLargeError](err); ok {
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if did.Tokens > did.Limit {
			t.Fatalf("seed %d: %d tokens of %d", seed, did.Tokens, did.Limit)
		}
		holdValid(t, f, out)
		for _, m := range out {
			if len(m.Opaque) == 0 {
				continue
			}
			for _, was := range before {
				if string(was.Opaque) == string(m.Opaque) && (was.Text != m.Text || len(was.Calls) != len(m.Calls)) {
					t.Fatalf("seed %d: a message with a seal was changed", seed)
				}
			}
		}
		again, did2, err := f.query(nil).fit(t.Context(), "You help.", out, fitSpecs, 0)
		if err != nil {
			t.Fatalf("seed %d: again: %v", seed, err)
		}
		if did.Tokens <= did.Limit*7/10 && (did2.Changed || !reflect.DeepEqual(again, out)) {
			t.Fatalf("seed %d: again made something else: %+v after %+v", seed, did2, did)
		}
		holdValid(t, f, again)
	}
}

// FuzzFit gives it what a store might hold after anything.
func FuzzFit(f *testing.F) {
	f.Add([]byte(`[{"role":"user","text":"a"},{"role":"assistant","calls":[{"id":"1","name":"t","arguments":"{"}]}]`), 2000)
	f.Add([]byte(`[{"role":"tool","call_id":"1"},{"role":"assistant","opaque":[[[]]],"calls":[{},{}]}]`), 1500)
	f.Add([]byte(`[{"role":"user","text":"\ud800\u0000"},{"role":"assistant","calls":[{"id":"x"},{"id":"x"}]},{"role":"tool","call_id":"x"}]`), 0)
	f.Add([]byte(`[]`), 1)
	f.Fuzz(func(t *testing.T, stored []byte, window int) {
		var ms []Message
		if len(stored) > 64<<10 || json.Unmarshal(stored, &ms) != nil {
			t.Skip()
		}
		if n := len(ms); n > 0 && ms[n-1].Role == RoleAssistant && len(ms[n-1].Calls) == 0 {
			ms = append(ms, userSays("q")) // an answer is never the last message of a request
		}
		before := cloneMessages(ms)
		fit := newFitter(fitClaude(min(max(window, 0), 1<<20)), Limits{}, nil)
		out, did, err := fit.fit(t.Context(), "s", ms, nil, 100)
		if !reflect.DeepEqual(ms, before) {
			t.Fatal("the messages that were given were changed")
		}
		if err != nil {
			_, large := errors.AsType[*TooLargeError](err)
			_, syntax := errors.AsType[*wire.SyntaxError](err)
			if !large && !syntax {
				t.Fatal(err)
			}
			return
		}
		if did.Tokens > did.Limit {
			t.Fatalf("%d tokens of %d", did.Tokens, did.Limit)
		}
		holdValid(t, fit, out)
	})
}

// A step costs its new tail: what was counted before is only hashed.
func BenchmarkFitStep(b *testing.B) {
	f := newFitter(fitModel(1_000_000), Limits{}, nil)
	ms := []Message{userSays("go")}
	for i := range 40 {
		id := fmt.Sprint("c", i)
		ms = append(ms, modelCalls(id), toolSays(id, fitWords(2700, uint64(i))))
	}
	size := 0
	for _, m := range ms {
		size += len(m.Text)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprint("n", i)
		if _, _, err := f.fit(b.Context(), "You help.", append(ms[:len(ms):len(ms)], modelCalls(id), toolSays(id, "new")), fitSpecs, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFitRoom(b *testing.B) {
	ms := []Message{userSays("go")}
	for i := range 40 {
		id := fmt.Sprint("c", i)
		ms = append(ms, modelCalls(id), toolSays(id, fitWords(2700, uint64(i))))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := newFitter(fitModel(60_000), Limits{}, nil).fit(b.Context(), "You help.", ms, fitSpecs, 0); err != nil {
			b.Fatal(err)
		}
	}
}

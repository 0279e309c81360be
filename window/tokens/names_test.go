package tokens

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

// What is taken from the tally of a request with the same beginning is what a look at all messages finds, whatever was known of them there:
// their names alone, a sample of them, or what they cost.
func TestNamesAfterAnotherRequest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(27, 1))
	var talk []any
	for i := range 40 {
		text := strings.Repeat(fmt.Sprintf("line %d {\"of\": [it]} and more\n", i), 1+rnd.IntN(200))
		talk = append(talk, say([]string{"user", "assistant"}[i%2], text))
	}
	request := func(n int, tail string) *wire.Request {
		messages := append(append([]any{}, talk[:n]...), say("user", tail))
		return parse(t, wire.Chat, object{"model": "gpt-4o", "messages": messages})
	}
	lines := []int{0, 10_000, 1 << 30} // all is counted, some requests are over it, nothing is
	for _, f := range []Family{FamilyO200K, FamilyClaude} {
		handed, looked := NewCounter(Options{MemoBytes: 8 << 10}), NewCounter(Options{})
		before, same := Tally{}, 0
		for step := range 200 {
			n := 1 + rnd.IntN(len(talk)-1)
			r := request(n, fmt.Sprint("and now ", step))
			line := lines[rnd.IntN(len(lines))]
			names := handed.NameAfter(r, f, &before, min(same, n))
			want := looked.TallyBelow(r, f, line)
			if got := names.Chain(); !reflect.DeepEqual(got, want.Chain) {
				t.Fatalf("step %d: the chain after %d messages of %d is another one", step, min(same, n), n)
			}
			chain := Tally{Family: f, Chain: names.Chain()}
			got := names.TallyBelow(line)
			names.Done()
			if line == 0 && !reflect.DeepEqual(got, looked.Tally(r, f)) {
				t.Fatalf("step %d: counted after %d messages of %d it is %+v, want %+v", step, min(same, n), n, got.Total, want.Total)
			}
			if got.HeadDigest != want.HeadDigest || got.Head != want.Head || got.Total.Low > want.Total.High || got.Total.High < want.Total.Low {
				t.Fatalf("step %d: %+v, want %+v", step, got.Total, want.Total)
			}
			before, same = got, n
			switch rnd.IntN(4) {
			case 0:
				before = chain
			case 1:
				before, same = Tally{}, 0
			}
		}
		if again := handed.Tally(request(30, "x"), f); !reflect.DeepEqual(again, looked.Tally(request(30, "x"), f)) {
			t.Errorf("%v: the memo has something else than was found", f)
		}
	}
	// Another tokenizer's tally is of no use.
	r := request(20, "x")
	names := NewCounter(Options{}).NameAfter(r, FamilyClaude, new(NewCounter(Options{}).Tally(r, FamilyO200K)), 20)
	defer names.Done()
	if want := NewCounter(Options{}).Tally(r, FamilyClaude); !reflect.DeepEqual(names.TallyBelow(0), want) {
		t.Error("costs for one tokenizer were taken for those of another")
	}
}

package repair_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// history makes a valid history in the short form of the tables, one word a message.
func history(rng *rand.Rand, reuse bool) []string {
	words := []string{"u:start"}
	id := 0
	for turn := range 1 + rng.IntN(5) {
		for range rng.IntN(4) {
			if reuse {
				id = rng.IntN(3)
			}
			var ids, results []string
			for k := range 1 + rng.IntN(3) {
				if reuse && k > 0 {
					break
				}
				id++
				ids = append(ids, fmt.Sprint(id))
				results = append(results, fmt.Sprintf("%d=result_%d_%d", id, turn, rng.IntN(1000)))
			}
			words = append(words, "c:"+strings.Join(ids, ","), "t:"+strings.Join(results, ","))
		}
		words = append(words, fmt.Sprintf("a:answer_%d", turn), fmt.Sprintf("u:question_%d", turn))
	}
	return words
}

// harm takes messages out, doubles them, and puts them elsewhere.
func harm(rng *rand.Rand, list []string) []string {
	for range 1 + rng.IntN(4) {
		if len(list) == 0 {
			break
		}
		at, to := rng.IntN(len(list)), rng.IntN(len(list))
		one := list[at]
		switch rng.IntN(5) {
		case 0, 1:
			list = slices.Delete(slices.Clone(list), at, at+1)
		case 2:
			list = slices.Insert(slices.Clone(list), to, one)
		case 3:
			list = slices.Delete(slices.Clone(list), at, at+1)
			list = slices.Insert(list, min(to, len(list)), one)
		case 4:
			list = list[:1+at] // cut off, as a client that was stopped
		}
	}
	return list
}

func broken(d wire.Dialect, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, uint64(d)))
	var list []string
	for _, word := range history(rng, rng.IntN(4) == 0) {
		list = append(list, message(d, word)...)
	}
	return body(d, strings.Join(harm(rng, list), ","))
}

// check holds a repair of a broken history to all that is promised.
func check(t testing.TB, d wire.Dialect, text []byte, o repair.Options) {
	t.Helper()
	before := parse(t, d, text)
	next, actions := fix(t, d, text, o)
	valid(t, d, next, text)
	// Every result that was not dropped as an orphan or a double is there, under some id.
	had, has, dropped := 0, 0, 0
	for _, list := range results(before) {
		had += len(list)
	}
	for _, list := range results(next) {
		has += len(list)
	}
	for _, a := range actions {
		if a.Bytes > 0 && (a.Kind == repair.Dropped || a.Kind == repair.Duplicate || a.Kind == repair.Joined) {
			dropped++
		}
	}
	if has < had-dropped || has > had {
		t.Errorf("%d real results of %d are left, %d were dropped:\n%s\n%s", has, had, dropped, before.Body, next.Body)
	}
	// A result whose call has an id of its own and is there is never dropped.
	if d == wire.Gemini {
		return
	}
	asked := map[string]int{}
	for i := range before.Messages {
		for j := range before.Messages[i].Parts {
			if p := &before.Messages[i].Parts[j]; p.Kind == wire.Call {
				asked[p.CallID]++
			}
		}
	}
	for id, list := range results(before) {
		if asked[id] == 1 && len(list) == 1 && !slices.Equal(results(next)[id], list) && !openCall(before, id) {
			t.Errorf("the result of %s is gone:\n%s\n%s", id, before.Body, next.Body)
		}
	}
}

// openCall tells whether a call is in the model's last messages.
func openCall(r *wire.Request, id string) bool {
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role == wire.RoleAssistant; i-- {
		for j := range r.Messages[i].Parts {
			if p := &r.Messages[i].Parts[j]; p.Kind == wire.Call && p.CallID == id {
				return true
			}
		}
	}
	return false
}

func FuzzBrokenHistories(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, d := range dialects {
			check(t, d, broken(d, seed), repair.Options{UniqueIDs: seed%2 == 1})
		}
	})
}

// held holds the repair of a damaged history to what its inventory says must stay.
func held(t testing.TB, d wire.Dialect, seed uint64) {
	t.Helper()
	text, done, inv := transcripts.Broken(d, seed)
	next, actions := fix(t, d, text, repair.Options{})
	valid(t, d, next, text)
	for _, marker := range slices.Concat(inv.Users, inv.Results) {
		if n := bytes.Count(next.Body, []byte(marker)); n != 1 {
			t.Errorf("%s is there %d times", marker, n)
		}
	}
	dropped := 0
	for _, a := range actions {
		if a.Kind == repair.Dropped || a.Kind == repair.Duplicate {
			dropped++
		}
	}
	for _, marker := range inv.Unclear {
		if !bytes.Contains(next.Body, []byte(marker)) && dropped == 0 {
			t.Errorf("%s is gone, and no action says so", marker)
		}
	}
	if t.Failed() {
		t.Fatalf("%s, seed %d: %+v, %+v\nbefore %s\nafter  %s", d, seed, done, actions, text, next.Body)
	}
	sound := transcripts.Valid(d, seed)
	r := parse(t, d, sound)
	if next, actions, err := repair.Repair(r, repair.Options{}); err != nil || next != r || actions != nil {
		t.Fatalf("%s, seed %d: a sound history: %+v, %v\n%s", d, seed, actions, err, sound)
	}
}

func FuzzDamagedHistories(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, d := range dialects {
			held(t, d, seed)
		}
	})
}

func TestDamagedHistories(t *testing.T) {
	for seed := range uint64(200) {
		for _, d := range dialects {
			held(t, d, seed)
		}
	}
}

func TestRandomBrokenHistories(t *testing.T) {
	for seed := range uint64(200) {
		for _, d := range dialects {
			check(t, d, broken(d, seed), repair.Options{})
			if t.Failed() {
				t.Fatalf("seed %d, %s", seed, d)
			}
		}
	}
}

// What is no request at all must not panic, and what parses must come out as a request.
func FuzzRepair(f *testing.F) {
	for _, c := range cases {
		for i, d := range dialects {
			f.Add(uint8(i), 0, body(d, list(d, c.before)))
		}
	}
	f.Add(uint8(2), 64, []byte(`{"messages":[{"role":"user","content":null},{"role":"assistant","content":[{"type":"tool_use"},{"type":"tool_result"}]}]}`))
	f.Fuzz(func(t *testing.T, which uint8, maxID int, text []byte) {
		d := dialects[int(which)%len(dialects)]
		r, err := wire.Parse(d, text)
		if err != nil {
			return
		}
		next, actions, err := repair.Repair(r, repair.Options{MaxID: maxID % 200, NineIDs: maxID%3 == 0, UniqueIDs: maxID%5 == 0})
		if err != nil {
			if next != r || actions != nil {
				t.Errorf("an error and another request: %v", err)
			}
			return
		}
		if _, err := wire.Parse(d, next.Body); err != nil {
			t.Errorf("%v: %s", err, next.Body)
		}
	})
}

// Histories made to be slow: a repair that was quadratic would not end before the test does.
func TestHostileHistories(t *testing.T) {
	const n = 8_000
	repeat := func(s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	for _, d := range dialects {
		c, r := list(d, "c:1"), list(d, "t:1=x")
		for what, text := range map[string]string{
			"calls":                       repeat(c),
			"results":                     repeat(r),
			"pairs":                       repeat(c + "," + r),
			"all calls, then all results": repeat(c) + "," + repeat(r) + "," + list(d, "u:x"),
			"all results, then all calls": list(d, "u:x") + "," + repeat(r) + "," + repeat(c) + "," + list(d, "u:x"),
			"one message":                 strings.Join(calls(d, slices.Repeat([]string{"1"}, n), false), ",") + "," + list(d, "u:x"),
		} {
			next, _, err := repair.Repair(parse(t, d, body(d, text)), repair.Options{MaxID: 64})
			if err != nil {
				t.Errorf("%s, %s: %v", d, what, err)
				continue
			}
			if again, _, err := repair.Repair(next, repair.Options{MaxID: 64}); err != nil || again != next {
				t.Errorf("%s, %s: a second repair: %v", d, what, err)
			}
		}
	}
}

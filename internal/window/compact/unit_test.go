package compact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/window/wire"
)

func TestCutNamesWhatIsMissing(t *testing.T) {
	text := "begin\n" + strings.Repeat("0123456789\n", 5000) + "end\n"
	once := cutText(text, 8000)
	twice := cutText(once, 2000)
	for _, got := range []string{once, twice} {
		head, rest, ok := strings.Cut(got, cutBegin)
		_, tail, ok2 := strings.Cut(rest, cutEnd)
		var n int
		if _, err := fmt.Sscanf(rest, "%d bytes", &n); err != nil || !ok || !ok2 {
			t.Fatalf("%v: %.200s", err, got)
		}
		if !strings.HasPrefix(head, "begin\n") || !strings.HasSuffix(tail, "end\n") {
			t.Errorf("an end is missing: %q … %q", head[:10], tail)
		}
		// The second number covers the first cut, its marker included.
		if sum := len(head) + n + len(tail); sum < len(text) || sum > len(text)+200 {
			t.Errorf("%d kept and %d cut of %d", len(head)+len(tail), n, len(text))
		}
	}
	if len(twice) > 2000 || strings.Count(twice, cutBegin) != 1 {
		t.Errorf("%d bytes, %d marks", len(twice), strings.Count(twice, cutBegin))
	}
}

// What is composed has to give what the two sets of patches give one after the other.
func FuzzCompose(f *testing.F) {
	f.Add(uint64(1), 12)
	f.Add(uint64(2), 1)
	f.Fuzz(func(t *testing.T, seed uint64, n int) {
		r := rand.New(rand.NewPCG(seed, 3))
		n = 1 + max(n, -(n+1))%40
		var list [][]byte
		for i := range n {
			list = append(list, wire.TextMessage(wire.Chat, wire.RoleUser, fmt.Sprint("m", i)))
		}
		client, err := wire.Parse(wire.Chat, []byte(`{"model":"m","messages":[`+string(bytes.Join(list, []byte(",")))+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		some := func(n, mark int) (patches []Patch) {
			for at := 0; at <= n; at++ {
				if r.IntN(3) > 0 {
					continue
				}
				p := Patch{From: at, To: min(n, at+r.IntN(4))}
				for k := range r.IntN(3) {
					p.With = append(p.With, wire.TextMessage(wire.Chat, wire.RoleUser, fmt.Sprint("p", mark, "-", at, "-", k)))
				}
				patches = append(patches, p)
				at = max(at, p.To)
			}
			return patches
		}
		first, covers := (&View{Client: client}).composePatches(some(n, 1))
		one, err := applyPatches(client, first)
		if err != nil {
			t.Fatal(err)
		}
		base := &View{Client: client, Patches: first, covers: covers}
		second := some(len(one.Messages), 2)
		two, err := applyPatches(one, second)
		if err != nil {
			t.Fatal(err)
		}
		composed, all := base.composePatches(second)
		got, err := applyPatches(client, composed)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Body, two.Body) {
			t.Fatalf("composed:\n%s\none after the other:\n%s", got.Body, two.Body)
		}
		last := 0
		for _, p := range composed {
			if p.From < last || p.To < p.From || p.To > all || all < covers || all > n {
				t.Fatalf("%d to %d after %d, covers %d of %d", p.From, p.To, last, all, n)
			}
			last = p.To
		}
	})
}

func TestSystemMessagesKeepTheirNeighbours(t *testing.T) {
	say := func(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }
	var list []string
	list = append(list, say("user", "the task"), say("system", "leading"))
	for i := range 30 {
		list = append(list, say("assistant", strings.Repeat("thinking aloud ", 20)))
		if i%10 == 5 {
			list = append(list, say("user", "by the way"), say("system", fmt.Sprint("mode ", i)))
		}
	}
	list = append(list, say("user", "newest"), say("system", "last"))
	r, err := wire.Parse(wire.Messages, []byte(`{"model":"m","max_tokens":9,"messages":[`+strings.Join(list, ",")+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	measure := func(r *wire.Request) (s Sizes) {
		for _, m := range r.Messages {
			s.Messages = append(s.Messages, m.Span.Len()/4)
		}
		s.Total = len(r.Body) / 4
		return s
	}
	for target := 2200; target > 300; target -= 150 {
		v, err := Replay(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := New(Options{MinMessages: 1}).Compact(t.Context(), v, measure, Goal{Target: target, Limit: 2 * target, Trigger: 2 * target})
		if err != nil {
			t.Fatal(err)
		}
		got := res.Request.Messages
		for i, m := range got {
			if m.Role != wire.RoleSystem {
				continue
			}
			if got[i-1].Role != wire.RoleUser || i+1 < len(got) && got[i+1].Role != wire.RoleAssistant {
				t.Errorf("to %d: message %d is misplaced:\n%s", target, i, res.Request.Body)
			}
		}
		for _, want := range []string{"leading", "mode 5", "mode 15", "mode 25", "last"} {
			if !bytes.Contains(res.Request.Body, []byte(want)) {
				t.Errorf("to %d: the system's %q is gone (%v)", target, want, res.Rungs)
			}
		}
	}
}

// Gemini's results are objects: a command's code is a number in one.
func TestAGeminiResultKeepsItsCode(t *testing.T) {
	r, err := wire.Parse(wire.Gemini, []byte(`{"contents":[{"role":"user","parts":[{"text":"go"}]},
		{"role":"model","parts":[{"functionCall":{"name":"run","args":{"command":"make"}}}]},
		{"role":"user","parts":[{"functionResponse":{"name":"run","response":{"stdout":"the ledger is busy","exitCode":7,"more":{"x":1}}}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	w := work{base: r}
	turns, _ := w.turnsOf([]int{1, 2})
	if got, want := turns[1].Text, "the ledger is busy\nexitCode: 7"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s := extract.Summarize(turns, extract.Options{Bytes: 2000, Messages: 2}).Text
	if !strings.Contains(s, "- $ make (exit code 7)\n  | the ledger is busy") {
		t.Error(s)
	}
}

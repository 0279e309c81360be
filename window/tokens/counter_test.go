package tokens

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

type object = map[string]any

func parse(t testing.TB, d wire.Dialect, body any) *wire.Request {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := wire.Parse(d, b)
	if err != nil {
		t.Fatalf("%v: %.300s", err, b)
	}
	return r
}

func anthropic(system string, messages ...any) object {
	return object{
		"model": "claude-sonnet-4-5", "max_tokens": 100, "system": system, "messages": messages,
		"tools": []any{object{"name": "read", "description": "Reads a file", "input_schema": object{"type": "object"}}},
	}
}

func say(role, text string) object { return object{"role": role, "content": text} }

func TestChatTextIsCountedExactly(t *testing.T) {
	texts := []string{"You are helpful.", "Hello, \"world\"!\n\tIt's 2026 — 你好 😀", strings.Repeat("fmt.Println(x)\n", 50)}
	var messages []any
	want := 3
	for i, text := range texts {
		messages = append(messages, say([]string{"system", "user", "assistant"}[i], text))
		want += 4 + O200K().Count([]byte(text))
	}
	r := parse(t, wire.Chat, object{"model": "gpt-4o", "messages": messages})
	tally := NewCounter(Options{}).Tally(r, FamilyOf("openai", r.Model))
	if tally.Total.Best != want {
		t.Errorf("the request counts as %d, its texts and markers are %d", tally.Total.Best, want)
	}
	if spread := tally.Total.High - tally.Total.Low; spread > 30 {
		t.Errorf("text that is known exactly has a band of %d: %+v", spread, tally.Total)
	}
}

func TestTallyCountsOnlyWhatIsNew(t *testing.T) {
	c := NewCounter(Options{})
	messages := []any{say("user", "one"), say("assistant", "two"), say("user", "three")}
	first := c.Tally(parse(t, wire.Messages, anthropic("be brief", messages...)), FamilyClaude)
	before := c.Stats()
	messages = append(messages, say("assistant", "four"))
	second := c.Tally(parse(t, wire.Messages, anthropic("be brief", messages...)), FamilyClaude)
	after := c.Stats()
	if n := after.Misses - before.Misses; n != 1 {
		t.Errorf("one new message made %d misses", n)
	}
	if !slices.Equal(second.Chain[:3], first.Chain) || !slices.Equal(second.Messages[:3], first.Messages) {
		t.Error("the seen part of the conversation is tallied differently the second time")
	}
	if second.HeadDigest != first.HeadDigest || second.Head != first.Head {
		t.Error("the same system and tools are tallied differently the second time")
	}
	if len(second.Chain) != 4 || second.Chain[3] == second.Chain[2] {
		t.Errorf("the chain does not go on: %x", second.Chain)
	}
}

// Another process must come to the same names: checkpoints are stored under them.
func TestChainIsStable(t *testing.T) {
	body := anthropic("be brief", say("user", "one"), say("assistant", "two"))
	r := parse(t, wire.Messages, body)
	a, b := NewCounter(Options{}).Tally(r, FamilyClaude), NewCounter(Options{MemoBytes: 1}).Tally(r, FamilyGemini)
	if !slices.Equal(a.Chain, b.Chain) || a.HeadDigest != b.HeadDigest {
		t.Errorf("two counters name one conversation differently: %x, %x", a.Chain, b.Chain)
	}
	const known = "3755b674a4baa181"
	if got := fmt.Sprintf("%x", a.Chain[1][:8]); got != known {
		t.Errorf("the chain is %s, it was %s when this test was written: stored checkpoints would not be found", got, known)
	}
}

func TestChainDependsOnOrderAndContent(t *testing.T) {
	c := NewCounter(Options{})
	tally := func(texts ...string) Tally {
		var messages []any
		for i, text := range texts {
			messages = append(messages, say([]string{"user", "assistant"}[i%2], text))
		}
		return c.Tally(parse(t, wire.Messages, anthropic("s", messages...)), FamilyClaude)
	}
	a := tally("a", "b", "c", "d", "c")
	if b := tally("a", "b", "c"); b.Chain[2] != a.Chain[2] {
		t.Error("a common prefix has different chains")
	}
	if a.Chain[2] == a.Chain[4] {
		t.Error("a message said twice has one chain")
	}
	if b := tally("c", "b", "a"); b.Chain[2] == a.Chain[2] || b.Chain[1] == a.Chain[1] {
		t.Error("another order has the same chain")
	}
	again := tally("x", "b", "c")
	if again.Chain[2] == a.Chain[2] {
		t.Error("a changed first message left the chain as it was")
	}
	if b := tally("a", "b", "c", "d", "c"); !slices.Equal(b.Chain, a.Chain) {
		t.Error("the memo kept the chain of another conversation")
	}
}

// Clients move their cache marks every turn.
func TestMarksDoNotChangeTheChain(t *testing.T) {
	block := func(text string, marked bool) object {
		b := object{"type": "text", "text": text}
		if marked {
			b["cache_control"] = object{"type": "ephemeral"}
		}
		return b
	}
	body := func(marked int) object {
		b := anthropic("", object{"role": "user", "content": []any{block("a", marked == 0), block("b", marked == 1)}}, say("assistant", "c"))
		b["system"] = []any{block("s1", marked == 0), block("s2", marked == 1)}
		tool := b["tools"].([]any)[0].(object)
		if marked == 1 {
			tool["cache_control"] = object{"type": "ephemeral"}
		}
		return b
	}
	c := NewCounter(Options{})
	bare := c.Tally(parse(t, wire.Messages, body(-1)), FamilyClaude)
	for i := range 2 {
		marked := c.Tally(parse(t, wire.Messages, body(i)), FamilyClaude)
		if !slices.Equal(marked.Chain, bare.Chain) || marked.HeadDigest != bare.HeadDigest {
			t.Errorf("a mark at block %d changed a digest", i)
		}
	}
	// What is remembered is the same, wherever the mark was at the time.
	for i := range 2 {
		if marked := NewCounter(Options{}).Tally(parse(t, wire.Messages, body(i)), FamilyClaude); marked.Total != bare.Total {
			t.Errorf("a mark at block %d made %+v of %+v", i, marked.Total, bare.Total)
		}
	}
	if s := c.Stats(); s.Misses != 5 { // two messages, two system blocks, one tool
		t.Errorf("moving marks made %d misses, want 5", s.Misses)
	}
}

func TestMemoIsBounded(t *testing.T) {
	const budget = 64 << 10
	c := NewCounter(Options{MemoBytes: budget})
	for i := range 3000 {
		c.Tally(parse(t, wire.Chat, object{"model": "gpt-4o", "messages": []any{say("user", fmt.Sprint(i))}}), FamilyO200K)
	}
	s := c.Stats()
	if s.Bytes > budget || s.Evictions == 0 || s.Entries+int(s.Evictions) != 3000 {
		t.Errorf("a memo of %d bytes: %+v", budget, s)
	}
}

func TestThoughtsMayCountForNothing(t *testing.T) {
	think := func(blocks ...any) Tally {
		blocks = append(blocks, object{"type": "text", "text": "Done."})
		return NewCounter(Options{}).Tally(parse(t, wire.Messages, anthropic("s", say("user", "go"), object{"role": "assistant", "content": blocks})), FamilyClaude)
	}
	without := think()
	with := think(object{"type": "thinking", "thinking": strings.Repeat("I should look at the file first. ", 50), "signature": strings.Repeat("QUJD", 400)})
	if with.Messages[1].Low != without.Messages[1].Low {
		t.Errorf("thoughts raised the low estimate from %d to %d", without.Messages[1].Low, with.Messages[1].Low)
	}
	if with.Messages[1].High < without.Messages[1].High+350 {
		t.Errorf("350 tokens of thoughts raised the high estimate from %d to %d only", without.Messages[1].High, with.Messages[1].High)
	}
}

func TestEveryDialectCountsItsParts(t *testing.T) {
	long := strings.Repeat("word ", 200)
	for _, c := range []struct {
		name string
		d    wire.Dialect
		body object
	}{
		{"chat call", wire.Chat, object{"messages": []any{
			object{"role": "assistant", "content": nil, "tool_calls": []any{object{"id": "c1", "type": "function", "function": object{"name": "f", "arguments": long}}}},
		}}},
		{"chat result", wire.Chat, object{"messages": []any{object{"role": "tool", "tool_call_id": "c1", "content": long}}}},
		{"responses text", wire.Responses, object{"input": long}},
		{"responses output", wire.Responses, object{"input": []any{object{"type": "function_call_output", "call_id": "c1", "output": long}}}},
		{"messages input", wire.Messages, object{"messages": []any{
			object{"role": "assistant", "content": []any{object{"type": "tool_use", "id": "c1", "name": "f", "input": object{"text": long}}}},
		}}},
		{"messages result", wire.Messages, object{"messages": []any{
			object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": "c1", "content": []any{object{"type": "text", "text": long}}}}},
		}}},
		{"gemini text", wire.Gemini, object{"contents": []any{object{"role": "user", "parts": []any{object{"text": long}}}}}},
		{"gemini response", wire.Gemini, object{"contents": []any{
			object{"role": "user", "parts": []any{object{"functionResponse": object{"name": "f", "response": object{"output": long}}}}},
		}}},
		{"system", wire.Messages, object{"system": long, "messages": []any{}}},
		{"instructions", wire.Responses, object{"instructions": long, "input": []any{}}},
		{"tool", wire.Chat, object{"messages": []any{}, "tools": []any{object{"type": "function", "function": object{"name": "f", "description": long}}}}},
	} {
		for f := range families {
			e := NewCounter(Options{}).Tally(parse(t, c.d, c.body), f).Total
			if e.Low < 0 || e.Low > e.Best || e.Best > e.High {
				t.Errorf("%s as %s: the band %+v is out of order", c.name, f, e)
			}
			if e.High < 200 || e.Best < 100 || e.High > 1500 {
				t.Errorf("%s as %s: 200 words count as %+v", c.name, f, e)
			}
		}
	}
}

func TestCounterAndUsageAreSafeForConcurrentUse(t *testing.T) {
	c, u := NewCounter(Options{MemoBytes: 16 << 10}), NewUsage(UsageOptions{Bytes: 16 << 10})
	requests := make([]*wire.Request, 40)
	var messages []any
	for i := range requests {
		messages = append(messages, say("user", fmt.Sprint("message ", i)))
		requests[i] = parse(t, wire.Messages, anthropic("s", messages...))
	}
	want := NewCounter(Options{}).Tally(requests[39], FamilyClaude)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, r := range requests {
				tally := c.Tally(r, FamilyClaude)
				if !slices.Equal(tally.Chain, want.Chain[:len(tally.Chain)]) {
					t.Error("a chain is another beside others")
				}
				u.Report("s", tally, tally.Total.Best)
				if in := u.Input("s", tally); in.Best != tally.Total.Best {
					t.Errorf("%+v after a report of %d", in, tally.Total.Best)
				}
			}
			u.Stats()
			c.Stats()
		})
	}
	wg.Wait()
}

// What is added may not count for nothing, and parts of a whole not for more than it.
func FuzzTally(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"hi"}]}`), byte(1))
	f.Add([]byte(`{"system":[{"type":"text","text":"s","cache_control":{}}],"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"}}]}]}`), byte(3))
	f.Add([]byte(`{"system":[{"cache_control":{}}],"messages":[]}`), byte(2))
	f.Add([]byte(`{"system":[{}],"messages":[]}`), byte(2))
	f.Add([]byte(`{"input":[{"type":"reasoning","encrypted_content":"QUJD"},{"type":"x","y":[1]}],"tools":[{}]}`), byte(2))
	f.Add([]byte(`{"contents":[{"parts":[{"inlineData":{"mimeType":"video/mp4","data":"AAAA"}}]}]}`), byte(4))
	c := NewCounter(Options{})
	f.Fuzz(func(t *testing.T, body []byte, n byte) {
		r, err := wire.Parse(wire.Dialect(n%4+1), body)
		if err != nil {
			return
		}
		family := Family(n) % families
		fresh, cached := NewCounter(Options{}).Tally(r, family), c.Tally(r, family)
		again := c.Tally(r, family)
		if fresh.Total != cached.Total || again.Total != cached.Total || !slices.Equal(fresh.Chain, again.Chain) || fresh.HeadDigest != again.HeadDigest {
			t.Fatalf("a request is tallied differently with and without a memo: %+v, %+v, %+v", fresh.Total, cached.Total, again.Total)
		}
		sum := fresh.Head.Plus(fresh.Extra)
		for _, m := range fresh.Messages {
			if m.Low < 0 || m.Low > m.Best || m.Best > m.High {
				t.Fatalf("a band out of order: %+v", m)
			}
			sum = sum.Plus(m)
		}
		if sum != fresh.Total || len(fresh.Chain) != len(r.Messages) {
			t.Fatalf("the total %+v is not the sum %+v", fresh.Total, sum)
		}
	})
}

// conversation is a body of about n bytes as agents send it.
func conversation(n int) object {
	rng := rand.New(rand.NewPCG(1, 1))
	var messages []any
	for size, i := 0, 0; size < n; i++ {
		text := string(mixture(rng, vocabularyOf["english"], 300))
		code := string(bytes.ToValidUTF8(mixture(rng, vocabularyOf["code"], 2200), nil)) + string(jsonText(rng, 500))
		id := fmt.Sprintf("call_%d", i)
		messages = append(messages,
			object{"role": "assistant", "content": text, "tool_calls": []any{object{"id": id, "type": "function", "function": object{"name": "read", "arguments": `{"path":"/a/b.go"}`}}}},
			object{"role": "tool", "tool_call_id": id, "content": code})
		size += len(text) + len(code) + 200
	}
	return object{"model": "gpt-4o", "messages": messages}
}

func BenchmarkTally(b *testing.B) {
	r := parse(b, wire.Chat, conversation(300<<10))
	for _, f := range []Family{FamilyO200K, FamilyClaude} {
		b.Run("cold/"+f.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewCounter(Options{}).Tally(r, f)
			}
		})
		c := NewCounter(Options{})
		b.Run("seen/"+f.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Tally(r, f)
			}
		})
	}
}

// What is not counted has a bound that holds, names that are the same, and is counted once it might matter.
func TestTallyBelow(t *testing.T) {
	big := strings.Repeat("{\"k\": [1,2,3], 'é': \"日本\"}\n", 2000)
	messages := []any{say("user", "one"), say("assistant", big), say("user", "三 "+big)}
	r := parse(t, wire.Messages, anthropic("be brief", messages...))
	for _, f := range []Family{FamilyClaude, FamilyClaude47, FamilyGemini, FamilyO200K} {
		c := NewCounter(Options{})
		want := NewCounter(Options{}).Tally(r, f)
		if got := c.Name(r, f).Chain(); !slices.Equal(got, want.Chain) {
			t.Errorf("%v: the chain without a count is %x, with it %x", f, got, want.Chain)
		}
		far := c.TallyBelow(r, f, 1<<20)
		if !slices.Equal(far.Chain, want.Chain) || far.HeadDigest != want.HeadDigest || far.Head != want.Head {
			t.Errorf("%v: what is not counted has other names", f)
		}
		if far.Messages[1].High < want.Messages[1].High || far.Messages[1].Low > want.Messages[1].Low || far.Total.High <= want.Total.High {
			t.Errorf("%v: the bound %+v does not hold %+v", f, far.Messages, want.Messages)
		}
		if got := c.TallyBelow(r, f, far.Total.High-1); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: where the bound is over the line, it is %+v, want %+v", f, got.Total, want.Total)
		}
		if got := c.TallyBelow(r, f, 1<<20); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: what was counted is not used: %+v, want %+v", f, got.Total, want.Total)
		}
		small := parse(t, wire.Messages, anthropic("be brief", messages[:1]...))
		if got, want := c.TallyBelow(small, f, 1<<20), c.Tally(small, f); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: a small request is not counted: %+v, want %+v", f, got.Total, want.Total)
		}
	}
}

// A report about a request that was not counted is a known prefix, and teaches nothing about texts.
func TestUsageOfWhatWasNotCounted(t *testing.T) {
	big := strings.Repeat("a sentence of some words. ", 4000)
	r := parse(t, wire.Messages, anthropic("be brief", say("user", big)))
	c, u := NewCounter(Options{}), NewUsage(UsageOptions{})
	far := c.TallyBelow(r, FamilyClaude, 1<<20)
	if before := u.Input("x", far); before.Counted != CountedEstimate || before.Estimate != far.Total {
		t.Errorf("before anything is known it is %+v, want %+v", before, far.Total)
	}
	if !u.Report("x", far, 25_000) {
		t.Fatal("the report was not believed")
	}
	if in := u.Input("x", far); in.Counted != CountedUsage || in.Estimate != Exactly(25_000) {
		t.Errorf("after the report it is %+v", in)
	}
	if mean, n := u.Error("x", r.Model, FamilyClaude); n != 0 {
		t.Errorf("%d errors of %v were noted of what nobody has counted", n, mean)
	}
}

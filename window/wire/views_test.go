package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// sameView compares two views of equal bodies. How many parts were read on the way is only a bound.
func sameView(t *testing.T, got, want *Request) {
	t.Helper()
	a, b := *got, *want
	a.nparts, b.nparts, a.ntexts, b.ntexts = 0, 0, 0, 0
	a.view, a.before, a.same = nil, nil, 0
	if len(a.Marks) == 0 && len(b.Marks) == 0 {
		a.Marks, b.Marks = nil, nil
	}
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("a body that goes on from another one is read differently:\n%+v\n%+v", a, b)
	}
}

// talks are conversations in each dialect as pieces: what comes before the messages, each of them, and what comes behind. A %m is where
// a client may set a cache mark.
func talks(n int) map[Dialect][]string {
	text := func(i int) string { return strings.Repeat(fmt.Sprintf("line %d \\\"of\\\" it\\n", i), 40+i%50) }
	all := map[Dialect][]string{}
	for d := Chat; d <= Gemini; d++ {
		var list []string
		for i := range n {
			switch d {
			case Chat:
				list = append(list, fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"%s"%%m}]}`, text(i)),
					fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"r%d","arguments":"{}"}}]}`, i, i),
					fmt.Sprintf(`{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, i, text(i)))
			case Messages:
				list = append(list, fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"t\u005f%d","name":"r%d","input":{"a":[%d]}}]}`, i, i, i),
					fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t_%d","content":"%s"%%m}]}`, i, text(i)))
			case Responses:
				list = append(list, fmt.Sprintf(`{"type":"function_call","call_id":"c%d","name":"r","arguments":"{}"}`, i), fmt.Sprintf(`{"type":"function_call_output","call_id":"c%d","output":"%s"}`, i, text(i)))
				if i%17 == 9 {
					list = append(list, `{"type":"compaction","encrypted_content":"xyz"}`, `{"type":"item_reference","id":"x"}`)
				}
			case Gemini:
				list = append(list, fmt.Sprintf(`{"role":"model","parts":[{"functionCall":{"name":"f%d","args":{"x":%d}}}]}`, i, i),
					fmt.Sprintf(`{"role":"user","parts":[{"functionResponse":{"name":"f%d","response":{"output":"%s"}}}]}`, i, text(i)))
			}
		}
		all[d] = list
	}
	return all
}

// body puts a request together, with its messages before or behind the rest.
func body(d Dialect, list []string, marked map[int]bool, last bool) []byte {
	rest := map[Dialect]string{
		Chat:      `"model":"gpt-4o","max_tokens":7,"response_format":{"type":"x"},"tools":[{"type":"function","function":{"name":"r"}}]`,
		Messages:  `"model":"claude-opus-5","max_tokens":9,"system":[{"type":"text","text":"You are.","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"r0","input_schema":{},"cache_control":{}}]`,
		Responses: `"model":"gpt-5","instructions":"You are.","text":{"format":{}},"prompt":{"id":"p"},"tools":[{"type":"function","name":"r"}]`,
		Gemini:    `"systemInstruction":{"parts":[{"text":"You are."}]},"generationConfig":{"maxOutputTokens":5,"responseSchema":{}},"tools":[{"functionDeclarations":[{"name":"f0"}]}]`,
	}[d]
	out := make([]string, len(list))
	for i, m := range list {
		mark := ""
		if marked[i] {
			mark = `,"cache_control":{"type":"ephemeral"}`
		}
		out[i] = strings.ReplaceAll(m, "%m", mark)
	}
	messages := `"` + d.Rules().list + `": [` + strings.Join(out, ", ") + ` ]`
	if last {
		return []byte(`{` + rest + `,` + messages + `}`)
	}
	return []byte(`{` + messages + ` , ` + rest + `}`)
}

// TestViews: conversations that grow, fork, move their marks and change in the middle are read as if each body came for the first
// time, also after the memory of earlier ones was used again.
func TestViews(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 27))
	for d, all := range talks(60) {
		v := NewViews(512 << 10)
		var used [][]byte
		resumed := 0
		for step := range 120 {
			list := append([]string(nil), all[:1+rnd.IntN(len(all))]...)
			if step%3 == 0 {
				list = append(list, all[rnd.IntN(len(all))])
			}
			if step%5 == 0 {
				list[rnd.IntN(len(list))] = all[rnd.IntN(len(all))]
			}
			text := body(d, list, map[int]bool{len(list) - 1: true, len(list) - 3: true, 2: step%2 == 0}, step%4 > 1)
			want := parsed(t, d, bytes.Clone(text))
			if known := v.find(v.hash(d, text)); known.view != nil {
				resumed++
			}
			look := v.Look(d, text)
			if look.Objects() != bytes.Count(text, []byte("{")) {
				t.Fatalf("%v: %d objects, want %d", d, look.Objects(), bytes.Count(text, []byte("{")))
			}
			got, err := look.Parse()
			if err != nil {
				t.Fatal(err)
			}
			sameView(t, got, want)
			keys := make([]Key, len(got.Messages))
			for i := range keys {
				keys[i] = got.Messages[i].Key
			}
			note, same := got.Before()
			if before, ok := note.([]Key); ok != (same > 0) || !slices.Equal(keys[:same], before[:min(same, len(before))]) {
				t.Fatalf("%v: the first %d messages are not those of the body before", d, same)
			}
			got.Note(keys)
			if v.bytes > v.limit || len(v.blocks) > v.limit/64 || v.newest.Len() == 0 && len(text) > viewsFrom && v.bytes > 0 {
				t.Fatalf("%v: %d bytes of %d, %d blocks", d, v.bytes, v.limit, len(v.blocks))
			}
			used = append(used, text)
			if step > 2 { // its buffer is another request's now
				for i := range used[step-2] {
					used[step-2][i] = 'X'
				}
			}
			cut := text[:rnd.IntN(len(text))]
			if r, err := v.Parse(d, cut); err == nil || r != nil {
				t.Fatalf("%v: a body without its end was taken", d)
			}
		}
		if resumed < 60 {
			t.Errorf("%v: only %d of 120 requests had a beginning that was known", d, resumed)
		}
	}
}

// A conversation that goes on takes the place of what was remembered of it, whatever its marks do.
func TestViewsKeepOneOfEachConversation(t *testing.T) {
	v := NewViews(0)
	all := talks(60)[Messages]
	for n := 40; n < len(all); n += 2 {
		if _, err := v.Parse(Messages, body(Messages, all[:n], map[int]bool{n - 1: true, n - 3: true}, true)); err != nil {
			t.Fatal(err)
		}
	}
	if n := v.newest.Len(); n != 1 {
		t.Errorf("%d views of one conversation", n)
	}
	sum := 0
	for e := v.newest.Front(); e != nil; e = e.Next() {
		sum += e.Value.(*view).bytes
	}
	if sum != v.bytes {
		t.Errorf("%d bytes are charged for %d", v.bytes, sum)
	}
}

func TestViewsAreForMany(t *testing.T) {
	v := NewViews(256 << 10)
	all := talks(40)
	var wait sync.WaitGroup
	for d := Chat; d <= Gemini; d++ {
		for range 3 {
			wait.Go(func() {
				for n := 20; n <= len(all[d]); n++ {
					text := body(d, all[d][:n], nil, true)
					got, err := v.Parse(d, text)
					if err != nil {
						t.Error(err)
						return
					}
					want, _ := Parse(d, text)
					if len(got.Messages) != len(want.Messages) || got.Messages[n-1].Key != want.Messages[n-1].Key {
						t.Errorf("%v: %d messages, want %d", d, len(got.Messages), len(want.Messages))
					}
				}
			})
		}
	}
	wait.Wait()
}

// FuzzViews reads a body, and then one that differs from some byte on.
func FuzzViews(f *testing.F) {
	for d, all := range talks(12) {
		f.Add(uint8(d), body(d, all, nil, true), uint(17_000), []byte(`"}]}`))
		f.Add(uint8(d), body(d, all, map[int]bool{5: true}, false), uint(18_000), []byte(`{"`))
	}
	f.Fuzz(func(t *testing.T, dialect uint8, first []byte, at uint, end []byte) {
		d := Dialect(dialect)
		v := NewViews(0)
		_, _ = v.Parse(d, bytes.Clone(first))
		next := append(first[:min(int(at%(1<<20)), len(first))], end...)
		got, err := v.Parse(d, bytes.Clone(next))
		want, wrong := Parse(d, next)
		if fmt.Sprint(err) != fmt.Sprint(wrong) {
			t.Fatalf("%v, the first time %v", err, wrong)
		}
		if err == nil {
			sameView(t, got, want)
		}
	})
}

func BenchmarkViews(b *testing.B) {
	text := history(300_000)
	v := NewViews(0)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Parse(Messages, text); err != nil {
			b.Fatal(err)
		}
	}
}

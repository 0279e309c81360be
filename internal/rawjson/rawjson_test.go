package rawjson

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestRemove(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`{"a":1}`, `{}`},
		{`{"a":1,"x":2}`, `{"x":2}`},
		{`{"x":2,"a":1}`, `{"x":2}`},
		{`{ "a":1, "b":2, "x":2 , "a":3 , "y":4}`, `{ "x":2 , "y":4}`},
		{`{"x":1 , "a":1 , "b":{"a":1}, "y":[2] }`, `{"x":1, "y":[2] }`},
		{`{"a":1,"b":2}`, `{}`},
		{`{"a":1,"x":1,"b":2}`, `{"x":1}`},
		{`{}`, `{}`},
		{`{"\u0061":1,"x":"a"}`, `{"x":"a"}`},
	} {
		got, err := Remove([]byte(test.in), "a", "b")
		if err != nil || string(got) != test.want {
			t.Errorf("Remove(%s) = %s, %v, want %s", test.in, got, err, test.want)
		}
	}
}

func TestSet(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`{}`, `{"k":7}`},
		{` { } `, ` {"k":7 } `},
		{`{"a":1}`, `{"a":1,"k":7}`},
		{`{"k":"x","a":1}`, `{"k":7,"a":1}`},
		{`{"k":1,"k":2}`, `{"k":1,"k":7}`},
	} {
		got, err := Set([]byte(test.in), "k", []byte("7"))
		if err != nil || string(got) != test.want {
			t.Errorf("Set(%s) = %s, %v, want %s", test.in, got, err, test.want)
		}
	}
}

func TestGetFollowsKeys(t *testing.T) {
	text := []byte(`{"a":{"b":[1,{"c":2}],"d":"x\ny"},"a\u0062":null,"e":1,"e":2}`)
	if got, ok := Text(text, "a", "d"); !ok || got != "x\ny" {
		t.Errorf("a.d = %q, %v", got, ok)
	}
	if got := Get(text, "ab"); string(got.Of(text)) != "null" {
		t.Errorf("ab = %s", got.Of(text))
	}
	if got := Get(text, "e"); string(got.Of(text)) != "2" {
		t.Errorf("e = %s, want the last of two", got.Of(text))
	}
	for _, path := range [][]string{{"x"}, {"a", "b", "c"}, {"e", "f"}} {
		if got := Get(text, path...); !got.IsZero() {
			t.Errorf("%v = %v, want none", path, got)
		}
	}
}

func TestSplice(t *testing.T) {
	got, err := Splice([]byte("abcdef"), []Edit{{Span{0, 0}, []byte("<")}, {Span{0, 0}, []byte("<")}, {Span{1, 3}, nil}, {Span{3, 4}, []byte("D")}, {Span{6, 6}, []byte(">")}})
	if err != nil || string(got) != "<<aDef>" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range [][]Edit{{{Span: Span{2, 1}}}, {{Span: Span{0, 7}}}, {{Span: Span{2, 4}}, {Span: Span{3, 5}}}, {{Span: Span{-1, 0}}}} {
		if _, err := Splice([]byte("abcdef"), bad); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	deep := []byte(strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1))
	if _, err := Only(deep); err == nil || !strings.Contains(err.Error(), "too deep") {
		t.Errorf("%d levels: %v", MaxDepth+1, err)
	}
	if _, err := Only(deep[1 : len(deep)-1]); err != nil {
		t.Errorf("%d levels: %v", MaxDepth, err)
	}
	for n := range 200 { // over the word's edges, with both brackets
		text := strings.Repeat(`[{"":`, n) + `0` + strings.Repeat(`}]`, n)
		if _, err := Only([]byte(text)); err != nil {
			t.Errorf("%d levels: %v", 2*n, err)
		}
		if _, err := Only([]byte(strings.Replace(text, "0}", "0]", 1))); n > 0 && err == nil {
			t.Errorf("%d levels: a wrong bracket was taken", 2*n)
		}
	}
}

func TestNothingStandsBehindTheOnlyValue(t *testing.T) {
	for _, behind := range []string{"1", "x", ",", "]", "\x00"} {
		if _, err := Only([]byte(`{} ` + behind)); err == nil {
			t.Errorf("%q behind the value was taken", behind)
		}
	}
}

// FuzzMembers holds the walk against encoding/json: what that takes is walked whole, and
// edits of it are JSON again.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":{"c":[1,2]}}`, `{"a":"\"","\u0061":2}`, `{}`, `{"a":1`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want map[string]json.RawMessage
		err := json.Unmarshal(text, &want)
		n := 0
		for m, err := range Members(text, 0) {
			if err != nil {
				break
			}
			n++
			if m.Value.End > len(text) || m.Value.Len() <= 0 {
				t.Fatalf("%q: value %v", text, m.Value)
			}
		}
		if err != nil || want == nil {
			return
		}
		if n < len(want) {
			t.Fatalf("%q: %d members, want at least %d", text, n, len(want))
		}
		without, err := Remove(text, "a")
		if err != nil || !json.Valid(without) || !Get(without, "a").IsZero() {
			t.Fatalf("Remove(%q) = %q, %v", text, without, err)
		}
		with, err := Set(text, "a", []byte(`[1]`))
		if err != nil || !json.Valid(with) || !bytes.Equal(Get(with, "a").Of(with), []byte(`[1]`)) {
			t.Fatalf("Set(%q) = %q, %v", text, with, err)
		}
	})
}

// A string ends where it ends byte by byte, however many of its quotes and backslashes are escaped.
func TestStringEnds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 9))
	pieces := []string{`\"`, `\\`, `\\\"`, `\n`, `"`, "a", "#", "[", "\x5d", "12345678", strings.Repeat("long ", 12), "\xa2", "\xdc", "\u65e5"}
	for range 20_000 {
		var b strings.Builder
		b.WriteByte('"')
		for range rnd.IntN(40) {
			i := rnd.IntN(len(pieces))
			if i == 4 && rnd.IntN(8) > 0 {
				i = 0 // the end is rare
			}
			b.WriteString(pieces[i])
		}
		b.WriteString(`","next"`)
		text := b.String()
		end := 1
		for text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		s := Scanner{Text: []byte(text)}
		if got := s.String(); s.Err != nil || got != (Span{0, end + 1}) {
			t.Fatalf("%q ends at %d, not at %v (%v)", text, end+1, got, s.Err)
		}
	}
}

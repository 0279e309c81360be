package jsonrpc

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func TestLegible(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"x","b":[1,{"c":"\n\"\\ é 漢 😀"}]}`:        "",
		`{"a":"\ud83d\ude00 \u00e9 \uD83D\uDE00"}`:      "",
		"{\r\n\t\"a\": 1\n}":                            "",
		`{"a":"\\ud83d"}`:                               "", // a backslash and letters
		`{"a":"cut \ud83d"}`:                            `{"a":"cut \ufffd"}`,
		`{"a":"\ude00 \ud83dx"}`:                        `{"a":"\ufffd \ufffdx"}`,
		`{"a":"\ud83d\ud83d\ude00"}`:                    `{"a":"\ufffd\ud83d\ude00"}`,
		`{"a":"\uD83D\n"}`:                              `{"a":"\ufffd\n"}`,
		`{"a":"\ud83d\u0041"}`:                          `{"a":"\ufffd\u0041"}`,
		`{"\udead":1}`:                                  `{"\ufffd":1}`,
		"{\"a\":\"caf\xe9 \xf0\x9f\x98\"}":              `{"a":"caf\ufffd \ufffd\ufffd\ufffd"}`,
		"{\"a\":\"\xed\xa0\x80\"}":                      `{"a":"\ufffd\ufffd\ufffd"}`,
		"{\n\"a\":\"all:\n\tgo build\x00\x1b[0m\"}\r\n": "{\n\"a\":\"all:\\u000a\\u0009go build\\u0000\\u001b[0m\"}\r\n",
		// What ends within a character stays as wrong as it was.
		`{"a":"\ud83d`:      `{"a":"\ufffd`,
		`{"a":"\ud8`:        "",
		`{"a":"\`:           "",
		"{\"a\":\"\xe6\xbc": `{"a":"\ufffd\ufffd`,
	} {
		if want == "" {
			want = in
		}
		got, rest := Legible([]byte(in), nil)
		if string(got) != want || rest != nil {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		for cut := range len(in) + 1 {
			head, rest := Legible([]byte(in[:cut]), iotest.OneByteReader(strings.NewReader(in[cut:])))
			tail, err := io.ReadAll(rest)
			if all := string(head) + string(tail); all != want || err != nil {
				t.Errorf("%q in pieces of %d and single bytes becomes %q (%v), want %q", in, cut, all, err, want)
			}
		}
	}
}

// What is legible is not copied, and a message that breaks off says so behind what came.
func TestLegibleLeavesWhatIsInOrder(t *testing.T) {
	message := []byte(`{"a":"\ud83d\ude00 é"}`)
	if got, _ := Legible(message, nil); &got[0] != &message[0] {
		t.Error("a message in order is copied")
	}
	head, rest := Legible(message, io.MultiReader(strings.NewReader(strings.Repeat("ü", 100_000)), iotest.ErrReader(io.ErrUnexpectedEOF)))
	tail, err := io.ReadAll(rest)
	if err != io.ErrUnexpectedEOF || len(tail) != 200_000 || !bytes.Equal(head, message) {
		t.Errorf("%q, %d bytes, %v", head, len(tail), err)
	}
}

func FuzzLegible(f *testing.F) {
	f.Add([]byte(`{"a":"\ud83d\ude00 \ud83d"}`), 9)
	f.Add([]byte("{\"a\":\"\xe9\t\"}"), 6)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		got, _ := Legible(bytes.Clone(in), nil)
		cut = max(0, min(cut, len(in)))
		head, rest := Legible(bytes.Clone(in[:cut]), bytes.NewReader(in[cut:]))
		tail, _ := io.ReadAll(rest)
		if all := append(bytes.Clone(head), tail...); !bytes.Equal(all, got) {
			t.Fatalf("%q is %q whole and %q in pieces", in, got, all)
		}
		if !utf8.Valid(got) {
			t.Fatalf("%q stays no UTF-8: %q", in, got)
		}
		var before, after any
		if json.Unmarshal(in, &before) == nil {
			if err := json.Unmarshal(got, &after); err != nil {
				t.Fatalf("%q was JSON, %q is not: %v", in, got, err)
			}
			b, _ := json.Marshal(before)
			a, _ := json.Marshal(after)
			if !bytes.Equal(a, b) {
				t.Fatalf("%s became %s", b, a)
			}
		}
	})
}

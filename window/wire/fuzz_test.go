package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParse(f *testing.F) {
	for _, c := range views {
		f.Add(uint8(c.dialect), []byte(c.body))
	}
	for _, r := range recorded(f) {
		f.Add(uint8(r.Dialect), r.Body)
	}
	f.Add(uint8(Chat), []byte(`{"messages":[{"role":"user","content":"\\\"","x":[1,-2.5e3,true,null]}]}`))
	f.Add(uint8(Messages), []byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}],"cache_control":1}]}`))
	f.Add(uint8(Messages), []byte("{\"model\":\"\xff\\ud800\",\"messages\":[]}"))
	f.Fuzz(func(t *testing.T, d uint8, body []byte) {
		before := string(body)
		r, err := Parse(Dialect(d), body)
		if string(body) != before {
			t.Fatal("the body was changed")
		}
		if err != nil {
			if r != nil {
				t.Fatal("a request and an error")
			}
			return
		}
		checkView(t, r)
	})
}

func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`""`, `"a\n\"\\\/\b\f\r\t"`, `"\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\ud83d\u0041"`, "\"\xc3\\u00a9\xff\"", `"\ud83d\n"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, literal []byte) {
		got := Unquote(nil, literal)
		var want string
		if json.Unmarshal(literal, &want) == nil && len(literal) > 0 && literal[0] == '"' && literal[len(literal)-1] == '"' {
			// encoding/json replaces what is no UTF-8; here the bytes stay.
			if s := string([]rune(string(got))); s != want {
				t.Errorf("Unquote(%q) = %q, want %q", literal, s, want)
			}
		}
		// Any text quoted is a literal, and comes back.
		quoted := Quote(nil, literal)
		if !json.Valid(quoted) {
			t.Fatalf("Quote(%q) = %q", literal, quoted)
		}
		back := string(Unquote(nil, quoted))
		if back != string([]rune(string(literal))) || utf8.Valid(literal) && back != string(literal) {
			t.Errorf("%q came back as %q", literal, back)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, encoding := range []string{"gzip", "deflate", "br", "zstd", "identity"} {
		packed := packedAs(f, encoding, []byte(strings.Repeat("words ", 1000)))
		f.Add(encoding, packed)
		f.Add(encoding, packed[:len(packed)/2])
	}
	f.Fuzz(func(t *testing.T, encoding string, body []byte) {
		const limit = 64 << 10
		got, err := Decode(encoding, body, limit)
		if err == nil && len(got) > limit {
			t.Fatalf("%d bytes, more than %d", len(got), limit)
		}
		packed, err := Encode(encoding, body)
		if err != nil {
			return // an encoding that is not known
		}
		if back, err := Decode(encoding, packed, int64(len(body))); err != nil || string(back) != string(body) {
			t.Fatalf("%s: %d bytes came back as %d, %v", encoding, len(body), len(back), err)
		}
	})
}

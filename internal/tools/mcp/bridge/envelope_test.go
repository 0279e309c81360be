package bridge

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

func TestEnvelope(t *testing.T) {
	e := func() *envelope {
		return &envelope{id: []byte("7")}
	}
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"x","result":{"a":1}}`:                         `{"jsonrpc":"2.0","id":7,"result":{"a":1}}`,
		`{"result":{},"id":1}`:                                                `{"result":{},"id":7}`,
		`{ "result" : { } , "id" : "x" }`:                                     `{ "result" : { } , "id" : 7 }`,
		`{"\u0069d":3,"result":[{"id":4,"result":{}}]}`:                       `{"\u0069d":7,"result":[{"id":4,"result":{}}]}`,
		`{"id":1,"error":{"message":"code","code":-32002,"data":{"code":1}}}`: `{"id":7,"error":{"message":"code","code":-32002,"data":{"code":1}}}`,
		`{"id":1,"result":{"result":{"id":2},"id":"}{","x":"\"id\":1"}}`:      `{"id":7,"result":{"result":{"id":2},"id":"}{","x":"\"id\":1"}}`,
		`{"id":{"id":[1,"}"]},"result":"id"}`:                                 `{"id":7,"result":"id"}`,
		`[{"id":1,"result":{}}]`:                                              `[{"id":1,"result":{}}]`,
	} {
		if got := string(e().feed(nil, []byte(in))); compactJSON(got) != compactJSON(want) {
			t.Errorf("%s\nbecame %s\nwant   %s", in, got, want)
		}
	}
}

func TestLargeInputIsTold(t *testing.T) {
	for head, want := range map[string]bool{
		`{"id":1,"result":{"resultType":"input_required","inputRequests":{"a":`:                 true,
		`{"result":{"_meta":{"resultType":"x"},"resultType":"input_required","inputRequests":{`: true,
		`{"result":{"resultType":"complete","content":[{"text":"input_required`:                 false,
		`{"result":{"content":[{"resultType":"input_required"},`:                                false,
		`{"result":{"content":[{"text":"\"resultType\":\"input_required\"`:                      false,
		`{"id":"input_required","error":{"resultType":"input_required"`:                         false,
	} {
		if got := needsInput(&transport.Frame{Head: []byte(head), Rest: strings.NewReader("")}); got != want {
			t.Errorf("%s: %v", head, got)
		}
	}
}

func compactJSON(s string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return s
	}
	return b.String()
}

// FuzzEnvelope: a valid response stays valid, wherever it is cut into pieces; its id is
// ours, and every other byte is the server's.
func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":"x","result":{"a":1}}`, `{"result":{},"id":1}`, `{"id":1,"error":{"code":-32002}}`,
		`{"id":1e400,"result":{"x":"\ud800","id":[[[[{}]]]]}}`, `{"\u0069d":3,"error":{"code":"x"}}`, `{"id":null,"id":{"a":"}"},"result":null}`, "{\"result\":{\"\xff\":0}",
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		edit := func() *envelope {
			return &envelope{id: []byte(`"ours"`)}
		}
		whole := edit().feed(nil, in)
		cut = max(0, cut) % (len(in) + 1)
		frame := edit().editFrame(&transport.Frame{Head: in[:cut], Rest: bytes.NewReader(in[cut:])})
		pieces, err := io.ReadAll(frame.Reader())
		if !json.Valid(in) { // it passes, in whatever state
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		if twice := repeated(in); err != nil || !twice && !bytes.Equal(pieces, whole) {
			t.Fatalf("in pieces it became %q (%v), at once %q", pieces, err, whole)
		}
		if !json.Valid(whole) {
			t.Fatalf("%q became %q", in, whole)
		}
		if in = bytes.TrimSpace(in); len(in) == 0 || in[0] != '{' {
			if !bytes.Equal(in, bytes.TrimSpace(whole)) {
				t.Fatalf("%q became %q", in, whole)
			}
			return
		}
		had := make(map[string]int)
		for m := range rawjson.Members(in, 0) {
			had[string(m.Key)]++
		}
		for m := range rawjson.Members(whole, 0) {
			had[string(m.Key)]--
			if string(m.Key) == "id" && string(m.Value.Of(whole)) != `"ours"` {
				t.Fatalf("an id is %s in %q", m.Value.Of(whole), whole)
			}
		}
		for key, n := range had {
			if n != 0 {
				t.Fatalf("member %q: %d are gone of %q: %q", key, n, in, whole)
			}
		}
		if r := rawjson.Get(in, "result"); !r.IsZero() && in[r.Start] == '{' {
			out := rawjson.Get(whole, "result").Of(whole)
			if !bytes.Equal(out, r.Of(in)) {
				t.Fatalf("%q became %q", r.Of(in), out)
			}
		}
	})
}

// repeated says that a message has a member twice; the second may pass as it is.
func repeated(message []byte) bool {
	seen := make(map[string]bool)
	if message = bytes.TrimSpace(message); message[0] != '{' {
		return false
	}
	for m := range rawjson.Members(message, 0) {
		if seen[string(m.Key)] {
			return true
		}
		seen[string(m.Key)] = true
	}
	return false
}

// FuzzParams: what is put into params and taken out again leaves them as they were, and
// whatever a client sends makes a message or an error.
func FuzzParams(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"name":"x","arguments":{"a":1e999,"b":9007199254740993},"_meta":{"progressToken":1}}`, `{"_meta":7,"z":null}`,
		`{"_meta":{"io.modelcontextprotocol/logLevel":3}}`, `{"a":1,"a":2,"_meta":{},"_meta":{"x":1}}`, `{"requestState":{},"inputResponses":[1]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		raw := append(append([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`), params...), '}')
		head, err := jsonrpc.Scan(raw)
		if err != nil || !json.Valid(raw) || head.Params.IsZero() || raw[head.Params.Start] != '{' || head.Method != "tools/call" {
			return
		}
		l := Legacy(nil, Options{}).(*legacy)
		up, err := l.withMeta(head.Params.Of(raw))
		if err != nil || !json.Valid(up) {
			t.Fatalf("%q became %q: %v", params, up, err)
		}
		for m := range rawjson.Members(head.Params.Of(raw), 0) {
			key := string(m.Key)
			if key == "_meta" || strings.Contains(key, "�") {
				continue
			}
			want := rawjson.Get(head.Params.Of(raw), key)
			got := rawjson.Get(up, key)
			if string(got.Of(up)) != string(want.Of(head.Params.Of(raw))) {
				t.Fatalf("member %q of %q became %q", key, params, up)
			}
		}
	})
}

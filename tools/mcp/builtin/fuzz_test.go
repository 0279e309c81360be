package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// FuzzSend sends whatever is a message: a request is answered once and with its own id,
// nothing else is answered, and Done is always told.
func FuzzSend(f *testing.F) {
	for _, seed := range []string{
		calling(1, "get", `{"name":"a","health":["x"]}`), calling(2, "stream", `{}`), calling(3, "none", `{}`),
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`{"jsonrpc":"2.0","id":"x","method":"subscriptions/listen","params":{"notifications":{},` + meta + `}}`, `{"id":1,"method":"server/discover","params":{` + meta + `}}`,
		`{"method":"notifications/cancelled","params":{"requestId":1}}`, `{"id":1,"method":"tools/call","params":{"name":"get","arguments":{"page":"1e9"},"_meta":{"progressToken":[]}}}`,
		`{"id":1,"method":"tools/call","params":null}`, `{"id":1,"method":"tools/list","params":{"_meta":7}}`,
	} {
		f.Add([]byte(seed))
	}
	s := newServer(f, builtin.Options{Tools: []builtin.Tool{
		builtin.Typed(builtin.Tool{Name: "get"}, func(_ context.Context, c *builtin.Call, in arguments) (*builtin.Result, error) {
			c.Progress(1, 2, in.Name)
			return builtin.JSON(in)
		}),
		streaming("stream", func(_ context.Context, w io.Writer) error {
			_, err := w.Write(bytes.Repeat([]byte("x"), 100))
			return err
		}),
	}})
	p := s.Dial()
	f.Fuzz(func(t *testing.T, raw []byte) {
		head, err := jsonrpc.Scan(raw)
		if err != nil {
			return
		}
		r := &taken{done: make(chan struct{})}
		p.Send(t.Context(), transport.Message{Raw: raw, Head: head}, r.funcs(t))
		<-r.done
		if r.err != nil || r.broken != nil {
			t.Fatalf("%v, %v", r.err, r.broken)
		}
		responses := 0
		for _, frame := range r.frames {
			h, err := jsonrpc.Scan(frame)
			if err != nil {
				t.Fatalf("%v: %q", err, frame)
			}
			if h.Kind == jsonrpc.Response {
				if responses++; h.ID != head.ID {
					t.Fatalf("the answer to %s has the id %s", head.ID, h.ID)
				}
			}
		}
		if want := 0; head.Kind == jsonrpc.Request && responses != 1 || head.Kind != jsonrpc.Request && responses != want {
			t.Fatalf("%d answers to %q", responses, raw)
		}
	})
}

// FuzzArguments holds Typed against encoding/json: what that takes strictly is taken, and
// means the same.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","page":1,"health":["x"],"labels":{"a":"b"}}`, `{"name":"a","page":"1","health":"x","full":"true"}`, `{"name":"\ud800","resources":[{"kind":"\u00e4"}]}`,
		`{"name":"a","spec":{"a":[1,{}]},"any":null}`, `{"name":"a","numbers":[1e3,"-0",9223372036854775807]}`, `{"NAME":"a"}`, `{"name":"a","since":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	var in arguments
	tool := builtin.Typed(builtin.Tool{Name: "get"}, func(_ context.Context, _ *builtin.Call, a arguments) (*builtin.Result, error) {
		in = a
		return nil, nil
	})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || bytes.TrimSpace(raw)[0] != '{' {
			return
		}
		_, err := tool.Run(t.Context(), &builtin.Call{Tool: "get", Arguments: raw})
		if err != nil {
			if len(err.Error()) > 4096 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		var strict arguments
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&strict); err != nil || bytes.Contains(raw, []byte("null")) {
			return
		}
		if !reflect.DeepEqual(in, strict) {
			t.Fatalf("%s:\n got %+v\nwant %+v", raw, in, strict)
		}
	})
}

// FuzzStream cuts a text into pieces: it arrives as if it had been quoted at once.
func FuzzStream(f *testing.F) {
	f.Add([]byte("a\xe2\x82\xac\xff\"\\\n😀"), uint8(1))
	f.Add([]byte("\xe2\xc3\xa4\xf0\x9f\x98"), uint8(2))
	var text []byte
	var step int
	s := newServer(f, builtin.Options{Tools: []builtin.Tool{streaming("stream", func(_ context.Context, w io.Writer) error {
		for i := 0; i < len(text); i += step {
			if _, err := w.Write(text[i:min(len(text), i+step)]); err != nil {
				return err
			}
		}
		return nil
	})}})
	p := s.Dial()
	f.Fuzz(func(t *testing.T, in []byte, n uint8) {
		text, step = in, int(n)+1
		got := ask(t, p, calling(1, "stream", "{}"))
		want := append([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":`), rawjson.Quote(nil, in)...)
		if want = append(want, "}]}}"...); got.err != nil || !bytes.Equal(got.frames[0], want) {
			t.Fatalf("%v\n got %q\nwant %q", got.err, got.frames, want)
		}
	})
}

package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

func newServer(t testing.TB, o builtin.Options) *builtin.Server {
	t.Helper()
	if o.Name == "" {
		o.Name = "test"
	}
	s, err := builtin.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// tool is one with this body.
func tool(name string, run func(ctx context.Context, c *builtin.Call) (*builtin.Result, error)) builtin.Tool {
	return builtin.Tool{Name: name, Description: "Does " + name + ".", Run: run}
}

// streaming is a tool that answers by a Stream.
func streaming(name string, stream func(ctx context.Context, w io.Writer) error) builtin.Tool {
	return tool(name, func(context.Context, *builtin.Call) (*builtin.Result, error) {
		return &builtin.Result{Stream: stream}, nil
	})
}

// taken is what a receiver was told for one message.
type taken struct {
	frames [][]byte
	broken error // of a frame's rest
	done   chan struct{}
	err    error
}

func (r *taken) funcs(t testing.TB) transport.Funcs {
	return transport.Funcs{
		OnReceive: func(f *transport.Frame) {
			raw, err := io.ReadAll(f.Reader())
			r.frames, r.broken = append(r.frames, raw), err
		},
		OnDone: func(err error) {
			select {
			case <-r.done:
				t.Error("Done was told twice")
				return
			default:
			}
			r.err = err
			close(r.done)
		},
	}
}

func message(t testing.TB, raw string) transport.Message {
	t.Helper()
	head, err := jsonrpc.Scan([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return transport.Message{Raw: []byte(raw), Head: head, Principal: "somebody"}
}

// send sends a message and does not wait for what comes of it.
func send(ctx context.Context, t testing.TB, p transport.Peer, raw string) *taken {
	t.Helper()
	r := &taken{done: make(chan struct{})}
	p.Send(ctx, message(t, raw), r.funcs(t))
	return r
}

// ask sends a message and waits.
func ask(t testing.TB, p transport.Peer, raw string) *taken {
	t.Helper()
	r := send(t.Context(), t, p, raw)
	<-r.done
	return r
}

func calling(id int, name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, arguments)
}

type response struct {
	ID     json.RawMessage
	Result *struct {
		Content    []struct{ Type, Text string }
		IsError    bool
		ResultType string
	}
	Error *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// last is the last frame, which must be the response.
func (r *taken) last(t testing.TB) response {
	t.Helper()
	var got response
	if len(r.frames) == 0 || r.broken != nil || r.err != nil {
		t.Fatalf("no answer: %v, broken off: %v", r.err, r.broken)
	}
	if err := json.Unmarshal(r.frames[len(r.frames)-1], &got); err != nil {
		t.Fatalf("%v: %.300s", err, r.frames[len(r.frames)-1])
	}
	return got
}

// text demands a result and gives its text.
func (r *taken) text(t testing.TB) (text string, isError bool) {
	t.Helper()
	got := r.last(t)
	if got.Result == nil || len(got.Result.Content) != 1 || got.Result.Content[0].Type != "text" {
		t.Fatalf("no text: %.300s", r.frames)
	}
	return got.Result.Content[0].Text, got.Result.IsError
}

// refused demands an error of the protocol.
func (r *taken) refused(t testing.TB, code int, words ...string) {
	t.Helper()
	got := r.last(t)
	if got.Error == nil || got.Error.Code != code {
		t.Fatalf("want an error %d: %.300s", code, r.frames)
	}
	for _, w := range words {
		if !strings.Contains(got.Error.Message, w) {
			t.Errorf("%q does not say %q", got.Error.Message, w)
		}
	}
}

func compact(t testing.TB, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

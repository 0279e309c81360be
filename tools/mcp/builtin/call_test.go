package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

func TestAFailureIsAResult(t *testing.T) {
	j := journal.New(journal.Options{})
	s := newServer(t, builtin.Options{Journal: j, Tools: []builtin.Tool{
		tool("fails", func(context.Context, *builtin.Call) (*builtin.Result, error) {
			return nil, errors.New(`no such "thing"`)
		}),
		tool("long", func(context.Context, *builtin.Call) (*builtin.Result, error) {
			return nil, errors.New(strings.Repeat("ä", 1<<20))
		}),
		tool("mute", func(context.Context, *builtin.Call) (*builtin.Result, error) { return nil, errors.New("") }),
		tool("nothing", func(context.Context, *builtin.Call) (*builtin.Result, error) { return nil, nil }),
		tool("panics", func(context.Context, *builtin.Call) (*builtin.Result, error) { panic("the password is swordfish") }),
		streaming("late", func(context.Context, io.Writer) error { return errors.New("nothing came") }),
		streaming("panics_late", func(context.Context, io.Writer) error { panic("the password is swordfish") }),
		tool("says", func(context.Context, *builtin.Call) (*builtin.Result, error) {
			return &builtin.Result{Text: "no", IsError: true}, nil
		}),
	}})
	p := s.Dial()
	for name, want := range map[string]string{
		"fails": `no such "thing"`, "mute": "did not say why", "nothing": "without an answer", "panics": "mistake in itself", "late": "nothing came",
		"panics_late": "mistake in itself", "says": "no", "long": "ää…",
	} {
		text, isError := ask(t, p, calling(1, name, "{}")).text(t)
		if !isError || !strings.Contains(text, want) || strings.Contains(text, "swordfish") || len(text) > 16<<10 {
			t.Errorf("%s: %v %.200s", name, isError, text)
		}
	}
	if got := s.Stats(); got.Panics != 2 || got.Calls != 8 || got.Open != 0 || j.Counts()["tools.refused"] != 2 {
		t.Errorf("%+v %v", got, j.Counts())
	}
}

func TestAToolThatEndsItsGoroutineIsToldAsSuch(t *testing.T) {
	s := newServer(t, builtin.Options{Tools: []builtin.Tool{
		tool("exits", func(context.Context, *builtin.Call) (*builtin.Result, error) { runtime.Goexit(); return nil, nil }),
		streaming("exits_late", func(context.Context, io.Writer) error { runtime.Goexit(); return nil }),
	}})
	if r := ask(t, s.Dial(), calling(1, "exits", "{}")); r.err == nil || !strings.Contains(r.err.Error(), "without an answer") {
		t.Error(r.err)
	}
	if text, isError := ask(t, s.Dial(), calling(1, "exits_late", "{}")).text(t); !isError || !strings.Contains(text, "without an answer") {
		t.Error(text)
	}
}

func TestAStreamThatFailsIsBrokenOff(t *testing.T) {
	cause := errors.New("the server hung up")
	s := newServer(t, builtin.Options{Tools: []builtin.Tool{
		streaming("breaks", func(_ context.Context, w io.Writer) error {
			_, _ = io.WriteString(w, "the beginning")
			return cause
		}),
		streaming("panics", func(_ context.Context, w io.Writer) error {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
			panic("swordfish")
		}),
	}})
	r := ask(t, s.Dial(), calling(1, "breaks", "{}"))
	if !errors.Is(r.broken, cause) || !errors.Is(r.err, cause) || !strings.HasSuffix(string(r.frames[0]), "the beginning") {
		t.Errorf("%v, %v, %s", r.broken, r.err, r.frames)
	}
	r = ask(t, s.Dial(), calling(1, "panics", "{}"))
	if r.broken == nil || strings.Contains(r.broken.Error(), "swordfish") || r.err == nil || len(r.frames[0]) < 1<<20 {
		t.Errorf("%v, %v", r.broken, r.err)
	}
}

func TestTextArrivesAsItWasWritten(t *testing.T) {
	text := strings.Repeat("a\"\\\n\t\x00ä€😀</script>\u2028", 8_000)
	s := newServer(t, builtin.Options{Tools: []builtin.Tool{
		streaming("bytes", func(_ context.Context, w io.Writer) error {
			for i := 0; i < len(text); i += 3 { // within characters
				if _, err := io.WriteString(w, text[i:min(len(text), i+3)]); err != nil {
					return err
				}
			}
			return nil
		}),
		streaming("little", func(_ context.Context, w io.Writer) error { _, err := io.WriteString(w, "little\xe2\x82"); return err }),
		streaming("empty", func(context.Context, io.Writer) error { return nil }),
		tool("whole", func(context.Context, *builtin.Call) (*builtin.Result, error) { return &builtin.Result{Text: text}, nil }),
		tool("json", func(context.Context, *builtin.Call) (*builtin.Result, error) {
			return builtin.JSON(map[string]string{"a": "<&>"})
		}),
	}})
	for name, want := range map[string]string{"bytes": text, "whole": text, "little": "little\ufffd\ufffd", "empty": "", "json": `{"a":"<&>"}`} {
		if got, isError := ask(t, s.Dial(), calling(1, name, "{}")).text(t); got != want || isError {
			t.Errorf("%s: %d bytes, want %d", name, len(got), len(want))
		}
	}
	if _, err := builtin.JSON(func() {}); err == nil {
		t.Error("a function as JSON")
	}
}

// waiting is a tool that waits for the end of its context, and tells when it runs.
func waiting(running chan<- context.Context) builtin.Tool {
	return tool("wait", func(ctx context.Context, _ *builtin.Call) (*builtin.Result, error) {
		running <- ctx
		<-ctx.Done()
		return &builtin.Result{Text: "too late"}, nil
	})
}

func TestACallCanBeTakenBack(t *testing.T) {
	running := make(chan context.Context)
	s := newServer(t, builtin.Options{Tools: []builtin.Tool{waiting(running)}})
	p, other := s.Dial(), s.Dial()
	over := func(what string, r *taken, ctx context.Context) {
		t.Helper()
		<-ctx.Done()
		if <-r.done; r.err == nil || len(r.frames) > 0 {
			t.Errorf("%s: %v %s", what, r.err, r.frames)
		}
	}
	r := send(t.Context(), t, p, calling(1, "wait", "{}"))
	ctx := <-running
	second := send(t.Context(), t, other, calling(1, "wait", "{}"))
	secondCtx := <-running
	ask(t, p, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	over("cancelled", r, ctx)
	if secondCtx.Err() != nil {
		t.Error("another client's call of the same id was taken back")
	}
	_ = other.Close()
	over("closed", second, secondCtx)
	if r := send(t.Context(), t, other, calling(3, "wait", "{}")); r.err == nil {
		t.Error("a call by a closed way")
	}

	leaving, leave := context.WithCancel(t.Context())
	r = send(leaving, t, p, calling(2, "wait", "{}"))
	ctx = <-running
	leave()
	over("left", r, ctx)

	// Two of one id, on a way that clients without sessions share: nobody's.
	r = send(t.Context(), t, p, calling(5, "wait", "{}"))
	ctx = <-running
	second = send(t.Context(), t, p, calling(5, "wait", "{}"))
	secondCtx = <-running
	ask(t, p, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
	if ctx.Err() != nil || secondCtx.Err() != nil {
		t.Error("one of two calls of the same id was taken back")
	}
	_ = s.Close()
	over("closed server", r, ctx)
	over("closed server", second, secondCtx)
	if r := ask(t, s.Dial(), calling(1, "wait", "{}")); r.err == nil || !strings.Contains(r.err.Error(), "going down") {
		t.Errorf("%v", r.err)
	}
	if got := s.Stats(); got.Open != 0 {
		t.Errorf("%+v", got)
	}
}

func TestATakenBackStreamStops(t *testing.T) {
	ended := make(chan error, 2)
	endless := streaming("endless", func(_ context.Context, w io.Writer) error {
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 1000)); err != nil {
				ended <- err
				return err
			}
		}
	})
	s := newServer(t, builtin.Options{Tools: []builtin.Tool{endless}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	s.Dial().Send(ctx, message(t, calling(1, "endless", "{}")), transport.Funcs{
		OnReceive: func(f *transport.Frame) {
			cancel()
			if _, err := io.Copy(io.Discard, f.Reader()); err == nil {
				t.Error("it came to an end")
			}
		},
		OnDone: func(err error) { done <- err },
	})
	if err := <-done; err == nil {
		t.Error("a broken answer without an error")
	}
	<-ended
	// A receiver that does not read on.
	s.Dial().Send(t.Context(), message(t, calling(1, "endless", "{}")), transport.Funcs{OnDone: func(err error) { done <- err }})
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-ended
}

func TestCallsAreBounded(t *testing.T) {
	running := make(chan context.Context)
	j := journal.New(journal.Options{})
	s := newServer(t, builtin.Options{Journal: j, MaxCalls: 2, Tools: []builtin.Tool{waiting(running), tool("echo", echo)}})
	p := s.Dial()
	ctx, cancel := context.WithCancel(t.Context())
	first, second := send(ctx, t, p, calling(1, "wait", "{}")), send(ctx, t, p, calling(2, "wait", "{}"))
	one, two := <-running, <-running
	ask(t, p, calling(3, "echo", "{}")).refused(t, jsonrpc.CodeInternal, "2 calls", "echo was not called")
	if got := s.Stats(); got.Refused != 1 || got.Open != 2 || j.Counts()["tools.refused"] != 1 {
		t.Errorf("%+v %v", got, j.Counts())
	}
	cancel()
	<-one.Done()
	<-two.Done()
	<-first.done
	<-second.done
	_ = s.Close()
}

// A place is free when the answer is heard: who calls again at once is never refused.
func TestOneCallAfterTheOther(t *testing.T) {
	s := newServer(t, builtin.Options{MaxCalls: 1, Tools: []builtin.Tool{tool("echo", echo), streaming("stream", func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("x", 100_000))
		return err
	})}})
	p := s.Dial()
	for i := range 100 {
		heard := make(chan []byte, 1)
		name := []string{"echo", "stream"}[i%2]
		p.Send(t.Context(), message(t, calling(i, name, "{}")), transport.Funcs{OnReceive: func(f *transport.Frame) {
			raw, _ := io.ReadAll(f.Reader())
			heard <- raw
		}})
		if raw := <-heard; strings.Contains(string(raw), `"error"`) {
			t.Fatalf("call %d: %s", i, raw)
		}
	}
}

func TestAThousandCallsAtOnce(t *testing.T) {
	const calls = 1000
	var open atomic.Int64
	all := make(chan struct{})
	s := newServer(t, builtin.Options{MaxCalls: calls, Tools: []builtin.Tool{tool("echo", func(ctx context.Context, c *builtin.Call) (*builtin.Result, error) {
		if open.Add(1) == calls {
			close(all)
		}
		<-all
		return echo(ctx, c)
	})}})
	p := s.Dial()
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			want := fmt.Sprintf(`{"n":%d}`, i)
			if text, isError := ask(t, p, calling(i, "echo", want)).text(t); text != want || isError {
				t.Errorf("%s, want %s", text, want)
			}
		})
	}
	wg.Wait()
	if got := s.Stats(); got.Calls != calls || got.Open != 0 {
		t.Errorf("%+v", got)
	}
}

func TestProgressGoesOnAndIsNotTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, builtin.Options{Tools: []builtin.Tool{tool("work", func(_ context.Context, c *builtin.Call) (*builtin.Result, error) {
			for i := range 1000 {
				c.Progress(float64(i), 1000, fmt.Sprintf("%d of 1000", i))
				time.Sleep(time.Millisecond)
			}
			c.Progress(2, 1000, "back")
			return &builtin.Result{Stream: func(_ context.Context, w io.Writer) error {
				_, err := io.WriteString(w, "done")
				c.Progress(2000, 0, "while it is read") // must not wait for the reader, which waits for us
				return err
			}}, nil
		})}})
		const with = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":"t\u00e4"}}}`
		r := ask(t, s.Dial(), with)
		n := len(r.frames) - 1
		if string(r.frames[0]) != `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t\u00e4","progress":0,"total":1000,"message":"0 of 1000"}}` ||
			n < 3 || n > 6 || !strings.Contains(string(r.frames[n]), `"done"`) {
			t.Errorf("%d: %s", n, r.frames)
		}
		for _, m := range r.frames {
			if strings.Contains(string(m), "back") {
				t.Errorf("%s", m)
			}
		}
		if r := ask(t, s.Dial(), calling(1, "work", "{}")); len(r.frames) != 1 {
			t.Errorf("progress that nobody asked for: %s", r.frames)
		}
		_ = s.Close()
	})
}

// What a tool has written can be read although it waits for more.
func TestAStreamIsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		more := make(chan struct{})
		s := newServer(t, builtin.Options{Tools: []builtin.Tool{streaming("log", func(_ context.Context, w io.Writer) error {
			_, _ = io.WriteString(w, "first line\n")
			<-more
			_, err := io.WriteString(w, "last line\n")
			return err
		})}})
		var got []byte
		done := make(chan error, 1)
		s.Dial().Send(t.Context(), message(t, calling(1, "log", "{}")), transport.Funcs{
			OnReceive: func(f *transport.Frame) {
				b := make([]byte, 100)
				n, _ := f.Rest.Read(b)
				got = append(got, b[:n]...)
				close(more)
				rest, _ := io.ReadAll(f.Rest)
				got = append(got, rest...)
			},
			OnDone: func(err error) { done <- err },
		})
		if err := <-done; err != nil || string(got) != `first line\nlast line\n"}]}}` {
			t.Errorf("%v %s", err, got)
		}
		_ = s.Close()
	})
}

package builtin_test

import (
	"context"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// live is what the heap holds after a collection, in bytes.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// streamBudget is what a stream of any size may hold, in bytes, with its reader's 64 KiB.
// Measured: 190 KiB.
const streamBudget = 1 << 20

func TestAStreamOfAnySizeIsHeldInLittle(t *testing.T) {
	var left atomic.Int64
	line := strings.Repeat("0123456789abcde\n", 64)
	s := newServer(t, builtin.Options{Tools: []builtin.Tool{streaming("large", func(_ context.Context, w io.Writer) error {
		for left.Add(-int64(len(line))) >= 0 {
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
		return nil
	})}})
	large := int64(64 << 20)
	if raceDetector { // it takes ten times as long there, and holds more
		large = 8 << 20
	}
	for _, size := range []int64{1 << 20, large} { // first to warm up
		left.Store(size)
		before, maxBytes, got := live(), int64(0), int64(0)
		done := make(chan error, 1)
		s.Dial().Send(t.Context(), message(t, calling(1, "large", "{}")), transport.Funcs{
			OnReceive: func(f *transport.Frame) {
				got = int64(len(f.Head))
				b := make([]byte, 64<<10)
				for n := 1; ; n++ {
					m, err := f.Rest.Read(b)
					got += int64(m)
					if n%50 == 0 {
						maxBytes = max(maxBytes, live()-before)
					}
					if err == io.EOF {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			},
			OnDone: func(err error) { done <- err },
		})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		t.Logf("%d bytes; at most %d KiB were held", got, maxBytes>>10)
		if got < size+size/16 || maxBytes > streamBudget {
			t.Errorf("%d bytes, at most %d of them were held", got, maxBytes)
		}
	}
}

// Ways and their calls leave nothing behind.
func TestNothingGrowsWithClients(t *testing.T) {
	s := newServer(t, builtin.Options{Tools: []builtin.Tool{tool("echo", echo)}})
	visit := func() {
		p := s.Dial()
		ask(t, p, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
		ask(t, p, calling(1, "echo", `{}`))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		p.Listen(ctx, nil, transport.Funcs{OnDone: func(error) { close(done) }})
		cancel()
		<-done
	}
	visit()
	before, goroutines := live(), runtime.NumGoroutine()
	kept := make([]transport.Peer, 3_000)
	for i := range kept {
		visit()
		kept[i] = s.Dial() // and 3,000 idle clients
	}
	grown := live() - before
	t.Logf("3,000 clients came and 3,000 are there: %d KiB, %d goroutines more", grown>>10, runtime.NumGoroutine()-goroutines)
	if grown > 4<<20 || runtime.NumGoroutine() > goroutines+8 { // some that are ending
		t.Errorf("%d bytes, %d goroutines", grown, runtime.NumGoroutine()-goroutines)
	}
	runtime.KeepAlive(kept)
}

func BenchmarkCall(b *testing.B) {
	s := newServer(b, builtin.Options{Tools: []builtin.Tool{
		builtin.Typed(builtin.Tool{Name: "get"}, func(context.Context, *builtin.Call, arguments) (*builtin.Result, error) {
			return &builtin.Result{Text: "ok"}, nil
		}),
	}})
	p := s.Dial()
	raw := []byte(calling(1, "get", `{"name":"a","page":"2","health":["Degraded"]}`))
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	done := make(chan error, 1)
	for b.Loop() {
		p.Send(b.Context(), transport.Message{Raw: raw, Head: head}, transport.Funcs{OnDone: func(err error) { done <- err }})
		<-done
	}
}

func BenchmarkStream(b *testing.B) {
	piece := []byte(strings.Repeat(`{"name":"an application"},`, 160))
	s := newServer(b, builtin.Options{Tools: []builtin.Tool{streaming("large", func(_ context.Context, w io.Writer) error {
		for range 4096 {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
		return nil
	})}})
	p := s.Dial()
	b.SetBytes(4096 * int64(len(piece)))
	for b.Loop() {
		done := make(chan error, 1)
		p.Send(b.Context(), message(b, calling(1, "large", "{}")), transport.Funcs{
			OnReceive: func(f *transport.Frame) { _, _ = io.Copy(io.Discard, f.Reader()) },
			OnDone:    func(err error) { done <- err },
		})
		<-done
	}
}

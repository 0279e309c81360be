package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// heap is what lives after a collection, in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) + int64(m.StackInuse)
}

// allocated is how many bytes were allocated while f ran.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// A message of 256 MiB goes through without being held: all that is allocated on the way,
// by client and server together, is a small part of it.
func TestALargeMessageIsNotHeld(t *testing.T) {
	const size, most = 256 << 20, 8 << 20
	p := newPlace(t, Options{}, false, nil)
	id := p.begin("2025-06-18")
	for i, accept := range []string{"application/json", "text/event-stream"} {
		spent := allocated(func() {
			response := p.do(t.Context(), http.MethodPost, toolCall(1+i, fmt.Sprintf("big:%d", size)), "Mcp-Session-Id", id, "Accept", accept)
			defer response.Body.Close()
			n, err := io.Copy(io.Discard, response.Body)
			if err != nil || n < size || n > size+1000 {
				t.Errorf("%s: %d bytes, %v", accept, n, err)
			}
		})
		if spent > most {
			t.Errorf("%s: %d bytes were allocated for a message of %d", accept, spent, size)
		}
	}
	c := newStdioClient(t, StdioOptions{}, nil)
	spent := allocated(func() {
		c.send(toolCall(1, fmt.Sprintf("big:%d", size)) + "\n")
		c.in.Close()
		if n, err := io.Copy(io.Discard, c.out); err != nil || n < size {
			t.Errorf("stdio: %d bytes, %v", n, err)
		}
	})
	if spent > most {
		t.Errorf("stdio: %d bytes were allocated for a message of %d", spent, size)
	}
}

// The answer arrives byte for byte, with each of its lines in a line of data.
func TestALargeMessageArrives(t *testing.T) {
	p := newPlace(t, Options{}, false, nil)
	id := p.begin("2025-06-18")
	want := "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{\"text\":\"" + strings.Repeat("x", 200_000) + "\"}\r\n,\"x\":1\n}"
	if _, _, answer := p.post(toolCall(1, "big:200000"), "Mcp-Session-Id", id); answer != want {
		t.Errorf("JSON: %d bytes, want %d", len(answer), len(want))
	}
	e := p.events(p.do(t.Context(), http.MethodPost, toolCall(2, "big:200000"), "Mcp-Session-Id", id, "Accept", "text/event-stream"))
	if v, _ := e.next(); v.data != strings.NewReplacer("\r\n", "\n", `"id":1,`, `"id":2,`).Replace(want) {
		t.Errorf("event: %d bytes, want %d", len(v.data), len(want))
	}
	e.end()
}

// Neither slow readers nor clients that die cost the others anything, and nothing is left
// of them. The numbers are those that the gateway promises.
func TestLoad(t *testing.T) {
	const sessions, calls = 1000, 10_000
	// The budget of one session, with its peer and its part of the test's own clients and
	// connections: 32 KiB. Measured: 14 KiB.
	const perSession = 32 << 10
	p := newPlace(t, Options{WriteTimeout: 2 * time.Second, KeepAlive: 100 * time.Millisecond}, false, nil)
	empty := heap()
	ids := make([]string, sessions)
	every(sessions, func(i int) { ids[i] = p.begin("2025-11-25") })
	// A tenth listens, all the time.
	listening, stop := context.WithCancel(t.Context())
	for i := 0; i < sessions; i += 10 {
		e := p.events(p.do(listening, http.MethodGet, "", "Mcp-Session-Id", ids[i]))
		e.want("")
		defer e.body.Close()
	}
	var answered, slow, died atomic.Int64
	round := func(first, n int) {
		every(sessions, func(i int) {
			for j := first; j < first+n; j++ {
				switch {
				case i%50 == 1 && j < 2: // asks for megabytes and never reads them
					p.stall(ids[i], 900+j)
					slow.Add(1)
				case i%10 == 2 && j%5 == 0: // dies in the middle of a call
					ctx, cancel := context.WithCancel(t.Context())
					e := p.events(p.do(ctx, http.MethodPost, toolCall(100+j, fmt.Sprintf("wait:%d", j)), "Mcp-Session-Id", ids[i]))
					e.want("")
					cancel()
					e.body.Close()
					died.Add(1)
					id := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, 100+j)
					p.post(id, "Mcp-Session-Id", ids[i])
				default:
					tool := "echo"
					if j%3 == 0 {
						tool = "notes:2"
					}
					if status, _, answer := p.post(toolCall(1+j, tool), "Mcp-Session-Id", ids[i]); status != 200 || !strings.Contains(answer, `"result"`) {
						t.Errorf("%d %s", status, answer)
					}
				}
				answered.Add(1)
			}
		})
	}
	round(0, calls/sessions/5)
	settled := heap()
	round(calls/sessions/5, calls/sessions-calls/sessions/5)
	wait.Until(t, "slow readers are given up", func() bool { return p.h.Stats().Slow >= slow.Load() })
	// What is kept for clients that come back is bounded by itself.
	if grown := heap() - settled - p.h.o.MaxStored; grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes from the first fifth of the calls to the last", grown)
	}
	if used := (settled - empty - p.h.Stats().Stored) / sessions; used > perSession {
		t.Errorf("%d bytes for each session", used)
	}
	t.Logf("%d calls, %d slow readers, %d clients died; heap %d KiB, with %d sessions %d KiB, then %d KiB; %+v",
		answered.Load(), slow.Load(), died.Load(), empty>>10, sessions, settled>>10, heap()>>10, p.h.Stats())
	stop()
	if got := answered.Load(); got != calls {
		t.Errorf("%d calls", got)
	}
	if got := p.h.Stats(); got.Sessions != sessions || got.Panics != 0 {
		t.Errorf("%+v", got)
	}
}

// every calls f for 0 to n-1, 100 at a time.
func every(n int, f func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, 100) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// stall asks for much and reads nothing of it, until the test ends.
func (p *place) stall(id string, request int) {
	conn, err := (&net.Dialer{}).DialContext(p.t.Context(), "tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		p.t.Error(err)
		return
	}
	p.t.Cleanup(func() { conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	body := toolCall(request, "big:30000000")
	if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s", id, len(body), body); err != nil {
		p.t.Error(err)
	}
}

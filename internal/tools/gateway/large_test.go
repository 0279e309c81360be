package gateway_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/night"
	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

// heapBudget is what a result of any size may add to the heap of the gateway and the server
// that generates it, garbage included. Measured: 6 to 9 MiB.
const heapBudget = 24 << 20

// watchHeap gives the largest heap while work runs, less what there was before.
func watchHeap(work func()) int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, maxBytes := int64(m.HeapAlloc), int64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				maxBytes = max(maxBytes, int64(m.HeapAlloc))
			case <-stop:
				return
			}
		}
	}()
	work()
	close(stop)
	<-done
	return maxBytes - before
}

func TestAResultOfAnySizePassesInConstantMemory(t *testing.T) {
	size := night.Else(256<<20, 64<<20) // a gigabyte passes through the whole program in e2e
	if os.Getenv("PLIMSOLL_GIB") != "" {
		size = 1 << 30
	}
	if testing.Short() {
		size = 32 << 20
	}
	for _, v := range []struct {
		name   string
		remote bool
		answer toolserver.Answer
		kind   string
	}{
		{"stdio", false, toolserver.Auto, "json"},
		{"json", true, toolserver.JSON, "json"},
		{"sse", true, toolserver.SSE, "lines"},
		{"one item", false, toolserver.Auto, "one-item"},
	} {
		t.Run(v.name, func(t *testing.T) {
			r := newRig(t, toolserver.Options{Answer: v.answer}, v.remote, gateway.Settings{})
			c := onPeer(t, r.server.Local(), false).begin("someone")
			var first toolResult
			grown := watchHeap(func() {
				first = c.ok(c.call("big", fmt.Sprintf(`{"bytes":%d,"kind":%q,"needle":"needle-at-the-very-end"}`, size, v.kind)))
				c.ok(c.call("echo", `{"text":"right after"}`))
			})
			t.Logf("%d MiB: the heap grew by %d KiB", size>>20, grown>>10)
			if grown > heapBudget && !raceDetector {
				t.Errorf("the heap grew by %d bytes, the budget is %d", grown, heapBudget)
			}
			page := first.Meta.Page
			if page == nil || page.Bytes < int64(size)-1024 || len(first.text()) > 12<<10 {
				t.Fatalf("%+v, %d bytes of text", page, len(first.text()))
			}
			var found toolResult
			grown = watchHeap(func() {
				found = c.ok(c.call("result_search", fmt.Sprintf(`{"handle":%q,"pattern":"needle-at-the-very-end"}`, page.Handle)))
			})
			if grown > heapBudget && !raceDetector || !strings.Contains(found.text(), "needle-at-the-very-end") {
				t.Errorf("the search grew the heap by %d bytes and found %.300s", grown, found.text())
			}
		})
	}
}

// pausing answers a call with a result that stops in the middle until it is let go on.
type pausing struct {
	scripted
	rest io.Reader
}

func (p *pausing) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	if m.Head.Method != "tools/call" {
		p.scripted.Send(ctx, m, to)
		return
	}
	go func() {
		to.Receive(&transport.Frame{Head: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"[`, m.Head.ID), Rest: p.rest})
		to.Done(ctx.Err())
	}()
}

func TestAResultThatStopsComingIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		store := newSpool(t, nil)
		s := gateway.New(gateway.Options{Name: "s", Next: &pausing{rest: in}, Spool: store, Settings: gateway.Settings{Limits: gateway.Limits{Timeout: time.Minute}}})
		c := onPeer(t, s, false)
		go func() {
			for range 30 { // slow, but never a minute without a word
				_, _ = io.WriteString(out, strings.Repeat("text ", 1000))
				time.Sleep(50 * time.Second)
			}
			time.Sleep(time.Hour)
			_ = out.CloseWithError(io.ErrUnexpectedEOF)
		}()
		_, text := c.refused(c.call("x", `{}`))
		if !strings.Contains(text, "for 1m0s") && !strings.Contains(text, "r_") {
			t.Errorf("%s", text)
		}
		_ = s.Close()
	})
}

func TestPagesAreReadWhileTheServerIsStillSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		next := &pausing{rest: in}
		s := gateway.New(gateway.Options{Name: "s", Next: next, Spool: newSpool(t, nil), Settings: gateway.Settings{Limits: gateway.Limits{Early: 10 * time.Second}}})
		c := onPeer(t, s, false)
		item := func(from, to int) string {
			var b strings.Builder
			for i := from; i < to; i++ {
				fmt.Fprintf(&b, `{\"id\":%d,\"text\":\"%s\"},`, i, strings.Repeat("x", 200))
			}
			return b.String()
		}
		go func() {
			_, _ = io.WriteString(out, item(0, 200))
		}()
		ctx, cancel := context.WithCancel(t.Context())
		first := c.ok(c.send(ctx, c.message("tools/call", `"name":"x","arguments":{}`, "")))
		cancel() // the client has what it wanted; the rest goes on coming
		if first.Meta.Page == nil || first.Meta.Page.Complete {
			t.Fatalf("the page delivered early: %+v %.300s", first.Meta.Page, first.text())
		}
		h := first.Meta.Page.Handle
		if second := c.ok(c.call("result_page", `{"handle":"`+h+`","page":2}`)); second.IsError || second.Meta.Page.Complete {
			t.Errorf("page 2 before the end: %.300s", second.text())
		}
		waiting := make(chan toolResult, 1)
		go func() { waiting <- c.ok(c.call("result_page", `{"handle":"`+h+`","page":12}`)) }()
		synctest.Wait()
		select {
		case <-waiting:
			t.Fatal("a page was given that the server had not sent")
		default:
		}
		_, _ = io.WriteString(out, item(200, 300)+`{\"id\":300}]"}]}}`)
		_ = out.Close()
		if late := <-waiting; late.IsError || !strings.Contains(late.text(), `"id":`) {
			t.Errorf("page 12: %.300s", late.text())
		}
		synctest.Wait()
		if last := c.ok(c.call("result_search", `{"handle":"`+h+`","pattern":"\"id\":300"}`)); !strings.Contains(last.text(), "item 301") {
			t.Errorf("the end: %.300s", last.text())
		}
		_ = s.Close()
		time.Sleep(time.Second) // virtual
	})
}

// A thousand sessions at once, ten calls each, slow readers and dead clients among them.
// The bubble of synctest fails when a goroutine of theirs is left.
func TestAThousandSessionsLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions, calls = 1000, 10
		j := journal.New(journal.Options{})
		list := `{"tools":[` + strings.Repeat(`{"name":"another_tool","description":"`+strings.Repeat("d", 200)+`"},`, 100) + `{"name":"a","annotations":{"readOnlyHint":true}}]}`
		server := gateway.NewServer(gateway.ServerOptions{
			Name: "s", Journal: j, MaxProcesses: sessions,
			Dial: func(gateway.Dialing) transport.Peer {
				return &scripted{answers: map[string]string{
					"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`, "tools/list": list, "tools/call": `{"content":[{"type":"text","text":"ok"}]}`,
				}}
			},
		})
		var answered atomic.Int64
		open := make(chan struct{})
		var all sync.WaitGroup
		peers := make([]transport.Peer, sessions)
		before := heap()
		for i := range peers {
			p := server.Local()
			peers[i] = p
			all.Go(func() {
				ask := func(ctx context.Context, id int, method, params string, slow bool) {
					raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, params)
					head, err := jsonrpc.Scan(raw)
					if err != nil {
						t.Error(err)
						return
					}
					done := make(chan struct{})
					go p.Send(ctx, transport.Message{Raw: raw, Head: head}, transport.Funcs{
						OnReceive: func(f *transport.Frame) {
							if slow {
								<-open
							}
							if i%7 != 0 && strings.Contains(string(f.Head), `"ok"`) {
								answered.Add(1)
							}
						},
						OnDone: func(error) { close(done) },
					})
					if !slow {
						<-done
					}
				}
				ask(t.Context(), 0, "initialize", `"clientInfo":{"name":"x"}`, false)
				ask(t.Context(), 1, "tools/list", ``, false)
				for n := range calls {
					ctx := t.Context()
					if i%7 == 0 { // a client that is gone
						dead, cancel := context.WithCancel(ctx)
						defer cancel()
						ctx = dead
					}
					ask(ctx, n+2, "tools/call", fmt.Sprintf(`"name":"a","arguments":{"n":%d}`, n), i%10 == 0)
				}
			})
		}
		synctest.Wait()
		each := (heap() - before) / sessions
		t.Logf("a session takes %d bytes of the heap", each)
		if each > 24<<10 && !raceDetector {
			t.Errorf("a session takes %d bytes of the heap", each)
		}
		close(open)
		all.Wait()
		synctest.Wait()
		if n, want := answered.Load(), int64(sessions-(sessions+6)/7)*calls; n != want {
			t.Errorf("%d of %d calls of living clients were answered", n, want)
		}
		for _, p := range peers {
			_ = p.Close()
		}
		_ = server.Close()
		synctest.Wait()
	})
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestProcessesAreBoundedAndGiveTheirPlaceBack(t *testing.T) {
	s := gateway.NewServer(gateway.ServerOptions{
		Name: "s", MaxProcesses: 1, Spool: newSpool(t, nil),
		Dial: func(gateway.Dialing) transport.Peer { return &scripted{answers: map[string]string{"initialize": `{}`}} },
	})
	first := onPeer(t, s.Local(), false)
	first.ok(first.do("initialize", ""))
	second := s.Local()
	c := onPeer(t, second, false)
	if _, text := c.refused(c.do("initialize", "")); !strings.Contains(text, "max_processes") {
		t.Errorf("%s", text)
	}
}

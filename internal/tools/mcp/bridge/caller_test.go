package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// caller is a client of a bridge.
type caller struct {
	t         testing.TB
	p         transport.Peer
	principal string
	mu        sync.Mutex
	serial    int
	asks      func(method string, params []byte) (result string) // what the client answers a server
	heard     chan string
}

const allAbilities = `{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}`

// legacyCaller has greeted already.
func legacyCaller(t testing.TB, p transport.Peer) *caller {
	c := &caller{t: t, p: p, principal: "alice", heard: make(chan string, 1000)}
	r := c.call("initialize", `"protocolVersion":"2025-11-25","capabilities":`+allAbilities+`,"clientInfo":{"name":"c","version":"1"}`)
	if !strings.Contains(r, `"protocolVersion":"2025-11-25"`) {
		t.Fatalf("initialize: %s", r)
	}
	c.send(t.Context(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, transport.Funcs{})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	p.Listen(ctx, nil, transport.Funcs{OnReceive: func(f *transport.Frame) { c.other(f) }, OnDone: func(error) { close(done) }})
	t.Cleanup(func() {
		stop()
		<-done
	})
	return c
}

func (c *caller) send(ctx context.Context, raw string, to transport.Receiver) {
	head, err := jsonrpc.Scan([]byte(raw))
	if err != nil {
		c.t.Error(err)
		return
	}
	c.p.Send(ctx, transport.Message{Raw: []byte(raw), Head: head, Principal: c.principal}, to)
}

// request is a request with its members of params.
func (c *caller) request(id, method, members string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + members + `}}`
}

// started is a request under way.
type started struct {
	response chan string
	done     chan error
	stop     context.CancelFunc
}

func (c *caller) start(id, method, members string) started {
	ctx, stop := context.WithCancel(context.Background())
	s := started{make(chan string, 2), make(chan error, 1), stop}
	c.t.Cleanup(stop)
	c.send(ctx, c.request(id, method, members), transport.Funcs{
		OnReceive: func(f *transport.Frame) {
			if kindOf(f) != jsonrpc.Response {
				c.other(f)
				return
			}
			if err := f.ReadAll(1 << 28); err != nil {
				s.done <- err
				return
			}
			if !json.Valid(f.Head) {
				c.t.Errorf("no valid JSON: %.300s", f.Head)
			}
			s.response <- string(f.Head)
		},
		OnDone: func(err error) { s.done <- err },
	})
	return s
}

func (s started) wait(t testing.TB) string {
	t.Helper()
	select {
	case err := <-s.done:
		select {
		case r := <-s.response:
			return r
		default:
			return "done: " + errText(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("no answer")
		return ""
	}
}

func errText(err error) string {
	if err == nil {
		return "nil"
	}
	return err.Error()
}

// call sends a request and returns the response.
func (c *caller) call(method, members string) string {
	c.t.Helper()
	c.mu.Lock()
	c.serial++
	id := c.serial
	c.mu.Unlock()
	return c.start(itoa(id), method, members).wait(c.t)
}

func itoa(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}

func (c *caller) tool(name, arguments string) string {
	c.t.Helper()
	return c.call("tools/call", `"name":"`+name+`","arguments":`+arguments)
}

// other takes what is no response: it answers the server's requests and keeps the rest.
func (c *caller) other(f *transport.Frame) {
	head, err := jsonrpc.Scan(f.Head)
	if err != nil {
		c.t.Errorf("no message: %v", err)
		return
	}
	if head.Kind == jsonrpc.Notification {
		c.heard <- string(f.Head)
		return
	}
	method, params, id := head.Method, bytes.Clone(head.Params.Of(f.Head)), head.ID
	c.heard <- "request " + method + " " + string(params)
	if c.asks == nil {
		return
	}
	result := c.asks(method, params)
	if strings.HasPrefix(result, "error") {
		c.send(context.Background(), string(jsonrpc.ErrorResponse(id, -1, result, nil)), transport.Funcs{})
		return
	}
	c.send(context.Background(), string(jsonrpc.ResultResponse(id, []byte(result))), transport.Funcs{})
}

// hear waits for a notification that contains text.
func (c *caller) hear(text string) string {
	c.t.Helper()
	for {
		select {
		case m := <-c.heard:
			if strings.Contains(m, text) {
				return m
			}
		case <-time.After(time.Minute):
			c.t.Fatalf("nothing came with %s", text)
		}
	}
}

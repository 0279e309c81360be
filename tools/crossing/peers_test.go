package crossing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/toolserver"
	"github.com/plimsoll/plimsoll/tools/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/peer"
)

// pipePeer is a way to a server over standard streams, whole frames only.
type pipePeer struct {
	out   io.WriteCloser
	ended chan struct{}
	mu    sync.Mutex
	open  map[jsonrpc.ID]*pending
	heard []peer.Receiver
	sent  []string // every message that went to the server
}

type pending struct {
	to            peer.Receiver
	method, token string
	stop          func() bool
}

func overPipe(t testing.TB, s *toolserver.Server) *pipePeer {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	p := &pipePeer{out: toServer, open: make(map[jsonrpc.ID]*pending), ended: make(chan struct{})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.ServeStdio(context.Background(), in, out)
		_ = out.Close()
	}()
	go p.read(fromServer)
	t.Cleanup(func() {
		_ = p.Close()
		<-served
		<-p.ended
	})
	return p
}

func (p *pipePeer) read(from io.Reader) {
	defer close(p.ended)
	lines := jsonrpc.NewLineReader(from, 0)
	for {
		line, rest, err := lines.Next()
		if err != nil {
			break
		}
		if head, err := jsonrpc.Scan(line); err == nil || rest != nil {
			p.route(head, &peer.Frame{Head: line, Rest: rest})
		}
	}
	p.mu.Lock()
	open := p.open
	p.open = nil
	p.mu.Unlock()
	for _, o := range open {
		o.to.Done(errors.New("the server is gone"))
	}
}

func (p *pipePeer) route(head jsonrpc.Head, f *peer.Frame) {
	if !f.Whole() {
		head = jsonrpc.Head{Kind: jsonrpc.Response, ID: jsonrpc.ID(between(f.Head, `{"jsonrpc":"2.0","id":`))}
	}
	p.mu.Lock()
	if head.ID == "" && !f.Whole() { // the id comes last: it is the one call under way
		for id, o := range p.open {
			if o.method == "tools/call" {
				head.ID = id
			}
		}
	}
	if head.Kind == jsonrpc.Response {
		o := p.open[head.ID]
		delete(p.open, head.ID)
		p.mu.Unlock()
		if o != nil {
			o.stop()
			o.to.Receive(f)
			o.to.Done(nil)
		}
		return
	}
	to := p.heard
	if head.Method == "notifications/progress" {
		token := string(rawjson.Get(f.Head, "params", "progressToken").Of(f.Head))
		for _, o := range p.open {
			if o.token == token {
				to = []peer.Receiver{o.to}
			}
		}
	}
	// A subscription's messages belong to its request.
	if id := rawjson.Get(f.Head, "params", "_meta", metaSubscription); !id.IsZero() {
		if o := p.open[jsonrpc.ID(id.Of(f.Head))]; o != nil {
			to = []peer.Receiver{o.to}
		}
	}
	p.mu.Unlock()
	for _, r := range to {
		r.Receive(f)
	}
}

func between(b []byte, key string) string {
	_, after, _ := bytes.Cut(b, []byte(key))
	if i := bytes.IndexByte(after, ','); i >= 0 {
		return string(after[:i])
	}
	return ""
}

func (p *pipePeer) Send(ctx context.Context, m peer.Message, to peer.Receiver) {
	p.mu.Lock()
	if p.open == nil {
		p.mu.Unlock()
		to.Done(errors.New("the server is gone"))
		return
	}
	p.sent = append(p.sent, string(m.Raw))
	if m.Head.Kind == jsonrpc.Request {
		o := &pending{to: to, method: m.Head.Method, token: string(rawjson.Get(m.Raw, "params", "_meta", "progressToken").Of(m.Raw))}
		if p.open[m.Head.ID] != nil {
			panic("an id was used twice: " + string(m.Head.ID))
		}
		p.open[m.Head.ID] = o
		o.stop = context.AfterFunc(ctx, func() {
			p.mu.Lock()
			mine := p.open[m.Head.ID] == o
			delete(p.open, m.Head.ID)
			p.mu.Unlock()
			if mine {
				p.write(jsonrpc.NewRequest("", "notifications/cancelled", []byte(`{"requestId":`+string(m.Head.ID)+`}`)))
				to.Done(ctx.Err())
			}
		})
	}
	p.mu.Unlock()
	p.write(m.Raw)
	if m.Head.Kind != jsonrpc.Request {
		to.Done(nil)
	}
}

func (p *pipePeer) write(message []byte) {
	_, _ = p.out.Write(append(bytes.Clone(message), '\n'))
}

func (p *pipePeer) Listen(ctx context.Context, _ http.Header, to peer.Receiver) {
	p.mu.Lock()
	p.heard = append(p.heard, to)
	p.mu.Unlock()
	context.AfterFunc(ctx, func() { to.Done(nil) })
}

func (p *pipePeer) Close() error { return p.out.Close() }

// transcript is what was sent to the server so far.
func (p *pipePeer) transcript() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.sent, "\n")
}

// httpPeer is a way to a server over streamable HTTP.
type httpPeer struct {
	url     string
	mu      sync.Mutex
	session string
	wg      sync.WaitGroup
	ctx     context.Context
	stop    context.CancelFunc
}

func overHTTP(t testing.TB, h http.Handler) *httpPeer {
	server := httptest.NewServer(h)
	p := &httpPeer{url: server.URL}
	p.ctx, p.stop = context.WithCancel(context.Background())
	t.Cleanup(func() {
		_ = p.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return p
}

func (p *httpPeer) request(ctx context.Context, method string, m peer.Message) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.url, bytes.NewReader(m.Raw))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if v, ok := rawjson.Text(m.Raw, "params", "_meta", metaVersion); ok {
		r.Header.Set("Mcp-Protocol-Version", v)
		r.Header.Set("Mcp-Method", m.Head.Method)
		for _, key := range []string{"name", "uri"} {
			if v, ok := rawjson.Text(m.Raw, "params", key); ok {
				r.Header.Set("Mcp-Name", v)
			}
		}
	} else {
		p.mu.Lock()
		if p.session != "" {
			r.Header.Set("Mcp-Session-Id", p.session)
		}
		p.mu.Unlock()
	}
	return http.DefaultClient.Do(r)
}

func (p *httpPeer) Send(ctx context.Context, m peer.Message, to peer.Receiver) {
	p.wg.Go(func() {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(p.ctx, stop)()
		resp, err := p.request(ctx, http.MethodPost, m)
		if err != nil {
			to.Done(err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			p.mu.Lock()
			p.session = id
			p.mu.Unlock()
		}
		a := peer.Answer{Status: resp.StatusCode, Header: resp.Header}
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			to.Open(a)
			to.Done(events(resp.Body, to))
			return
		}
		body, err := io.ReadAll(resp.Body)
		if json.Valid(body) {
			to.Open(a)
			to.Receive(&peer.Frame{Head: body})
		} else {
			a.Body = body
			to.Open(a)
		}
		to.Done(err)
	})
}

func events(body io.Reader, to peer.Receiver) error {
	r := jsonrpc.NewEventReader(body, 0)
	for {
		e, head, rest, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(head) == 0:
			continue
		}
		to.Receive(&peer.Frame{Head: head, Rest: rest, Event: peer.Event{ID: e.ID, Name: e.Name}})
	}
}

func (p *httpPeer) Listen(ctx context.Context, _ http.Header, to peer.Receiver) {
	p.wg.Go(func() {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(p.ctx, stop)()
		resp, err := p.request(ctx, http.MethodGet, peer.Message{})
		if err == nil {
			err = events(resp.Body, to)
			_ = resp.Body.Close()
		}
		to.Done(err)
	})
}

func (p *httpPeer) Close() error {
	p.stop()
	p.wg.Wait()
	return nil
}

// caller is a client of a bridge.
type caller struct {
	t         testing.TB
	p         peer.Peer
	principal string
	meta      string // the members of _meta of every request; "" for a legacy client
	mu        sync.Mutex
	serial    int
	asks      func(method string, params []byte) (result string) // what the client answers a server
	heard     chan string
}

const allAbilities = `{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}`

func modernCaller(t testing.TB, p peer.Peer) *caller {
	return &caller{
		t: t, p: p, principal: "alice", heard: make(chan string, 1000),
		meta: `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + allAbilities,
	}
}

// legacyCaller has greeted already.
func legacyCaller(t testing.TB, p peer.Peer) *caller {
	c := &caller{t: t, p: p, principal: "alice", heard: make(chan string, 1000)}
	r := c.call("initialize", `"protocolVersion":"2025-11-25","capabilities":`+allAbilities+`,"clientInfo":{"name":"c","version":"1"}`)
	if !strings.Contains(r, `"protocolVersion":"2025-11-25"`) {
		t.Fatalf("initialize: %s", r)
	}
	c.send(t.Context(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, peer.Funcs{})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	p.Listen(ctx, nil, peer.Funcs{OnReceive: func(f *peer.Frame) { c.other(f) }, OnDone: func(error) { close(done) }})
	t.Cleanup(func() {
		stop()
		<-done
	})
	return c
}

func (c *caller) send(ctx context.Context, raw string, to peer.Receiver) {
	head, err := jsonrpc.Scan([]byte(raw))
	if err != nil {
		c.t.Error(err)
		return
	}
	c.p.Send(ctx, peer.Message{Raw: []byte(raw), Head: head, Principal: c.principal}, to)
}

// request is a request with its members of params.
func (c *caller) request(id, method, members string) string {
	meta := c.meta
	if i := strings.Index(members, `"_meta":{`); i >= 0 {
		rest := members[i+len(`"_meta":{`):]
		inner, after, _ := strings.Cut(rest, "}")
		members = strings.Trim(members[:i]+after, ",")
		meta = strings.Trim(meta+","+inner, ",")
	}
	params := members
	if meta != "" {
		params = strings.Trim(params+`,"_meta":{`+meta+`}`, ",")
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `}}`
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
	c.send(ctx, c.request(id, method, members), peer.Funcs{
		OnReceive: func(f *peer.Frame) {
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
	case <-time.After(20 * time.Second):
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
func (c *caller) other(f *peer.Frame) {
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
		c.send(context.Background(), string(jsonrpc.ErrorResponse(id, -1, result, nil)), peer.Funcs{})
		return
	}
	c.send(context.Background(), string(jsonrpc.ResultResponse(id, []byte(result))), peer.Funcs{})
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
		case <-time.After(20 * time.Second):
			c.t.Fatalf("nothing came with %s", text)
		}
	}
}

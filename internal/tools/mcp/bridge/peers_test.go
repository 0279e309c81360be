package bridge

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

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sse"
	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// pipePeer is a connection to a server over standard streams, whole frames only.
type pipePeer struct {
	out   io.WriteCloser
	ended chan struct{}
	mu    sync.Mutex
	open  map[jsonrpc.ID]*pending
	heard []transport.Receiver
	sent  []string // every message that went to the server
}

type pending struct {
	to            transport.Receiver
	method, token string
	stop          func() bool
}

func overPipe(t testing.TB, s *toolserver.Server) *pipePeer {
	server := s.Pipe()
	p := &pipePeer{out: server.Stdin, open: make(map[jsonrpc.ID]*pending), ended: make(chan struct{})}
	go p.read(server.Stdout)
	t.Cleanup(func() {
		_ = p.Close()
		_ = server.Wait()
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
			p.route(head, &transport.Frame{Head: line, Rest: rest})
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

func (p *pipePeer) route(head jsonrpc.Head, f *transport.Frame) {
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
				to = []transport.Receiver{o.to}
			}
		}
	}
	// A subscription's messages belong to its request.
	if id := rawjson.Get(f.Head, "params", "_meta", metaSubscription); !id.IsZero() {
		if o := p.open[jsonrpc.ID(id.Of(f.Head))]; o != nil {
			to = []transport.Receiver{o.to}
		}
	}
	p.mu.Unlock()
	for _, r := range to {
		r.Receive(f)
	}
}

func between(b []byte, key string) string {
	_, after, _ := bytes.Cut(b, []byte(key))
	if before, _, ok := bytes.Cut(after, []byte{','}); ok {
		return string(before)
	}
	return ""
}

func (p *pipePeer) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
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

func (p *pipePeer) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
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

// httpPeer is a connection to a server over streamable HTTP.
type httpPeer struct {
	url     string
	mu      sync.Mutex
	session string
	closed  bool
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

func (p *httpPeer) request(ctx context.Context, method string, m transport.Message) (*http.Response, error) {
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

// begin runs f beside, unless the peer is closed: nobody waits for it then.
func (p *httpPeer) begin(to transport.Receiver, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		go to.Done(context.Canceled)
		return
	}
	p.wg.Go(f)
}

func (p *httpPeer) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	p.begin(to, func() {
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
		a := transport.Answer{Status: resp.StatusCode, Header: resp.Header}
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			to.Open(a)
			to.Done(events(resp.Body, to))
			return
		}
		body, err := io.ReadAll(resp.Body)
		if json.Valid(body) {
			to.Open(a)
			to.Receive(&transport.Frame{Head: body})
		} else {
			a.Body = body
			to.Open(a)
		}
		to.Done(err)
	})
}

func events(body io.Reader, to transport.Receiver) error {
	r := sse.NewReader(body, 0)
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
		to.Receive(&transport.Frame{Head: head, Rest: rest, Event: transport.Event{ID: e.ID, Name: e.Name}})
	}
}

func (p *httpPeer) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	p.begin(to, func() {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(p.ctx, stop)()
		resp, err := p.request(ctx, http.MethodGet, transport.Message{})
		if err == nil {
			err = events(resp.Body, to)
			_ = resp.Body.Close()
		}
		to.Done(err)
	})
}

func (p *httpPeer) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.wg.Wait()
	return nil
}

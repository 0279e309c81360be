package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// place is a handler that listens, with the servers it opened.
type place struct {
	t       *testing.T
	h       *Handler
	url     string
	client  *http.Client
	mu      sync.Mutex
	servers []*server
	opened  []Opening
}

// newPlace listens; set prepares each server. At the end of the test nothing is left of it.
func newPlace(t *testing.T, o Options, passed bool, set func(*server)) *place {
	t.Helper()
	before := runtime.NumGoroutine()
	p := &place{t: t}
	if o.Open == nil {
		o.Open = func(_ context.Context, op Opening) (Session, error) {
			if !passed && !op.Modern && !op.Begins {
				return Session{}, ErrNoSession
			}
			s := newServer()
			if set != nil {
				set(s)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.servers, p.opened = append(p.servers, s), append(p.opened, op)
			return Session{Peer: s, Passed: passed}, nil
		}
	}
	p.h = New(o)
	ts := httptest.NewServer(p.h)
	p.url = ts.URL
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	p.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := p.h.Close(); err != nil {
			t.Error(err)
		}
		ts.Close()
		for _, s := range p.servers {
			select {
			case <-s.closed:
			default:
				t.Error("a server was not closed")
			}
		}
		if used := p.h.stored.used.Load(); used != 0 {
			t.Errorf("%d bytes of events are left", used)
		}
		if kept := p.h.stored.kept.Load(); kept != 0 {
			t.Errorf("%d bytes of written events are left", kept)
		}
		if held := p.h.bodies.Load(); held != 0 {
			t.Errorf("%d bytes of messages are left", held)
		}
		if left := goroutines(before); left > before {
			stack := make([]byte, 1<<20)
			t.Errorf("%d goroutines before, %d after:\n%s", before, left, stack[:runtime.Stack(stack, true)])
		}
	})
	return p
}

// goroutines waits until no more than want are left, as long as there is hope.
func goroutines(want int) (n int) {
	wait.Reached(wait.Bound, func() bool { n = runtime.NumGoroutine(); return n <= want })
	return n
}

func (p *place) server(i int) *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.servers[i]
}

// do sends a request; headers are pairs.
func (p *place) do(ctx context.Context, method, body string, headers ...string) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, p.url, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	return response
}

// post sends a message and reads the answer.
func (p *place) post(body string, headers ...string) (status int, header http.Header, answer string) {
	p.t.Helper()
	response := p.do(p.t.Context(), http.MethodPost, body, headers...)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// begin opens a session.
func (p *place) begin(version string, headers ...string) (id string) {
	p.t.Helper()
	status, header, answer := p.post(fmt.Sprintf(initialize, version), headers...)
	if status != 200 || !strings.Contains(answer, version) {
		p.t.Fatalf("initialize: %d %s", status, answer)
	}
	return header.Get("Mcp-Session-Id")
}

func toolCall(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, tool)
}

// ev is a received event.
type ev struct{ id, name, retry, data string }

// events reads events as they come.
type events struct {
	t    *testing.T
	body io.ReadCloser
	r    *bufio.Reader
}

func (p *place) events(response *http.Response) *events {
	p.t.Helper()
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		text, _ := io.ReadAll(response.Body)
		p.t.Fatalf("status %d, Content-Type %q: %s", response.StatusCode, got, text)
	}
	return &events{t: p.t, body: response.Body, r: bufio.NewReader(response.Body)}
}

// next gives the next event that is no comment; ok is false at the end.
func (e *events) next() (v ev, ok bool) {
	e.t.Helper()
	some := false
	for {
		line, err := e.r.ReadString('\n')
		if err != nil {
			return v, false
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && some:
			return v, true
		case name == "id":
			v.id, some = value, true
		case name == "event":
			v.name, some = value, true
		case name == "retry":
			v.retry, some = value, true
		case name == "data":
			if v.data != "" {
				v.data += "\n"
			}
			v.data, some = v.data+value, true
		}
	}
}

func (e *events) want(part string) ev {
	e.t.Helper()
	v, ok := e.next()
	if !ok || !strings.Contains(v.data, part) {
		e.t.Fatalf("event %+v (%v), want one with %q", v, ok, part)
	}
	return v
}

func (e *events) end() {
	e.t.Helper()
	if v, ok := e.next(); ok {
		e.t.Fatalf("another event: %+v", v)
	}
	e.body.Close()
}

// eventually waits for something that happens beside the test.

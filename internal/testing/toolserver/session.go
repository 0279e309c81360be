package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// session is one client's connection: a process's standard streams, an HTTP session of the
// version with sessions, or a single HTTP request of the newer.
type session struct {
	s      *Server
	id     string
	ctx    context.Context
	cancel context.CancelFunc

	mu           sync.Mutex
	initialized  bool
	version      string
	capabilities json.RawMessage
	level        string
	subscribed   map[string]bool
	open         map[jsonrpc.ID]context.CancelCauseFunc
	waiting      map[jsonrpc.ID]chan reply // requests of ours
	serial       int
	standing     sink // where what belongs to no request goes; nil when nobody listens
	streams      map[string]*stream
}

type reply struct {
	result json.RawMessage
	failed *Error
}

func (s *Server) newSession(ctx context.Context) *session {
	c := &session{
		s: s, id: token(), subscribed: make(map[string]bool), open: make(map[jsonrpc.ID]context.CancelCauseFunc),
		waiting: make(map[jsonrpc.ID]chan reply), streams: make(map[string]*stream),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

func (c *session) end() {
	c.cancel()
	c.s.mu.Lock()
	delete(c.s.sessions, c.id)
	delete(c.s.standing, c)
	c.s.mu.Unlock()
}

func (c *session) setStanding(k sink) {
	c.mu.Lock()
	c.standing = k
	c.mu.Unlock()
}

// notify sends a message that belongs to no request to the client's standing stream, if it has one.
func (c *session) notify(message []byte) {
	c.mu.Lock()
	to := c.standing
	c.mu.Unlock()
	if to != nil {
		_ = to.message(message)
	}
}

// errCancelled is the cause of a request's context when the client took it back.
var errCancelled = fmt.Errorf("cancelled by the client")

// receive handles a notification or a response of the client.
func (c *session) receive(h jsonrpc.Head, raw []byte) {
	switch {
	case h.Kind == jsonrpc.Response:
		c.mu.Lock()
		to := c.waiting[h.ID]
		delete(c.waiting, h.ID)
		c.mu.Unlock()
		if to == nil {
			return
		}
		r := reply{result: bytes.Clone(h.Result.Of(raw))}
		if !h.Error.IsZero() {
			r.failed = new(Error)
			_ = json.Unmarshal(h.Error.Of(raw), r.failed)
		}
		to <- r
	case h.Method == "notifications/cancelled":
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(h.Params.Of(raw), &p)
		c.mu.Lock()
		stop := c.open[jsonrpc.ID(p.RequestID)]
		c.mu.Unlock()
		if stop != nil {
			c.s.count.cancelled.Add(1)
			stop(errCancelled)
		}
	case h.Method == "notifications/initialized":
		c.s.count.initialized.Add(1)
	case h.Method == "notifications/roots/list_changed":
		c.s.count.roots.Add(1)
	}
}

// request sends a request to the client over to and waits for its answer.
func (c *session) request(ctx context.Context, to sink, method string, params []byte) (json.RawMessage, error) {
	c.mu.Lock()
	c.serial++
	id := jsonrpc.ID(strconv.Quote("server-" + strconv.Itoa(c.serial)))
	answer := make(chan reply, 1)
	c.waiting[id] = answer
	c.mu.Unlock()
	if err := to.message(jsonrpc.NewRequest(id, method, params)); err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		if r.failed != nil {
			return nil, r.failed
		}
		return r.result, nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// listen is an open subscriptions/listen request.
type listen struct {
	id     jsonrpc.ID
	to     sink
	filter filter
	ready  sync.Mutex // held until the acknowledgement is written, which is the first
}

type filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

// Change notifies every client of a change: "tools", "prompts", "resources" (their lists) or
// "resource" (the one at uri).
func (s *Server) Change(what, uri string) {
	method := "notifications/" + what + "/list_changed"
	params := []byte("{}")
	if what == "resource" {
		method = "notifications/resources/updated"
		params, _ = json.Marshal(map[string]string{"uri": uri})
	}
	if what == "tools" {
		s.count.extra.Add(1)
	}
	s.mu.Lock()
	var sessions []*session
	for c := range s.standing {
		sessions = append(sessions, c)
	}
	var listens []*listen
	for l := range s.listens {
		listens = append(listens, l)
	}
	s.mu.Unlock()
	for _, c := range sessions {
		c.mu.Lock()
		wanted := c.initialized && (what != "resource" || c.subscribed[uri])
		c.mu.Unlock()
		if wanted {
			c.notify(jsonrpc.NewRequest("", method, params))
		}
	}
	for _, l := range listens {
		if l.filter.wants(what, uri) {
			l.ready.Lock()
			_ = l.to.message(jsonrpc.NewRequest("", method, l.stamp(params)))
			l.ready.Unlock()
		}
	}
}

// wants reports whether a subscription includes a change of what; for "resource" of the one at uri.
func (f filter) wants(what, uri string) bool {
	switch what {
	case "tools":
		return f.Tools
	case "prompts":
		return f.Prompts
	case "resources":
		return f.Resources
	}
	return slices.Contains(f.URIs, uri)
}

// stamp puts the subscription's id into params.
func (l *listen) stamp(params []byte) []byte {
	b := fmt.Appendf(nil, `{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}`, l.id)
	if rest := params[1:]; len(rest) > 1 {
		return append(append(b, ','), rest...)
	}
	return append(b, '}')
}

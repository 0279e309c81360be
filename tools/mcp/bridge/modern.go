package bridge

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// Modern speaks MCP 2026-07-28 to its callers over a server of the version with sessions. It keeps a
// session with the server for each client and holds calls open while a client answers what
// the server asks.
func Modern(next transport.Peer, o Options) transport.Peer {
	return &modern{
		o: o.filled(), next: next, sessions: make(map[sessionKey]*session),
		heldCalls: make(map[string]*call), waiting: make(map[waitKey]*waiter),
	}
}

type modern struct {
	o    Options
	next transport.Peer

	mu        sync.Mutex
	sessions  map[sessionKey]*session
	heldCalls map[string]*call // by requestState
	waiting   map[waitKey]*waiter
	closed    bool
}

// sessionKey is of principal, clientInfo and capabilities.
type sessionKey [sha256.Size]byte

type waitKey struct {
	principal string
	id        jsonrpc.ID
}

// removed are the methods that 2026-07-28 does not have; tasks do not cross.
var removed = map[string]bool{
	"ping": true, "logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true,
	"tasks/get": true, "tasks/list": true, "tasks/result": true, "tasks/cancel": true, "tasks/update": true,
}

// Send implements transport.Peer.
func (b *modern) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	switch {
	case m.Head.Kind == jsonrpc.Notification:
		if m.Head.Method == "notifications/cancelled" {
			b.cancelled(m)
		}
		to.Done(nil) // nothing else that a client of this protocol version notifies of is known to an older server
		return
	case m.Head.Kind != jsonrpc.Request:
		to.Done(nil) // there are no requests of ours that a client could respond to
		return
	}
	params := m.Head.Params.Of(m.Raw)
	r, f := checkRequest(m.Head.Method, params)
	if f != nil {
		transport.Reply(to, f.response(m.Head.ID))
		return
	}
	switch m.Head.Method {
	case "tools/call", "prompts/get", "resources/read":
		if r.state != nil {
			b.retry(ctx, m, r, to)
			return
		}
	}
	w := b.newWaiter(ctx, m, r, to)
	s, err := b.session(m, r)
	if err != nil {
		w.fail(err)
		return
	}
	w.mu.Lock()
	w.s = s
	w.mu.Unlock()
	s.do(func(err error) {
		switch {
		case err != nil:
			w.fail(err)
		case w.ctx.Err() != nil: // taken back while the session was opening: never sent
			w.done(w.ctx.Err())
		case m.Head.Method == "server/discover":
			w.finish(s.discovered(m.Head.ID))
		case m.Head.Method == "subscriptions/listen":
			s.listen(w, m)
		default:
			s.begin(w, m, r)
		}
	})
}

// checkRequest holds a request to what 2026-07-28 demands of every one.
func checkRequest(method string, params []byte) (request, *failure) {
	r, err := readParams(params)
	switch {
	case err != nil:
		return r, fail(jsonrpc.CodeParams, "params cannot be read: %v", err)
	case method == "initialize" && len(r.version) == 0:
		f := fail(jsonrpc.CodeVersion, "initialize is of older protocol versions: this end speaks %s", ModernVersion)
		f.data = []byte(`{"supported":["` + ModernVersion + `"],"requested":` + string(requested(params)) + "}")
		return r, f
	case len(r.version) == 0 || r.version[0] != '"':
		return r, fail(jsonrpc.CodeParams, "params._meta lacks %s, which every request of %s carries", metaVersion, ModernVersion)
	case string(rawjson.Unquote(nil, r.version)) != ModernVersion:
		f := fail(jsonrpc.CodeVersion, "Unsupported protocol version: use %s", ModernVersion)
		f.data = []byte(`{"supported":["` + ModernVersion + `"],"requested":` + string(r.version) + "}")
		return r, f
	case !isObject(r.capabilities):
		return r, fail(jsonrpc.CodeParams, "params._meta lacks %s, which every request of %s carries", metaCapabilities, ModernVersion)
	case r.level != "" && levelOf(r.level) < 0:
		return r, fail(jsonrpc.CodeParams, "params._meta: %s %q is no log level", metaLevel, short(r.level))
	case removed[method] || method == "initialize":
		return r, fail(jsonrpc.CodeMethod, "Method not found: %s is not of %s", method, ModernVersion)
	}
	return r, nil
}

func requested(params []byte) []byte {
	if v := rawjson.Get(params, "protocolVersion"); !v.IsZero() {
		return v.Of(params)
	}
	return []byte(`""`)
}

// Listen implements transport.Peer. A client of this protocol version listens by a request.
func (b *modern) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	context.AfterFunc(ctx, func() { to.Done(nil) })
}

// Close implements transport.Peer.
func (b *modern) Close() error {
	b.mu.Lock()
	b.closed = true
	sessions := make([]*session, 0, len(b.sessions))
	for _, s := range b.sessions {
		sessions = append(sessions, s)
	}
	b.mu.Unlock()
	for _, s := range sessions {
		s.end(fail(jsonrpc.CodeInternal, "the gateway is closing"))
	}
	if b.next != nil {
		return b.next.Close()
	}
	return nil
}

func (b *modern) cancelled(m transport.Message) {
	id := rawjson.Get(m.Raw, "params", "requestId")
	if id.IsZero() {
		return
	}
	b.mu.Lock()
	w := b.waiting[waitKey{m.Principal, jsonrpc.ID(id.Of(m.Raw))}]
	b.mu.Unlock()
	if w != nil {
		w.stop()
	}
}

// session gives the session for a request, which has entered it, and opens it when there is none.
func (b *modern) session(m transport.Message, r request) (*session, error) {
	h := sha256.New()
	h.Write([]byte(m.Principal))
	if b.o.Open != nil {
		h.Write([]byte{0})
		h.Write(r.client)
		h.Write([]byte{0})
		h.Write(r.capabilities)
	}
	var key sessionKey
	h.Sum(key[:0])
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fail(jsonrpc.CodeInternal, "the gateway is closing")
	}
	if s := b.sessions[key]; s != nil {
		s.enter()
		return s, nil
	}
	if b.o.Open == nil && len(b.sessions) > 0 {
		return nil, fail(jsonrpc.CodeInternal, "%s keeps one session, and it is another client's: configure it to be started for each client", b.o.Server)
	}
	if len(b.sessions) >= b.o.MaxSessions && !b.evict() {
		b.o.event(journal.ToolRefused{Server: b.o.Server, Why: "busy"})
		return nil, fail(jsonrpc.CodeInternal, "%s has %d sessions open, which is the limit, and all are busy: try again later", b.o.Server, len(b.sessions))
	}
	s := newSession(b, key, m, r)
	s.enter()
	b.sessions[key] = s
	go s.open(m, r)
	return s, nil
}

// evict ends the session that was idle longest; the caller holds mu.
func (b *modern) evict() bool {
	var oldest *session
	var since time.Time
	for _, s := range b.sessions {
		if used, idle := s.idle(); idle && (oldest == nil || used.Before(since)) {
			oldest, since = s, used
		}
	}
	if oldest == nil {
		return false
	}
	delete(b.sessions, oldest.key)
	go oldest.end(errIdle)
	return true
}

var errIdle = fail(jsonrpc.CodeInternal, "the session was idle and made room for another")

// forget takes a session off the list.
func (b *modern) forget(s *session) {
	b.mu.Lock()
	if b.sessions[s.key] == s {
		delete(b.sessions, s.key)
	}
	b.mu.Unlock()
}

// waiter is a client's request that waits for its response.
type waiter struct {
	b            *modern
	to           transport.Receiver
	id           jsonrpc.ID
	token        []byte // its progress token, raw; nil for none
	level        int    // the least log level it wants; -1 for none
	can          clientCapabilities
	ctx          context.Context
	stop         context.CancelFunc
	key          waitKey
	s            *session // that it has entered; nil for one that goes on with a held call
	mu           sync.Mutex
	over         bool
	stopWatching func() bool
}

func (b *modern) newWaiter(ctx context.Context, m transport.Message, r request, to transport.Receiver) *waiter {
	w := &waiter{
		b: b, to: to, id: m.Head.ID, token: r.progress, level: levelOf(r.level),
		can: readClientCapabilities(r.capabilities), key: waitKey{m.Principal, m.Head.ID},
	}
	w.ctx, w.stop = context.WithCancel(ctx)
	b.mu.Lock()
	b.waiting[w.key] = w
	b.mu.Unlock()
	return w
}

// receive hands a frame on, unless the request is over.
func (w *waiter) receive(f *transport.Frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.to.Receive(f)
	}
}

// done ends the request, once.
func (w *waiter) done(err error) {
	w.mu.Lock()
	over := w.over
	w.over = true
	if !over {
		if w.s != nil {
			w.s.leave()
		}
		w.to.Done(err)
	}
	w.mu.Unlock()
	if over {
		return
	}
	if w.stopWatching != nil {
		w.stopWatching()
	}
	w.stop()
	w.b.mu.Lock()
	if w.b.waiting[w.key] == w {
		delete(w.b.waiting, w.key)
	}
	w.b.mu.Unlock()
}

func (w *waiter) finish(message []byte) {
	w.receive(&transport.Frame{Head: message})
	w.done(nil)
}

func (w *waiter) fail(err error) {
	switch e := err.(type) {
	case *failure:
		w.finish(e.response(w.id))
	case *refusedByServer:
		w.mu.Lock()
		if !w.over {
			w.to.Open(e.answer)
		}
		w.mu.Unlock()
		w.done(nil)
	default:
		w.done(err)
	}
}

// refusedByServer is an HTTP answer of the server that its client must see: 401 with a challenge.
type refusedByServer struct{ answer transport.Answer }

// Error implements error.
func (e *refusedByServer) Error() string {
	return "the server answered " + http.StatusText(e.answer.Status)
}

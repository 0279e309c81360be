package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// session is one session with a legacy server, kept for one modern client.
type session struct {
	b         *modern
	key       sessionKey
	principal string
	next      transport.Peer
	ctx       context.Context
	stop      context.CancelFunc

	info, capabilities, instructions []byte // of the server; raw
	offers                           serverCapabilities

	mu       sync.Mutex
	opened   bool // the server has answered initialize
	ready    bool // and nobody waits in queue
	failed   error
	waiting  int // requests of the client that are not over
	queue    []func(error)
	calls    []*call // open and held, oldest first
	serial   int
	parked   []*input // requests of the server outside of any call
	listens  []*subscription
	uris     map[string]int
	level    int // that the server was told; -1 for none
	used     time.Time
	timer    *time.Timer
	unlisted bool // ended
	closed   sync.Once
}

func newSession(b *modern, key sessionKey, m transport.Message, _ request) *session {
	s := &session{b: b, key: key, principal: m.Principal, uris: make(map[string]int), level: -1, used: time.Now()}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.timer = time.AfterFunc(b.o.Idle, s.expire)
	return s
}

// enter counts a request of the client, and leave takes it off before the client learns that it is over: a client that has
// its answer finds the session idle.
func (s *session) enter() {
	s.mu.Lock()
	s.used = time.Now()
	s.waiting++
	s.mu.Unlock()
}

func (s *session) leave() {
	s.mu.Lock()
	s.used = time.Now()
	s.waiting--
	s.mu.Unlock()
}

// idle says since when the session is, and whether nothing is under way in it.
func (s *session) idle() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.opened && s.waiting == 0 && len(s.calls) == 0 && len(s.listens) == 0
}

// expire ends the session when it was idle for long enough, and looks again later otherwise.
func (s *session) expire() {
	if s.b.o.Open == nil {
		return // there is one, and no way to open another
	}
	s.b.mu.Lock() // no request finds it meanwhile
	used, idle := s.idle()
	left := s.b.o.Idle - time.Since(used)
	if idle && left <= 0 && s.b.sessions[s.key] == s {
		delete(s.b.sessions, s.key)
	}
	s.b.mu.Unlock()
	if !idle || left > 0 {
		s.timer.Reset(max(left, s.b.o.Idle/4))
		return
	}
	s.end(errIdle)
}

// do runs f when the session is open, in the order of the calls.
func (s *session) do(f func(error)) {
	s.mu.Lock()
	switch {
	case s.ready || s.failed != nil:
		err := s.failed
		s.mu.Unlock()
		f(err)
	case len(s.queue) >= maxQueue:
		s.mu.Unlock()
		s.b.o.event(journal.ToolRefused{Server: s.b.o.Server, Why: "busy"})
		f(fail(jsonrpc.CodeInternal, "%s is starting and %d requests wait for it already: try again later", s.b.o.Server, maxQueue))
	default:
		s.queue = append(s.queue, f)
		s.mu.Unlock()
	}
}

// open initializes the server and then lets the waiting requests go on.
func (s *session) open(m transport.Message, r request) {
	err := s.initialize(m, r)
	if err != nil {
		s.b.forget(s)
	}
	s.mu.Lock()
	s.opened = err == nil
	if err != nil {
		s.failed = err
	}
	s.mu.Unlock()
	for {
		s.mu.Lock()
		queue := s.queue
		s.queue = nil
		if len(queue) == 0 {
			s.ready = err == nil && !s.unlisted
			s.mu.Unlock()
			break
		}
		s.mu.Unlock()
		for _, f := range queue {
			f(err)
		}
	}
	if err != nil {
		s.end(err)
		s.closeOwnPeer() // also when the end came while the connection was being opened
	}
}

// closeOwnPeer closes the connection if the session owns it.
func (s *session) closeOwnPeer() {
	s.mu.Lock()
	next := s.next
	s.mu.Unlock()
	if s.b.o.Open != nil && next != nil {
		s.closed.Do(func() { _ = next.Close() })
	}
}

func (s *session) initialize(m transport.Message, r request) error {
	ctx, stop := context.WithTimeout(s.ctx, s.b.o.Handshake)
	defer stop()
	next := s.b.next
	if s.b.o.Open != nil {
		var err error
		if next, err = s.b.o.Open(ctx, m); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.next = next
	s.mu.Unlock()
	capabilities, err := clientDown(r.capabilities)
	if err != nil {
		return fail(jsonrpc.CodeParams, "%s cannot be read: %v", metaCapabilities, err)
	}
	client := r.client
	if !isObject(client) {
		client = []byte(ownInfo)
	}
	params := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s}`, LegacyVersion, capabilities, client)
	a, err := ask(ctx, s.next, transport.Message{Raw: jsonrpc.NewRequest(s.newID(), "initialize", params), Principal: s.principal})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fail(jsonrpc.CodeInternal, "%s did not answer initialize within %v: see whether it runs", s.b.o.Server, s.b.o.Handshake)
	case err != nil:
		return err
	case a.message == nil:
		return &refusedByServer{a.http}
	}
	result := rawjson.Get(a.message, "result")
	if result.IsZero() {
		text, _ := rawjson.Text(a.message, "error", "message")
		if versionOf(a.message) == Sessionless {
			return fail(jsonrpc.CodeInternal, "%s was taken for one of an older protocol and is not: connect again", s.b.o.Server)
		}
		return fail(jsonrpc.CodeInternal, "%s refused initialize: %s", s.b.o.Server, short(text))
	}
	answer := result.Of(a.message)
	version, _ := rawjson.Text(answer, "protocolVersion")
	if !slices.Contains(legacyVersions, version) {
		return fail(jsonrpc.CodeInternal, "%s answered initialize with protocol version %q, which is not known: %v are", s.b.o.Server, short(version), legacyVersions)
	}
	s.instructions = rawjson.Get(answer, "instructions").Of(answer)
	s.info = rawjson.Get(answer, "serverInfo").Of(answer)
	offered := rawjson.Get(answer, "capabilities").Of(answer)
	s.offers = readServerCapabilities(offered)
	if s.capabilities, err = serverAcross(offered); err != nil {
		return fail(jsonrpc.CodeInternal, "%s: capabilities that cannot be read: %v", s.b.o.Server, err)
	}
	s.notify("notifications/initialized", nil)
	s.next.Listen(s.ctx, nil, transport.Funcs{OnReceive: s.unsolicited, OnDone: s.streamEnded})
	return nil
}

// newID makes an id of ours. Ids of clients are not passed on: clients that share a
// session may use the same.
func (s *session) newID() jsonrpc.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return jsonrpc.ID(strconv.Quote("x" + strconv.Itoa(s.serial)))
}

// notify sends a notification of ours.
func (s *session) notify(method string, params []byte) {
	s.tell(jsonrpc.NewRequest("", method, params))
}

// tell sends a message that has no response.
func (s *session) tell(raw []byte) {
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return
	}
	s.next.Send(s.ctx, transport.Message{Raw: raw, Head: head, Principal: s.principal}, transport.Funcs{})
}

// discovered is the answer to server/discover.
func (s *session) discovered(id jsonrpc.ID) []byte {
	b := fmt.Appendf(nil, `{"resultType":"complete","supportedVersions":[%q],"capabilities":%s`, ModernVersion, s.capabilities)
	if len(s.instructions) > 0 {
		b = fmt.Appendf(b, `,"instructions":%s`, s.instructions)
	}
	b = append(b, `,"ttlMs":0,"cacheScope":"private"`...)
	if isObject(s.info) {
		b = fmt.Appendf(b, `,"_meta":{%q:%s}`, metaServer, s.info)
	}
	return jsonrpc.ResultResponse(id, append(b, '}'))
}

// end closes the session: calls fail, subscriptions end as the specification wants it.
func (s *session) end(why error) {
	s.mu.Lock()
	if s.unlisted {
		s.mu.Unlock()
		return
	}
	s.unlisted = true
	if s.failed == nil {
		s.failed = why
	}
	s.ready = false
	calls, listens := slices.Clone(s.calls), slices.Clone(s.listens)
	s.mu.Unlock()
	s.timer.Stop()
	for _, l := range listens {
		l.close(true)
	}
	for _, c := range calls {
		c.abandon(why)
	}
	s.stop()
	s.closeOwnPeer()
	s.b.forget(s)
}

// streamEnded does nothing when the listening stream ends. A server on standard streams that ended is restarted by package
// client, which sends initialize itself.
func (s *session) streamEnded(error) {}

// unsolicited takes what belongs to no request, or what a server on standard streams sent
// for one without saying for which.
func (s *session) unsolicited(f *transport.Frame) { s.receive(f, nil) }

// receive takes what is not a response: c is the call it came with, nil when that is not known.
func (s *session) receive(f *transport.Frame, c *call) {
	if f.ReadAll(maxControl) != nil {
		s.b.o.event(journal.ToolNoise{Server: s.b.o.Server, What: "too_large", Bytes: int64(len(f.Head))})
		return
	}
	head, err := jsonrpc.Scan(f.Head)
	if err != nil {
		return
	}
	params := head.Params.Of(f.Head)
	switch {
	case head.Kind == jsonrpc.Request:
		s.serverRequest(head.ID, head.Method, params, c)
	case head.Kind != jsonrpc.Notification:
	case head.Method == "notifications/progress":
		s.progress(f.Head, params, c)
	case head.Method == "notifications/message":
		s.logged(f, params, c)
	case head.Method == "notifications/cancelled":
		s.withdrawn(jsonrpc.ID(rawjson.Get(params, "requestId").Of(params)))
	default:
		s.changed(f, head.Method, params)
	}
}

// serverRequest handles a request that the server sends to the client.
func (s *session) serverRequest(id jsonrpc.ID, method string, params []byte, c *call) {
	switch {
	case method == "ping":
		s.tell(jsonrpc.ResultResponse(id, []byte("{}")))
	case !asks(method):
		s.tell(jsonrpc.ErrorResponse(id, jsonrpc.CodeMethod, "Method not found: "+method+" is not passed on to a client of "+ModernVersion, nil))
	default:
		in := newInput(id, method, params)
		if c == nil {
			c = s.latest(func(c *call) bool { return c.holds })
		}
		if c == nil || !c.add(in) {
			s.queueInput(in)
		}
	}
}

// queueInput keeps a server's request until the answer to a call can carry it to the client.
func (s *session) queueInput(in *input) {
	s.mu.Lock()
	full := len(s.parked) >= maxParked
	if !full {
		s.parked = append(s.parked, in)
	}
	s.mu.Unlock()
	if full {
		s.b.o.event(journal.ToolRefused{Server: s.b.o.Server, Why: "busy"})
		s.refuse(in, "more requests of the server wait than can be kept")
	}
}

func (s *session) refuse(in *input, why string) {
	s.tell(jsonrpc.ErrorResponse(in.id, jsonrpc.CodeInternal, why, nil))
}

// latest gives the newest open call for which ok is true. Over standard streams a message
// of the server does not say which call it is for; with one call at a time there is no
// doubt, and with several the client is the same.
func (s *session) latest(ok func(*call) bool) *call {
	s.mu.Lock()
	calls := slices.Clone(s.calls)
	s.mu.Unlock()
	for _, c := range slices.Backward(calls) {
		if ok(c) {
			return c
		}
	}
	return nil
}

// withdrawn forgets a request that the server took back.
func (s *session) withdrawn(id jsonrpc.ID) {
	s.mu.Lock()
	s.parked = slices.DeleteFunc(s.parked, func(in *input) bool { return in.id == id })
	calls := slices.Clone(s.calls)
	s.mu.Unlock()
	for _, c := range calls {
		c.withdraw(id)
	}
}

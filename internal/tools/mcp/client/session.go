package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// Headers of MCP.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "MCP-Protocol-Version"
	headerLastID  = "Last-Event-ID"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// metaVersion is the key in _meta under which requests of 2026-07-28 and later have their protocol version; older requests have none.
const metaVersion = "io.modelcontextprotocol/protocolVersion"

// session is the session of a client without HTTP. Remote.mu guards it.
type session struct {
	id, version string
	initialize  []byte // the client's, to begin a new session if the server forgets this one
	initialized []byte
	ready       chan struct{} // closed when the client is initialized
	begun       bool          // ready is closed
	renewing    chan struct{} // closed when the new session has begun; nil unless one is beginning
	number      int           // number of sessions so far
}

// ownHeader returns the headers of a request that is made here for the message m; m is nil if the request has no message.
func (r *Remote) ownHeader(m *transport.Message) http.Header {
	h := http.Header{}
	r.mu.Lock()
	id, version := r.session.id, r.session.version
	r.mu.Unlock()
	if m != nil {
		h.Set("Content-Type", jsonType)
		h.Set("Accept", jsonType+", "+eventStream)
		if m.Head.Method == "initialize" {
			id, version = "", ""
		}
		if modern, ok := rawjson.Text(m.Raw, "params", "_meta", metaVersion); ok {
			version = modern
			r.setMirrorHeaders(h, m)
		}
	}
	if id != "" {
		h.Set(headerSession, id)
	}
	if version != "" {
		h.Set(headerVersion, version)
	}
	return h
}

// sendForClient sends a message of a client that does not use HTTP, passes the answer on, and calls Done. If the server turns out to speak the
// older HTTP+SSE transport, or the session had to be renewed, the message is sent again.
func (x *exchange) sendForClient(ctx context.Context) {
	r := x.r
	r.waitRenewed(ctx)
	ctx, stop := x.withTimeout(ctx)
	defer stop()
	// Send may return once the message was written. Only after notifications/initialized later messages must
	// wait until the server has accepted it.
	written := x.onWritten
	if x.m.Head.Method == "notifications/initialized" {
		written = nil
	}
	header := r.ownHeader(&x.m)
	answer, err := r.do(ctx, http.MethodPost, header, x.m.Raw, written)
	if err != nil {
		x.cancelIfEnded(ctx)
		x.finish(err)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if x.m.Head.Kind != jsonrpc.Request {
		x.finishAccepted(ctx, header, answer)
		return
	}
	if _, modern := header[http.CanonicalHeaderKey(headerMethod)]; modern && x.m.Head.Method == "tools/list" {
		x.to = &toolListReader{Receiver: x.to, r: r}
	}
	media := mediaType(answer.Header)
	switch {
	case media == eventStream && answer.StatusCode == http.StatusOK:
		r.takeSession(x, answer.Header)
		x.finish(x.deliverStream(ctx, answer))
	case media == jsonType && answer.StatusCode < 300:
		r.takeSession(x, answer.Header)
		err := x.deliverJSON(answer)
		if err != nil {
			x.cancelIfEnded(ctx)
			err = x.cutError(ctx, err)
		}
		x.finish(err)
	default:
		if mayBeSSETransport(x, answer.StatusCode) {
			if old := r.connectSSE(ctx); old != nil {
				// The POST was refused, so the server has not processed the message yet.
				over := make(chan struct{})
				old.Send(ctx, x.m, &followedDone{x.to, over})
				<-over
				return
			}
		}
		err := x.handleRefusal(ctx, header, answer)
		if err == errSessionRenewed {
			x.repeated = true
			x.sendForClient(ctx)
			return
		}
		x.finish(err)
	}
}

// errSessionRenewed reports that a message was refused because its session had ended, and may be sent again in the new session.
var errSessionRenewed = errors.New("a new session was begun")

// followedDone is a receiver that closes over after Done.
type followedDone struct {
	transport.Receiver
	over chan struct{}
}

// Done passes err on and then closes over.
func (f *followedDone) Done(err error) {
	f.Receiver.Done(err)
	close(f.over)
}

// finishAccepted ends the exchange of a message that has no response. A notifications/initialized that was accepted makes the session ready.
func (x *exchange) finishAccepted(ctx context.Context, sent http.Header, answer *http.Response) {
	if answer.StatusCode >= 300 {
		x.finish(x.handleRefusal(ctx, sent, answer))
		return
	}
	if x.m.Head.Method == "notifications/initialized" {
		s := &x.r.session
		x.r.mu.Lock()
		if len(x.m.Raw) <= maxHandshake {
			s.initialized = bytes.Clone(x.m.Raw)
		}
		if !s.begun {
			s.begun = true
			close(s.ready)
		}
		x.r.mu.Unlock()
	}
	x.finish(nil)
}

// takeSession stores the session that the answer to initialize begins, and has its version read from the answer. Other messages are ignored.
func (r *Remote) takeSession(x *exchange, h http.Header) {
	if x.m.Head.Method != "initialize" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session.id = h.Get(headerSession)
	r.session.version = ""
	r.session.number++
	r.session.initialized = nil
	if len(x.m.Raw) <= maxHandshake {
		r.session.initialize = bytes.Clone(x.m.Raw)
	}
	to := x.to
	x.to = &versionReader{Receiver: to, r: r}
}

// versionReader is the receiver of the answer to initialize: it stores the protocol version.
type versionReader struct {
	transport.Receiver
	r *Remote
}

// Receive passes the frame on, and stores the protocol version in it, if there is one, as that of the session.
func (v *versionReader) Receive(f *transport.Frame) {
	_ = f.ReadAll(maxHandshake) // one that is larger passes as it is, without a version
	if version, ok := rawjson.Text(f.Head, "result", "protocolVersion"); ok {
		v.r.mu.Lock()
		v.r.session.version = version
		v.r.mu.Unlock()
	}
	v.Receiver.Receive(f)
}

// handleRefusal returns the client's error for an answer that refuses its message; nil if the server has sent the error as a JSON-RPC message,
// which is passed on. If the session has ended it begins a new one, and returns errSessionRenewed if the message may be sent again.
func (x *exchange) handleRefusal(ctx context.Context, sent http.Header, answer *http.Response) error {
	head, rest, _ := readHead(answer.Body)
	if rest != nil {
		head = head[:min(len(head), maxBody)]
	}
	h, isMessage := refusalOf(head)
	// By the protocol 404 to a request with a session says that there is none of that name, whatever the body: the Python SDK 1.x sends an
	// error with the request's id.
	if id := sent.Get(headerSession); answer.StatusCode == http.StatusNotFound && id != "" && !x.repeated {
		if err := x.r.renewSession(ctx, id); err != nil {
			return fmt.Errorf("the session with the MCP server %s ended, and a new one could not begin: %w", x.r.o.Name, err)
		}
		// A call may change something. It is sent again where the server itself said that it did not take it, not a proxy before it.
		if x.m.Head.Kind == jsonrpc.Request && (isMessage || x.m.Head.Method != "tools/call") {
			return errSessionRenewed
		}
		return &StatusError{
			Server: x.r.o.Name, URL: x.r.displayURL(), Method: x.m.Head.Method, Status: answer.StatusCode,
			Next: "the session had ended and a new one was begun; the message was not repeated, send it again",
		}
	}
	if isMessage && rest == nil && h.Kind == jsonrpc.Response && x.m.Head.Kind == jsonrpc.Request {
		if h.ID != x.m.Head.ID { // "an error response that has no id"
			if span := rawjson.Get(head, "error"); !span.IsZero() {
				head = bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":` + string(x.m.Head.ID) + `,"error":`), span.Of(head), {'}'}}, nil)
			}
		}
		x.to.Receive(&transport.Frame{Head: head})
		return nil
	}
	return x.r.statusError(x.m, answer.StatusCode, head)
}

// waitRenewed waits until a new session has begun, if one is beginning, or ctx ends: a message sent meanwhile would go to the old session.
func (r *Remote) waitRenewed(ctx context.Context) {
	r.mu.Lock()
	renewing := r.session.renewing
	r.mu.Unlock()
	if renewing != nil {
		select {
		case <-renewing:
		case <-ctx.Done():
		}
	}
}

// renewSession begins a session in place of the one with the id old, with the client's stored handshake. If another call does so already, it only
// waits for that. It returns nil also if the session was replaced before.
func (r *Remote) renewSession(ctx context.Context, old string) error {
	r.mu.Lock()
	s := &r.session
	if s.renewing != nil || s.id != old {
		r.mu.Unlock()
		r.waitRenewed(ctx)
		return nil
	}
	first, second := s.initialize, s.initialized
	done := make(chan struct{})
	s.renewing = done
	id := jsonrpc.ID(fmt.Sprintf(`"plimsoll-again-%d"`, s.number))
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		s.renewing = nil
		r.mu.Unlock()
		close(done)
	}()
	// Not the context of the message that was refused: others need the session too.
	ctx, cancel := context.WithTimeout(r.ctx, replayWait)
	defer cancel()
	raw := withID(first, id)
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return fmt.Errorf("the client's initialize was not kept: %w", err)
	}
	var version string
	m := transport.Message{Raw: raw, Head: head}
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	x := &exchange{r: r, cancel: stop, m: m, sent: make(chan struct{}), to: transport.Funcs{OnReceive: func(f *transport.Frame) {
		if v, ok := rawjson.Text(f.Head, "result", "protocolVersion"); ok {
			version = v
		}
	}}}
	answer, err := r.do(asking, http.MethodPost, r.ownHeader(&m), raw, nil)
	if err != nil {
		return err
	}
	if mediaType(answer.Header) == eventStream {
		err = x.readEvents(asking, answer.Body, false)
	} else {
		err = x.deliverJSON(answer)
	}
	_ = answer.Body.Close() // it was read
	if err != nil || version == "" {
		return fmt.Errorf("it answered initialize with status %d and no result (%v)", answer.StatusCode, err)
	}
	r.mu.Lock()
	s.id, s.version = answer.Header.Get(headerSession), version
	s.number++
	r.mu.Unlock()
	if second == nil {
		return nil
	}
	head, err = jsonrpc.Scan(second)
	if err != nil {
		return err
	}
	m = transport.Message{Raw: second, Head: head}
	answer, err = r.do(ctx, http.MethodPost, r.ownHeader(&m), second, nil)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/bridge"
	mcpclient "github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// versions are the protocol versions that a server speaks, as far as is known.
type versions struct {
	sessions    bool // up to 2025-11-25: initialize and a session
	sessionless bool // 2026-07-28: every request stands alone
	asked       bool // server/discover was answered: the server does not speak a version that is still false
	refused     bool // initialize was refused
}

func (v versions) unknown() bool { return v == versions{} }

// versionAge is the time after which a remote server's versions are asked for again: it may be replaced by a newer one.
const versionAge = time.Hour

// merge returns what v and more know together.
func (v versions) merge(more versions) versions {
	return versions{v.sessions || more.sessions, v.sessionless || more.sessionless, v.asked || more.asked, v.refused || more.refused}
}

// detect asks a server for its versions by server/discover. It adds them to those known before, and returns both. HTTP statuses that mean "unknown
// request" are those of a server with sessions; any other failure is an error.
func (s *Server) detect(ctx context.Context, next transport.Peer, first transport.Message) (versions, error) {
	v, err := bridge.Detect(ctx, next, first, s.bridgeOptions())
	if said, ok := errors.AsType[*mcpclient.StatusError](err); ok && lacksVersion(said.Status) {
		v, err = bridge.WithSessions, nil
	}
	if err != nil {
		return versions{}, err
	}
	out := versions{sessions: v == bridge.WithSessions, sessionless: v == bridge.Sessionless, asked: true}
	out = s.knownVersions().merge(out)
	s.setVersions(out)
	return out, nil
}

// lacksVersion reports whether an HTTP status means that the server does not know the request (400 to 499), rather than that it wants
// credentials or is busy. These are the backward compatibility rules of 2026-07-28.
func lacksVersion(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusProxyAuthRequired, http.StatusRequestTimeout:
		return false
	}
	return status >= 400 && status < 500
}

// setVersions stores the versions that the server speaks.
func (s *Server) setVersions(v versions) {
	s.mu.Lock()
	s.versions, s.learnedAt = v, time.Now()
	s.mu.Unlock()
}

// knownVersions returns the versions that the server is known to speak.
func (s *Server) knownVersions() versions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions
}

// answersInitialize sends initialize to a remote server and reports whether the answer is a result; it ends the session that this began.
func answersInitialize(ctx context.Context, next transport.Peer, first transport.Message) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	header := authorization(first.Header)
	if header == nil {
		header = http.Header{}
	}
	header.Set("Accept", "application/json, text/event-stream")
	header.Set("Content-Type", "application/json")
	raw := jsonrpc.NewRequest(`"plimsoll-initialize"`, "initialize", []byte(`{"protocolVersion":"`+bridge.LegacyVersion+
		`","capabilities":{},"clientInfo":{"name":"plimsoll","version":"1"}}`))
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return false
	}
	id := make(chan string, 1)
	answer, err := transport.Ask(ctx, opening{next, id}, transport.Message{Raw: raw, Head: head, Header: header, Principal: first.Principal}, maxInitialize)
	if e, ok := next.(transport.Ender); ok && len(id) > 0 {
		header.Set("Mcp-Session-Id", <-id)
		e.End(ctx, header, transport.Funcs{})
	}
	return err == nil && !rawjson.Get(answer, "result", "protocolVersion").IsZero()
}

// opening is a Peer that sends the id of the session which an answer begins to id.
type opening struct {
	transport.Peer
	id chan string
}

// Send sends m, and watches its answer for a session id.
func (o opening) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	o.Peer.Send(ctx, m, &openingReceiver{to, o.id})
}

// An openingReceiver sends the first session id in an answer's headers to id.
type openingReceiver struct {
	transport.Receiver
	id chan string
}

// Open passes the answer on, after it has looked for a session id.
func (r *openingReceiver) Open(a transport.Answer) {
	if id := a.Header.Get("Mcp-Session-Id"); id != "" && len(r.id) == 0 {
		r.id <- id
	}
	r.Receiver.Open(a)
}

// maxInitialize bounds, in bytes, an answer to initialize or server/discover that is read; a larger one is passed on unread.
const maxInitialize = 1 << 20

// handleInitialize forwards initialize or server/discover, and records who the client is and what the server can do. If the server has resources
// but no tools, the capability tools is added to its answer, so that the client finds the tools that read large resources.
func (s *Session) handleInitialize(ctx context.Context, m transport.Message, p params, x *exchange) {
	if m.Head.Method == "initialize" {
		client, _ := rawjson.Text(m.Raw, "params", "clientInfo", "name")
		s.mu.Lock()
		s.client = client
		s.mu.Unlock()
	}
	s.o.Next.Send(ctx, m, transport.Funcs{
		OnOpen: x.Open,
		OnReceive: func(f *transport.Frame) {
			defer x.recover()
			if f.Bare() || f.Start().Head.Kind != jsonrpc.Response || f.ReadAll(maxInitialize) != nil {
				s.passBounded(ctx, f, m.Head, m.Principal, x)
				return
			}
			x.Receive(&transport.Frame{Head: s.adjustCapabilities(f.Head), Event: f.Event})
		},
		OnDone: x.Done,
	})
}

// adjustCapabilities records the protocol version and whether there are no tools, from the server's answer to initialize. It returns the answer,
// with the capability tools added if only resources are declared.
func (s *Session) adjustCapabilities(message []byte) []byte {
	head, err := jsonrpc.Scan(message)
	if err != nil || head.Result.IsZero() || message[head.Result.Start] != '{' {
		return message
	}
	body := head.Result.Of(message)
	if v, ok := rawjson.Text(body, "protocolVersion"); ok {
		s.mu.Lock()
		s.version = v
		s.mu.Unlock()
	}
	capabilities := rawjson.Get(body, "capabilities")
	if capabilities.IsZero() || body[capabilities.Start] != '{' {
		return message
	}
	tools := rawjson.Get(body, "capabilities", "tools")
	alone := tools.IsZero() && !rawjson.Get(body, "capabilities", "resources").IsZero()
	s.o.Catalogue.setAlone(alone)
	if !alone || s.o.Bare {
		return message
	}
	with, err := rawjson.Set(capabilities.Of(body), "tools", []byte("{}"))
	if err != nil {
		return message
	}
	at := rawjson.Span{Start: head.Result.Start + capabilities.Start, End: head.Result.Start + capabilities.End}
	out, err := rawjson.Splice(message, []rawjson.Edit{{Span: at, With: with}})
	if err != nil {
		return message
	}
	return out
}

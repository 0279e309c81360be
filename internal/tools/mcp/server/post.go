package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// legacyVersions are the protocol versions with sessions. In 2024-11-05 there was no such header, but a client and a server may agree on
// that version.
var legacyVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// cancelGrace bounds the wait for the answer to a request that its client cancelled: the answer may already be on its way.
const cancelGrace = 2 * time.Second

// errFailed is the answer to a request whose peer panicked.
var errFailed = errors.New("the gateway failed at this request; try it again")

// servePost serves a POST, which has a message of a client. A refusal that it returns has no id; those with an id it sends itself.
func (h *Handler) servePost(c *conn, principal string) *Refusal {
	if !isJSON(c.r.Header.Get("Content-Type")) {
		return &Refusal{Status: http.StatusUnsupportedMediaType, Code: jsonrpc.CodeInvalidRequest, Text: "the Content-Type of a message is application/json"}
	}
	raw, free, bad := c.readBody()
	defer free()
	if bad != nil {
		return bad
	}
	raw, _ = jsonrpc.Legible(raw, nil)
	head, bad := parseMessage(raw)
	if bad != nil {
		return bad
	}
	takesJSON, takesEvents := acceptedForms(c.r.Header)
	if head.Kind == jsonrpc.Request && !takesJSON && !takesEvents {
		bad = &Refusal{Status: http.StatusNotAcceptable, Text: "the Accept header must list application/json and text/event-stream"}
	} else if isModern(c.r.Header, raw, head) {
		bad = h.postModern(c, principal, raw, head)
	} else {
		bad = h.postLegacy(c, principal, raw, head)
	}
	if bad != nil {
		c.refuse(bad, head.ID)
	}
	return nil
}

// postModern passes on a message of a client without a session, after its headers were compared with its body, and serves the answer. All
// such clients of one principal share a session here, which is opened if there is none.
func (h *Handler) postModern(c *conn, principal string, raw []byte, head jsonrpc.Head) *Refusal {
	s := h.findSession(principal, "", true)
	if s == nil {
		var bad *Refusal
		s, bad = h.openSession(c, Opening{
			Message: transport.Message{Raw: raw, Head: head, Header: c.r.Header, Principal: principal},
			Header:  c.r.Header, Principal: principal, Modern: true, SessionID: c.r.Header.Get(headerSession),
		})
		if bad != nil {
			return bad
		}
		if s.Passed {
			if s, bad = s.register(""); bad != nil {
				return bad
			}
		}
	}
	defer s.release()
	if bad := checkModern(c.r.Header, raw, head, !s.Passed); bad != nil {
		h.journalRefused("protocol")
		return bad
	}
	if !s.Passed && h.o.InputSchema != nil && head.Method == "tools/call" {
		params := head.Params.Of(raw)
		tool, _ := rawjson.Text(params, "name")
		if bad := checkMirrored(c.r.Header, params, h.o.InputSchema(principal, tool)); bad != nil {
			h.journalRefused("protocol")
			return bad
		}
	}
	if !s.Passed && head.Kind == jsonrpc.Response {
		return badRequest(jsonrpc.CodeInvalidRequest, "clients send no responses in this version of MCP")
	}
	if !s.Passed && head.Method == "notifications/cancelled" {
		// The client cancels by closing the answer; an id names requests of other clients as well.
		c.answerAccepted()
		return nil
	}
	return s.sendAndServe(c, raw, head, &stream{})
}

// postLegacy passes on a message of a client with a session, and serves the answer. An initialize opens a session, which is removed again
// if the client does not learn its id.
func (h *Handler) postLegacy(c *conn, principal string, raw []byte, head jsonrpc.Head) *Refusal {
	id := c.r.Header.Get(headerSession)
	begins := head.Kind == jsonrpc.Request && head.Method == "initialize"
	s := h.findSession(principal, id, false)
	known := s != nil
	switch {
	case known && begins && !s.Passed:
		s.release()
		return badRequest(jsonrpc.CodeInvalidRequest, "this session is initialized already; a new one begins without Mcp-Session-Id")
	case known && begins && id == "":
		// The server gives no session ids: what is known here is from an earlier client.
		s.release()
		s, known = nil, false
	}
	if s == nil {
		var bad *Refusal
		s, bad = h.openSession(c, Opening{
			Message: transport.Message{Raw: raw, Head: head, Header: c.r.Header, Principal: principal},
			Header:  c.r.Header, Principal: principal, Begins: begins, SessionID: id,
		})
		if bad != nil {
			if bad.Status == http.StatusNotFound && id == "" {
				return badRequest(jsonrpc.CodeInvalidRequest, "Mcp-Session-Id is missing; begin with initialize")
			}
			return bad
		}
	}
	defer s.release()
	if !s.Passed {
		if version := c.r.Header.Get(headerVersion); version != "" && !slices.Contains(legacyVersions, version) {
			if begins {
				s.remove()
			}
			return badRequest(jsonrpc.CodeInvalidRequest, "MCP-Protocol-Version names no version that is supported here: 2025-03-26, 2025-06-18, 2025-11-25")
		}
	}
	if head.Method == "notifications/cancelled" && !s.Passed {
		s.cancelStream(raw, head)
	}
	bad := s.sendAndServe(c, raw, head, &stream{begins: begins, known: known, sessionID: id})
	if begins && !s.Passed && (bad != nil || c.broken || c.w.Header().Get(headerSession) == "") {
		s.remove() // the client does not know its id
	}
	return bad
}

// sendAndServe sends a message to the server and serves the answer to the client. The stream of the answer gets the fields begins, known and
// sessionID of like. A message that is not a request is answered with 202 once it was sent.
func (s *session) sendAndServe(c *conn, raw []byte, head jsonrpc.Head, like *stream) *Refusal {
	takesJSON, takesEvents := acceptedForms(c.r.Header)
	ask := jsonrpc.ID("")
	if head.Kind == jsonrpc.Request {
		ask = head.ID
	}
	st, bad := s.newStream(ask)
	if bad != nil {
		return bad
	}
	rd := st.reader
	// A request of a session outlives the connection that brought it; others do not.
	parent := s.ctx
	if !st.resumable {
		parent = c.r.Context()
	}
	ctx, cancel := context.WithCancel(parent)
	s.mu.Lock() // other requests find the stream
	st.begins, st.known, st.sessionID, st.method = like.begins, like.known, like.sessionID, c.r.Method
	st.onlyJSON = takesJSON && !takesEvents
	st.cancel = cancel
	s.mu.Unlock()
	if !st.resumable {
		stop := context.AfterFunc(s.ctx, cancel)
		defer stop()
	}
	m := s.newMessage(c, raw, head)
	if ask == "" && !s.Passed {
		// Sent before the client gets 202, so that the client's next message comes after it.
		defer st.detachReader(rd)
		sent := false
		defer func() {
			if !sent { // a panic, which costs this message only
				st.Done(errFailed)
			}
		}()
		s.Peer.Send(ctx, m, st)
		sent = true
		c.answerAccepted()
		return nil
	}
	s.h.background(func() {
		defer func() {
			if recover() != nil {
				s.h.countPanic()
				st.Done(errFailed)
			}
		}()
		s.Peer.Send(ctx, m, st)
	})
	st.serve(c, rd)
	return nil
}

// cancelStream ends the stream of a request that its client cancels, after cancelGrace. The server learns of it by the client's own message and
// sends nothing more.
func (s *session) cancelStream(raw []byte, head jsonrpc.Head) {
	if head.Params.IsZero() {
		return
	}
	params := head.Params.Of(raw)
	span := rawjson.Get(params, "requestId")
	if span.IsZero() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.open[jsonrpc.ID(span.Of(params))]
	if st == nil || st.begins || st.cancel == nil {
		return // initialize cannot be cancelled
	}
	st.taken = true
	time.AfterFunc(cancelGrace, st.cancel)
}

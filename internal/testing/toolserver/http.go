package toolserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// Handler serves streamable HTTP on one path, both protocol versions as the options say.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			s.post(w, r)
		case http.MethodGet:
			s.get(w, r)
		case http.MethodDelete:
			if c := s.sessionOf(w, r); c != nil {
				c.end()
				w.WriteHeader(http.StatusNoContent)
			}
		default:
			w.Header().Set("Allow", "GET, POST, DELETE")
			http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		}
	})
}

func accepts(r *http.Request, kind string) bool {
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			t, _, _ := mime.ParseMediaType(part)
			if t == kind || t == "*/*" || t == strings.Split(kind, "/")[0]+"/*" {
				return true
			}
		}
	}
	return false
}

// refuse answers with an error that belongs to no request.
func refuse(w http.ResponseWriter, status int, id jsonrpc.ID, code int, text string, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(jsonrpc.ErrorResponse(id, code, text, data))
}

func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	if t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); t != "application/json" {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	if !accepts(r, "application/json") || !accepts(r, "text/event-stream") {
		http.Error(w, "Accept must contain application/json and text/event-stream", http.StatusNotAcceptable)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	h, err := jsonrpc.Scan(raw)
	if err != nil {
		refuse(w, http.StatusBadRequest, "", jsonrpc.CodeParse, err.Error(), nil)
		return
	}
	version := r.Header.Get("Mcp-Protocol-Version")
	switch {
	case s.speaksModern() && !isOlder(version) && h.Method != "initialize" && (version != "" || s.o.Versions == ModernOnly):
		s.postModern(w, r, h, raw)
	case s.o.Versions == ModernOnly:
		refuse(w, http.StatusBadRequest, h.ID, jsonrpc.CodeVersion, "Unsupported protocol version; this server speaks "+Modern,
			fmt.Appendf(nil, `{"supported":[%q],"requested":%q}`, Modern, version))
	case version != "" && !isOlder(version) && h.Method != "initialize":
		http.Error(w, "Bad Request: unsupported protocol version "+strconv.Quote(version), http.StatusBadRequest)
	default:
		s.postLegacy(w, r, h, raw)
	}
}

func (s *Server) postModern(w http.ResponseWriter, r *http.Request, h jsonrpc.Head, raw []byte) {
	if h.Kind == jsonrpc.Response {
		refuse(w, http.StatusBadRequest, "", jsonrpc.CodeInvalidRequest, "responses are not accepted", nil)
		return
	}
	if why := headerMismatch(r.Header, h, raw); why != "" {
		refuse(w, http.StatusBadRequest, h.ID, jsonrpc.CodeHeader, "Header mismatch: "+why, nil)
		return
	}
	if h.Kind == jsonrpc.Notification {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	c := s.newSession(r.Context())
	defer c.cancel()
	k := newStream(w, s.o.Answer)
	if h.Method == "subscriptions/listen" {
		k.mode = SSE
	}
	c.start(r.Context(), h, raw, r.Header, k)
	if r.Context().Err() != nil {
		s.count.cancelled.Add(1)
	}
	k.mu.Lock()
	faulted := k.faulted
	k.mu.Unlock()
	k.detach() // others may still have a change to tell here
	if faulted {
		panic(http.ErrAbortHandler)
	}
}

// headerMismatch returns the name of the header in which a request of 2026-07-28 differs from its body.
func headerMismatch(header http.Header, h jsonrpc.Head, raw []byte) string {
	var p struct {
		Name, URI string
		Meta      meta `json:"_meta"`
	}
	_ = json.Unmarshal(h.Params.Of(raw), &p)
	version := header.Get("Mcp-Protocol-Version")
	switch {
	case version == "":
		return "MCP-Protocol-Version is missing"
	case p.Meta.Version != nil && *p.Meta.Version != version:
		return fmt.Sprintf("MCP-Protocol-Version header value '%s' does not match body value '%s'", version, *p.Meta.Version)
	}
	if h.Kind != jsonrpc.Request {
		return ""
	}
	if got := header.Get("Mcp-Method"); got != h.Method {
		return fmt.Sprintf("Mcp-Method header value '%s' does not match body value '%s'", got, h.Method)
	}
	want := p.Name
	switch h.Method {
	case "resources/read":
		want = p.URI
	case "tools/call", "prompts/get":
	default:
		return ""
	}
	if got := decodeHeader(header.Get("Mcp-Name")); got != want {
		return fmt.Sprintf("Mcp-Name header value '%s' does not match body value '%s'", got, want)
	}
	return ""
}

// decodeHeader returns the value of a header, decoded if it is in the form =?base64?…?=.
func decodeHeader(v string) string {
	inner, ok := strings.CutPrefix(v, "=?base64?")
	if !ok {
		return v
	}
	inner, ok = strings.CutSuffix(inner, "?=")
	b, err := base64.StdEncoding.DecodeString(inner)
	if !ok || err != nil {
		return v
	}
	return string(b)
}

// sessionOf returns the session that a request names. If there is none it answers with an error and returns nil.
func (s *Server) sessionOf(w http.ResponseWriter, r *http.Request) *session {
	if s.o.Versions == ModernOnly {
		w.Header().Set("Allow", "POST")
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return nil
	}
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" {
		if r.Method == http.MethodPost {
			http.Error(w, "Bad Request: no Mcp-Session-Id, and not an initialize request", http.StatusBadRequest)
		} else {
			http.Error(w, "Method Not Allowed: no session", http.StatusMethodNotAllowed)
		}
		return nil
	}
	s.mu.Lock()
	c := s.sessions[id]
	s.mu.Unlock()
	if c == nil {
		http.Error(w, "session not found", http.StatusNotFound)
	}
	return c
}

func (s *Server) postLegacy(w http.ResponseWriter, r *http.Request, h jsonrpc.Head, raw []byte) {
	var c *session
	if h.Method == "initialize" && h.Kind == jsonrpc.Request && s.o.Versions != ModernOnly {
		c = s.newSession(context.Background())
		s.mu.Lock()
		s.sessions[c.id], s.standing[c] = c, true
		s.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", c.id)
	} else if c = s.sessionOf(w, r); c == nil {
		return
	}
	if h.Kind != jsonrpc.Request {
		c.receive(h, raw)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	k := newStream(w, s.o.Answer)
	k.other = func() sink {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.standing
	}
	if s.o.EventIDs {
		k.id = token()
		c.mu.Lock()
		c.streams[k.id] = k
		c.mu.Unlock()
	}
	changed := k.changed
	if s.o.Answer == SSE {
		k.mu.Lock()
		k.begin()
		k.mu.Unlock()
	}
	done := make(chan struct{})
	// A client of this protocol version that is gone has not taken its request back.
	go func() {
		defer close(done)
		c.start(c.ctx, h, raw, r.Header, k)
	}()
	select {
	case <-done:
	case <-changed:
	case <-r.Context().Done():
	}
	k.mu.Lock()
	faulted := k.faulted
	k.mu.Unlock()
	k.detach()
	if faulted {
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	if s.o.Versions == ModernOnly || !accepts(r, "text/event-stream") {
		w.Header().Set("Allow", "POST")
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	c := s.sessionOf(w, r)
	if c == nil {
		return
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		id, number, _ := strings.Cut(last, ".")
		n, err := strconv.Atoi(number)
		c.mu.Lock()
		k := c.streams[id]
		c.mu.Unlock()
		if k == nil || err != nil {
			http.Error(w, "unknown Last-Event-ID", http.StatusBadRequest)
			return
		}
		changed, over := k.resume(w, n)
		if !over {
			select {
			case <-changed:
			case <-r.Context().Done():
			case <-c.ctx.Done():
			}
		}
		k.detach()
		return
	}
	k := newStream(w, SSE)
	k.mu.Lock()
	k.begin()
	k.mu.Unlock()
	c.setStanding(k)
	select {
	case <-r.Context().Done():
	case <-c.ctx.Done():
	}
	c.mu.Lock()
	if c.standing == sink(k) {
		c.standing = nil
	}
	c.mu.Unlock()
	k.detach()
}

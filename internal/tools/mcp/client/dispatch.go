package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
)

// readMessages reads the messages of one run of the server and dispatches them in their order, until the output ends, or a message is longer than
// any may be.
func (s *Server) readMessages(g *generation) {
	lines := jsonrpc.NewLineReader(g.out, 0)
	for {
		head, rest, err := lines.Next()
		if err != nil {
			return
		}
		if rest == nil {
			head, _ = jsonrpc.Legible(head, nil)
			s.dispatchWhole(g, head)
			continue
		}
		bounded := &boundedRest{r: rest, bound: endlessFactor * s.o.MaxFrame}
		head, rest = jsonrpc.Legible(head, bounded)
		s.dispatchLarge(g, head, rest)
		if !bounded.finish() {
			g.reason = "it sent a message that does not end"
			return
		}
	}
}

// dispatchWhole dispatches a message that is in memory. A batch, which servers of 2025-03-26 may send, is dispatched message by message. Anything
// that is not a message counts as noise.
func (s *Server) dispatchWhole(g *generation, line []byte) {
	if trimmed := bytes.TrimLeft(line, " \t"); len(trimmed) > 0 && trimmed[0] == '[' {
		if _, err := rawjson.Only(line); err == nil {
			for v, err := range rawjson.Elements(line, 0) {
				if one := v.Of(line); err == nil && one[0] == '{' {
					s.dispatchWhole(g, one)
				} else {
					s.noise.add("text", int64(v.Len()))
				}
			}
			return
		}
	}
	h, err := jsonrpc.Scan(line)
	if err != nil {
		s.explainUnread(g, line)
		s.noise.add("text", int64(len(line)))
		return
	}
	s.dispatch(g, &transport.Frame{Head: line}, h)
}

// dispatchLarge dispatches a message of which only the beginning is in memory. If that does not show its receiver, it goes to a file.
func (s *Server) dispatchLarge(g *generation, head []byte, rest io.Reader) {
	f := &transport.Frame{Head: head, Rest: rest}
	start := f.Start()
	kind := start.Head.Kind
	switch {
	case kind == jsonrpc.Response && start.Head.ID == "":
		switch alone, n := s.anyOpenRequest(); {
		case n == 0:
			s.discard("unknown_id", f)
		case n == 1 && !s.o.Shared:
			start.Head.ID = alone
			s.dispatch(g, f, start.Head)
		default:
			s.dispatchFromFile(g, f)
		}
	case kind != jsonrpc.Invalid:
		s.dispatch(g, f, start.Head)
	case start.Head.Method != "" || start.Open == "id":
		s.dispatchFromFile(g, f)
	default:
		s.explainUnread(g, head)
		s.discard("text", f)
	}
}

// anyOpenRequest returns the id of one of the open requests ("" if there is none), and their number.
func (s *Server) anyOpenRequest() (jsonrpc.ID, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.open {
		return id, len(s.open)
	}
	return "", 0
}

// discard reads a message to its end and drops it. If what is not "", its bytes count as noise of that kind.
func (s *Server) discard(what string, f *transport.Frame) {
	n := int64(len(f.Head))
	if f.Rest != nil {
		more, _ := io.Copy(io.Discard, f.Rest) // it is not needed, so it may break off
		n += more
	}
	if what != "" {
		s.noise.add(what, n)
	}
}

// dispatch passes a message to its receiver. If h.IDAt lies beyond f.Head, the id of a response is not replaced.
func (s *Server) dispatch(g *generation, f *transport.Frame, h jsonrpc.Head) {
	switch h.Kind {
	case jsonrpc.Response:
		s.deliverResponse(g, f, h)
	case jsonrpc.Request:
		s.mu.Lock()
		g.serverRequests.add(h.ID)
		s.mu.Unlock()
		s.toListener(s.receiverOf(), f)
	default:
		s.deliverNotification(f, h)
	}
}

// deliverResponse passes a response to the request that it answers, which is then no longer open; a response to no open request is dropped.
// The answer to initialize is also stored. A response that broke off is recorded in g.broken.
func (s *Server) deliverResponse(g *generation, f *transport.Frame, h jsonrpc.Head) {
	s.mu.Lock()
	c := s.open[h.ID]
	ended := s.recent.states[h.ID]
	if c != nil && c.gen == g {
		delete(s.open, h.ID)
		s.forget(c)
		s.recent.remember(h.ID, answered)
	} else {
		c = nil
	}
	s.mu.Unlock()
	g.answered.Store(true)
	if c == nil {
		switch ended {
		case answered:
			s.discard("second_answer", f)
		case late: // the request was cancelled too late
			s.discard("", f)
		default:
			s.discard("unknown_id", f)
		}
		return
	}
	if c.method == "initialize" && f.ReadAll(maxHandshake) == nil {
		s.keepHandshake(c, f.Head)
	}
	if c.id != c.original {
		if id := h.IDAt; id.End <= len(f.Head) && !id.IsZero() {
			f.Head = splice(f.Head, rawjson.Edit{Span: id, With: []byte(c.original)})
		}
	}
	if !c.receive(f, true) {
		g.broken = append(g.broken, c) // attend ends it, with the reason why the server ended
	}
}

// deliverNotification passes a notification to the request that it belongs to, or else to the clients that listen. Progress restarts the timeout
// of its request.
func (s *Server) deliverNotification(f *transport.Frame, h jsonrpc.Head) {
	if !f.Whole() {
		s.toListener(s.receiverOf(), f)
		return
	}
	var at rawjson.Span
	if h.Method == "notifications/progress" {
		at = rawjson.Get(f.Head, "params", "progressToken")
	} else {
		at = rawjson.Get(f.Head, "params", "_meta", subscription)
	}
	if !at.IsZero() {
		key := string(at.Of(f.Head))
		s.mu.Lock()
		c, with := s.tokens[key], ""
		if h.Method != "notifications/progress" {
			c = s.open[jsonrpc.ID(key)]
		}
		s.mu.Unlock()
		if c != nil {
			if with = string(c.original); h.Method == "notifications/progress" {
				with = c.originalToken
				c.restartTimeout(s.o.Timeout)
			}
			if with != key {
				f.Head = splice(f.Head, rawjson.Edit{Span: at, With: []byte(with)})
			}
			c.receive(f, false)
			return
		}
		if s.o.Shared { // the request has ended, so no client knows this token
			s.discard("unread", f)
			return
		}
	}
	if s.o.Shared {
		s.toAll(f)
		return
	}
	s.toListener(s.receiverOf(), f)
}

// receiverOf returns the client that gets the server's own requests and notifications: the first one that listens, else the main one.
func (s *Server) receiverOf() *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		if c.newestListener() != nil {
			return c
		}
	}
	return s.main
}

// toListener passes a message to the listener of c. Without one it goes to the newest open request of any client. If there is none either, it is
// kept for the next listener of c if there is room, and dropped otherwise.
func (s *Server) toListener(c *client, f *transport.Frame) {
	if l := c.newestListener(); l != nil {
		l.receive(f)
		return
	}
	s.mu.Lock()
	var open *call
	for _, r := range s.open {
		if r.gen != nil && r.method != "plimsoll/again" && (open == nil || r.at > open.at) {
			open = r
		}
	}
	s.mu.Unlock()
	if open != nil {
		open.receive(f, false)
		return
	}
	if f.Whole() {
		if l, kept := c.keepForListener(f.Head); l != nil {
			l.receive(f) // a listener has come just now
			return
		} else if kept {
			return
		}
	}
	s.discard("unread", f)
}

// toAll passes a notification to every client that listens; if none does, to the main one.
func (s *Server) toAll(f *transport.Frame) {
	s.mu.Lock()
	clients := append([]*client(nil), s.clients...)
	s.mu.Unlock()
	told := false
	for _, c := range clients {
		if l := c.newestListener(); l != nil {
			l.receive(f)
			told = true
		}
	}
	if !told {
		s.toListener(s.main, f)
	}
}

// dispatchFromFile writes a message to a temporary file to find out whom it is for, because its id comes after a part that is too large for
// memory. Then it dispatches the message. One that is too large or invalid is dropped.
func (s *Server) dispatchFromFile(g *generation, f *transport.Frame) {
	file, err := os.CreateTemp(s.o.TempDir, "plimsoll-frame-*")
	if err != nil {
		s.discard("too_large", f)
		return
	}
	// At once, so that nothing is left when we are killed. Windows removes it only closed.
	removed := os.Remove(file.Name()) == nil
	defer func() {
		_ = file.Close()
		if !removed {
			_ = os.Remove(file.Name())
		}
	}()
	var find jsonrpc.Finder
	n, err := io.Copy(io.MultiWriter(file, &find), io.LimitReader(f.Reader(), s.o.MaxFrame+1))
	if err != nil || n > s.o.MaxFrame {
		s.noise.add("too_large", n)
		s.discard("too_large", &transport.Frame{Rest: f.Rest})
		return
	}
	h, id := find.Head()
	if h.Kind == jsonrpc.Invalid {
		s.noise.add("text", n)
		return
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		s.noise.add("too_large", n)
		return
	}
	rest := io.Reader(file)
	if c := s.openCall(h.ID); h.Kind == jsonrpc.Response && c != nil && c.id != c.original {
		// The client's own id takes the place of ours, in the stream.
		tail := io.NewSectionReader(file, id.End, n-id.End)
		rest = io.MultiReader(io.NewSectionReader(file, 0, id.Start), strings.NewReader(string(c.original)), tail)
	}
	head := make([]byte, min(int64(jsonrpc.Hold), n))
	read, err := io.ReadFull(rest, head)
	if err != nil && err != io.ErrUnexpectedEOF {
		s.noise.add("too_large", n)
		return
	}
	h.IDAt = jsonrpc.Span{Start: 1, End: 1 << 62} // the id is replaced already
	s.dispatch(g, &transport.Frame{Head: head[:read], Rest: rest}, h)
}

// openCall returns the open request with an id; nil if there is none.
func (s *Server) openCall(id jsonrpc.ID) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

// subscription is the key under which a server of 2026-07-28 names, in the _meta of a
// notification, the subscriptions/listen request that it belongs to.
const subscription = "io.modelcontextprotocol/subscriptionId"

// progressToken returns the span of the progress token in a request; zero if there is none.
func progressToken(raw []byte) rawjson.Span {
	return rawjson.Get(raw, "params", "_meta", "progressToken")
}

// hasPlainMembers reports whether the members that identify a request are in a message at most once, and spelled as in the specification.
// Of two, a server may use the one that is not replaced, and some accept "ID" for "id": in a shared process a client could so answer,
// cancel or report the progress of another client's request.
func hasPlainMembers(raw []byte) bool {
	at := 0
	for _, names := range [][]string{{"id", "params"}, {"requestId", "_meta"}, {"progressToken"}} {
		seen, below := map[string]bool{}, -1
		for m, err := range rawjson.Members(raw, at) {
			if err != nil {
				return at > 0 // below the top it is not an object, so it has no members
			}
			for _, name := range names {
				if !bytes.EqualFold(m.Key, []byte(name)) {
					continue
				}
				if seen[name] || string(m.Key) != name {
					return false
				}
				seen[name] = true
				if name == names[len(names)-1] {
					below = m.Value.Start
				}
			}
		}
		if below < 0 || raw[below] != '{' {
			break
		}
		at = below
	}
	return true
}

// rewriteIDs returns a request with the id and progress token of c in place of the client's; token is the span of the client's token.
func rewriteIDs(m transport.Message, token rawjson.Span, c *call) []byte {
	edits := []rawjson.Edit{{Span: m.Head.IDAt, With: []byte(c.id)}}
	if !token.IsZero() {
		edits = append(edits, rawjson.Edit{Span: token, With: []byte(c.token)})
	}
	return splice(m.Raw, edits...)
}

// splice returns raw with the edits, which may be in any order; their spans must not overlap.
func splice(raw []byte, edits ...rawjson.Edit) []byte {
	sorting.By(edits, func(a, b rawjson.Edit) int { return a.Span.Start - b.Span.Start })
	out, err := rawjson.Splice(raw, edits)
	if err != nil {
		return raw // spans of one message do not overlap
	}
	return out
}

// withID returns a message with another id; unchanged if it has none.
func withID(raw []byte, id jsonrpc.ID) []byte {
	span := rawjson.Get(raw, "id")
	if span.IsZero() {
		return raw
	}
	return splice(raw, rawjson.Edit{Span: span, With: []byte(id)})
}

// endlessFactor times MaxFrame is the length at which a message is taken for one that never ends. Up to that length a message that is too
// large is read and dropped, so that it costs one request and not the server.
const endlessFactor = 2

// errEndless is the error for a message that was given up because it does not end.
var errEndless = errors.New("it does not end")

// boundedRest is the rest of a message; reading fails with errEndless once bound bytes were read.
type boundedRest struct {
	r     io.Reader
	bound int64
	read  int64
}

// Read fails with errEndless once bound bytes have been read.
func (e *boundedRest) Read(p []byte) (int, error) {
	if e.read >= e.bound {
		return 0, fmt.Errorf("%w: more than %s came of one message, and its server is ended", errEndless, limit.Bytes(e.bound).Human())
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.bound-e.read)])
	e.read += int64(n)
	return n, err
}

// finish reads and drops what was not read yet, and reports whether the message ended within the bound.
func (e *boundedRest) finish() bool {
	_, err := io.Copy(io.Discard, e)
	return !errors.Is(err, errEndless)
}

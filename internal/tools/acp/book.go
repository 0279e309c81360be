package acp

import (
	"cmp"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// Bounds of the tables of a relay.
const (
	maxOpen     = 256 // requests
	maxSessions = 128
	maxName     = 256  // bytes of a session's id or a method
	maxFolder   = 1024 // bytes
)

// Session is one conversation between the editor and the agent.
type Session struct {
	ID     string
	Folder string
	Began  time.Time
	// Active is the time of its last message.
	Active time.Time
	// Used and Size are the tokens in its context and the most there may be, as the agent last reported; 0 before that.
	Used, Size int64
}

// State is a snapshot of a relay.
type State struct {
	// Confirmed is set when the first line was an initialize of the protocol.
	Confirmed bool
	Sessions  []Session // the newest last
	// Most is the highest number of sessions that were open at once.
	Most int
	// Opened counts all sessions so far, Requests all requests of the editor.
	Opened, Requests int64
	// Open counts the requests that have not been answered.
	Open int
	// LongestLine is the longest line that passed either way, in bytes.
	LongestLine int64
	// Wrapped counts the MCP servers that were put behind the gateway.
	Wrapped int64
	// Missed counts lines whose head could not be read, and requests and sessions for which the tables had no room.
	Missed int64
}

// request is an open request of the editor.
type request struct {
	id              jsonrpc.ID
	method          string
	session, folder string
}

// book keeps the open requests and the sessions. Its caller holds the relay's lock.
type book struct {
	state State
	open  []request
}

// clipID returns a copy of s that keeps no line alive; "" if s is longer than most bytes.
func clipID(s string, most int) string {
	if len(s) > most {
		return ""
	}
	return strings.Clone(s)
}

// recordSent records a message from the editor: its session is active, and a request is open until it is answered. A request beyond maxOpen is
// only counted as missed.
func (b *book) recordSent(h jsonrpc.Head, line []byte, now time.Time) {
	params := h.Params.Of(line)
	session := text(params, maxName, "sessionId")
	b.touch(session, now)
	if h.Kind != jsonrpc.Request {
		return
	}
	b.state.Requests++
	if len(b.open) >= maxOpen {
		b.state.Missed++
		return
	}
	r := request{id: h.ID, method: clipID(h.Method, maxName), session: session}
	if beginsSession(r.method) {
		r.folder = text(params, maxFolder, "cwd")
	}
	b.open = append(b.open, r)
	b.state.Open = len(b.open)
}

// beginsSession reports whether a request begins a session, or takes one up again.
func beginsSession(method string) bool {
	switch method {
	case "session/new", "session/load", "session/resume", "session/fork":
		return true
	}
	return false
}

// recordAnswer records a response of the agent: its request is no longer open. It adds or removes the session if the request was for that, and
// reports whether the sessions have changed so. An error changes no session.
func (b *book) recordAnswer(h jsonrpc.Head, line []byte, now time.Time) bool {
	for i, r := range b.open {
		if r.id != h.ID {
			continue
		}
		b.open = append(b.open[:i], b.open[i+1:]...)
		b.state.Open = len(b.open)
		if h.Result.IsZero() {
			return false
		}
		switch {
		case beginsSession(r.method):
			id := r.session
			if h.Result.End <= len(line) { // or it came in pieces
				id = cmp.Or(text(h.Result.Of(line), maxName, "sessionId"), id)
			}
			return b.addSession(Session{ID: id, Folder: r.folder, Began: now, Active: now})
		case r.method == "session/close" || r.method == "session/delete":
			return b.removeSession(r.session)
		}
		b.touch(r.session, now)
		return false
	}
	return false
}

// recordUpdate records a notification or request of the agent: its session is active, and a usage_update sets how full its window is.
func (b *book) recordUpdate(h jsonrpc.Head, line []byte, now time.Time) {
	params := h.Params.Of(line)
	s := b.touch(text(params, maxName, "sessionId"), now)
	if s == nil || h.Method != "session/update" || text(params, maxName, "update", "sessionUpdate") != "usage_update" {
		return
	}
	s.Used, s.Size = number(params, "update", "used"), number(params, "update", "size")
}

// addSession adds a session, and returns false if it has no ID or is there already. The oldest of more than maxSessions is dropped and counted.
func (b *book) addSession(s Session) bool {
	if s.ID == "" || b.find(s.ID) != nil {
		return false
	}
	if len(b.state.Sessions) >= maxSessions {
		b.state.Missed++
		b.state.Sessions = b.state.Sessions[1:]
	}
	b.state.Sessions = append(b.state.Sessions, s)
	b.state.Opened++
	b.state.Most = max(b.state.Most, len(b.state.Sessions))
	return true
}

// removeSession removes a session, and reports whether it was there.
func (b *book) removeSession(id string) bool {
	for i, s := range b.state.Sessions {
		if s.ID == id {
			b.state.Sessions = append(b.state.Sessions[:i:i], b.state.Sessions[i+1:]...)
			return true
		}
	}
	return false
}

// find returns the session with this ID; nil if there is none.
func (b *book) find(id string) *Session {
	for i := range b.state.Sessions {
		if b.state.Sessions[i].ID == id {
			return &b.state.Sessions[i]
		}
	}
	return nil
}

// touch marks a session as active now and returns it; nil if id is "" or there is no such session.
func (b *book) touch(id string, now time.Time) *Session {
	if id == "" {
		return nil
	}
	s := b.find(id)
	if s != nil {
		s.Active = now
	}
	return s
}

// text returns a string in a raw object, by its keys; "" if there is none or it is longer than most bytes.
func text(object []byte, most int, keys ...string) string {
	v := rawjson.Get(object, keys...)
	if v.Len() < 2 || v.Len() > 6*most || object[v.Start] != '"' {
		return ""
	}
	return clipID(string(rawjson.Unquote(nil, v.Of(object))), most)
}

// number returns a non-negative whole number in a raw object, by its keys; 0 if there is none.
func number(object []byte, keys ...string) int64 {
	var n int64
	for _, c := range rawjson.Get(object, keys...).Of(object) {
		if c < '0' || c > '9' || n > 1<<52 {
			return 0
		}
		n = 10*n + int64(c-'0')
	}
	return n
}

// Package server is the side of the gateway that MCP clients speak to: standard streams and streamable HTTP, for servers that somebody else provides
// as a [transport.Peer].
//
//	mux.Handle("/mcp/files", server.New(server.Options{Open: open}))
//	err := server.Stdio(ctx, os.Stdin, os.Stdout, local, server.StdioOptions{})
//
// [New] serves clients of both protocol versions at once: with sessions (2025-03-26 to 2025-11-25) and without (2026-07-28); [Stdio] serves one
// client. A passed session ([Session].Passed) is the server's own and reaches the client as it is. Any other is ours: unguessable, of use to its
// principal only, ended by DELETE, after [Options].Idle, or as the least recently used of too many; its requests outlive a connection.
//
// A message of a client is held whole, at most MaxMessage of one and MaxBodies of all. Of what comes back small messages are held for slow readers,
// within MaxStored for all; beyond that the server waits and the bytes pass through one buffer of 32 KiB. A client that takes nothing for
// WriteTimeout is given up. Errors made here are JSON-RPC errors with the HTTP status that the specification names. Nothing of a session outlives
// [Handler.Close]; a panic ends at most the call that it happened in.
package server

import (
	"container/list"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/journal"
)

// Handler serves streamable HTTP. It ignores the path: the caller routes one to it.
type Handler struct {
	o   Options
	ctx context.Context // ends at Close
	end context.CancelFunc
	wg  sync.WaitGroup // goroutines that outlive a request

	mu       sync.Mutex
	closed   bool
	waited   bool // Close waits for wg
	sessions map[string]*session
	recent   *list.List // of *session, the least recently used first
	sweeper  *time.Timer

	named   atomic.Value // string: the URL of its metadata in the server's last WWW-Authenticate
	stored  store
	bodies  atomic.Int64
	panics  atomic.Int64
	dropped atomic.Int64
	evicted atomic.Int64
	slow    atomic.Int64
	serving atomic.Int64
}

// Stats are counts since New, and current numbers.
type Stats struct {
	Sessions int   // current ones, with the connections for clients without a session
	Serving  int64 // HTTP requests that are being served
	Stored   int64 // bytes of events that are held
	Bodies   int64 // bytes of clients' messages that are held
	Panics   int64 // requests and calls of peers that panicked
	Dropped  int64 // messages of servers that no stream could take
	Evicted  int64 // sessions ended because there were too many
	Slow     int64 // clients given up because they took nothing for the write timeout
}

// New returns a handler. Close it to end its sessions.
func New(o Options) *Handler {
	o.MaxSessions = orDefault(o.MaxSessions, DefaultMaxSessions)
	o.Idle = orDefault(o.Idle, DefaultIdle)
	o.MaxMessage = orDefault(o.MaxMessage, DefaultMaxMessage)
	o.MaxBodies = orDefault(o.MaxBodies, DefaultMaxBodies)
	o.MaxOpen = orDefault(o.MaxOpen, DefaultMaxOpen)
	o.MaxStored = orDefault(o.MaxStored, DefaultMaxStored)
	o.MaxStoredSession = orDefault(o.MaxStoredSession, DefaultMaxStoredSession)
	o.KeepAlive = orDefault(o.KeepAlive, DefaultKeepAlive)
	o.WriteTimeout = orDefault(o.WriteTimeout, DefaultWriteTimeout)
	o.ReadTimeout = orDefault(o.ReadTimeout, DefaultReadTimeout)
	h := &Handler{o: o, sessions: map[string]*session{}, recent: list.New()}
	h.stored.max = o.MaxStored
	h.ctx, h.end = context.WithCancel(context.Background())
	return h
}

func orDefault[T int | int64 | time.Duration](v, d T) T {
	if v <= 0 {
		return d
	}
	return v
}

// Stats returns the counts.
func (h *Handler) Stats() Stats {
	h.mu.Lock()
	sessions := len(h.sessions)
	h.mu.Unlock()
	return Stats{
		Sessions: sessions, Serving: h.serving.Load(), Stored: h.stored.used.Load(), Bodies: h.bodies.Load(),
		Panics: h.panics.Load(), Dropped: h.dropped.Load(), Evicted: h.evicted.Load(), Slow: h.slow.Load(),
	}
}

// Close ends all sessions and waits for their peers to be closed. Requests that are being
// served end soon; new ones get 503.
func (h *Handler) Close() error {
	h.mu.Lock()
	h.closed = true
	var all []*session
	for _, s := range h.sessions {
		all = append(all, s)
	}
	if h.sweeper != nil {
		h.sweeper.Stop()
	}
	h.mu.Unlock()
	for _, s := range all {
		s.remove()
	}
	h.end()
	h.mu.Lock()
	h.waited = true
	h.mu.Unlock()
	h.wg.Wait()
	return nil
}

// ServeHTTP implements http.Handler. A panic of a request is counted and answered with an error; the connection is cut if an answer had
// begun, so that the client sees that it broke off.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.serving.Add(1)
	defer h.serving.Add(-1)
	c := newConn(w, r, h)
	defer func() {
		switch p := recover(); {
		case p == nil:
		case p == http.ErrAbortHandler: //nolint:errorlint // what net/http itself compares
			panic(p)
		default:
			h.countPanic()
			if c.begun {
				panic(http.ErrAbortHandler) // so that the client sees that the answer broke off
			}
			c.refuse(&Refusal{Status: http.StatusInternalServerError, Code: jsonrpc.CodeInternal, Text: "the gateway failed at this request; try it again"}, "")
		}
	}()
	if bad := h.route(c); bad != nil {
		c.refuse(bad, "")
	}
	if c.broken {
		panic(http.ErrAbortHandler)
	}
	// net/http still has to write the bytes in its buffers, the end of the body, or the whole of an answer without a body. The
	// deadline of the last write, or of the connection's last request, may have passed.
	c.extendDeadline()
}

// route checks where a request comes from and who sends it, and serves it by its method.
func (h *Handler) route(c *conn) *Refusal {
	if bad := h.checkOrigin(c.r); bad != nil {
		return bad
	}
	principal := ""
	if h.o.Principal != nil {
		var err error
		if principal, err = h.o.Principal(c.r); err != nil {
			return asRefusal(err, http.StatusUnauthorized)
		}
	}
	switch c.r.Method {
	case http.MethodPost:
		return h.servePost(c, principal)
	case http.MethodGet:
		return h.serveGet(c, principal)
	case http.MethodDelete:
		return h.serveDelete(c, principal)
	case http.MethodOptions:
		c.w.Header().Set("Allow", allowed)
		c.begun = true
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return notAllowed(allowed)
}

const allowed = "GET, POST, DELETE"

// notAllowed returns the refusal of an HTTP method; allow lists the ones that are allowed.
func notAllowed(allow string) *Refusal {
	return &Refusal{
		Status: http.StatusMethodNotAllowed, Code: jsonrpc.CodeInvalidRequest, Text: "this method is not allowed here; messages are sent by POST",
		Header: http.Header{"Allow": {allow}},
	}
}

// asRefusal returns the refusal that err is, or one with this status and the text of err.
func asRefusal(err error, status int) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	if errors.Is(err, ErrNoSession) {
		return noSession()
	}
	return &Refusal{Status: status, Code: jsonrpc.CodeInternal, Text: err.Error()}
}

func noSession() *Refusal {
	return &Refusal{Status: http.StatusNotFound, Code: jsonrpc.CodeInvalidRequest, Text: ErrNoSession.Error()}
}

func badRequest(code int, text string) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Code: code, Text: text}
}

// journalRefused writes an event for a message that was not passed on; why is its reason.
func (h *Handler) journalRefused(why string) {
	if h.o.Journal != nil {
		h.o.Journal.Append(journal.ToolRefused{Server: h.o.Name, Why: why})
	}
}

// safely calls f. If f panics, the panic is counted and does not end the process.
func (h *Handler) safely(f func()) {
	defer func() {
		if recover() != nil {
			h.countPanic()
		}
	}()
	f()
}

// countPanic counts and journals a panic.
func (h *Handler) countPanic() {
	h.panics.Add(1)
	h.journalRefused("internal")
}

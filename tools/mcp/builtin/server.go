package builtin

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// DefaultMaxCalls bounds the calls that are open at one time.
const DefaultMaxCalls = 64

// Options configure a [Server]. Name is required.
type Options struct {
	// Name, Title and Version identify the server in its serverInfo.
	Name, Title, Version string
	// Instructions describe to a model how to use the tools; clients put them into its prompt. At
	// most [MaxInstructions] bytes.
	Instructions string
	// Tools are at most [MaxTools], and together at most [MaxListBytes] in the list.
	Tools []Tool
	// Journal gets a ToolRefused event for each call that was not done ("busy") and each panic
	// ("internal"); nil is none.
	Journal *journal.Journal
	// MaxCalls bounds the calls that are open at one time, of all clients (DefaultMaxCalls). One
	// more is answered with an error that says so.
	MaxCalls int
}

// Stats counts what a server did.
type Stats struct {
	Open    int   // calls that are being worked on
	Calls   int64 // that were begun
	Refused int64 // for being too many
	Panics  int64 // of tools and receivers
}

// Server is an MCP server of Go functions, for any number of clients of both protocol versions.
type Server struct {
	o     Options
	tools map[string]*Tool
	names []string // sorted
	fixed fixedResults

	calls, refused, panics atomic.Int64

	mu      sync.Mutex
	closed  bool
	open    int            // calls that hold a place
	under   map[*call]bool // calls that were not finished: those, and answers that are being read
	running sync.WaitGroup
}

// New returns a server of these tools. Its errors name the tool and what is wrong with it.
func New(o Options) (*Server, error) {
	if o.MaxCalls <= 0 {
		o.MaxCalls = DefaultMaxCalls
	}
	if o.Version == "" {
		o.Version = "0.0.0"
	}
	s := &Server{o: o, tools: make(map[string]*Tool, len(o.Tools)), under: map[*call]bool{}}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	return s, nil
}

// Dial returns a connection to the server. It costs nothing. Close of it ends the calls that came
// by it, and leaves the server and its other connections as they are.
func (s *Server) Dial() transport.Peer { return &connection{s: s} }

// Close takes back the calls that are open and waits for their tools to return. Calls that
// come later are told Done with an error.
func (s *Server) Close() error {
	s.cancelCalls(errClosed, func(*call) bool { return true }, true)
	s.running.Wait()
	return nil
}

// Stats returns the counts.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Open: s.open, Calls: s.calls.Load(), Refused: s.refused.Load(), Panics: s.panics.Load()}
}

// take admits a call within the bound on open calls, or says why it cannot.
func (s *Server) take(c *call) (busy, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || c.w.closed.Load():
		return false, true
	case s.open >= s.o.MaxCalls:
		return true, false
	}
	s.open++
	s.under[c] = true
	s.running.Add(1)
	s.calls.Add(1)
	return false, false
}

func (s *Server) freeSlot() {
	s.mu.Lock()
	s.open--
	s.mu.Unlock()
}

func (s *Server) forget(c *call) {
	c.freeSlot()
	s.mu.Lock()
	delete(s.under, c)
	s.mu.Unlock()
}

// cancelCalls ends the calls that match which. There are few calls, so checking all of them is cheaper than keeping an index.
func (s *Server) cancelCalls(cause error, which func(*call) bool, closes bool) {
	var ends []*call
	s.mu.Lock()
	s.closed = s.closed || closes
	for c := range s.under {
		if which(c) {
			ends = append(ends, c)
		}
	}
	s.mu.Unlock()
	for _, c := range ends {
		c.cancel(cause)
	}
}

func (s *Server) event(tool, why string) {
	if s.o.Journal != nil {
		s.o.Journal.Append(journal.ToolRefused{Server: s.o.Name, Tool: clip(tool, maxName), Why: why})
	}
}

func (s *Server) panicked(tool string) {
	s.panics.Add(1)
	s.event(tool, "internal")
}

// connection identifies the client that a call came from.
type connection struct {
	s      *Server
	closed atomic.Bool
}

// Join is for a gateway that shares one way between clients: each gets one of its own.
func (w *connection) Join() transport.Peer { return w.s.Dial() }

// Send implements [transport.Peer].
func (w *connection) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	switch {
	case m.Head.Kind == jsonrpc.Notification && m.Head.Method == "notifications/cancelled":
		w.cancelled(m)
		to.Done(nil)
	case m.Head.Kind != jsonrpc.Request:
		to.Done(nil) // nothing else is of interest, and nobody was asked anything
	case w.closed.Load():
		to.Done(errClosed)
	default:
		w.s.answer(ctx, w, m, to)
	}
}

// Listen implements [transport.Peer]. The tools never change, so there is nothing to report.
func (w *connection) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	context.AfterFunc(ctx, func() {
		defer func() { _ = recover() }() // a receiver must not end the process
		to.Done(nil)
	})
}

// Close implements [transport.Peer].
func (w *connection) Close() error {
	w.closed.Store(true)
	w.s.cancelCalls(errClosed, func(c *call) bool { return c.w == w }, false)
	return nil
}

package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// DefaultMaxCalls is the default of Options.MaxCalls.
const DefaultMaxCalls = 64

// Options configure a [Server]. Name is required.
type Options struct {
	// Name, Title and Version identify the server in its serverInfo.
	Name, Title, Version string
	// Instructions describe to a model how to use the tools; clients put them into its prompt. At
	// most [MaxInstructions] bytes.
	Instructions string
	// Tools are at most [MaxTools], whose list has at most [MaxListBytes].
	Tools []Tool
	// Journal gets a ToolRefused event for each call that was refused ("busy") and for each panic ("internal"); it may be nil.
	Journal *journal.Journal
	// MaxCalls bounds the calls of all clients that are open at one time (DefaultMaxCalls). Further ones are answered with an error that
	// says so.
	MaxCalls int
}

// Stats counts what a server did.
type Stats struct {
	Open    int   // calls that are being worked on
	Calls   int64 // calls that were begun
	Refused int64 // calls that were too many
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
	open    int            // number of calls that hold a slot
	under   map[*call]bool // calls that have not finished: those with a slot, and answers that are being read
	running sync.WaitGroup
}

// New returns a server of these tools. The error names the tool and what is wrong with it.
func New(o Options) (*Server, error) {
	o.MaxCalls = cmp.Or(max(o.MaxCalls, 0), DefaultMaxCalls)
	o.Version = cmp.Or(o.Version, "0.0.0")
	s := &Server{o: o, tools: make(map[string]*Tool, len(o.Tools)), under: map[*call]bool{}}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	return s, nil
}

// Dial returns a connection to the server. Close of the connection cancels the calls that came by it, and affects neither the server nor
// its other connections.
func (s *Server) Dial() transport.Peer { return &connection{s: s} }

// Close cancels the open calls and waits for their tools to return. For later calls Done gets an error.
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

// admit admits a call and counts it. If it cannot, busy means that MaxCalls are open, closed that the server or the connection is closed.
func (s *Server) admit(c *call) (busy, closed bool) {
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

// forget frees the slot of a call, and takes the call from those under way.
func (s *Server) forget(c *call) {
	c.freeSlot()
	s.mu.Lock()
	delete(s.under, c)
	s.mu.Unlock()
}

// cancelCalls cancels the calls for which which returns true; closes also closes the server. They are few.
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

// event journals that a call of a tool was refused or failed, if there is a journal.
func (s *Server) event(tool, why string) {
	if s.o.Journal != nil {
		s.o.Journal.Append(journal.ToolRefused{Server: s.o.Name, Tool: limit.Short(tool, maxName), Why: why})
	}
}

// countPanic counts and journals a panic of a tool.
func (s *Server) countPanic(tool string) {
	s.panics.Add(1)
	s.event(tool, "internal")
}

// connection identifies the client that a call came from.
type connection struct {
	s      *Server
	closed atomic.Bool
}

// Join returns another connection, for a gateway that gives each of its clients one.
func (w *connection) Join() transport.Peer { return w.s.Dial() }

// Send implements [transport.Peer]: it answers requests, cancels calls that a notification names, and drops everything else.
func (w *connection) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	switch {
	case m.Head.Kind == jsonrpc.Notification && m.Head.Method == "notifications/cancelled":
		w.cancelled(m)
		to.Done(nil)
	case m.Head.Kind != jsonrpc.Request:
		to.Done(nil) // other notifications are ignored, and there are no requests to respond to
	case w.closed.Load():
		to.Done(errClosed)
	default:
		w.s.answerRequest(ctx, w, m, to)
	}
}

// Listen implements [transport.Peer]. The tools never change, so there is nothing to report.
func (w *connection) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	context.AfterFunc(ctx, func() {
		defer func() { _ = recover() }() // a receiver must not end the process
		to.Done(nil)
	})
}

// Close implements [transport.Peer]: it cancels the calls that came over the connection.
func (w *connection) Close() error {
	w.closed.Store(true)
	w.s.cancelCalls(errClosed, func(c *call) bool { return c.w == w }, false)
	return nil
}

// Hints are a tool's annotations, as MCP names them.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// Tool is one tool of a [Server].
type Tool struct {
	// Name has at most 64 of the characters that all clients accept: A-Z, a-z, 0-9, _ and -.
	Name  string
	Title string
	// Description is at most [MaxDescription] bytes.
	Description string
	// Input is the JSON Schema of the arguments, of type object; nil means that there are no arguments.
	Input json.RawMessage
	Hints Hints
	// Run does the work. An error becomes a result with isError, and its text is what the model reads. ctx ends when the client cancels the
	// call or leaves and when the server closes; Run should then return soon.
	Run func(ctx context.Context, c *Call) (*Result, error)

	fault error // the error of Typed, which New returns
}

// Call is one call of a tool.
type Call struct {
	Tool string
	// Arguments is a JSON object, "{}" if none were given. It stays valid after Run.
	Arguments json.RawMessage
	// Principal identifies the caller; see [transport.Message].
	Principal string
	// Header is the header of the client's HTTP request, nil over standard streams. It has the client's credentials, so it must never be
	// written anywhere. It must not be changed.
	Header http.Header
	// Progress tells a client that asked for it how much is done, of total (0: not known). It is never nil and may be called often and by
	// any goroutine: calls that come too soon after the last, or do not increase done, are dropped.
	Progress func(done, total float64, text string)
	// MaxText bounds the text that the client takes in one result; see [transport.Message].
	MaxText limit.Bytes
}

// Result is the answer of a tool: one block of text.
type Result struct {
	Text string
	// Stream if set, writes the text, of any size, to w; Text is then ignored. An error before the first byte becomes a result with
	// isError; a later one breaks the answer off, so that a part is not taken for the whole. Writing to w fails once the call is cancelled.
	// w is for one goroutine at a time and must not be used after Stream has returned.
	Stream  func(ctx context.Context, w io.Writer) error
	IsError bool
	// Paged marks Text as a page that the tool itself has made, which says where it is in the whole and how to get the next one. It reaches
	// the client unchanged.
	Paged bool
}

// JSON returns the result with v as compact JSON, in which <, > and & are not escaped.
func JSON(v any) (*Result, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("the answer of type %T cannot be written as JSON: %w", v, err)
	}
	return &Result{Text: string(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))}, nil
}

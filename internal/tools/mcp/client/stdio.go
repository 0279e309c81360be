package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

// Defaults of [StdioOptions].
const (
	// DefaultGrace is the time for a server to end after its standard input was closed, and
	// again after SIGTERM.
	DefaultGrace = 2 * time.Second
	// DefaultStderrRate bounds how much of a server's standard error is passed on, in bytes per second.
	DefaultStderrRate = 64 << 10
	// DefaultMaxFrame bounds a message that must be written to a file before it can be passed on, in bytes.
	DefaultMaxFrame = 4 << 30
)

const (
	// maxQueued bounds the messages that wait to be written, in bytes; if none waits, a message of any size is
	// accepted.
	maxQueued = 1 << 20
	// maxOpen bounds the requests that wait for an answer: it stops a client that only sends and never reads
	// answers.
	maxOpen = 4096
)

// ErrClosed is the error after the connection was closed by its owner.
var ErrClosed = errors.New("the connection to the MCP server was closed")

// ErrCancelled is the error of a request that its client cancelled with notifications/cancelled. The client expects no answer.
var ErrCancelled = errors.New("the client took the request back")

// StdioOptions configure [Stdio].
type StdioOptions struct {
	// Name identifies the server in events and errors.
	Name string
	// Launch starts the server. It is required, and called again after the server has ended.
	Launch func(context.Context) (*Process, error)
	// Shared lets several clients use one process: see [Server.Join].
	Shared bool
	// Stderr gets the server's standard error unchanged, at most StderrRate bytes per second (0 means DefaultStderrRate); nil discards it.
	Stderr     io.Writer
	StderrRate int
	// Timeout bounds the time that a request waits for its answer or a progress notification; 0 means no bound.
	Timeout time.Duration
	// Grace is the time for the server to end after its input was closed, and again after SIGTERM; 0 means DefaultGrace.
	Grace time.Duration
	// TempDir is the folder for a message whose id comes behind its result, of at most MaxFrame bytes (0 means DefaultMaxFrame). "" is the
	// system's.
	TempDir  string
	MaxFrame int64
	// Journal gets events; it may be nil.
	Journal *journal.Journal
}

// Server is a Peer for a server on standard streams. The first message starts it.
type Server struct {
	o      StdioOptions
	ctx    context.Context
	cancel context.CancelFunc
	noise  *noiseCounter
	main   *client

	mu        sync.Mutex
	closed    bool
	running   bool
	queue     []*entry
	queued    int           // bytes
	wake      chan struct{} // signals that the queue has a message
	space     chan struct{} // closed when the queue has room again
	open      map[jsonrpc.ID]*call
	tokens    map[string]*call
	recent    recent
	clients   []*client
	serial    uint64
	handshake handshake
	health    restartHistory
	over      chan struct{} // closed when serveQueue has returned
}

// Stdio returns a Peer for the server that o launches.
func Stdio(o StdioOptions) *Server {
	o.Grace = cmp.Or(max(o.Grace, 0), DefaultGrace)
	o.StderrRate = cmp.Or(max(o.StderrRate, 0), DefaultStderrRate)
	o.MaxFrame = cmp.Or(max(o.MaxFrame, 0), DefaultMaxFrame)
	s := &Server{
		o: o, noise: newNoiseCounter(o.Name, o.Journal),
		wake: make(chan struct{}, 1), space: make(chan struct{}), over: make(chan struct{}),
		open: map[jsonrpc.ID]*call{}, tokens: map[string]*call{}, recent: newRecent(),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.main = &client{s: s}
	s.clients = []*client{s.main}
	return s
}

// Send implements [transport.Peer].
func (s *Server) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	s.main.Send(ctx, m, to)
}

// Listen implements [transport.Peer].
func (s *Server) Listen(ctx context.Context, header http.Header, to transport.Receiver) {
	s.main.Listen(ctx, header, to)
}

// Join returns a Peer for another client of a Shared server: its ids and progress tokens are kept apart from those of others, and its
// initialize is answered with what the server answered to the first. Its Close ends its requests and leaves the server running.
// Notifications of the server that belong to no request go to all clients that listen, its requests to the first client that listens.
func (s *Server) Join() transport.Peer {
	c := &client{s: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, c)
	return c
}

// Close implements [transport.Peer]: it ends all requests with ErrClosed, closes the server's standard input, and sends SIGTERM and then
// SIGKILL if the server does not end.
func (s *Server) Close() error {
	s.mu.Lock()
	first, running := !s.closed, s.running
	s.closed = true
	clients := s.clients
	s.mu.Unlock()
	if first {
		s.failQueue(ErrClosed)
		s.finishAll(func(*call) bool { return true }, ErrClosed)
		s.cancel()
		told := make(chan struct{})
		go func() {
			defer close(told)
			for _, c := range clients {
				c.stopListening(ErrClosed)
			}
		}()
		timer := time.NewTimer(s.o.Grace)
		defer timer.Stop()
		select {
		case <-told:
		case <-timer.C: // a receiver does not come back: see settle
		}
	}
	if running {
		<-s.over
	}
	s.noise.flush()
	return nil
}

// entry is a message that waits to be written.
type entry struct {
	raw  []byte
	call *call // nil if no answer is expected
	done func(error)
}

// enqueue adds a message to the queue as soon as there is room. It fails if ctx ends, the connection is closed, or the server has been
// given up (Unavailable).
func (s *Server) enqueue(ctx context.Context, e *entry) error {
	s.mu.Lock()
	for s.queued > 0 && s.queued+len(e.raw) > maxQueued && !s.closed {
		space := s.space
		s.mu.Unlock()
		select {
		case <-space:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if err := s.health.refuse(s.o.Name); err != nil {
		return err
	}
	s.pushLocked(e)
	return nil
}

// pushLocked adds a message to the queue and wakes serveQueue, which it starts if it does not run. The caller holds s.mu.
func (s *Server) pushLocked(e *entry) {
	s.queue = append(s.queue, e)
	s.queued += len(e.raw)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	if !s.running {
		s.running = true
		go s.serveQueue()
	}
}

// nextQueued removes the next message from the queue, to be written to g; nil if there is none or g can no longer answer. Requests that were
// cancelled while they waited are skipped.
func (s *Server) nextQueued(g *generation) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A server whose output has ended cannot answer: the messages wait for the next run.
	for len(s.queue) > 0 && !g.dead && !g.out.ended.Load() {
		e := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		s.queued -= len(e.raw)
		close(s.space)
		s.space = make(chan struct{})
		if e.call != nil {
			if s.open[e.call.id] != e.call {
				continue // cancelled while it waited
			}
			e.call.gen = g
		}
		return e
	}
	return nil
}

// failQueue empties the queue, ends each message in it with err, and lets those continue that wait for room in it.
func (s *Server) failQueue(err error) {
	s.mu.Lock()
	queue := s.queue
	s.queue, s.queued = nil, 0
	close(s.space)
	s.space = make(chan struct{})
	s.mu.Unlock()
	for _, e := range queue {
		switch {
		case e.call != nil:
			s.removeOpen(e.call)
			e.call.finish(err)
		case e.done != nil:
			e.done(err)
		}
	}
}

// finishAll removes the open requests that which(call) selects, and ends each with err. which is called with s.mu held.
func (s *Server) finishAll(which func(*call) bool, err error) {
	s.mu.Lock()
	var calls []*call
	for id, c := range s.open {
		if which(c) {
			calls = append(calls, c)
			delete(s.open, id)
			s.forget(c)
		}
	}
	s.mu.Unlock()
	for _, c := range calls {
		c.finish(err)
	}
}

// removeOpen removes a request from the open ones, and reports whether it was still among them.
func (s *Server) removeOpen(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[c.id] != c {
		return false
	}
	delete(s.open, c.id)
	s.forget(c)
	return true
}

// forget removes the progress token of a request. The caller holds s.mu.
func (s *Server) forget(c *call) {
	if c.token != "" && s.tokens[c.token] == c {
		delete(s.tokens, c.token)
	}
}

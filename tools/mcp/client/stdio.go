package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// Defaults of [StdioOptions].
const (
	// DefaultGrace is the time for a server to end after its standard input was closed, and
	// again after SIGTERM.
	DefaultGrace = 2 * time.Second
	// DefaultStderrRate bounds the standard error of a server that passes, in bytes per second.
	DefaultStderrRate = 64 << 10
	// DefaultMaxFrame bounds a message that has to lie in a file before it can be passed on.
	DefaultMaxFrame = 4 << 30
)

const (
	// maxQueued bounds the messages that wait to be written; one more message of any size
	// is always taken when none waits.
	maxQueued = 1 << 20
	// maxOpen bounds requests that wait for an answer: a client that sends and never reads
	// answers is stopped here.
	maxOpen = 4096
)

// ErrClosed reports that the connection was closed by its owner.
var ErrClosed = errors.New("the connection to the MCP server was closed")

// ErrCancelled ends a request that its client took back with notifications/cancelled. It
// needs no answer.
var ErrCancelled = errors.New("the client took the request back")

// StdioOptions configure [Stdio].
type StdioOptions struct {
	// Name identifies the server in events and errors.
	Name string
	// Launch starts the server. Required. It is called again when the server has ended.
	Launch func(context.Context) (*Process, error)
	// Shared lets several clients use one process: see [Server.Join].
	Shared bool
	// Stderr gets what the server writes there, as it is, at most StderrRate bytes per
	// second (0 means DefaultStderrRate); nil discards it.
	Stderr     io.Writer
	StderrRate int
	// Timeout bounds the wait of a request for its answer or a progress notification; 0 means no
	// bound.
	Timeout time.Duration
	// Grace is DefaultGrace when 0.
	Grace time.Duration
	// TempDir is the folder for a message whose id stands behind its result, at most MaxFrame
	// bytes of it (0 means DefaultMaxFrame). "" is the system's.
	TempDir  string
	MaxFrame int64
	// Journal gets events; it may be nil.
	Journal *journal.Journal
}

// Server is a Peer to a server on standard streams. It is started by the first message.
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
	wake      chan struct{} // something is in the queue
	space     chan struct{} // closed when there is room again
	open      map[jsonrpc.ID]*call
	tokens    map[string]*call
	recent    recent
	clients   []*client
	serial    uint64
	handshake handshake
	health    restartHistory
	over      chan struct{} // the run has ended
}

// Stdio makes a Peer to the server that o launches.
func Stdio(o StdioOptions) *Server {
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.StderrRate <= 0 {
		o.StderrRate = DefaultStderrRate
	}
	if o.MaxFrame <= 0 {
		o.MaxFrame = DefaultMaxFrame
	}
	s := &Server{
		o: o, noise: newNoise(o.Name, o.Journal),
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

// Join gives another client of a Shared server its own Peer: its ids and progress tokens
// are told apart from those of others, and its initialize is answered with what the server
// said to the first. Its Close ends its requests and leaves the server running. The
// notifications of the server that belong to no request go to all clients that listen, its
// requests to the one that joined first.
func (s *Server) Join() transport.Peer {
	c := &client{s: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, c)
	return c
}

// Close implements [transport.Peer]: it closes the server's standard input, and ends it with
// SIGTERM and then SIGKILL when it stays.
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
	call *call // nil when no answer is expected
	done func(error)
}

// enqueue puts a message behind those that wait, as soon as there is room.
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
	s.push(e)
	return nil
}

// push adds an entry; the caller holds s.mu.
func (s *Server) push(e *entry) {
	s.queue = append(s.queue, e)
	s.queued += len(e.raw)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	if !s.running {
		s.running = true
		go s.run()
	}
}

// pop takes the next message, and registers that it is under way in g.
func (s *Server) pop(g *generation) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A server whose output has ended cannot answer: what waits is for the next one.
	for len(s.queue) > 0 && !g.dead && !g.out.ended.Load() {
		e := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		s.queued -= len(e.raw)
		close(s.space)
		s.space = make(chan struct{})
		if e.call != nil {
			if s.open[e.call.id] != e.call {
				continue // taken back while it waited
			}
			e.call.gen = g
		}
		return e
	}
	return nil
}

// failQueue ends the messages that were not written.
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
			s.drop(e.call)
			e.call.finish(err)
		case e.done != nil:
			e.done(err)
		}
	}
}

// finishAll ends the open requests that which tells.
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

// drop takes a request out of the books. It reports whether it was still in them.
func (s *Server) drop(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[c.id] != c {
		return false
	}
	delete(s.open, c.id)
	s.forget(c)
	return true
}

// forget drops a call; the caller holds s.mu.
func (s *Server) forget(c *call) {
	if c.token != "" && s.tokens[c.token] == c {
		delete(s.tokens, c.token)
	}
}

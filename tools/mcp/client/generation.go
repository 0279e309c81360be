package client

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
)

const (
	// Restarts wait from firstPause, twice as long each time, to maxPause; a life of
	// longLife begins at firstPause again.
	firstPause = 250 * time.Millisecond
	maxPause   = 30 * time.Second
	longLife   = time.Minute
	// giveUpAfter is the number of lives in a row without one answer after which messages are
	// refused for maxPause.
	giveUpAfter = 5
	// stuckReadTime bounds a read of the standard output of a server that has ended: when it takes
	// longer, somebody else holds the pipe, and nothing more of the server is in it.
	stuckReadTime = time.Second
)

// generation is one run of the server's process, from its start to its end.
type generation struct {
	p              *Process
	born           time.Time
	out            *timedReader
	answered       atomic.Bool
	said           atomic.Bool // why nothing can be read
	words          *stderr
	serverRequests serverRequests // needs Server.mu
	dead           bool           // needs Server.mu
	broken         []*call        // whose answers broke off; of the reading goroutine, then of attend
	reason         string         // why it was ended, where that was its own doing; as broken
	exit           Exit
	gone           chan struct{} // the process has ended and everything it wrote was read
}

func (g *generation) write(raw []byte) error { return jsonrpc.WriteLine(g.p.Stdin, raw, nil) }

// serverRequests are the ids of requests of the server that wait for the client.
type serverRequests struct {
	ids  map[jsonrpc.ID]bool
	lost bool // some are not remembered
}

// maxAsked bounds them: beyond it every response passes.
const maxAsked = 1024

func (a *serverRequests) add(id jsonrpc.ID) {
	if a.lost = a.lost || len(a.ids) >= maxAsked; a.lost {
		return
	}
	if a.ids == nil {
		a.ids = map[jsonrpc.ID]bool{}
	}
	a.ids[id] = true
}

func (a *serverRequests) take(id jsonrpc.ID) bool {
	known := a.ids[id]
	delete(a.ids, id)
	return known || a.lost
}

// restartHistory counts how the server's runs ended. Server.mu guards it.
type restartHistory struct {
	generation *generation // that runs; nil when none does
	pauses     int         // short lives in a row
	failures   int         // lives without an answer in a row
	reason     string      // of the last end
	words      string
	notBefore  time.Time
}

// refuse returns the error for a message while the server is not restarted any more.
func (h *restartHistory) refuse(name string) error {
	if h.failures < giveUpAfter || !time.Now().Before(h.notBefore) {
		return nil
	}
	return h.unavailable(name)
}

func (h *restartHistory) unavailable(name string) error {
	return &Unavailable{Server: name, Reason: h.reason, Words: h.words, Tries: h.failures, Again: h.notBefore}
}

// ended records the end of a process and returns the pause before the next start.
func (h *restartHistory) ended(life time.Duration, answered bool, reason, words string) time.Duration {
	h.generation, h.reason, h.words = nil, reason, words
	if life >= longLife {
		h.pauses = 0
	}
	pause := min(firstPause<<min(h.pauses, 10), maxPause)
	h.pauses++
	h.failures++
	if answered {
		h.failures = 0
	}
	if h.failures >= giveUpAfter {
		pause = maxPause
	}
	h.notBefore = time.Now().Add(pause)
	return pause
}

// run starts the server when a message waits and none runs, and writes the messages.
func (s *Server) run() {
	defer close(s.over)
	for {
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return
		}
		s.mu.Lock()
		waiting := len(s.queue) > 0
		s.mu.Unlock()
		if !waiting {
			continue
		}
		g, err := s.start()
		if err != nil {
			if s.ctx.Err() != nil {
				err = ErrClosed
			}
			s.failQueue(err)
			continue
		}
		s.serve(g)
	}
}

// start starts the server, not before the pause after its last end is over.
func (s *Server) start() (*generation, error) {
	s.mu.Lock()
	pause := time.Until(s.health.notBefore)
	s.mu.Unlock()
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		}
	}
	p, err := s.o.Launch(s.ctx)
	if err != nil {
		return nil, s.failed(err)
	}
	if p.Terminate == nil {
		p.Terminate = p.Kill
	}
	g := &generation{p: p, born: time.Now(), out: &timedReader{src: p.Stdout}, gone: make(chan struct{})}
	g.words = newStderr(s, p.Stderr)
	s.mu.Lock()
	s.health.generation = g
	s.mu.Unlock()
	s.note(journal.ToolServer{Server: s.o.Name, State: "started", PID: p.PID})
	go s.attend(g)
	// Closes the standard input, which ends a write that nobody reads.
	unwatch := context.AfterFunc(s.ctx, func() { s.stop(g) })
	go func() {
		<-g.gone
		unwatch()
	}()
	if err := s.replay(g); err != nil {
		s.stop(g)
		if lost, ok := errors.AsType[*Lost](err); ok {
			err = errors.New(lost.Reason)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.health.failures == 0 { // it lived, and is of no use
			s.health.failures = 1
		}
		s.health.reason = err.Error()
		return nil, s.health.unavailable(s.o.Name)
	}
	return g, nil
}

// failed notes that the server could not be started.
func (s *Server) failed(err error) error {
	s.mu.Lock()
	s.health.ended(0, false, "it could not be started: "+err.Error(), "")
	refused, given := s.health.unavailable(s.o.Name), s.health.failures == giveUpAfter
	s.mu.Unlock()
	s.note(journal.ToolServer{Server: s.o.Name, State: "lost", Reason: "could not be started"})
	if given {
		s.note(journal.ToolServer{Server: s.o.Name, State: "given_up", After: maxPause})
	}
	return refused
}

// serve writes messages until the server ends.
func (s *Server) serve(g *generation) {
	for {
		e := s.pop(g)
		if e == nil {
			select {
			case <-s.wake:
				continue
			case <-g.gone:
				s.wakeWriter()
				return
			}
		}
		if err := g.write(e.raw); err != nil {
			// Nobody reads any more. What the server still has to say is read first.
			s.stop(g)
			s.wakeWriter()
			return
		}
	}
}

// wakeWriter makes run check the queue again.
func (s *Server) wakeWriter() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// stop ends the server as the specification has it: standard input closed, then SIGTERM,
// then SIGKILL.
func (s *Server) stop(g *generation) {
	_ = g.p.Stdin.Close() // it may be gone already
	for _, harder := range []func(){g.p.Terminate, g.p.Kill} {
		timer := time.NewTimer(s.o.Grace)
		select {
		case <-g.gone:
			timer.Stop()
			return
		case <-timer.C:
			harder()
		}
	}
	<-g.gone
}

// attend follows one run of the server's process to its end, and tells its open requests of it.
func (s *Server) attend(g *generation) {
	exited, drained := make(chan struct{}), make(chan struct{})
	var failed error
	go func() {
		defer close(exited)
		g.exit, failed = g.p.Wait()
	}()
	go func() {
		defer close(drained)
		s.read(g)
	}()
	unended := time.AfterFunc(unendedAfter, func() { s.tellUnended(g) })
	defer unended.Stop()
	select {
	case <-drained: // it closed its standard output: no answer can come any more
		s.killIfStuck(g, exited)
	case <-exited:
		_ = g.p.Stdin.Close()
		go g.out.drain(drained)
	}
	<-exited
	whole := s.settle(drained)
	closeReader(g.p.Stdout)
	words := g.words.end()

	reason := g.exit.String()
	switch {
	case failed != nil:
		reason = "its end could not be seen: " + failed.Error()
	case whole && g.reason != "":
		reason = g.reason
	}
	s.mu.Lock()
	g.dead = true
	pause := s.health.ended(time.Since(g.born), g.answered.Load(), reason, words)
	given, again := s.health.failures >= giveUpAfter, s.health.failures > giveUpAfter
	refused := s.health.unavailable(s.o.Name)
	closed := s.closed
	s.mu.Unlock()

	lost := &Lost{Server: s.o.Name, Reason: reason, Words: words}
	if whole {
		for _, c := range g.broken {
			c.finish(lost)
		}
	}
	s.finishAll(func(c *call) bool { return c.gen == g }, lost)
	s.noise.flush()
	event := journal.ToolServer{Server: s.o.Name, State: "ended", PID: g.p.PID, Reason: reason, Peak: g.exit.Peak}
	if !closed {
		event.State, event.After = "lost", pause
	}
	if g.exit.OutOfMemory {
		event.State = "killed"
	}
	s.note(event)
	if given && !closed {
		s.failQueue(refused)
		if !again {
			s.note(journal.ToolServer{Server: s.o.Name, State: "given_up", Reason: reason, After: pause})
		}
	}
	close(g.gone)
}

// settle waits until everything the server wrote was read. After Close it waits no longer
// than Grace: a receiver that does not come back, as that of a client that reads nothing,
// would keep the connection open for ever.
func (s *Server) settle(drained <-chan struct{}) bool {
	select {
	case <-drained:
		return true
	case <-s.ctx.Done():
	}
	timer := time.NewTimer(s.o.Grace)
	defer timer.Stop()
	select {
	case <-drained:
		return true
	case <-timer.C:
		return false
	}
}

// killIfStuck kills a server that can no longer answer, if it does not end by itself.
func (s *Server) killIfStuck(g *generation, exited chan struct{}) {
	_ = g.p.Stdin.Close()
	for _, harder := range []func(){g.p.Terminate, g.p.Kill} {
		timer := time.NewTimer(s.o.Grace)
		select {
		case <-exited:
			timer.Stop()
			return
		case <-timer.C:
			harder()
		}
	}
}

func (s *Server) note(e journal.Event) {
	if s.o.Journal != nil {
		s.o.Journal.Append(e)
	}
}

// timedReader is a reader that records since when its current read has been waiting.
type timedReader struct {
	src     io.Reader
	since   atomic.Int64 // when the read began, in Unix nanoseconds; 0 when none is under way
	ended   atomic.Bool  // nothing more comes
	unended atomic.Bool  // what came last is no end of a line
}

func (w *timedReader) Read(p []byte) (int, error) {
	w.since.Store(time.Now().UnixNano())
	defer w.since.Store(0)
	n, err := w.src.Read(p)
	if n > 0 {
		w.unended.Store(p[n-1] != '\n')
	}
	if err != nil {
		w.ended.Store(true)
	}
	return n, err
}

// drain lets what is left be read, however slow its reader is, and closes the pipe when
// only somebody else who holds it keeps it open.
func (w *timedReader) drain(drained <-chan struct{}) {
	tick := time.NewTicker(stuckReadTime / 4)
	defer tick.Stop()
	for {
		select {
		case <-drained:
			return
		case <-tick.C:
			if since := w.since.Load(); since != 0 && time.Since(time.Unix(0, since)) >= stuckReadTime {
				closeReader(w.src)
				return
			}
		}
	}
}

func closeReader(r io.Reader) {
	if c, ok := r.(io.Closer); ok {
		_ = c.Close() // for reading: nothing can be lost that was not lost before
	}
}

package client

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/journal"
)

const (
	// The pause before a restart is firstPause, and twice as long each time up to maxPause; after a run of
	// longLife it is firstPause again.
	firstPause = 250 * time.Millisecond
	maxPause   = 30 * time.Second
	longLife   = time.Minute
	// giveUpAfter is the number of runs in a row without an answer after which messages are refused for
	// maxPause.
	giveUpAfter = 5
	// stuckReadTime bounds a read of the standard output of a server that has ended: a longer one means that
	// another process holds the pipe, and that the server's output has been read.
	stuckReadTime = time.Second
)

// generation is one run of the server's process, from its start to its end.
type generation struct {
	p              *Process
	born           time.Time
	out            *timedReader
	answered       atomic.Bool
	said           atomic.Bool // writeStderr has said why no message can be read
	words          *stderr
	serverRequests serverRequests // guarded by Server.mu
	dead           bool           // guarded by Server.mu
	broken         []*call        // requests whose answers broke off; used by the reading goroutine, then by attend
	reason         string         // why it was ended if its output was to blame, else ""; used like broken
	exit           Exit
	gone           chan struct{} // the process has ended and everything it wrote was read
}

// write writes a message as a line to the server.
func (g *generation) write(raw []byte) error { return jsonrpc.WriteLine(g.p.Stdin, raw, nil) }

// serverRequests are the ids of the server's requests that the client has not answered yet.
type serverRequests struct {
	ids  map[jsonrpc.ID]bool
	lost bool // there were more than maxAsked: take accepts every id
}

// maxAsked bounds the ids of the server's requests that are remembered; beyond it every response passes.
const maxAsked = 1024

// add records the id of a request of the server. If there are more than maxAsked, none is known any more, and all responses are passed on.
func (a *serverRequests) add(id jsonrpc.ID) {
	if a.lost = a.lost || len(a.ids) >= maxAsked; a.lost {
		return
	}
	if a.ids == nil {
		a.ids = map[jsonrpc.ID]bool{}
	}
	a.ids[id] = true
}

// take removes the id of a request of the server that the client answers, and reports whether it was known.
func (a *serverRequests) take(id jsonrpc.ID) bool {
	known := a.ids[id]
	delete(a.ids, id)
	return known || a.lost
}

// restartHistory counts how the server's runs ended. Server.mu guards it.
type restartHistory struct {
	generation *generation // the current run; nil if there is none
	pauses     int         // number of short runs in a row
	failures   int         // number of runs without an answer in a row
	reason     string      // why the last run ended
	words      string
	notBefore  time.Time
}

// refuse returns the error for a message while the server has been given up; else nil.
func (h *restartHistory) refuse(name string) error {
	if h.failures < giveUpAfter || !time.Now().Before(h.notBefore) {
		return nil
	}
	return h.unavailable(name)
}

func (h *restartHistory) unavailable(name string) error {
	return &Unavailable{Server: name, Reason: h.reason, Words: h.words, Tries: h.failures, Again: h.notBefore}
}

// recordEnd records the end of a run and returns the pause before the next start. It grows from run to run, until one has lived for longLife; the
// count of failures begins anew after a run that has answered.
func (h *restartHistory) recordEnd(life time.Duration, answered bool, reason, words string) time.Duration {
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

// serveQueue starts the server whenever a message waits and the server does not run, and writes the messages, until Close.
func (s *Server) serveQueue() {
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
		g, err := s.startRun()
		if err != nil {
			if s.ctx.Err() != nil {
				err = ErrClosed
			}
			s.failQueue(err)
			continue
		}
		s.writeQueue(g)
	}
}

// startRun starts the server, after the pause since its last end, and repeats the client's handshake. The error is an [*Unavailable], or that of the
// closed context.
func (s *Server) startRun() (*generation, error) {
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
		return nil, s.startFailed(err)
	}
	if p.Terminate == nil {
		p.Terminate = p.Kill
	}
	g := &generation{p: p, born: time.Now(), out: &timedReader{src: p.Stdout}, gone: make(chan struct{})}
	g.words = copyStderr(s, p.Stderr)
	s.mu.Lock()
	s.health.generation = g
	s.mu.Unlock()
	s.record(journal.ToolServer{Server: s.o.Name, State: "started", PID: p.PID})
	go s.watchRun(g)
	// stop closes the standard input, which ends a write that the server does not read.
	unwatch := context.AfterFunc(s.ctx, func() { s.stopRun(g) })
	go func() {
		<-g.gone
		unwatch()
	}()
	if err := s.replayHandshake(g); err != nil {
		s.stopRun(g)
		if lost, ok := errors.AsType[*Lost](err); ok {
			err = errors.New(lost.Reason)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.health.failures == 0 { // it answered before, but cannot be used
			s.health.failures = 1
		}
		s.health.reason = err.Error()
		return nil, s.health.unavailable(s.o.Name)
	}
	return g, nil
}

// startFailed records that the server could not be started, and returns the error for the waiting messages.
func (s *Server) startFailed(err error) error {
	s.mu.Lock()
	s.health.recordEnd(0, false, "it could not be started: "+err.Error(), "")
	refused, given := s.health.unavailable(s.o.Name), s.health.failures == giveUpAfter
	s.mu.Unlock()
	s.record(journal.ToolServer{Server: s.o.Name, State: "lost", Reason: "could not be started"})
	if given {
		s.record(journal.ToolServer{Server: s.o.Name, State: "given_up", After: maxPause})
	}
	return refused
}

// writeQueue writes the waiting messages until this run of the server has ended, or the server reads no more.
func (s *Server) writeQueue(g *generation) {
	for {
		e := s.nextQueued(g)
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
			// The server reads no more. What it still writes is read before stop returns.
			s.stopRun(g)
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

// stopRun ends the server as the specification says: it closes the standard input, and sends SIGTERM and then SIGKILL if the server still runs
// after Grace each. It returns when everything was read.
func (s *Server) stopRun(g *generation) {
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

// watchRun reads the server's output and waits for the end of this run. Then it records the end, ends the open requests, and closes g.gone.
func (s *Server) watchRun(g *generation) {
	exited, drained := make(chan struct{}), make(chan struct{})
	var failed error
	go func() {
		defer close(exited)
		g.exit, failed = g.p.Wait()
	}()
	go func() {
		defer close(drained)
		s.readMessages(g)
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
	whole := s.waitDrained(drained)
	closeReader(g.p.Stdout)
	words := g.words.lastWords()

	reason := g.exit.String()
	switch {
	case failed != nil:
		reason = "its end could not be seen: " + failed.Error()
	case whole && g.reason != "":
		reason = g.reason
	}
	s.mu.Lock()
	g.dead = true
	pause := s.health.recordEnd(time.Since(g.born), g.answered.Load(), reason, words)
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
	s.record(event)
	if given && !closed {
		s.failQueue(refused)
		if !again {
			s.record(journal.ToolServer{Server: s.o.Name, State: "given_up", Reason: reason, After: pause})
		}
	}
	close(g.gone)
}

// waitDrained waits until everything that the server wrote was read, and reports whether it was. After Close it waits at most for Grace: a
// receiver that does not return, such as that of a client that reads nothing, would keep the connection open for ever.
func (s *Server) waitDrained(drained <-chan struct{}) bool {
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

// killIfStuck ends a server that has closed its standard output, as it can no longer answer, unless it ends by itself within Grace.
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

func (s *Server) record(e journal.Event) {
	if s.o.Journal != nil {
		s.o.Journal.Append(e)
	}
}

// timedReader is a reader that records since when its current read has been waiting.
type timedReader struct {
	src     io.Reader
	since   atomic.Int64 // when the read began, in Unix nanoseconds; 0 when none is under way
	ended   atomic.Bool  // a read has failed: nothing more comes
	unended atomic.Bool  // the last byte that came was not a newline
}

// Read records since when it waits, whether the last byte ended a line, and whether the output has ended.
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

// drain waits until everything was read, no matter how slow the receiver is. If one read takes stuckReadTime, only another process still holds
// the pipe, and drain closes it.
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
		_ = c.Close() // an error of closing a reader loses nothing
	}
}

package client

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/journal"
)

// noiseCounter counts bytes that a server sent and that are not a message for any client. At most one event a second is written of each kind.
type noiseCounter struct {
	server  string
	journal *journal.Journal
	mu      sync.Mutex
	bytes   map[string]int64
	last    map[string]time.Time
}

// newNoiseCounter returns a counter for a server; j may be nil.
func newNoiseCounter(server string, j *journal.Journal) *noiseCounter {
	return &noiseCounter{server: server, journal: j, bytes: map[string]int64{}, last: map[string]time.Time{}}
}

// add counts bytes of one kind of noise, and reports them at most once a second; flush reports the rest.
func (n *noiseCounter) add(what string, bytes int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.bytes[what] += bytes
	if now := time.Now(); now.Sub(n.last[what]) >= time.Second {
		n.last[what] = now
		n.report(what)
	}
}

// report writes the event for one kind and resets its count. The caller holds n.mu.
func (n *noiseCounter) report(what string) {
	if n.journal != nil {
		n.journal.Append(journal.ToolNoise{Server: n.server, What: what, Bytes: n.bytes[what]})
	}
	delete(n.bytes, what)
}

// flush reports all counts that have not been reported yet.
func (n *noiseCounter) flush() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for what := range n.bytes {
		n.report(what)
	}
}

// unendedAfter is the age of a run without an answer at which a line that has no end yet is reported.
const unendedAfter = 5 * time.Second

// explainUnread writes to Stderr why the server's first line cannot be read, if that is known: a client only sees a request without an answer.
// Text on lines of its own does no harm, so nothing is written about it.
func (s *Server) explainUnread(g *generation, line []byte) {
	if g.answered.Load() {
		return
	}
	at := bytes.Index(line, []byte(`{"jsonrpc"`))
	switch {
	case bytes.HasPrefix(line, []byte("\ufeff")):
		s.writeStderr(g, "its standard output begins with a byte order mark, so its first message cannot be read; it must write UTF-8 without one")
	case at > 0:
		s.writeStderr(g, fmt.Sprintf("a message cannot be read because text stands before it on its line: %s", lastLine(line[:at])))
	}
}

// tellUnended writes to Stderr that the server's first line has not ended, if there was no answer and the line has waited for a second.
func (s *Server) tellUnended(g *generation) {
	if since := g.out.since.Load(); g.answered.Load() || !g.out.unended.Load() || since == 0 || time.Since(time.Unix(0, since)) < time.Second {
		return
	}
	s.writeStderr(g, "it has written a line to standard output that no newline ends, and answered nothing; a message is one line")
}

// writeStderr writes a line to Stderr, only once for each run of the server.
func (s *Server) writeStderr(g *generation, text string) {
	if s.o.Stderr != nil && !g.said.Swap(true) {
		_, _ = io.WriteString(s.o.Stderr, "plimsoll: "+printable.Text(s.o.Name+": "+text)+"\n")
	}
}

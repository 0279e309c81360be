package client

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
)

// unendedAfter is the time without an answer, while a line of the server has no end, after which this is reported.
const unendedAfter = 5 * time.Second

// tellUnread writes on the server's standard error why nothing comes of its first line: its client sees a request without an
// answer and nothing else. Text on lines of its own does no harm.
func (s *Server) tellUnread(g *generation, line []byte) {
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

// tellUnended does the same for a line that has not come to its end.
func (s *Server) tellUnended(g *generation) {
	if since := g.out.since.Load(); g.answered.Load() || !g.out.unended.Load() || since == 0 || time.Since(time.Unix(0, since)) < time.Second {
		return
	}
	s.writeStderr(g, "it has written a line to standard output that no newline ends, and answered nothing; a message is one line")
}

// writeStderr writes text once in a run of the server.
func (s *Server) writeStderr(g *generation, text string) {
	if s.o.Stderr != nil && !g.said.Swap(true) {
		_, _ = io.WriteString(s.o.Stderr, "plimsoll: "+printable.Text(s.o.Name+": "+text)+"\n")
	}
}

package client

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/plimsoll/plimsoll/limit"
)

// maxWords bounds a line of a server's standard error in an error, in bytes; maxLines bounds those lines.
const (
	// maxWords bounds a line of a server's standard error in an error message, in bytes; maxLines bounds the number of these lines.
	maxWords = 200
	maxLines = 4
)

// stderr passes a server's standard error on and keeps the end of it.
type stderr struct {
	src  io.Reader
	mu   sync.Mutex
	tail []byte // the last 4 KiB
	done chan struct{}
}

// copyStderr copies a server's standard error in a goroutine, until it ends; src may be nil.
func copyStderr(s *Server, src io.Reader) *stderr {
	e := &stderr{src: src, done: make(chan struct{})}
	if src == nil {
		close(e.done)
		return e
	}
	go e.copy(s)
	return e
}

// copy passes at most StderrRate bytes a second to Options.Stderr and counts the others as noise; it keeps the last lines of all.
func (e *stderr) copy(s *Server) {
	defer close(e.done)
	var (
		buf   = make([]byte, 4<<10)
		until time.Time // the end of this second
		left  int       // bytes that may pass in it
	)
	for {
		n, err := e.src.Read(buf)
		e.keepTail(buf[:n])
		if now := time.Now(); !now.Before(until) {
			until, left = now.Add(time.Second), s.o.StderrRate
		}
		pass := min(n, left)
		left -= pass
		if s.o.Stderr != nil && pass > 0 {
			// An error here must not stop the server.
			_, _ = s.o.Stderr.Write(buf[:pass])
		}
		if n > pass {
			s.noise.add("stderr", int64(n-pass))
		}
		if err != nil {
			return
		}
	}
}

// keepTail appends output to the tail, which holds the last 4 KiB.
func (e *stderr) keepTail(b []byte) {
	const maxBytes = 4 << 10
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tail = append(e.tail, b...)
	if len(e.tail) > maxBytes {
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-maxBytes:]...)
	}
}

// lastWords returns the last lines. It waits for the end of the stream, but only for a short time, since another process may hold it open,
// and closes it then.
func (e *stderr) lastWords() string {
	if e.src == nil {
		return ""
	}
	timer := time.NewTimer(stuckReadTime / 4)
	defer timer.Stop()
	select {
	case <-e.done:
	case <-timer.C:
	}
	if _, ok := e.src.(io.Closer); ok {
		closeReader(e.src)
		<-e.done
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return lastLines(e.tail)
}

// lastLines returns the last lines that are not empty, joined by " | ", at most maxLines.
func lastLines(text []byte) string {
	var lines []string
	for len(lines) < maxLines {
		text = bytes.TrimSpace(text)
		line := lastLine(text)
		if line == "" {
			break
		}
		lines = append(lines, line)
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	slices.Reverse(lines)
	return strings.Join(lines, " | ")
}

// lastLine returns the last line that is not empty, with control characters replaced by spaces. Beyond maxWords bytes its middle is cut out.
func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	if n := bytes.LastIndexByte(text, '\n'); n >= 0 {
		text = text[n+1:]
	}
	line := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text), "\ufffd"))
	return limit.Cut(strings.TrimSpace(line), maxWords, func(int) string { return "…" })
}

package server

import (
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// conn is one HTTP request and the answer to it. Only the goroutine that serves the request writes to it.
type conn struct {
	w  http.ResponseWriter
	r  *http.Request
	rc *http.ResponseController
	h  *Handler

	begun  bool // the status was sent
	broken bool // the answer broke off
	sse    *jsonrpc.EventWriter
}

func newConn(w http.ResponseWriter, r *http.Request, h *Handler) *conn {
	return &conn{w: w, r: r, rc: http.NewResponseController(w), h: h}
}

// extendDeadline lets the next write take WriteTimeout from now. A ResponseWriter without deadlines, as in tests, ignores it.
func (c *conn) extendDeadline() { _ = c.rc.SetWriteDeadline(time.Now().Add(c.h.o.WriteTimeout)) }

// Write writes p, which may take WriteTimeout.
func (c *conn) Write(p []byte) (int, error) {
	c.extendDeadline()
	n, err := c.w.Write(p)
	return n, c.noteError(err)
}

// flush sends what is buffered to the client, after it has extended the deadline for writing. A writer that cannot flush is no error.
func (c *conn) flush() error {
	c.extendDeadline()
	err := c.rc.Flush()
	if errors.Is(err, http.ErrNotSupported) {
		err = nil
	}
	return c.noteError(err)
}

// noteError records a failed write and returns its error: the answer is broken then, and one that was too slow is counted.
func (c *conn) noteError(err error) error {
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) && !c.broken {
			c.h.slow.Add(1)
		}
		c.broken = true
	}
	return err
}

// begin sends the status and headers of an answer with this content type ("" for none) and size (below 0: unknown).
func (c *conn) begin(status int, contentType string, size int64) {
	c.begun = true
	header := c.w.Header()
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	if size >= 0 {
		header.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	c.w.WriteHeader(status)
}

// beginStream begins an answer of server-sent events: it sends status and headers, and sets c.sse for the events.
func (c *conn) beginStream(status int) error {
	header := c.w.Header()
	if header.Get("Cache-Control") == "" {
		header.Set("Cache-Control", "no-cache, no-transform")
	}
	header.Set("X-Accel-Buffering", "no") // or nginx holds events back
	c.begin(status, eventStream, -1)
	c.sse = jsonrpc.NewEventWriter(c, c.flush)
	return c.flush()
}

// refuse answers with an error, unless an answer has begun.
func (c *conn) refuse(bad *Refusal, id jsonrpc.ID) {
	if c.begun {
		return
	}
	code := bad.Code
	if code == 0 {
		code = jsonrpc.CodeInvalidRequest
	}
	for name, values := range bad.Header {
		c.w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	c.message(bad.Status, jsonrpc.ErrorResponse(id, code, bad.Text, bad.Data))
}

// message answers with a whole JSON message, unless an answer has begun.
func (c *conn) message(status int, message []byte) {
	if c.begun {
		return
	}
	c.begin(status, applicationJSON, int64(len(message)))
	_, _ = c.Write(message) // a client that left needs no answer
}

// answerAccepted answers a message that has no response with 202, unless an answer has begun.
func (c *conn) answerAccepted() {
	if !c.begun {
		c.begin(http.StatusAccepted, "", 0)
	}
}

package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/internal/sse"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// serve writes the stream to the client until the stream ends, the client leaves, another request replaces this one, or the session ends. Only
// this goroutine writes to c.
//
// The answer is JSON if its first message is the response and the client accepts JSON, and a stream of events otherwise. A client that has to
// wait also gets a stream, as its connection might be cut if it stayed silent.
func (st *stream) serve(c *conn, rd *reader) {
	defer st.detachReader(rd)
	takesJSON, takesEvents := acceptedForms(c.r.Header)
	pause := time.NewTimer(c.h.o.KeepAlive)
	defer pause.Stop()
	for {
		w := st.nextStep(rd)
		var err error
		switch {
		case w.stop:
			c.refuse(noSession(), st.ask)
			return
		case w.big != nil:
			err = st.write(c, &w.big.event, w.big, takesJSON)
			st.releaseBig(w.big, rd, err)
		case w.event != nil:
			err = st.write(c, w.event, nil, takesJSON)
			st.markRead(rd, c, err)
			if err == nil && w.event.response && st.ask != "" && !st.s.Passed {
				return // the response is the last message of an answer
			}
		case w.end:
			st.finish(c)
			return
		case w.begin && !c.begun:
			err = st.beginEvents(c) // the server has begun its stream
		default:
			select {
			case <-st.wake:
				continue
			case <-c.r.Context().Done():
				c.broken = true
				return
			case <-st.s.ctx.Done():
				c.refuse(noSession(), st.ask)
				return
			case <-rd.replaced:
				return
			case <-pause.C:
				err = st.keepAlive(c, takesEvents)
			}
		}
		if err != nil {
			c.broken = true
			return
		}
		if c.begun && c.sse == nil {
			return // a JSON answer is one message
		}
		pause.Reset(c.h.o.KeepAlive)
	}
}

// step is the next action of a reader's goroutine: write event or big, begin the answer, end it, or stop. All are zero if it must wait.
type step struct {
	event            *event
	big              *handoff
	begin, end, stop bool
}

// nextStep returns what the goroutine that serves rd has to do next: write an event or a large message, begin or end the answer, stop, or wait.
func (st *stream) nextStep(rd *reader) step {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case st.reader != rd || st.abandoned:
		return step{stop: true}
	case st.next < len(st.events):
		ev := st.events[st.next]
		return step{event: &ev}
	case st.big != nil && st.big.by == nil:
		st.big.by = rd
		return step{big: st.big}
	case st.done:
		return step{end: true}
	}
	return step{begin: s.Passed && st.answer != nil && isEvents(st.answer.Header)}
}

// markRead records that the next event was written to rd. It does nothing if err is set or rd was replaced.
func (st *stream) markRead(rd *reader, c *conn, err error) {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && st.reader == rd && !st.abandoned && st.next < len(st.events) {
		st.primed = st.primed || c.sse != nil && st.resumable
		st.markWritten(c.sse != nil)
	}
}

// releaseBig lets the goroutine that brought the message big go on, with the error of writing it. After an error rd reads no more.
func (st *stream) releaseBig(big *handoff, rd *reader, err error) {
	s := st.s
	s.mu.Lock()
	if st.big == big {
		st.big = nil
		big.err = err
		if err != nil && st.reader == rd {
			// The reader failed: the goroutine that brought the message must not use it again.
			st.reader = nil
		}
		close(big.done)
	}
	s.mu.Unlock()
}

// detachReader detaches a reader. What it has not read is kept only if it can be asked for again. In the protocol version without sessions, and
// in sessions that are passed through, this cancels the request.
func (st *stream) detachReader(rd *reader) {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	replaced := st.reader != rd && st.reader != nil
	if big := st.big; big != nil && (big.by == rd || big.by == nil && !replaced) {
		st.big = nil
		big.err = errGone
		close(big.done)
	}
	if replaced {
		return
	}
	st.reader = nil
	if !st.resumable || !st.primed && st.n != 0 {
		st.discard()
	}
	if !st.resumable && st.cancel != nil {
		st.cancel()
	}
	st.dropIfDone()
}

// write writes one message, as JSON or as an event. big is nil if ev has all of it. An answer that breaks off at once becomes an error.
func (st *stream) write(c *conn, ev *event, big *handoff, takesJSON bool) error {
	if big != nil && big.rest != nil && ev.response && st.ask != "" {
		// Read before anything is sent: so an answer that breaks off early can still become an error.
		if err := big.readHead(); err != nil {
			ev = &event{response: true, code: jsonrpc.CodeInternal, data: jsonrpc.ErrorResponse(st.ask, jsonrpc.CodeInternal,
				fmt.Sprintf("the answer was broken off: %v; call again", err), nil)}
			big = &handoff{}
		}
	}
	if !c.begun && ev.response && takesJSON && !st.demandsEvents() {
		return st.writeJSON(c, ev, big)
	}
	if !c.begun {
		if err := st.beginEvents(c); err != nil {
			return err
		}
	}
	fields := ev.fields
	if st.s.Passed {
		st.s.mu.Lock()
		st.primed = st.primed || fields.ID != ""
		st.s.mu.Unlock()
	} else {
		fields = sse.Event{Name: "message"}
		if st.resumable && big == nil {
			fields.ID = st.eventID(ev.seq)
		}
	}
	if big != nil {
		return c.sse.Write(fields, ev.data, big.rest)
	}
	return c.sse.Write(fields, ev.data, nil)
}

// demandsEvents reports whether a passed server answers with events: then the client needs them for their ids and pauses.
func (st *stream) demandsEvents() bool {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	return st.answer != nil && st.s.Passed && isEvents(st.answer.Header)
}

// readHead reads the first 32 KiB of the rest into memory, to find out before anything is sent whether the message breaks off there.
func (b *handoff) readHead() error {
	buffer, n := make([]byte, 32<<10), 0
	for empty := 0; n < len(buffer); {
		m, err := b.rest.Read(buffer[n:])
		n += m
		if empty++; m > 0 {
			empty = 0
		}
		if empty > 100 {
			return io.ErrNoProgress
		}
		if err == io.EOF {
			b.rest = bytes.NewReader(buffer[:n])
			return nil
		}
		if err != nil {
			return err
		}
	}
	b.rest = io.MultiReader(bytes.NewReader(buffer), b.rest)
	return nil
}

// writeJSON writes a response as the whole answer, in JSON.
func (st *stream) writeJSON(c *conn, ev *event, big *handoff) error {
	status := st.setHeaders(c)
	if st.s.modern && !st.s.Passed {
		status = modernStatus(ev.code)
	}
	if st.begins && ev.code != 0 {
		c.w.Header().Del(headerSession)
	}
	if big == nil || big.rest == nil {
		c.begin(status, applicationJSON, int64(len(ev.data)))
		_, err := c.Write(ev.data)
		return err
	}
	c.begin(status, applicationJSON, -1)
	if _, err := c.Write(ev.data); err != nil {
		return err
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := big.rest.Read(buffer)
		if n > 0 {
			if _, err := c.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return readFailure(err)
		}
	}
}

// beginEvents begins an answer of server-sent events on c. If the stream can be resumed and the client understands it, an event without data
// comes first, whose id lets the client resume before any other event.
func (st *stream) beginEvents(c *conn) error {
	if err := c.beginStream(st.setHeaders(c)); err != nil {
		return err
	}
	s := st.s
	s.mu.Lock()
	// An event without data gives the client an id to resume with; clients before 2025-11-25 cannot read
	// one.
	prime := st.resumable && max(s.version, c.r.Header.Get(headerVersion)) >= "2025-11-25"
	id := st.eventID(st.seq - uint64(len(st.events)-st.next))
	st.primed = st.primed || prime
	s.mu.Unlock()
	if !prime {
		return nil
	}
	return c.sse.Write(sse.Event{ID: id, Retry: "1000"}, nil, nil)
}

// keepAlive sends something on a silent connection: a comment, or the beginning of a stream of events if nothing was sent yet.
func (st *stream) keepAlive(c *conn, takesEvents bool) error {
	if c.sse != nil {
		return c.sse.Comment("")
	}
	if st.s.Passed || !takesEvents {
		return nil
	}
	return st.beginEvents(c)
}

// finish ends the client's answer after the stream has ended. A request that has got no response gets an error.
func (st *stream) finish(c *conn) {
	s := st.s
	s.mu.Lock()
	a, err, answered, primed := st.answer, st.err, st.answered, st.primed
	s.mu.Unlock()
	failed := func() []byte {
		text := "the server ended without an answer"
		if err != nil {
			text = err.Error()
		}
		return jsonrpc.ErrorResponse(st.ask, jsonrpc.CodeInternal, text, nil)
	}
	switch {
	case c.sse != nil && err != nil && !answered && s.Passed:
		// With an event id the client asks the server for the rest; that may be why the server closed the stream
		// (SEP-1699). Without one nothing more can come.
		if st.ask != "" && !primed {
			_ = c.sse.Write(sse.Event{Name: "message"}, failed(), nil)
		}
	case c.begun:
	case a != nil && s.Passed:
		status := st.setHeaders(c)
		contentType := a.Header.Get("Content-Type")
		if len(a.Body) == 0 && isEvents(a.Header) {
			_ = st.beginEvents(c)
			return
		}
		c.begin(status, contentType, int64(len(a.Body)))
		_, _ = c.Write(a.Body)
	case a != nil && (a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden):
		// The server refuses the client's credential: the client must see the challenge to get another one.
		for _, value := range a.Header.Values("WWW-Authenticate") {
			c.w.Header().Add("WWW-Authenticate", st.s.h.rewriteChallenge(c.r, value))
		}
		c.message(a.Status, failed())
	case s.Passed && err != nil:
		c.message(http.StatusBadGateway, failed())
	case st.ask == "":
		c.answerAccepted()
	default:
		c.message(http.StatusOK, failed())
	}
}

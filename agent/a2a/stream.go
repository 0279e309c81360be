package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// stream is the ResponseWriter for the SDK's transports. In an event stream it replaces the SDK's random ids by positions in the task's
// log, writes only whole events, and limits the time for each.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	counts  *counters
	rest    bool // the binding is REST, not JSON-RPC
	old     bool // the client speaks 0.3
	wants   bool // the client asked for a stream of events
	fetch   bool // the client is JavaScript: fetch always says so, with Sec-Fetch-Mode
	// last is the id of the last event that the client has had; resumed says that the request names one.
	last    uint64
	resumed bool
	query   url.Values // of a request of REST

	writing sync.Mutex // guards the connection and its state

	mu    sync.Mutex
	marks []uint64 // positions of the events that are under way, oldest first; the SDK takes one at a time

	events, begun bool
	status        int
	pending       []byte
}

type streamKey struct{}

// streamOf returns the stream that a request is answered on; an empty one if there is none.
func streamOf(ctx context.Context) *stream {
	if s, ok := ctx.Value(streamKey{}).(*stream); ok {
		return s
	}
	return &stream{}
}

// mark queues the position in the log of the event that is yielded next.
func (s *stream) mark(position uint64) {
	s.mu.Lock()
	s.marks = append(s.marks, position)
	s.mu.Unlock()
}

// nextMark removes and returns the log position of the next event that the SDK writes; false if none is marked.
func (s *stream) nextMark() (position uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.marks) == 0 {
		return 0, false
	}
	position = s.marks[0]
	s.marks = s.marks[1:]
	return position, true
}

func (s *stream) Header() http.Header { return s.w.Header() }

// Unwrap returns the original writer, for http.ResponseController.
func (s *stream) Unwrap() http.ResponseWriter { return s.w }

// WriteHeader implements [http.ResponseWriter]. The head of an event stream is held back until the first event, because that may be an
// error with a status of its own.
func (s *stream) WriteHeader(status int) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.begun || s.events {
		return
	}
	s.status = status
	if s.Header().Get("Content-Type") == "text/event-stream" {
		s.events = true // the head waits for the first event: that may be an error
		return
	}
	s.begin(status)
}

// begin sends the head of the answer, unless it is out. The caller holds writing.
func (s *stream) begin(status int) {
	if !s.begun {
		s.begun = true
		s.deadline()
		s.w.WriteHeader(status)
	}
}

// deadline sets the time by which the client has to take the next write. Where the connection has no deadlines, those of the HTTP server
// hold.
func (s *stream) deadline() {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.timeout))
}

// Write implements [http.ResponseWriter]. Bytes of an event stream are collected and sent event by event.
func (s *stream) Write(p []byte) (int, error) {
	if !s.events {
		s.writing.Lock()
		defer s.writing.Unlock()
		s.begin(http.StatusOK)
		s.deadline()
		return s.w.Write(p)
	}
	s.pending = append(s.pending, p...)
	for {
		// The data is JSON, which has no line breaks of its own.
		end := bytes.Index(s.pending, []byte("\n\n"))
		if end < 0 {
			return len(p), nil
		}
		frame := s.pending[:end+2]
		if err := s.sendFrame(frame); err != nil {
			s.counts.slow.Add(1)
			return 0, err
		}
		s.pending = append(s.pending[:0], s.pending[end+2:]...)
		if len(s.pending) == 0 && cap(s.pending) > 64<<10 {
			s.pending = nil // a large event's room is not held while the stream is idle
		}
	}
}

// open sends the header of an event stream now, without waiting for the first event: on such a stream nothing may happen for a while. It
// may be called while the SDK waits for the first event.
func (s *stream) open() {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.events && !s.begun {
		s.begin(s.status)
		_ = s.control.Flush()
	}
}

// sendFrame sends one event of the SDK, with its position in the log as its id. An error that comes before the first event, where the
// binding has a form for it, is sent as a plain answer instead.
func (s *stream) sendFrame(frame []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if bytes.HasPrefix(frame, []byte("id:")) {
		frame = frame[bytes.IndexByte(frame, '\n')+1:]
	}
	head := []byte(nil)
	if frame[0] != ':' {
		position, marked := s.nextMark()
		// An error of the SDK or the handler. REST has a status for it. With JSON-RPC the status is 200, or the SDKs for
		// Go and Python lose its code. It is an event, because the one for Go reads nothing else on a stream; that for
		// JavaScript knows the kind of an error from an answer alone.
		if !marked && !s.begun && (s.rest || s.fetch && !s.old) {
			return s.answerError(frame)
		}
		if position > 0 {
			head = append(strconv.AppendUint([]byte("id: "), position, 10), '\n')
		}
	}
	s.begin(s.status)
	s.deadline()
	if _, err := s.w.Write(append(head, frame...)); err != nil {
		return err
	}
	return s.control.Flush()
}

// answerError answers with an error that came before the first event, as JSON with the status that the binding wants. frame is the SDK's
// event with the error.
func (s *stream) answerError(frame []byte) error {
	body := bytes.TrimSpace(bytes.TrimPrefix(frame, []byte("data:")))
	var e struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	status := http.StatusInternalServerError
	if !s.rest {
		status = http.StatusOK
	} else if json.Unmarshal(body, &e) == nil && e.Error.Code >= 400 && e.Error.Code <= 599 {
		status = e.Error.Code
	}
	s.Header().Set("Content-Type", "application/json")
	s.begin(status)
	s.deadline()
	_, err := s.w.Write(append(body, '\n'))
	return err
}

// Flush implements http.Flusher, which the SDK requires. Events of a stream are flushed by themselves.
func (s *stream) Flush() {
	s.writing.Lock()
	defer s.writing.Unlock()
	if !s.events && s.begun {
		_ = s.control.Flush()
	}
}

// finish ends the answer, and removes the write deadline, because the connection may be used again.
func (s *stream) finish() {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.events {
		s.begin(s.status)
	}
	_ = s.control.SetWriteDeadline(time.Time{})
}

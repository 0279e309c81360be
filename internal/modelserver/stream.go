package modelserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

type m = map[string]any

// Stream writes one answer: whole, or as events that are flushed one by one. The first error ends
// it, and what is written then goes nowhere.
type Stream struct {
	W http.ResponseWriter
	// Context ends the answer: the request's.
	Context context.Context
	// Delay is kept between events.
	Delay time.Duration
	// Timeout is the time that a client may take to read one event; 0 waits for ever.
	Timeout time.Duration
	// Each, when set, is called with every event before it is written (a whole answer is one) and may write something
	// itself, set Err, or report that it has written the event.
	Each func(event string) (written bool)

	Status int   // that was sent; 0 until then
	Events int   // that were written
	Err    error // of the first write that failed
	end    string
	held   bool // a whole answer goes out at once, with its length
}

// JSON answers with a status and v as JSON, and nothing else. It panics if v cannot be encoded.
func (s *Stream) JSON(status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic("modelserver: " + err.Error()) // made of maps and texts
	}
	s.send(status, data)
}

// send answers with one piece of JSON.
func (s *Stream) send(status int, data []byte) {
	s.Status = status
	s.W.Header().Set("Content-Type", "application/json")
	s.deadline()
	// No Content-Length of our own: what ends the handler comes before the end of the answer.
	s.W.WriteHeader(status)
	if _, err := s.W.Write(data); err != nil && s.Err == nil {
		s.Err = err
	}
}

// Open writes the head of an answer, with status 200.
func (s *Stream) Open(contentType string) {
	h := s.W.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache")
	s.end = "\n"
	s.Status = http.StatusOK
	s.deadline()
	s.W.WriteHeader(s.Status)
	s.Flush()
}

// OpenEvents calls [Stream.Open] for server-sent events.
func (s *Stream) OpenEvents() { s.Open("text/event-stream; charset=utf-8") }

// Flush sends what was written, unless a whole answer goes out at once.
func (s *Stream) Flush() {
	if !s.held {
		_ = http.NewResponseController(s.W).Flush() // a writer that cannot sends it at the end
	}
}

// Event writes one server-sent event, with v as JSON unless it is a text; a name of "" leaves its
// line out.
func (s *Stream) Event(name string, v any) {
	text, is := v.(string)
	if !is {
		data, err := json.Marshal(v)
		if err != nil && s.Err == nil {
			s.Err = err
		}
		text = string(data)
	}
	var b strings.Builder
	if name != "" {
		b.WriteString("event: " + name + s.end)
	}
	b.WriteString("data: " + text + s.end + s.end)
	s.write(b.String())
}

// Framed writes an event that is a frame of its own.
func (s *Stream) Framed(frame []byte) { s.write(string(frame)) }

// write writes one event, unless Each has, after the delay if it is not the first. It does nothing after an error, or when the client is gone.
func (s *Stream) write(text string) {
	if s.Delay > 0 && s.Events > 0 {
		s.Wait(s.Delay)
	}
	if s.Err == nil {
		s.Err = s.Context.Err()
	}
	if s.Err != nil {
		return
	}
	s.deadline()
	written := s.Each != nil && s.Each(text)
	s.Events++
	if !written {
		s.Raw(text)
		s.Flush()
	}
}

// Raw writes bytes that are no event; none after an error.
func (s *Stream) Raw(text string) {
	if s.Err == nil {
		_, s.Err = io.WriteString(s.W, text)
	}
}

// Wait waits for d, and reports whether the client is still there; if not, it sets s.Err.
func (s *Stream) Wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.Context.Done():
		s.Err = s.Context.Err()
		return false
	}
}

// writeWhole writes an answer that is no stream.
func (s *Stream) writeWhole(v any) {
	s.held = s.Each == nil
	if s.Status == 0 {
		s.Open("application/json")
	}
	data, err := json.Marshal(v)
	if err != nil && s.Err == nil {
		s.Err = err
	}
	s.write(string(data))
}

// deadline keeps a client that does not read from holding a place for ever. The one of the request before it on the
// connection may have passed.
func (s *Stream) deadline() {
	if s.Timeout > 0 {
		_ = http.NewResponseController(s.W).SetWriteDeadline(time.Now().Add(s.Timeout)) // a recorder has none
	}
}

// pieceBytes is about how much of a text goes into one event: a few words, as models do.
const pieceBytes = 24

// pieces cuts a text as models stream it, on the boundaries of runes.
func pieces(text string) []string {
	var all []string
	for len(text) > 0 {
		n := min(pieceBytes, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		all = append(all, text[:n])
		text = text[n:]
	}
	return all
}

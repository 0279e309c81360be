package scripted

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/window/wire"
)

type m = map[string]any

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("scripted: %v", err))
	}
	w.Header().Set("Content-Type", "application/json")
	// No Content-Length of our own: the client must not see the end before the request is recorded.
	w.WriteHeader(status)
	w.Write(text)
}

// A stream writes one answer: whole, or as events that are flushed one by one.
type stream struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	r      *http.Request
	fault  Fault
	zip    *gzip.Writer
	status int
	events int
	err    error
	end    string // line ends
	held   bool   // a whole answer goes out at once, with its length
}

// answer writes a reply in the request's dialect.
func (s *stream) answer(p *Provider, r *Request, reply Reply) {
	if reply.Pause > 0 && !s.wait(reply.Pause) {
		return
	}
	u := p.usage(r, reply)
	switch r.Dialect {
	case wire.Chat:
		s.chat(p, r, reply, u)
	case wire.Responses:
		s.responses(p, r, reply, u)
	case wire.Messages:
		s.messages(p, r, reply, u)
	case wire.Gemini:
		s.gemini(p, r, reply, u)
	}
	s.close()
}

func (s *stream) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.r.Context().Done():
		s.err = s.r.Context().Err()
		return false
	}
}

// open writes the head of an answer.
func (s *stream) open(contentType string) {
	h := s.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Request-Id", "req_scripted")
	s.end = "\n"
	if s.fault.Kind == Gzip {
		h.Set("Content-Encoding", "gzip")
		s.zip = gzip.NewWriter(s.w)
	}
	s.status = http.StatusOK
	s.w.WriteHeader(s.status)
	s.flush()
}

func (s *stream) flush() {
	if s.held {
		return
	}
	if s.zip != nil {
		s.zip.Flush()
	}
	s.rc.Flush()
}

// event writes one server-sent event; a name of "" leaves its line out.
func (s *stream) event(name string, v any) {
	var data []byte
	if text, ok := v.(string); ok {
		data = []byte(text)
	} else {
		data, s.err = marshal(v, s.err)
	}
	var b strings.Builder
	if name != "" {
		b.WriteString("event: " + name + s.end)
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString(s.end + s.end)
	s.write(b.String())
}

// write sends one event, with what the fault does to it.
func (s *stream) write(text string) {
	if s.err != nil {
		return
	}
	if s.r.Context().Err() != nil {
		s.err = s.r.Context().Err()
		return
	}
	s.fault.during(s, text)
	s.events++
	switch s.fault.Kind {
	case Drip:
		for len(text) > 0 && s.err == nil {
			n := min(len(text), max(1, s.fault.Bytes))
			s.raw(text[:n])
			s.flush()
			text = text[n:]
			if s.fault.Delay > 0 {
				s.wait(s.fault.Delay)
			}
		}
		return
	default:
		s.raw(text)
		s.flush()
	}
}

func (s *stream) raw(text string) {
	if s.err != nil {
		return
	}
	var out io.Writer = s.w
	if s.zip != nil {
		out = s.zip
	}
	_, s.err = io.WriteString(out, text)
}

// whole writes a JSON answer that is no stream.
func (s *stream) whole(v any) {
	s.held = s.fault.Kind == None
	if s.status == 0 {
		s.open("application/json")
	}
	data, err := marshal(v, s.err)
	s.err = err
	s.write(string(data))
}

func (s *stream) close() {
	if s.zip != nil {
		if err := s.zip.Close(); err != nil && s.err == nil {
			s.err = err
		}
	}
	s.flush()
}

func marshal(v any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// pieces cuts a text as models stream it: a few words at a time, on rune boundaries.
func pieces(text string) []string {
	const size = 24
	var list []string
	for len(text) > 0 {
		n := min(size, len(text))
		for n < len(text) && text[n]&0xc0 == 0x80 {
			n++
		}
		list = append(list, text[:n])
		text = text[n:]
	}
	return list
}

var idPrefixes = map[wire.Dialect]string{wire.Chat: "call_", wire.Responses: "call_", wire.Messages: "toolu_", wire.Gemini: ""}

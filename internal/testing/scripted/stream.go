package scripted

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/window/wire"
)

type m = map[string]any

func writeJSON(w http.ResponseWriter, status int, v any) {
	(&modelserver.Stream{W: w}).JSON(status, v)
}

// A stream writes one answer, with what the fault does to it.
type stream struct {
	*modelserver.Stream
	fault Fault
	zip   *gzipped // nil unless the fault is Gzip
}

func newStream(w http.ResponseWriter, r *http.Request, fault Fault) *stream {
	w.Header().Set("X-Request-Id", "req_scripted")
	s := &stream{Stream: &modelserver.Stream{W: w, Context: r.Context()}, fault: fault}
	if fault.Kind == Gzip {
		s.zip = &gzipped{ResponseWriter: w}
		s.W = s.zip
	}
	if fault.Kind != None {
		s.Each = s.each
	}
	return s
}

// each plays the faults that happen to events.
func (s *stream) each(text string) (written bool) {
	s.fault.disturb(s, text)
	if s.fault.Kind != Drip {
		return false
	}
	for len(text) > 0 && s.Err == nil {
		n := min(len(text), max(1, s.fault.Bytes))
		s.Raw(text[:n])
		s.Flush()
		text = text[n:]
	}
	return true
}

// answer writes a reply in the request's dialect.
func (s *stream) answer(p *Provider, r *Request, reply Reply) {
	a := p.answer(r, reply)
	switch r.Dialect {
	case wire.Chat:
		s.Chat(a)
	case wire.Responses:
		if r.place.compact {
			p.answerCompact(s, r, a)
			break
		}
		s.Responses(a)
	case wire.Messages:
		if r.place.framed && s.Each == nil {
			s.W, s.Each = framed{s.W}, s.chunk
		}
		s.Messages(a)
	case wire.Gemini:
		s.Gemini(a)
	case wire.Converse:
		s.converse(a)
	}
	s.close()
}

// answer returns a reply in the words of the server.
func (p *Provider) answer(r *Request, reply Reply) *modelserver.Answer {
	a := &modelserver.Answer{
		Model: r.Model, Stream: r.Stream, Created: created, Fingerprint: "fp_scripted", NewID: p.id,
		Text: reply.Text, Thinking: reply.Thinking, Stop: reply.Stop, Usage: p.usage(r, reply),
		Compaction: r.Dialect == wire.Responses && r.compactionItem(), Array: r.place.array,
	}
	p.reason(r, reply, a)
	r.Usage = a.Usage
	if a.Iteration != nil {
		r.Usage = *a.Iteration
	}
	var options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	json.Unmarshal(r.top["stream_options"], &options)
	a.IncludeUsage = options.IncludeUsage
	for _, c := range reply.Calls {
		call := modelserver.Call{ID: c.ID, Name: c.Tool, Kind: c.Kind, Namespace: c.Namespace, Arguments: c.arguments()}
		if input, ok := c.Args.(string); ok && c.Kind == "custom" {
			call.Arguments = input
		}
		a.Calls = append(a.Calls, call)
	}
	return a
}

// close ends the compression of an answer, if it has any.
func (s *stream) close() {
	if s.zip != nil && s.zip.zip != nil {
		if err := s.zip.zip.Close(); err != nil && s.Err == nil {
			s.Err = fmt.Errorf("gzip: %w", err)
		}
	}
	s.Flush()
}

// gzipped compresses an answer that is no refusal.
type gzipped struct {
	http.ResponseWriter
	zip *gzip.Writer
}

func (g *gzipped) WriteHeader(status int) {
	if status == http.StatusOK {
		g.Header().Set("Content-Encoding", "gzip")
		g.zip = gzip.NewWriter(g.ResponseWriter)
	}
	g.ResponseWriter.WriteHeader(status)
}

func (g *gzipped) Write(p []byte) (int, error) {
	if g.zip == nil {
		return g.ResponseWriter.Write(p)
	}
	return g.zip.Write(p)
}

// Flush implements [http.Flusher].
func (g *gzipped) Flush() {
	if g.zip != nil {
		_ = g.zip.Flush()
	}
	_ = http.NewResponseController(g.ResponseWriter).Flush()
}

var idPrefixes = map[wire.Dialect]string{wire.Chat: "call_", wire.Responses: "call_", wire.Messages: "toolu_", wire.Gemini: "", wire.Converse: "tooluse_"}

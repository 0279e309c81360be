package wire

import (
	"bytes"
	"slices"

	"github.com/plimsoll/plimsoll/internal/eventstream"
)

// Usage holds the token counts a provider reported for a request; fields it did not report are 0.
type Usage struct {
	Input      int // all of it: cache reads and writes included
	Output     int // reasoning included
	CacheRead  int
	CacheWrite int
	CacheHour  int // the part of CacheWrite that the provider keeps for an hour
	Reasoning  int
}

// A Change is one kind of edit that a provider reports it made to the input before the model read it, with the number of times
// it was made for that reason. What and Reason are quoted from the provider, at most 64 bytes each, "" where it gives none.
type Change struct {
	What   string // "thinking_dropped"
	Reason string // "prefix_binding_mismatch", "prefix_mismatch", …
	Count  int
}

// maxChanges bounds [Answer.Changes]; further changes are counted in the last of them.
const maxChanges = 8

// ErrorBytes is the most that [Answer.ErrorBody] holds.
const ErrorBytes = 64 << 10

// Answer reads along while a response streams by: JSON bodies and server-sent events of all dialects, in pieces cut anywhere. It takes a
// fixed amount of memory (about [ErrorBytes] and 4 KB), never fails, and refers to nothing of its input.
//
// Lines of an event stream end in LF or CRLF.
type Answer struct {
	Usage Usage
	// StopReason is the provider's own word ("stop", "max_tokens", "MAX_TOKENS",
	// "model_context_window_exceeded", …), at most 64 bytes.
	StopReason string
	// ID is the provider's name for the answer, Model the model that gave it; "" where they are not given or have more than 63 bytes.
	ID, Model string
	// Begun means that content was seen: a client may have shown it. Events that only announce or end content (response.created,
	// message_start, ping, message_stop, a chunk without choices) do not count, and neither do errors.
	Begun bool
	// Calls means that a call of a tool was seen, which the client is to answer; of dialects whose StopReason does not say so.
	Calls bool
	// Counted means that Usage has the output so far, and not what a stream said of it before it began.
	Counted bool
	// Done means that the provider ended the response in its own way.
	Done bool
	// ErrorBody is the first JSON object that is marked as an error, whatever the status was, cut at ErrorBytes; nil where there is none.
	ErrorBody []byte
	// Changes are the input_transformations that the provider reports. Anthropic does so in the message, with a stream in its
	// message_start and, if another model took over in mid-stream, anew in the last message_delta (anthropic-sdk-python,
	// beta_raw_message_delta_event.py, and Bedrock's guide "Thinking block binding", 2026-11-26); OpenAI in the response. The last
	// report counts.
	Changes []Change

	change Change // the one being read, if Count is not 0
	rules  *answerRules
	stream bool
	frames *eventstream.Reader // of a stream of event frames; nil for any other
	inner  []byte
	line   lineState
	field  [6]byte // the beginning of a line, until it is known what line it is
	nfield int

	lex      lexer
	record   []byte // the object at hand, cut at ErrorBytes
	failed   bool   // that object is an error
	last     bool   // that object ends the response
	reported reported
	reason   bool // StopReason is set, by the better of two members for it
}

type lineState uint8

const (
	lineBegins lineState = iota
	lineData
	lineOther
)

// NewAnswer returns a reader for one response. stream means that it is an event stream (by its Content-Type, not by what was asked for);
// otherwise it is one JSON value, or Gemini's array of them.
func NewAnswer(d Dialect, stream bool) *Answer {
	return &Answer{rules: &d.Rules().answer, stream: stream}
}

// NewFramedAnswer returns a reader for a stream of [eventstream.Type].
func NewFramedAnswer(d Dialect) *Answer {
	a := NewAnswer(d, true)
	a.frames = &eventstream.Reader{Most: frameHeld}
	return a
}

// EndsTurn reports whether the model has said what it had to say, or all that it may: it awaits no result of a tool, and no repetition of
// the request. Who asks next is the user. It is true only once the reason for the end was read.
func (a *Answer) EndsTurn() bool {
	if a.Calls || a.ErrorBody != nil {
		return false
	}
	switch a.StopReason {
	case "", "tool_use", "tool_calls", "function_call", "pause_turn", "failed":
		return false
	}
	return true
}

// readFrame reads a whole frame of Amazon's event stream. An exception ends the answer.
func (a *Answer) readFrame(e *eventstream.Frame) {
	if e.Kind != "event" {
		if a.ErrorBody == nil {
			a.ErrorBody = frameError(e)
		}
		a.Done = true
		return
	}
	if a.rules.event != nil && e.Name != "chunk" {
		a.rules.event(a, []byte(e.Name))
	}
	a.readJSON(frameOutput(e, &a.inner))
	a.lex.reset()
	a.clear()
}

// Write reads the next bytes. It returns len(p) and nil. It finds the data of events itself: sse.Reader reads from a stream and copies,
// while these bytes are on their way to the client and are looked at where they lie.
func (a *Answer) Write(p []byte) (int, error) {
	n := len(p)
	if a.frames != nil {
		a.frames.Feed(p, a.readFrame)
		return n, nil
	}
	if !a.stream {
		a.readJSON(p)
		return n, nil
	}
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		piece := p
		if end >= 0 {
			piece = p[:end]
		}
		a.readPiece(piece)
		if end < 0 {
			break
		}
		p = p[end+1:]
		if a.line == lineData {
			a.readJSON(newline) // data lines of one event are joined by it
		}
		if a.line == lineBegins && a.nfield == 0 {
			a.lex.reset() // an empty line ends the event
			a.clear()
		}
		a.line, a.nfield = lineBegins, 0
	}
	return n, nil
}

var (
	newline   = []byte{'\n'}
	dataField = []byte("data:")
)

// readPiece reads bytes of one line of an event stream, and passes those of a data line on as JSON.
func (a *Answer) readPiece(p []byte) {
	for a.line == lineBegins && len(p) > 0 {
		a.field[a.nfield] = p[0]
		a.nfield++
		switch {
		case !bytes.HasPrefix(dataField, a.field[:a.nfield]):
			a.line = lineOther
			if a.nfield == 1 && p[0] == '\r' {
				a.line, a.nfield = lineBegins, 0 // the CR of an empty line
			}
		case a.nfield == len(dataField):
			a.line = lineData
		}
		p = p[1:]
	}
	if a.line == lineData && len(p) > 0 {
		a.readJSON(p)
	}
}

// readJSON reads bytes of JSON. At the end of each value it updates the answer.
func (a *Answer) readJSON(p []byte) {
	for len(p) > 0 {
		n := a.lex.feed(p, a)
		if a.lex.from < n {
			piece := p[a.lex.from:n]
			a.record = append(a.record, piece[:min(len(piece), ErrorBytes-len(a.record))]...)
		}
		p = p[n:]
		if a.lex.closed {
			a.lex.closed = false
			a.finish()
			a.clear()
		}
	}
}

// clear drops the object being read.
func (a *Answer) clear() {
	a.record, a.failed, a.last = a.record[:0], false, false
	a.change = Change{}
}

// addChange adds the change being read to Changes, or counts it there if it is known. Beyond maxChanges the last one counts the rest.
func (a *Answer) addChange() {
	if a.change.Count == 0 {
		return
	}
	at := slices.IndexFunc(a.Changes, func(c Change) bool { return c.What == a.change.What && c.Reason == a.change.Reason })
	switch {
	case at >= 0:
		a.Changes[at].Count++
	case len(a.Changes) < maxChanges:
		a.Changes = append(a.Changes, a.change)
	default:
		a.Changes[maxChanges-1].Count++
	}
	a.change = Change{}
}

// finish sets Changes, ErrorBody and Done by a complete object.
func (a *Answer) finish() {
	a.addChange()
	if a.failed && a.ErrorBody == nil {
		a.ErrorBody = slices.Clone(a.record)
	}
	a.Done = a.Done || a.last || a.failed || !a.stream
}

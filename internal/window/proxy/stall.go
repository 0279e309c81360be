package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/eventstream"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/wire"
)

// How long an answer that comes in events may stand still. Anthropic sends a ping every few seconds and OpenAI and its like comments, so
// that a connection over which nothing comes any more looks alive: people report 25 to 109 minutes of it.
const (
	// stallAfter is the usual bound. Where a model was seen to go on after a longer pause, the bound is twice that pause.
	stallAfter = 5 * time.Minute
	// stallMost is the upper bound, and the one for reasoning while the provider says that it goes on.
	stallMost = 30 * time.Minute
	// maxPauses bounds the number of models whose pauses are remembered.
	maxPauses = 256
)

// errStalled means that no event came for too long.
var errStalled = errors.New("the answer stood still for too long")

// pauses holds, by upstream and model, the longest pause after which an answer went on.
type pauses struct {
	mu    sync.Mutex
	known map[string]pause
}

type pause struct {
	longest time.Duration
	at      time.Time // last seen
}

// allowed returns how long an answer of the upstream and model key may pause.
func (x *pauses) allowed(key string) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	return min(max(stallAfter, 2*x.known[key].longest), stallMost)
}

// record records that an answer of the upstream and model key went on after a pause of that length, so that later ones may pause as long.
// Short pauses are ignored; if there are too many records the oldest goes.
func (x *pauses) record(key string, length time.Duration) {
	if 2*length <= stallAfter {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.known == nil {
		x.known = map[string]pause{}
	}
	if _, ok := x.known[key]; !ok && len(x.known) >= maxPauses {
		oldest := ""
		for name, p := range x.known {
			if oldest == "" || p.at.Before(x.known[oldest].at) {
				oldest = name
			}
		}
		delete(x.known, oldest)
	}
	x.known[key] = pause{max(length, x.known[key].longest), time.Now()}
}

// A stallWatch reads an answer that comes in events, and ends it when none has come for too long. Only the time that it waits for the
// provider counts: a client that takes its time is no stall.
type stallWatch struct {
	body       io.Reader
	connection io.Closer // ends a read of body
	pauses     *pauses
	of         string // upstream and model
	slowStart  bool   // until its first event stallMost is allowed
	packed     bool

	timer *time.Timer
	mu    sync.Mutex
	pulse *wire.Pulse   // finds events in the answer; nil: it cannot be unpacked, and each byte counts
	heard bool          // an event has come
	since time.Time     // when the read under way began; zero between two
	quiet time.Duration // time spent since the newest event in reads before that one
	late  bool
	over  bool
	// The state when the answer was found to stand still, for the journal.
	stood     time.Duration
	reasoning bool
}

// watchStall returns a watch over the answer to a model request. It returns nil, on which stop may be called, for an answer that is no
// stream or no model's, and in any mode but Enforce. key names upstream and model. The caller stops it and passes the bytes that come to
// see, if unpacked is set decompressed. thinks means that the request asks for reasoning.
func (p *Proxy) watchStall(rt *route, res *http.Response, body io.ReadCloser, key string, unpacked, thinks bool) *stallWatch {
	kind := mediaType(res.Header)
	events := isStream(kind)
	array := rt.dialect.Rules().ArrayStream && rt.stream && kind == "application/json"
	if p.o.Mode != Enforce || !rt.model || res.StatusCode != http.StatusOK || !events && !array {
		return nil
	}
	s := &stallWatch{
		body: body, connection: body, pauses: &p.pauses, of: key, packed: !isIdentity(res.Header.Get("Content-Encoding")),
		slowStart: models.CutsSilently(rt.up.modelsName(), rt.asked), // a server of one's own may read a long input for long
	}
	if held, ok := body.(*heldReads); ok {
		s.connection = held.ReadCloser // held's own Close is for the one who reads it
	}
	if !s.packed || unpacked {
		s.pulse = wire.NewPulse(rt.dialect, events, thinks)
		if kind == eventstream.Type {
			s.pulse = wire.NewFramedPulse(rt.dialect, thinks)
		}
	}
	s.timer = time.AfterFunc(stallAfter, s.check)
	return s
}

// allowed returns how long the answer may pause in its present state. The caller has the lock.
func (s *stallWatch) allowed() time.Duration {
	if s.slowStart && !s.heard || s.pulse != nil && s.pulse.Reasoning {
		return stallMost
	}
	return s.pauses.allowed(s.of)
}

// waited returns the time spent waiting for the provider since its newest event. The caller has the lock.
func (s *stallWatch) waited() time.Duration {
	if s.since.IsZero() {
		return s.quiet
	}
	return s.quiet + time.Since(s.since)
}

// check is called by the timer. If the answer has been silent for too long, it closes the connection, and Read then returns errStalled.
// Otherwise it sets the timer again.
func (s *stallWatch) check() {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	left := s.allowed() - s.waited()
	late := left <= 0 && !s.since.IsZero()
	if late {
		s.late, s.stood, s.reasoning = true, s.waited(), s.pulse != nil && s.pulse.Reasoning
	} else {
		s.timer.Reset(max(left, time.Second)) // not below that: between two reads no time goes by
	}
	s.mu.Unlock()
	if late {
		_ = s.connection.Close()
	}
}

// Read reads from the provider. It returns errStalled if the answer was silent for too long. The time counts from the last event: bytes
// that only keep the connection alive do not count, and neither does time outside of Read.
func (s *stallWatch) Read(p []byte) (int, error) {
	s.mu.Lock()
	s.since = time.Now()
	s.mu.Unlock()
	n, err := s.body.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet, s.since = s.waited(), time.Time{}
	if s.late {
		err = errStalled
	}
	return n, err
}

// seePacked passes bytes of a compressed answer to the watch. They restart the wait only if nobody decompresses the answer any more.
func (s *stallWatch) seePacked(p []byte) {
	s.mu.Lock()
	blind := s.pulse == nil
	s.mu.Unlock()
	if blind {
		s.see(p)
	}
}

// blind tells the watch that the answer cannot be decompressed any further: from now on every byte counts as life.
func (s *stallWatch) blind() {
	s.mu.Lock()
	s.pulse = nil
	s.mu.Unlock()
}

// see passes decompressed bytes of the answer to the watch. The wait starts again if they have a part of an event.
func (s *stallWatch) see(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reasoning := s.pulse != nil && s.pulse.Reasoning
	if s.pulse != nil && !s.pulse.Alive(p) {
		return
	}
	if s.heard && !reasoning {
		s.pauses.record(s.of, s.waited())
	}
	s.heard, s.quiet = true, 0
	if !s.since.IsZero() {
		s.since = time.Now()
	}
}

// stop ends the watch. It may be called on nil.
func (s *stallWatch) stop() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.timer.Stop()
}

// end finishes an answer that has stalled in the way its provider ends one that failed and may be tried again, and journals that. If the
// client can read an error event there, it sends one and sets e.err to nil; otherwise e.err stays, and the caller cuts the connection.
func (s *stallWatch) end(p *Proxy, w http.ResponseWriter, res *http.Response, rt *route, e *ending) {
	s.mu.Lock()
	ev := journal.WindowStalled{
		Upstream: rt.up.Name, Dialect: rt.dialect.String(), Model: rt.asked, Request: rt.request,
		Quiet: s.stood, Reasoning: s.reasoning, Ended: "cut",
	}
	between, comma, retried := false, false, true
	if s.pulse != nil {
		between, comma = s.pulse.Between()
		retried = !s.pulse.BlockEnded
	}
	s.mu.Unlock()
	if between && retried && !s.packed && res.ContentLength < 0 {
		text := stallError(rt, mediaType(res.Header), comma, ev.Quiet)
		n, err := w.Write(text)
		e.bytes += int64(n)
		if err == nil {
			ev.Ended, e.err = "error", nil
		}
	}
	p.journalEvent(ev)
}

// stallError returns the error that the provider's own clients answer with another try. Measured on 2026-11-26 with answers that broke off
// in the middle, once by this error, once by a cut connection, once by an end without more (requests counted at the provider):
//
//   - Claude Code 2.1.197 asks again after overloaded_error, streamed or in one piece, also when a text or its thinking had begun. Once a
//     block has ended it gives up after an error; after a cut it asks again as long as that was thinking. So it is cut then. Without
//     either it takes half an answer for a whole one.
//   - Codex 0.169.0 asks again after response.failed with server_error, an error event, or a cut. It reads to the end of the connection
//     first (openai/codex#43140), so that has to come. After server_is_overloaded it gives up.
//   - Gemini CLI 0.61.0 asks again after an error object; a cut kills it.
//   - opencode 1.18.33 asks again after all of these, in Chat, Messages and Responses.
//
// The official SDKs raise what they read as an error and leave the rest to their caller.
func stallError(rt *route, kind string, comma bool, quiet time.Duration) []byte {
	failure := &refusal{status: http.StatusServiceUnavailable, text: fmt.Sprintf(
		"Nothing but signs of life came from the provider for %s, so Plimsoll ended the answer here. Try again.", quiet.Round(time.Second))}
	body := errorBody(rt, failure)
	switch {
	case kind == eventstream.Type:
		return eventstream.Exception("serviceUnavailableException", body)
	case !isStream(kind) && comma:
		return fmt.Appendf(nil, ",\n%s\n]\n", body)
	case !isStream(kind):
		return fmt.Appendf(nil, "[%s\n]\n", body)
	}
	return rt.dialect.Rules().StreamError(failure.text, body)
}

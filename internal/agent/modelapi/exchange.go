// Package modelapi is shared by the adapters of models (anthropic, gemini, openai): an HTTP exchange that is bounded on every side, the
// events of its answer, the meaning of failures, and names and ids in the form that each provider takes ([Names], [ID]).
//
// An [Exchange] is one request. It ends when its context does, when nothing came for too long, or when the answer passes [MaxStream] bytes,
// one event [MaxEvent], or its words [MaxAnswer]. Redirects are not followed: they would carry the conversation to a host that nobody
// named. Every failure is an *agent.ModelError whose kind decides what the agent does; its text is at most 300 bytes, printable, and holds
// no credential: no key, no value of a header, nothing of an address but scheme, host and path.
//
// An Endpoint may be used from any goroutine, an Exchange by one. It keeps the longest event, and at most 64 KiB of an error.
package modelapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/wire"
)

// drainTime and drainBytes bound the wait for the end of an answer whose last event is
// there: a connection that was read to its end can be used again.
const (
	drainTime  = 250 * time.Millisecond
	drainBytes = 64 << 10
)

// reasoningPatience bounds the time that a model sends nothing but signs of life while its provider says that it reasons, as in internal/window/proxy, and
// before it sends anything else: it may be one's own that reads a long input.
const reasoningPatience = 30 * time.Minute

var errSilent = errors.New("nothing came for too long")

// Exchange is one request and its answer. Close it.
type Exchange struct {
	e      *Endpoint
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	wait   time.Duration // how long nothing may come now
	err    error         // the failure that is known already
	body   io.ReadCloser
	came   limit.Bytes // of the body
	words  limit.Bytes // of the answer
	heard  bool        // the head of an answer came
	begun  bool        // and words of it
	ended  bool        // its last event came
	pulse  *wire.Pulse // what is of the answer and what only a sign of life; nil where each byte counts
	since  time.Time   // when the newest of the answer came
	spoken bool        // something of it came
	pinged bool        // something else came since
}

// Begin begins an exchange that ends with ctx.
func (e *Endpoint) Begin(ctx context.Context) *Exchange {
	x := &Exchange{e: e, parent: ctx, wait: e.patience}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.timer = time.AfterFunc(x.wait, func() { x.cancel(errSilent) })
	return x
}

// Context returns the context for the request.
func (x *Exchange) Context() context.Context { return x.ctx }

// Close ends the exchange, and its connection when the answer was not read to its end.
func (x *Exchange) Close() {
	if x.ended && x.body != nil && x.ctx.Err() == nil {
		x.timer.Reset(drainTime)
		io.CopyN(io.Discard, x.body, drainBytes)
	}
	x.timer.Stop()
	x.cancel(nil)
	if x.body != nil {
		x.body.Close()
	}
}

// Do sends a request. It returns answers with the statuses 200 to 299 only.
func (x *Exchange) Do(req *http.Request) (*http.Response, error) {
	res, err := x.e.client.Do(req.WithContext(x.ctx))
	if err != nil {
		x.err = x.noAnswerError(err)
		return nil, x.err
	}
	x.heard = true
	x.body = &countedBody{x: x, rc: res.Body}
	res.Body = x.body
	x.timer.Reset(x.wait)
	x.since = time.Now()
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "text/event-stream" {
			x.pulse = wire.NewPulse(x.e.dialect, true, false)
		}
		return res, nil
	}
	body, err := io.ReadAll(io.LimitReader(x.body, maxError))
	x.ended = err == nil
	if x.parent.Err() != nil {
		x.err = x.parent.Err()
		return nil, x.err
	}
	x.err = x.e.refusalError(res, body)
	return nil, x.err
}

// Begun notes that the first text of the answer has come.
func (x *Exchange) Begun() {
	if !x.begun {
		x.begun, x.wait = true, x.e.silence
		x.timer.Reset(x.wait)
	}
}

// Ended reports whether the stream announced its end.
func (x *Exchange) Ended() bool { return x.ended }

// End notes the end of a stream, for protocols whose last event is not "[DONE]".
func (x *Exchange) End() { x.ended = true }

// Take counts bytes of text, and fails when there are too many.
func (x *Exchange) Take(n int) error {
	if x.words += limit.Bytes(n); x.words > MaxAnswer {
		return x.Oversized(fmt.Sprintf("the answer is longer than %s", MaxAnswer.Human()))
	}
	return nil
}

// Broken returns the failure of an answer that is incomplete or malformed.
func (x *Exchange) Broken(what string, err error) error {
	return x.fail(&agent.ModelError{Failure: agent.Broken, Text: what, Err: x.e.redact(err)})
}

// Oversized returns the failure of an answer that is larger than is accepted. It is not tried again: a second one would be as large.
func (x *Exchange) Oversized(what string) error {
	return x.fail(&agent.ModelError{Failure: agent.Oversized, Text: what})
}

// fail fills in what all failures have.
func (x *Exchange) fail(e *agent.ModelError) error {
	e.Model, e.Tries, e.Text = x.e.info, 1, x.e.sanitize(e.Text)
	x.err = e
	return e
}

// Failure returns the error for the agent's loop: the context's own error when that has ended, otherwise an *agent.ModelError.
func (x *Exchange) Failure(err error) error {
	switch {
	case x.parent.Err() != nil:
		return x.parent.Err()
	case x.err != nil:
		return x.err
	case context.Cause(x.ctx) == errSilent:
		return x.silenceError()
	case x.heard:
		return x.Broken("the answer broke off: "+withoutURL(err), err)
	}
	// The client did not get as far as a request.
	return x.fail(&agent.ModelError{Failure: agent.Refused, Text: "the request could not be made: " + withoutURL(err), Err: x.e.redact(err)})
}

// silenceError returns the error for an answer that did not begin in time, or that stopped coming.
func (x *Exchange) silenceError() error {
	switch {
	case x.heard && x.pinged:
		return x.Broken(fmt.Sprintf("nothing but signs of life came for %s", time.Since(x.since).Round(time.Second)), errSilent)
	case x.heard:
		return x.Broken(fmt.Sprintf("nothing came for %s", x.wait), errSilent)
	}
	return x.fail(&agent.ModelError{Failure: agent.Unreachable, Text: fmt.Sprintf("no answer within %s", x.wait), Err: errSilent})
}

// noAnswerError returns the error for a request that got no answer: that of the caller's context, that of a silent service, or an
// *agent.ModelError without address and credentials.
func (x *Exchange) noAnswerError(err error) error {
	switch {
	case x.parent.Err() != nil:
		return x.parent.Err()
	case context.Cause(x.ctx) == errSilent:
		return x.silenceError()
	}
	e := &agent.ModelError{Failure: agent.Unreachable, Text: withoutURL(err), Err: x.e.redact(err)}
	switch {
	case strings.Contains(e.Text, "malformed HTTP"):
		e.Failure = agent.NotAnAPI
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), strings.Contains(e.Text, "connection broken"):
		e.Failure, e.Text = agent.Broken, "the connection was closed without an answer: "+e.Text
	}
	return x.fail(e)
}

// withoutURL returns the text of an error without the address, which may hold a credential.
func withoutURL(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*url.Error](err); ok && e.Err != nil {
		err = e.Err
	}
	return err.Error()
}

// redact wraps an error so that its text holds no credential and no address, and errors.Is and As still work. nil stays nil.
func (e *Endpoint) redact(err error) error {
	if err == nil {
		return nil
	}
	if u, ok := errors.AsType[*url.Error](err); ok && u.Err != nil {
		err = u.Err
	}
	return &redactedError{text: e.sanitize(err.Error()), err: err}
}

type redactedError struct {
	text string
	err  error
}

func (h *redactedError) Error() string { return h.text }

// Is and As look below; Unwrap would let the text out.
func (h *redactedError) Is(target error) bool { return errors.Is(h.err, target) }

// resetTimer restarts the time that the service may be silent, because the bytes b have come. Pings and comments alone restart it only
// until the model has said nothing for the endpoint's patience: people report an hour of nothing but pings.
func (x *Exchange) resetTimer(b []byte) {
	now := time.Now()
	x.pinged = x.pulse != nil && !x.pulse.Alive(b)
	if !x.pinged {
		x.since, x.spoken = now, true
		x.timer.Reset(x.wait)
		return
	}
	most := x.e.patience
	if x.pulse.Reasoning || !x.spoken {
		most = max(most, reasoningPatience)
	}
	x.timer.Reset(min(x.wait, max(0, most-now.Sub(x.since))))
}

// countedBody is a body that counts its bytes.
type countedBody struct {
	x  *Exchange
	rc io.ReadCloser
}

// Read reads from the body and restarts the time of silence. A stream longer than MaxStream is an error.
func (w *countedBody) Read(p []byte) (int, error) {
	n, err := w.rc.Read(p)
	if n > 0 {
		w.x.resetTimer(p[:n])
		if w.x.came += limit.Bytes(n); w.x.came > MaxStream {
			return n, w.x.Oversized(fmt.Sprintf("the stream of the answer is longer than %s", MaxStream.Human()))
		}
	}
	return n, err
}

func (w *countedBody) Close() error { return w.rc.Close() }

package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/limit"
)

// Error names the model, its address, the failure and the next step.
func (e *ModelError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", e.Model.Name)
	if e.Model.URL != "" {
		fmt.Fprintf(&b, " at %s", e.Model.URL)
	}
	fmt.Fprintf(&b, ": %s", e.Failure)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Actual != 0 && e.Limit != 0 {
		fmt.Fprintf(&b, ": %d tokens, and %d is the most", e.Actual, e.Limit)
	}
	switch {
	case e.Text != "":
		fmt.Fprintf(&b, ": %s", e.Text)
	case e.Err != nil:
		fmt.Fprintf(&b, ": %s", limit.Clip(e.Err.Error(), 300))
	}
	if e.Tries > 1 {
		fmt.Fprintf(&b, ", in %d tries", e.Tries)
	}
	if hint := e.hint(); hint != "" {
		fmt.Fprintf(&b, "; %s", hint)
	}
	return b.String()
}

// hint returns what a person can do about the failure, "" if nothing is known.
func (e *ModelError) hint() string {
	switch e.Failure {
	case Unreachable:
		return "check that something listens at this address, and the network"
	case Busy:
		return "ask again later"
	case Broken:
		return "ask again; if that lasts, the endpoint or a proxy before it breaks answers off"
	case Key:
		return "check the key: that it is this provider's, has not expired, and may use this model"
	case NoModel:
		return "check the name of the model and the address"
	case TooLong:
		return "ask for less at a time, or configure the window as it is (window)"
	case Oversized:
		return "no model should say so much: ask for less at a time, or look at what the endpoint sends"
	case NotAnAPI:
		return "the address answers with something else than a model; check it, often /v1 is missing at its end"
	default:
		return ""
	}
}

// Unwrap returns the cause, which may be nil.
func (e *ModelError) Unwrap() error { return e.Err }

// Transient reports whether the same request may succeed later.
func (e *ModelError) Transient() bool {
	return e.Failure == Unreachable || e.Failure == Busy || e.Failure == Broken
}

var (
	errModelTimeout = errors.New("the model did not answer in time")
	errAnswerFull   = errors.New("the answer is longer than MaxAnswer")
	errToolTimeout  = errors.New("the call of the tool took too long")
	errToolOver     = errors.New("the call of the tool has ended")
)

// tooLong wraps the error of a request that cannot be made to fit the window.
type tooLong struct{ err error }

func (e *tooLong) Error() string { return e.err.Error() }
func (e *tooLong) Unwrap() error { return e.err }

// notKept wraps the error when the conversation could not be written or the tools could not be listed.
type notKept struct{ err error }

func (e *notKept) Error() string { return e.err.Error() }
func (e *notKept) Unwrap() error { return e.err }

// modelError returns an error of a model as a *ModelError with the number of tries. Any other error becomes one with the failure Internal.
// It does not change err.
func modelError(info ModelInfo, err error, tries int) *ModelError {
	var known *ModelError
	if errors.As(err, &known) {
		e := *known
		e.Tries = tries
		return &e
	}
	return &ModelError{Model: info, Failure: Internal, Text: limit.Clip(err.Error(), 300), Tries: tries, Err: err}
}

// endReason describes for people why a context ended; after is the time that the query took.
func endReason(cause error, after time.Duration) string {
	switch {
	case errors.Is(cause, ErrClosed):
		return "the agent was closed"
	case errors.Is(cause, context.DeadlineExceeded):
		return fmt.Sprintf("the time for the query ran out after %v", after.Round(time.Millisecond))
	case errors.Is(cause, context.Canceled):
		return "it was cancelled"
	default:
		return limit.Clip(cause.Error(), 300)
	}
}

// TooLargeError means that a request does not fit the window of the model, whatever is left out of it. It is a cause of
// [ContextExceeded], and holds no text of the conversation.
type TooLargeError struct {
	Model string
	// Limit is the number of input tokens that fit, Total the number that remains when everything that may
	// be left out is left out.
	Limit, Total int
	// Role, Tool and Place identify the largest part of it, and Tokens is its size. Place
	// counts the messages from 1; 0 is the system prompt or the tools, see Part.
	Role   Role
	Tool   string // the tool, if the part is a result
	Place  int
	Of     int // messages in all
	Tokens int
	// Part is "system prompt" or "tools" when Place is 0.
	Part string
}

// Names of the parts of a request's head in a [TooLargeError].
const (
	partSystem = "system prompt"
	partTools  = "tools"
)

// Error names the model, the sizes in tokens, the largest part of the request and the next step.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%d tokens fit into a request to %s, and %d are left after everything that may be left out was left out: %s has %d of them; %s",
		e.Limit, e.Model, e.Total, e.largestPart(), e.Tokens, e.advice())
}

// largestPart returns words for the largest part of the request: a message by its number and author, or the system prompt or tools.
func (e *TooLargeError) largestPart() string {
	if e.Place == 0 {
		return "the part \"" + e.Part + "\""
	}
	who := string(e.Role)
	switch e.Role {
	case RoleUser:
		who = "the user's"
	case RoleAssistant:
		who = "the model's"
	case RoleTool:
		who = "a result"
		if e.Tool != "" {
			who += " of " + limit.Short(e.Tool, 64)
		}
	}
	return fmt.Sprintf("message %d of %d (%s)", e.Place, e.Of, who)
}

// advice returns what a person can do about the largest part.
func (e *TooLargeError) advice() string {
	switch {
	case e.Place == 0 && e.Part == partTools:
		return "connect fewer tools, or use a model with a larger window"
	case e.Place == 0:
		return "shorten the system prompt, or use a model with a larger window"
	case e.Role == RoleTool:
		return "ask for less at once or by page, or use a model with a larger window"
	case e.Role == RoleUser:
		return "shorten the question, begin a new session, or use a model with a larger window"
	}
	return "begin a new session, or use a model with a larger window"
}

// tooLarge returns the [TooLargeError] that names the largest part of the request.
func (p *compactionPass) tooLarge(large *compact.DoesNotFit) error {
	ms := p.encoded.ms
	e := &TooLargeError{Model: p.info.Name, Limit: p.Room, Total: large.Total, Tokens: large.Tokens, Of: len(ms), Part: partTools}
	i, ok := p.encoded.largest(large.Message)
	r := p.encoded.request
	switch {
	case ok:
		e.Part, e.Place, e.Role, e.Tool = "", i+1, ms[i].Role, ms[i].Name
	case large.Message >= 0 || r.SystemSpan.Len() > r.ToolsSpan.Len():
		e.Part = partSystem
	}
	return e
}

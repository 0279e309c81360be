package agent

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/limit"
)

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
			who += " of " + clipText(e.Tool, 64)
		}
	}
	return fmt.Sprintf("message %d of %d (%s)", e.Place, e.Of, who)
}

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

// clipText returns at most about n bytes of a text, cut between runes.
func clipText(s string, n int) string { return limit.Short(s, n) }

package agent

import (
	"context"

	"github.com/plimsoll/plimsoll/limit"
)

// Tools are the tools of an agent. Package toolbox makes them of MCP servers and Go functions.
// All methods may be called from any goroutine.
type Tools interface {
	// List returns the tools, in an order that does not change without need (providers' caches).
	List(ctx context.Context) ([]ToolSpec, error)
	// Check returns the fault of a call, for the model to read, without making it: an
	// unknown tool, arguments that its schema does not allow. nil: there is none.
	Check(c Call) error
	// Call makes a call. chunk gets the output as far as it comes in pieces, for people; it is
	// never nil. An error is the call's result too, marked as failed. When ctx ends Call should
	// return soon; nobody waits for it.
	Call(ctx context.Context, c Call, chunk func(string)) (Output, error)
}

// Output is the answer of a tool.
type Output struct {
	// Text is the text for the model: all of it, or a page and how to get the rest.
	Text   string
	Failed bool
	// Size is the tool's whole output in bytes; 0 is len(Text).
	Size int64
	// Digest is the same for results that say the same, "" for the digest of Text. A tool sets it whose Text differs each time
	// although nothing is new: a page with a handle of its own. A model that gets the same result again and again is stopped.
	Digest string
}

type roomKey struct{}

// ResultRoom returns the bytes of text of a call's result for which its model has room, by the ctx of the call: half of what is free in the
// window below the line at which room is made, shared by the calls of the step. 0 is not known. A result that is larger is best
// answered with a page of that size.
func ResultRoom(ctx context.Context) limit.Bytes {
	room, _ := ctx.Value(roomKey{}).(limit.Bytes)
	return room
}

type sessionKey struct{}

// session identifies a conversation of an agent; one without a name has the query's own mark.
type session struct {
	agent *Agent
	name  string
	query *byte
}

func withSession(ctx context.Context, a *Agent, name string) context.Context {
	s := session{agent: a, name: name}
	if name == "" {
		s.query = new(byte)
	}
	return context.WithValue(ctx, sessionKey{}, s)
}

// SessionOf identifies the conversation that a call of a tool belongs to, by the ctx of the call: calls of one session of one
// agent have equal ones, and so have those of one query without a session. nil outside of a query.
func SessionOf(ctx context.Context) any { return ctx.Value(sessionKey{}) }

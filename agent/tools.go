package agent

import (
	"context"

	"github.com/plimsoll/plimsoll/limit"
)

// Tools are the tools of an agent. Package toolbox makes them from MCP servers and Go functions. All methods may be called from any
// goroutine.
type Tools interface {
	// List returns the tools, in a stable order, for the sake of providers' caches.
	List(ctx context.Context) ([]ToolSpec, error)
	// Check returns an error, for the model to read, if a call is invalid, without making it: for an
	// unknown tool, or arguments that its schema does not allow.
	Check(c Call) error
	// Call makes a call. chunk is called with output that comes in pieces, for people to see; it is
	// never nil. An error becomes the call's result, marked as failed. When ctx ends, Call should
	// return soon; the agent does not wait for it.
	Call(ctx context.Context, c Call, chunk func(string)) (Output, error)
}

// Output is the answer of a tool.
type Output struct {
	// Text is for the model: the whole output, or a page of it and how to get the rest.
	Text   string
	Failed bool
	// Size is the size of the whole output in bytes; 0 means len(Text).
	Size int64
	// Digest is equal for results with the same content; "" means the digest of Text. A tool sets it if its Text differs each time
	// although nothing is new, as a page with a new handle. Equal results again and again are a loop, which is stopped.
	Digest string
}

type roomKey struct{}

// ResultRoom returns, from the context of a call, for how many bytes of result text the model has room: half of what is free in the window
// before room is made, shared by the calls of the step, and at least 10,000 bytes; 0 outside of a call. Answer a larger result with a page
// of that size.
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

// SessionOf returns a key for the conversation that a call belongs to, from the context of the call: it is equal for all calls of one
// session of one agent, and for all calls of one query without a session. It returns nil outside of a query.
func SessionOf(ctx context.Context) any { return ctx.Value(sessionKey{}) }

package agent

import "context"

// Tools is what an agent can do. Package toolbox makes it of MCP servers and Go functions.
// All methods may be called from any goroutine.
type Tools interface {
	// List tells the tools, in an order that does not change without need (providers' caches).
	List(ctx context.Context) ([]ToolSpec, error)
	// Check tells what is wrong with a call, for the model to read, without making it: an
	// unknown tool, arguments that its schema does not allow. nil: nothing is.
	Check(c Call) error
	// Call makes a call. chunk gets the output as far as it comes in pieces, for people; it is
	// never nil. An error is the call's result too, marked as failed. When ctx ends Call should
	// return soon; nobody waits for it.
	Call(ctx context.Context, c Call, chunk func(string)) (Output, error)
}

// Output is what a tool answers.
type Output struct {
	// Text is what the model is given: all of it, or a page and how to get the rest.
	Text   string
	Failed bool
	// Size is how much the tool had to say in bytes; 0 is len(Text).
	Size int64
	// Digest is the same for results that say the same, "" for the digest of Text. A tool sets it whose Text differs each time
	// although nothing is new: a page with a handle of its own. A model that gets the same result again and again is stopped.
	Digest string
}

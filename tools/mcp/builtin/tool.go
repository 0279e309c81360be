package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/plimsoll/plimsoll/limit"
)

// Hints are a tool's annotations, as MCP names them.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// Tool is one tool of a [Server].
type Tool struct {
	// Name is at most 64 of the letters that all clients take: A-Z, a-z, 0-9, _ and -.
	Name  string
	Title string
	// Description is at most [MaxDescription] bytes.
	Description string
	// Input is the JSON Schema of the arguments, of type object; nil is that of no arguments.
	Input json.RawMessage
	Hints Hints
	// Run does the work. An error is the call's result, with isError, and its text is what
	// the model reads. ctx ends when the client takes the call back, when it leaves and when
	// the server closes; Run should return soon then.
	Run func(ctx context.Context, c *Call) (*Result, error)

	fault error // why Typed could make no tool of it, for New
}

// Call is one call of a tool.
type Call struct {
	Tool string
	// Arguments is a JSON object, "{}" when none were given. It stays valid after Run.
	Arguments json.RawMessage
	// Principal names who calls; see [transport.Message].
	Principal string
	// Header is of the client's HTTP request, nil over standard streams. It holds the
	// client's credentials, so it is never to be written anywhere. It must not be changed.
	Header http.Header
	// Progress reports to a client that asked for it how far the work is: done of total (0: not
	// known). It is never nil and may be called as often as is handy, by any goroutine: what
	// comes too soon after the last, or does not go on, is dropped.
	Progress func(done, total float64, text string)
	// MaxText bounds the text that the client takes in one result; see [transport.Message].
	MaxText limit.Bytes
}

// Result is the answer of a tool: one block of text.
type Result struct {
	Text string
	// Stream, when it is there, writes the text as it comes, of any size. An error before the
	// first byte is a result with isError; one after it breaks the answer off, so that nobody
	// takes a part for the whole. w fails once the call is taken back. It is to be used by one
	// goroutine at a time and not after Stream has returned.
	Stream  func(ctx context.Context, w io.Writer) error
	IsError bool
	// Paged marks Text as a page of the tool's own making, which names its place in the whole and how to go on. It reaches the
	// client as it is.
	Paged bool
}

// JSON returns the result with v as compact JSON, in which <, > and & stay as they are.
func JSON(v any) (*Result, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("the answer of type %T cannot be written as JSON: %w", v, err)
	}
	return &Result{Text: string(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))}, nil
}

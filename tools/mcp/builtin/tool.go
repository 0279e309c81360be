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
	// Name has at most 64 of the characters that all clients accept: A-Z, a-z, 0-9, _ and -.
	Name  string
	Title string
	// Description is at most [MaxDescription] bytes.
	Description string
	// Input is the JSON Schema of the arguments, of type object; nil means that there are no arguments.
	Input json.RawMessage
	Hints Hints
	// Run does the work. An error becomes a result with isError, and its text is what the model reads. ctx ends when the client cancels the
	// call or leaves and when the server closes; Run should then return soon.
	Run func(ctx context.Context, c *Call) (*Result, error)

	fault error // the error of Typed, which New returns
}

// Call is one call of a tool.
type Call struct {
	Tool string
	// Arguments is a JSON object, "{}" if none were given. It stays valid after Run.
	Arguments json.RawMessage
	// Principal identifies the caller; see [transport.Message].
	Principal string
	// Header is the header of the client's HTTP request, nil over standard streams. It has the client's credentials, so it must never be
	// written anywhere. It must not be changed.
	Header http.Header
	// Progress tells a client that asked for it how much is done, of total (0: not known). It is never nil and may be called often and by
	// any goroutine: calls that come too soon after the last, or do not increase done, are dropped.
	Progress func(done, total float64, text string)
	// MaxText bounds the text that the client takes in one result; see [transport.Message].
	MaxText limit.Bytes
}

// Result is the answer of a tool: one block of text.
type Result struct {
	Text string
	// Stream if set, writes the text, of any size, to w; Text is then ignored. An error before the first byte becomes a result with
	// isError; a later one breaks the answer off, so that a part is not taken for the whole. Writing to w fails once the call is cancelled.
	// w is for one goroutine at a time and must not be used after Stream has returned.
	Stream  func(ctx context.Context, w io.Writer) error
	IsError bool
	// Paged marks Text as a page that the tool itself has made, which says where it is in the whole and how to get the next one. It reaches
	// the client unchanged.
	Paged bool
}

// JSON returns the result with v as compact JSON, in which <, > and & are not escaped.
func JSON(v any) (*Result, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("the answer of type %T cannot be written as JSON: %w", v, err)
	}
	return &Result{Text: string(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))}, nil
}

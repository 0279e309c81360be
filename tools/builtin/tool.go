package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// Hints are a tool's annotations. All four are always written.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// Tool is one tool of a [Server].
type Tool struct {
	Name, Title, Description string
	Input                    json.RawMessage
	Hints                    Hints
	Run                      func(ctx context.Context, c *Call) (*Result, error)
}

// Call is one call of a tool.
type Call struct {
	Tool      string
	Arguments json.RawMessage
	Principal string
	Header    http.Header
	Progress  func(done, total float64, text string)
}

// Result is what a tool answers.
type Result struct {
	Text    string
	Stream  func(ctx context.Context, w io.Writer) error
	IsError bool
}

// JSON is the result with v as compact JSON.
func JSON(v any) (*Result, error) { return nil, errors.New("not there yet") }

// Typed is a tool whose arguments are an A.
func Typed[A any](t Tool, run func(ctx context.Context, c *Call, in A) (*Result, error)) Tool {
	return t
}

package query

import (
	"fmt"
	"io"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Argument is the first argument that makes a program a child of this package.
const Argument = "__query"

// Bounds of a query. Sizes are in bytes.
const (
	// MaxQuery bounds the query's text.
	MaxQuery = 16 << 10
	// WholeBytes is the largest document that is given to a query whole.
	WholeBytes = 16 << 20
	// ItemBytes is the largest item of a document beyond WholeBytes.
	ItemBytes = 4 << 20
	// Running bounds the children that live at once in one program: each may use its whole
	// memory.
	Running = 2
	// Grace is the child's time beyond its deadline to report what it has; then it is killed.
	Grace = time.Second
)

// Defaults of a Request.
const (
	DefaultBytes   = 64 << 10
	DefaultTimeout = 5 * time.Second
	DefaultMemory  = 256 * limit.MiB
	// LeastMemory is the least that a child starts with: less holds no large document.
	LeastMemory = 64 * limit.MiB
)

// Shape is the form of the document.
type Shape uint8

// The shapes.
const (
	JSON  Shape = iota
	Lines       // text: an array of strings to the query
	// Blocks are texts, one after the other: an array of values when all of them are JSON,
	// else lines.
	Blocks
)

// Request is one query over one document. Zero fields take the defaults.
type Request struct {
	// Document gives the bytes; it is read once, from its beginning.
	Document io.Reader
	Size     int64 // of the document in bytes
	Shape    Shape
	// Broken is set when the document ends in the middle. Then it is looked at item by item,
	// and what came is all there is.
	Broken bool
	// Path leads by object keys to the main array or object of a JSON document, whose
	// elements are the items; empty when the document itself is that.
	Path  []string
	Query string
	// MaxBytes bounds the output.
	MaxBytes int
	// Timeout bounds the time from the child's start; waiting for a turn may take as long
	// again.
	Timeout time.Duration
	// Memory bounds the child's data: heap and stacks.
	Memory limit.Bytes
	// Command starts the child: a program and its arguments, the last of which is Argument.
	Command []string
}

// Answer is the result of a query.
type Answer struct {
	// Output holds the values, one to a line, as JSON.
	Output []byte
	Values int64 // in Output, whole ones
	// Cut is set when there was more than MaxBytes. A value that did not fit is left out,
	// unless it is the first: that one is cut.
	Cut bool
	// Items counts the items that were read, where the query went item by item; else 0.
	Items int64
	// Skipped counts those that were left out for their size; the first was number
	// FirstSkipped, counted from 1.
	Skipped, FirstSkipped int64
}

// Kind is the kind of an error.
type Kind string

// The kinds of errors.
const (
	Syntax   Kind = "syntax"   // the query is no jq, or names what does not exist
	Runtime  Kind = "runtime"  // a value was not what the query took it for
	Memory   Kind = "memory"   // it needed more than it may
	Time     Kind = "time"     // it took longer than it may
	Large    Kind = "large"    // the document is too large for a query of this form
	Document Kind = "document" // the document is not what it should be
	Busy     Kind = "busy"     // no turn came
)

// Error describes to the query's author what was wrong and what to do. Its text may quote the
// query and the document, so it belongs to them and into no log.
type Error struct {
	Kind Kind
	Text string
	// Offset is the place in the query, in bytes; -1 when there is no such place.
	Offset int
}

func (e *Error) Error() string { return e.Text }

func failf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...), Offset: -1}
}

// order is the parent's instruction to the child, one line of JSON before the document.
type order struct {
	Query    string   `json:"query"`
	Size     int64    `json:"size"`
	Shape    Shape    `json:"shape"`
	Broken   bool     `json:"broken,omitempty"`
	Path     []string `json:"path,omitempty"`
	MaxBytes int      `json:"max_bytes"`
	Millis   int64    `json:"ms"`
	Memory   int64    `json:"memory"`
}

// report is the child's outcome, one line of JSON on its standard error in the end.
type report struct {
	Kind         Kind   `json:"kind,omitempty"`
	Text         string `json:"text,omitempty"`
	Offset       int    `json:"offset"`
	Values       int64  `json:"values"`
	Cut          bool   `json:"cut,omitempty"`
	Items        int64  `json:"items,omitempty"`
	Skipped      int64  `json:"skipped,omitempty"`
	FirstSkipped int64  `json:"first_skipped,omitempty"`
}

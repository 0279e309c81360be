// Package query runs a jq query over one kept result, in a process of its own.
//
//	answer, err := query.Run(ctx, query.Request{Document: file, Size: size, Query: `.items[] | .name`, Command: []string{os.Args[0], query.Argument}})
//
// The query comes from a model, and jq is a programming language: eight bytes can ask for a gigabyte. So the program starts itself again with
// [Argument] as its first argument (its main function then calls [Main]), hands the document to that child through its standard input and takes at
// most Request.MaxBytes back. The child bounds itself before it reads anything: memory, processor time, no files, no environment. The parent kills
// it when its time is over. At most [Running] children live at once.
//
// A document of JSON is `.`, with all digits of its numbers; one of lines is an array of strings. A large document ([WholeBytes]) is never held: the
// query goes over the items of its main array one by one and gives the same; items over [ItemBytes] are left out and counted. What the query's
// author can mend is an [*Error] with a text for them. Run may be called by many goroutines.
package query

import (
	"fmt"
	"io"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Argument is the first argument with which a program runs as a child of this package.
const Argument = "__query"

// Bounds of a query. Sizes are in bytes.
const (
	// MaxQuery bounds the query's text.
	MaxQuery = 16 << 10
	// WholeBytes is the size of the largest document that a query can get as a whole.
	WholeBytes = 16 << 20
	// ItemBytes is the size of the largest item that is not left out in a document larger than WholeBytes.
	ItemBytes = 4 << 20
	// Running bounds the children of one program that run at once: each may use all of Request.Memory.
	Running = 2
	// Grace is the time after its deadline in which a child can report what it has; then it is killed.
	Grace = time.Second
)

// Defaults of a Request.
const (
	DefaultBytes   = 64 << 10
	DefaultTimeout = 5 * time.Second
	DefaultMemory  = 256 * limit.MiB
	// LeastMemory is the smallest value of Request.Memory that is used: with less a large document has no room.
	LeastMemory = 64 * limit.MiB
)

// Shape is the form of the document.
type Shape uint8

// The shapes.
const (
	JSON  Shape = iota
	Lines       // text: the query sees an array of strings
	// Blocks are texts, one after the other: the query sees an array of their values if all are JSON, else
	// lines.
	Blocks
)

// Request is one query over one document. Zero fields take the defaults.
type Request struct {
	// Document yields the document's bytes; it is read once, from its beginning.
	Document io.Reader
	Size     int64 // of the document in bytes
	Shape    Shape
	// Broken is set when the document breaks off. A JSON document is then only read item by item, up to where it ends.
	Broken bool
	// Path holds the keys that lead to the main array or object of a JSON document, whose elements are the items; it is empty if the
	// document itself is that.
	Path  []string
	Query string
	// MaxBytes bounds the output.
	MaxBytes int
	// Timeout bounds the time from the child's start. The wait until a child may start can take as long again.
	Timeout time.Duration
	// Memory bounds the child's data: heap and stacks.
	Memory limit.Bytes
	// Command starts the child: a program and its arguments, the last of which is Argument.
	Command []string
}

// Answer is the result of a query.
type Answer struct {
	// Output holds the values as JSON, one on a line.
	Output []byte
	Values int64 // number of whole values in Output
	// Cut is set when the values are larger than MaxBytes. A value that does not fit is left out, except for the beginning of the first
	// one.
	Cut bool
	// Items counts the items that were read if the query ran item by item; else 0.
	Items int64
	// Skipped counts the items that were left out for their size; the first of them was number FirstSkipped, counted from 1.
	Skipped, FirstSkipped int64
}

// Kind is the kind of an error.
type Kind string

// The kinds of errors.
const (
	Syntax   Kind = "syntax"   // the query is not valid jq, too long, or names something that does not exist
	Runtime  Kind = "runtime"  // the query failed, as for a value of an unexpected type
	Memory   Kind = "memory"   // the query needed more than Request.Memory
	Time     Kind = "time"     // the query took longer than Request.Timeout
	Large    Kind = "large"    // the document is too large for a query of this form
	Document Kind = "document" // the document is not what the request says, as invalid JSON
	Busy     Kind = "busy"     // too many queries were running for all of Request.Timeout
)

// Error tells the query's author what was wrong and what to do. Its text may quote the query and the document, so it must not be logged.
type Error struct {
	Kind Kind
	Text string
	// Offset is the place in the query, in bytes; -1 if the error has no place.
	Offset int
}

func (e *Error) Error() string { return e.Text }

// errorf returns an Error without a place.
func errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...), Offset: -1}
}

// order is the parent's instruction to the child: one line of JSON in front of the document.
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

// report is the child's outcome: one line of JSON that it writes to its standard error at its end.
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

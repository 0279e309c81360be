package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/plimsoll/plimsoll/limit"
)

// prepared is a query that can be run.
type prepared struct {
	code *gojq.Code
	// items is set when the query runs over the items of stream and not over the whole document.
	items  bool
	stream *stream
}

// itemsFunction is the name of the function that replaces the path to the main array in a query that runs item by item.
const itemsFunction = "plimsoll_items"

// byItems is the size of document, in bytes, from which on a query that can run item by item does so; for a smaller one it is quicker to
// read the document whole.
const byItems = 1 << 20

// prepare compiles a query. For a large document it is rewritten, if possible, to see one item of the main array at a time; if that is not possible,
// and the document is too large to be held whole, it is an error.
func prepare(o order) (prepared, error) {
	p := prepared{stream: &stream{path: o.Path, shape: o.Shape, broken: o.Broken, limit: ItemBytes}}
	if o.Size <= WholeBytes {
		p.stream.limit = WholeBytes // nothing is left out of what could be held whole
	}
	q, err := gojq.Parse(o.Query)
	if err != nil {
		return p, syntaxError(o.Query, err)
	}
	var options []gojq.CompilerOption
	cut := o.Broken && o.Shape == JSON
	if o.Size > WholeBytes || cut || o.Size > byItems && o.Shape != Blocks {
		p.items = rewrite(q, o.Path)
		options = append(options, gojq.WithIterFunction(itemsFunction, 0, 0, func(any, []any) gojq.Iter { return p.stream }))
	}
	if p.code, err = gojq.Compile(q, options...); err != nil {
		return p, syntaxError(o.Query, err)
	}
	if !p.items && (o.Size > WholeBytes || cut) {
		return p, tooLargeError(o, cut)
	}
	return p, nil
}

// tooLargeError returns the error for a query that would need the whole of a large or (cut) broken document; it shows how to write one that runs
// item by item.
func tooLargeError(o order, cut bool) *Error {
	at := "."
	for _, key := range o.Path {
		if i := strings.IndexFunc(key, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }); i < 0 && key != "" {
			at = strings.TrimSuffix(at, ".") + "." + key
		} else {
			at = strings.TrimSuffix(at, ".") + fmt.Sprintf("[%q]", key)
			if at[0] != '.' {
				at = "." + at
			}
		}
	}
	each := at + "[]"
	why := fmt.Sprintf("the result has %d bytes, and over %d a query goes item by item", o.Size, WholeBytes)
	if cut {
		why = "the result breaks off in the middle, so a query goes item by item"
	}
	return errorf(Large, "%s: begin it with `%s`, as in `%s | select(.name == \"x\")`, "+
		"`first(%s | select(…))`, `[limit(20; %s | .name)]` or `reduce %s as $i (0; . + 1)`; the rest of the document is not there, and items over %d bytes are left out",
		why, each, each, each, each, each, ItemBytes)
}

// syntaxError returns the error for a query that cannot be compiled, with the place if that is known.
func syntaxError(query string, err error) *Error {
	e := errorf(Syntax, "the query is not valid jq: %v", err)
	if p, ok := errors.AsType[*gojq.ParseError](err); ok {
		e.Offset = max(0, min(p.Offset-len(p.Token), len(query)))
	} else if _, name, ok := strings.Cut(err.Error(), "not defined: "); ok {
		name, _, _ = strings.Cut(name, "/")
		e.Offset = strings.Index(query, name)
	}
	if e.Offset >= 0 {
		from, to := max(0, e.Offset-20), min(len(query), e.Offset+20)
		e.Text += fmt.Sprintf(", at character %d: …%s⟦here⟧%s…", utf8.RuneCountInString(query[:e.Offset])+1,
			strings.ToValidUTF8(query[from:e.Offset], ""), strings.ToValidUTF8(query[e.Offset:to], ""))
	}
	return e
}

// values writes the results of a query, one a line, as long as there is room.
type values struct {
	out     io.Writer
	room    int
	written int64
	cut     bool
}

// run writes the values that the query yields for input, one a line, until there is no room for more.
func (w *values) run(ctx context.Context, p prepared, input any) error {
	iter := p.code.RunWithContext(ctx, input)
	for !w.cut {
		v, more := iter.Next()
		if !more {
			return nil
		}
		if err, failed := v.(error); failed {
			if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
				return nil // the query called halt
			}
			return errorf(Runtime, "the query failed: %v", err)
		}
		line, err := gojq.Marshal(v)
		if err != nil {
			return err
		}
		if err := w.write(line); err != nil {
			return err
		}
	}
	return nil
}

// write writes one value as a line. The first value that has no room is cut if it is the first of all, and left out otherwise; w.cut is set then.
func (w *values) write(line []byte) error {
	if len(line) > w.room {
		w.cut = true
		if w.written > 0 {
			return nil
		}
		_, err := w.out.Write(line[:limit.Boundary(line, w.room)]) // the beginning of the first value
		return err
	}
	w.room -= len(line) + 1
	w.written++
	_, err := w.out.Write(append(line, '\n'))
	return err
}

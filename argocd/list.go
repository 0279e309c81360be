package argocd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
	"github.com/plimsoll/plimsoll/limit"
)

// rereadAfter is how long a server that has just started is given to fill its cache.
const rereadAfter = time.Second

// stopped wraps an error of the caller's function, which is returned unchanged.
type stopped struct{ err error }

func (s *stopped) Error() string { return s.err.Error() }

// List reads a list in one pass and gives each object to each. Memory is one object, at most
// [Options].MaxObject; item is valid until each returns. An error of each ends the pass and
// is returned as it is. Any other error is an [*Error]: then what came, info.Items of it, is
// not the whole list. A list is whole when it is complete JSON to its last byte.
//
// A list of nothing that says null, as servers do that have just started, is read again
// once, a second later.
func (c *Client) List(ctx context.Context, kind Kind, q Query, each func(item []byte) error) (ListInfo, error) {
	op := "list " + string(kind)
	if !slices.Contains(Kinds(), kind) {
		return ListInfo{}, &Error{Instance: c.Name(), Op: op, Kind: Invalid, Message: fmt.Sprintf("there is no kind %.60q", kind), Hint: "use applications, projects, applicationsets or clusters"}
	}
	fields := ""
	if len(q.Fields) > 0 && (kind == Applications || kind == Projects) {
		v, err := c.versionForFields(ctx)
		if err != nil {
			return ListInfo{}, c.completeError(op, err)
		}
		fields = fieldsParameter(kind, v, q.Fields)
	}
	values := q.values(kind)
	if fields != "" {
		values.Set("fields", fields)
	}
	r := request{op: op, method: http.MethodGet, path: []string{string(kind)}, query: values, gzip: true}
	info, null, err := c.list(ctx, r, each)
	if e, ok := errors.AsType[*Error](err); ok && fields != "" && e.Status == http.StatusInternalServerError && strings.Contains(e.Message, "failed to marshal") {
		// A version that has other fields than is known here: whole objects have them all.
		values.Del("fields")
		fields = ""
		info, null, err = c.list(ctx, r, each)
	}
	if null && err == nil {
		if err := c.shared.sleep(ctx, rereadAfter); err != nil {
			e := &Error{Instance: c.Name(), Op: op}
			c.explainGivenUp(e, err)
			return info, e
		}
		info, _, err = c.list(ctx, r, each)
		info.Reread = true
	}
	info.Narrowed = fields != ""
	return info, err
}

// list is one pass. It tells whether the items were null.
func (c *Client) list(ctx context.Context, r request, each func(item []byte) error) (info ListInfo, null bool, err error) {
	a, err := c.send(ctx, r)
	if err != nil {
		return info, false, err
	}
	defer a.close()
	s := splitter{Reader: jsonstream.NewReader(a, bounds(c.shared.o.MaxObject)), maxBytes: c.shared.o.MaxObject}
	s.arrays = map[string]func([]byte) error{"items": func(item []byte) error {
		info.Items++
		return each(item)
	}}
	err = s.run()
	info.Bytes = a.bytes
	if err == nil && s.seen["items"] == "" {
		err = errors.New("the answer has no items")
		return info, false, c.explainShape(r, a, err.Error())
	}
	return info, s.seen["items"] == "null", c.explainReadError(r, a, err)
}

// Elements reads any answer that is an object: the elements of the named arrays at its top
// are given to their functions one by one, as with [Client.List], and rest is the object
// without these members, compact, at most MaxObject bytes. An array that is null or absent
// has no elements. The path is below /api/v1.
func (c *Client) Elements(ctx context.Context, path []string, query url.Values, arrays map[string]func(item []byte) error) (rest []byte, err error) {
	r := request{op: "get " + shown(path), method: http.MethodGet, path: path, query: query, gzip: true}
	a, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer a.close()
	s := splitter{Reader: jsonstream.NewReader(a, bounds(c.shared.o.MaxObject)), maxBytes: c.shared.o.MaxObject, arrays: maps.Clone(arrays), keep: true}
	if err := c.explainReadError(r, a, s.run()); err != nil {
		return nil, err
	}
	return s.rest.Bytes(), nil
}

const (
	// maxDepth is deeper than any Kubernetes object may be, and a tenth of what
	// encoding/json takes: what passes here is read there.
	maxDepth = 1000
	// readBuffer is what a reader starts with: most objects of a list are 9 KB, few 30.
	readBuffer = 64 << 10
	// maxSpace is how much white space in a row is a text that goes on.
	maxSpace = 1 << 20
)

var errTooLong = jsonstream.ErrTooLarge

// bounds is for an answer of which no value is larger than most.
func bounds(maxBytes limit.Bytes) jsonstream.Options {
	return jsonstream.Options{Buffer: readBuffer, MaxValue: int(maxBytes), MaxDepth: maxDepth, MaxSpace: maxSpace}
}

// explainReadError turns the error of a splitter or reader into the error for the caller.
func (c *Client) explainReadError(r request, a *answer, err error) error {
	if err == nil {
		return nil
	}
	if own, ok := err.(*stopped); ok {
		return own.err
	}
	if wrong, ok := errors.AsType[*shapeError](err); ok {
		return c.explainShape(r, a, wrong.what)
	}
	return c.explainBroken(r, a, err)
}

// shapeError says that an answer is valid JSON of an unexpected kind.
type shapeError struct{ what string }

func (e *shapeError) Error() string { return e.what }

// splitter splits an object into its members while it arrives.
type splitter struct {
	*jsonstream.Reader
	arrays   map[string]func(item []byte) error
	maxBytes limit.Bytes // of rest
	keep     bool        // whether there is a rest

	rest bytes.Buffer
	seen map[string]string // of arrays: "array" or "null"
}

func (s *splitter) run() error {
	s.seen = make(map[string]string, len(s.arrays))
	c, err := s.Next()
	if err != nil {
		return err
	}
	if c == '<' {
		return &shapeError{"the answer is a web page, not JSON"}
	}
	if c != '{' {
		if err := s.Value(); err != nil {
			return err
		}
		return &shapeError{"the answer is no object"}
	}
	s.rest.WriteByte('{')
	err = s.Object(func(name string) error {
		if each, ok := s.arrays[name]; ok {
			return s.elements(name, each)
		}
		return s.member(name)
	})
	if err != nil {
		return err
	}
	s.rest.WriteByte('}')
	return s.End()
}

// member passes a member that is none of the arrays.
func (s *splitter) member(name string) error {
	value, err := s.Kept()
	if err != nil || !s.keep {
		return err
	}
	if s.rest.Len()+len(name)+len(value) > int(s.maxBytes) {
		return errTooLong
	}
	if s.rest.Len() > 1 {
		s.rest.WriteByte(',')
	}
	key, err := json.Marshal(name)
	if err != nil {
		return err
	}
	s.rest.Write(key)
	s.rest.WriteByte(':')
	return json.Compact(&s.rest, value)
}

// elements gives the elements of one array to each.
func (s *splitter) elements(name string, each func(item []byte) error) error {
	if s.seen[name] != "" {
		return &shapeError{fmt.Sprintf("the answer has %q twice", name)}
	}
	c, err := s.Next()
	if err != nil {
		return err
	}
	if c == 'n' {
		s.seen[name] = "null"
		return s.Value()
	}
	if c != '[' {
		return &shapeError{fmt.Sprintf("%q in the answer is no list", name)}
	}
	s.seen[name] = "array"
	return s.Array(func() error {
		item, err := s.Kept()
		if err != nil {
			return err
		}
		if err := each(item); err != nil {
			return &stopped{err}
		}
		return nil
	})
}

// shown is a path for people.
func shown(path []string) string { return clean(strings.Join(path, "/"), 200) }

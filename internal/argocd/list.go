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

const (
	// rereadAfter is the pause before a null list of a kind that has no resource version is read again.
	rereadAfter = time.Second
	// startTime bounds the wait for a server that has just started to fill its lists; it is asked again after pauses that
	// double up to startPause.
	startTime  = 30 * time.Second
	startPause = 4 * time.Second
)

// stoppedError wraps an error of the caller's function, which is returned unchanged.
type stoppedError struct{ err error }

func (s *stoppedError) Error() string { return s.err.Error() }

// List reads a list in one pass and calls each with every object. Memory is one object, at most
// [Options].MaxObject; item is valid until each returns. An error of each ends the pass and
// is returned unchanged. Any other error is an [*Error]: then the ListInfo.Items objects that came are
// not the whole list. A list is whole if it is complete JSON to its last byte.
//
// A server that has just started answers null, without a version of the list, until it has read its
// objects: it is asked again for 30 seconds, and then that is an error. Null with a
// version is an empty list. Lists of clusters and repositories never have a version: a null list is
// read again once, a second later.
func (c *Client) List(ctx context.Context, kind Kind, q Query, each func(item []byte) error) (ListInfo, error) {
	op := "list " + string(kind)
	if kind != Repositories && !slices.Contains(Kinds(), kind) {
		return ListInfo{}, &Error{Instance: c.Name(), Op: op, Kind: Invalid, Message: fmt.Sprintf("there is no kind %.60q", kind), Hint: "use applications, projects, applicationsets, clusters or repositories"}
	}
	fields := ""
	if len(q.Fields) > 0 && (kind == Applications || kind == Projects) {
		v, err := c.versionForFields(ctx)
		if err != nil {
			return ListInfo{}, c.completeError(op, err)
		}
		fields = fieldsParameter(kind, v, q.Fields)
	}
	values := q.parameters(kind)
	if fields != "" {
		values.Set("fields", fields)
	}
	r := request{op: op, method: http.MethodGet, path: []string{string(kind)}, query: values, gzip: true}
	info, unfilled, err := c.listOnce(ctx, r, each)
	if e, ok := errors.AsType[*Error](err); ok && fields != "" && e.Status == http.StatusInternalServerError && strings.Contains(e.Message, "failed to marshal") {
		// A version that has other fields than is known here: whole objects have them all.
		values.Del("fields")
		fields = ""
		info, unfilled, err = c.listOnce(ctx, r, each)
	}
	if unfilled && err == nil {
		info, err = c.listAgain(ctx, kind, r, each)
	}
	info.Narrowed = fields != ""
	return info, err
}

// listAgain reads a list again that was null and had no version, after growing pauses, until it is not. If it still is, that is an error
// for kinds whose lists have versions, and an empty list for the others.
func (c *Client) listAgain(ctx context.Context, kind Kind, r request, each func(item []byte) error) (info ListInfo, err error) {
	tells := kind != Clusters && kind != Repositories // the list has a version, once the server has read it
	pause, left := firstPause, startTime
	if !tells {
		pause, left = rereadAfter, rereadAfter
	}
	starting := &Error{
		Instance: c.Name(), Op: r.op, Status: http.StatusOK, Kind: Server,
		Message: fmt.Sprintf("argocd-server has just started: it has not read its %s yet, so nothing is known of them", kind),
		Hint:    "try again in a minute; if it stays, look at the log of argocd-server",
	}
	unfilled := true
	for ; unfilled && left > 0; pause = min(2*pause, startPause) {
		pause = min(pause, left)
		left -= pause
		if cause := c.shared.sleep(ctx, pause); cause != nil {
			e := &Error{Instance: c.Name(), Op: r.op}
			c.explainGivenUp(e, cause)
			if tells {
				e.Message += ", and until then: " + starting.Message
			}
			return info, e
		}
		if info, unfilled, err = c.listOnce(ctx, r, each); err != nil {
			return info, err
		}
		info.Reread = true
	}
	if unfilled && tells {
		return info, starting
	}
	return info, nil
}

// listOnce makes one pass and calls each with every element of "items". unfilled is true if the items were null and the list had no
// version.
func (c *Client) listOnce(ctx context.Context, r request, each func(item []byte) error) (info ListInfo, unfilled bool, err error) {
	a, err := c.send(ctx, r)
	if err != nil {
		return info, false, err
	}
	defer a.close()
	s := splitter{Reader: jsonstream.NewReader(a, bounds(c.shared.o.MaxObject)), maxBytes: c.shared.o.MaxObject, keep: true}
	s.arrays = map[string]func([]byte) error{"items": func(item []byte) error {
		info.Items++
		return each(item)
	}}
	err = s.readObject()
	info.Bytes = a.bytes
	if err == nil && s.seen["items"] == "" {
		err = errors.New("the answer has no items")
		return info, false, c.explainShape(r, a, err.Error())
	}
	return info, err == nil && s.seen["items"] == "null" && !hasVersion(s.rest.Bytes()), c.explainReadError(r, a, err)
}

// hasVersion reports whether a list has a resource version.
func hasVersion(list []byte) bool {
	var said struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	return json.Unmarshal(list, &said) == nil && said.Metadata.ResourceVersion != ""
}

// Elements reads any answer that is an object: the elements of the named arrays at its top are passed to their functions one by one, as by
// [Client.List]; rest is the object without these members, compact, at most MaxObject bytes. An array that is null or missing has no
// elements. path is below /api/v1.
func (c *Client) Elements(ctx context.Context, path []string, query url.Values, arrays map[string]func(item []byte) error) (rest []byte, err error) {
	r := request{op: "get " + shown(path), method: http.MethodGet, path: path, query: query, gzip: true}
	a, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer a.close()
	s := splitter{Reader: jsonstream.NewReader(a, bounds(c.shared.o.MaxObject)), maxBytes: c.shared.o.MaxObject, arrays: maps.Clone(arrays), keep: true}
	if err := c.explainReadError(r, a, s.readObject()); err != nil {
		return nil, err
	}
	return s.rest.Bytes(), nil
}

const (
	// maxDepth bounds the nesting of values. Kubernetes objects nest less deep, and encoding/json, which reads the
	// objects later, accepts ten times as much.
	maxDepth = 1000
	// readBuffer is the first size of a reader's buffer: most objects of a list are 9 KB, few 30.
	readBuffer = 64 << 10
	// maxSpace bounds consecutive white space, in bytes.
	maxSpace = 1 << 20
)

var errTooLong = jsonstream.ErrTooLarge

// bounds returns the bounds for an answer in which no value is larger than maxBytes.
func bounds(maxBytes limit.Bytes) jsonstream.Options {
	return jsonstream.Options{Buffer: readBuffer, MaxValue: int(maxBytes), MaxDepth: maxDepth, MaxSpace: maxSpace}
}

// explainReadError returns the error for the caller from that of a splitter or reader; nil for nil.
func (c *Client) explainReadError(r request, a *answer, err error) error {
	if err == nil {
		return nil
	}
	if own, ok := err.(*stoppedError); ok {
		return own.err
	}
	if wrong, ok := errors.AsType[*shapeError](err); ok {
		return c.explainShape(r, a, wrong.what)
	}
	return c.explainBroken(r, a, err)
}

// shapeError reports that an answer is not of the expected form: a web page, or other JSON.
type shapeError struct{ what string }

func (e *shapeError) Error() string { return e.what }

// splitter splits an object into its members while it arrives.
type splitter struct {
	*jsonstream.Reader
	arrays   map[string]func(item []byte) error
	maxBytes limit.Bytes // of rest
	keep     bool        // the other members are kept in rest

	rest bytes.Buffer
	seen map[string]string // for each array that came: "array" or "null"
}

// readObject reads the whole answer, which must be an object: elements of the named arrays go to their functions, everything else to
// s.rest.
func (s *splitter) readObject() error {
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
			return s.passElements(name, each)
		}
		return s.copyMember(name)
	})
	if err != nil {
		return err
	}
	s.rest.WriteByte('}')
	return s.End()
}

// copyMember copies a member that is not one of the arrays to s.rest.
func (s *splitter) copyMember(name string) error {
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

// passElements passes the elements of the array of that name to each; null has none. Another value, and a second one of the same name, is a
// shapeError; an error of each is returned as stoppedError.
func (s *splitter) passElements(name string, each func(item []byte) error) error {
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
			return &stoppedError{err}
		}
		return nil
	})
}

// shown returns a path for messages: its elements joined by slashes, cleaned and cut to 200 bytes.
func shown(path []string) string { return safeText(strings.Join(path, "/"), 200) }

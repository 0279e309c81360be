package argocd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
	"github.com/plimsoll/plimsoll/limit"
)

// Stream reads a stream of lines, {"result":…} or {"error":…}, and calls each with every
// result, which is valid until each returns. An error of each ends the stream and is returned unchanged.
// A line has at most MaxObject bytes. Stream returns nil when the server has ended the stream regularly.
//
// With follow=true in the query, and below /stream, a stream may be idle until ctx ends;
// else a pause is a time-out as for any answer. A stream that has begun is not repeated.
func (c *Client) Stream(ctx context.Context, path []string, query url.Values, each func(result []byte) error) error {
	r := request{op: "stream " + shown(path), method: http.MethodGet, path: path, query: query}
	r.patient = query.Get("follow") == "true" || len(path) > 0 && path[0] == "stream"
	a, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer a.close()
	lines := lineReader{r: bufio.NewReaderSize(a, 16<<10), max: c.shared.o.MaxObject}
	for {
		line, err := lines.nextLine()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return c.explainReadError(r, a, err)
		}
		if err := c.handleEvent(r, a, line, each); err != nil {
			return err
		}
	}
}

// handleEvent passes the result in one line to each, or returns the error in the line. Lines of server-sent events ("data: …") are accepted too.
func (c *Client) handleEvent(r request, a *answer, line []byte, each func(result []byte) error) error {
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == ':' {
		return nil // an empty line between events, or a comment that keeps the connection alive
	}
	if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		line = bytes.TrimSpace(rest)
	}
	if len(line) > 0 && line[0] == '<' {
		return c.explainShape(r, a, "the answer is a web page, no stream"+pageTitle(line))
	}
	if err := jsonstream.Check(line, bounds(c.shared.o.MaxObject)); err != nil {
		return c.explainReadError(r, a, err)
	}
	var said struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(line, &said); err != nil {
		return c.explainShape(r, a, "a line of the stream is no event")
	}
	switch {
	case len(said.Error) > 0 && !bytes.Equal(said.Error, []byte("null")):
		return c.explainStreamError(r, line)
	case len(said.Result) > 0:
		return each(said.Result)
	}
	return c.explainShape(r, a, "a line of the stream has neither a result nor an error")
}

// explainStreamError returns the error that came as an event of a stream whose status was good.
func (c *Client) explainStreamError(r request, line []byte) *Error {
	said := readRefusal(line)
	var status struct {
		Error struct {
			Code int `json:"http_code"`
		} `json:"error"`
	}
	e := &Error{Instance: c.Name(), Op: r.op, Status: http.StatusInternalServerError, Code: said.code, Message: said.text}
	if json.Unmarshal(line, &status) == nil && status.Error.Code >= 300 && status.Error.Code < 600 {
		e.Status = status.Error.Code
	}
	said.json = true
	c.explainStatus(e, r, said, true)
	return e
}

// lineReader reads lines of at most max bytes.
type lineReader struct {
	r    *bufio.Reader
	max  limit.Bytes
	long []byte
}

// nextLine returns a line, valid until the next call; the last one may have no line end. A longer line than the bound is errTooLong, the
// end io.EOF.
func (l *lineReader) nextLine() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.long)+len(part) > int(l.max) {
			return nil, errTooLong
		}
		switch {
		case err == nil && len(l.long) == 0:
			return part, nil
		case errors.Is(err, bufio.ErrBufferFull):
			l.long = append(l.long, part...)
			continue
		case err == io.EOF && len(l.long)+len(part) == 0:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, err
		}
		l.long = append(l.long, part...)
		return l.long, nil
	}
}

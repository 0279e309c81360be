package argocd

import (
	"bytes"
	"context"
	"net/http"
	"net/url"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
	"github.com/plimsoll/plimsoll/limit"
)

// Get reads one JSON value of at most MaxObject bytes; a larger one is an error of kind [TooLarge] that names the bound. Each element of
// path is one segment below /api/v1, and is escaped here ("https://10.0.0.1:6443" is one segment); a path that begins with "api" is below
// the root.
func (c *Client) Get(ctx context.Context, path []string, query url.Values) ([]byte, error) {
	r := request{op: "get " + shown(path), method: http.MethodGet, path: path, query: query, gzip: true}
	return c.read(ctx, r, c.shared.o.MaxObject)
}

// Call makes a request that changes something: it is sent once, whatever happens, with the JSON content type. The answer has at most
// MaxObject bytes, and may be empty. If an error leaves open whether the server made the change, its hint says so. path is as for
// [Client.Get].
func (c *Client) Call(ctx context.Context, method string, path []string, query url.Values, body []byte) ([]byte, error) {
	r := request{op: method + " " + shown(path), method: method, path: path, query: query, body: body, gzip: true}
	return c.read(ctx, r, c.shared.o.MaxObject)
}

// Ask makes a POST that changes nothing, such as for what an application set would generate. It may be repeated like a Get; all else is as
// for [Client.Call].
func (c *Client) Ask(ctx context.Context, path []string, query url.Values, body []byte) ([]byte, error) {
	r := request{op: "ask " + shown(path), method: http.MethodPost, path: path, query: query, body: body, gzip: true, asks: true}
	return c.read(ctx, r, c.shared.o.MaxObject)
}

// read makes a call whose answer is one JSON value of at most maxBytes, and returns it; empty if a request other than GET has no answer.
func (c *Client) read(ctx context.Context, r request, maxBytes limit.Bytes) ([]byte, error) {
	a, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer a.close()
	body, err := a.all(maxBytes)
	if err != nil {
		return nil, c.explainBroken(r, a, err)
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 && r.method != http.MethodGet {
		return body, nil
	}
	if len(body) > 0 && body[0] == '<' {
		return nil, c.explainShape(r, a, "the answer is a web page, not JSON"+title(body))
	}
	if err := jsonstream.Check(body, bounds(maxBytes)); err != nil {
		return nil, c.explainReadError(r, a, err)
	}
	return body, nil
}

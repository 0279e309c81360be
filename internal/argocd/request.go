package argocd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
	"github.com/plimsoll/plimsoll/limit"
)

// request is one call of the API.
type request struct {
	// op describes the request for errors.
	op     string // for errors
	method string
	path   []string
	query  url.Values
	body   []byte
	gzip   bool
	// patient is set for a stream that may be idle until its context ends.
	patient bool
	// asks is set if a POST changes nothing: it is a question with a body.
	asks bool
}

// changes reports whether the request may have a lasting effect.
func (r request) changes() bool { return r.method != http.MethodGet && !r.asks }

const (
	// maxErrorBody bounds the part of a refusal that is read, in bytes.
	maxErrorBody = 64 << 10
	// firstPause is the pause before the first repetition; it doubles each time.
	firstPause = 250 * time.Millisecond
	// maxPause bounds the pause, and the Retry-After that is followed: agents give up soon after.
	maxPause = 20 * time.Second
)

// errSilent is the cancellation cause of a request to which the server sent nothing for too long.
var errSilent = errors.New("the server sent nothing")

// addressOf returns the URL of a path below /api/v1, or of one that begins with "api". Each element is escaped as one segment; an empty
// one, "." and ".." are errors.
func (c *Client) addressOf(path []string, query url.Values) (*url.URL, error) {
	u := *c.shared.base
	plain, escaped := u.Path, u.EscapedPath()
	if len(path) == 0 || path[0] != "api" {
		path = append([]string{"api", "v1"}, path...)
	}
	for _, part := range path {
		if part == "" || part == "." || part == ".." {
			return nil, errors.New("a name may not be " + strconv.Quote(part))
		}
		plain += "/" + part
		// Argo CD takes the text behind the last colon of a path as a verb.
		escaped += "/" + strings.ReplaceAll(url.PathEscape(part), ":", "%3A")
	}
	u.Path, u.RawPath = plain, escaped
	u.RawQuery = query.Encode()
	return &u, nil
}

// newRequest returns the HTTP request for r with the credential, and the token in it, "" if there is none. Nothing is sent; getting the
// token may run a command. A user's own token is not replaced by a header of the options.
func (c *Client) newRequest(ctx context.Context, r request) (*http.Request, string, error) {
	u, err := c.addressOf(r.path, r.query)
	if err != nil {
		return nil, "", &Error{Kind: Invalid, Message: safeText(err.Error(), maxMessage), Hint: "give the name of the object", Err: err}
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	q, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, "", &Error{Kind: Invalid, Message: safeText(err.Error(), maxMessage), Err: err}
	}
	for key, values := range c.shared.header {
		if c.user && isCredential(key, values) {
			continue // it would replace the user's identity
		}
		q.Header[http.CanonicalHeaderKey(key)] = values
	}
	if host := q.Header.Get("Host"); host != "" {
		q.Host = host
		q.Header.Del("Host")
	}
	q.Header.Set("User-Agent", c.shared.o.UserAgent)
	q.Header.Set("Accept", "application/json")
	if r.method != http.MethodGet {
		q.Header.Set("Content-Type", "application/json") // without one the server answers 415
	}
	if r.gzip {
		q.Header.Set("Accept-Encoding", "gzip")
	}
	if c.token == nil {
		return q, "", nil
	}
	token, err := c.token(ctx)
	if err == nil {
		token = bearer(token)
		err = checkToken(token)
	}
	if err != nil {
		return nil, "", &Error{Kind: Unauthenticated, Message: safeText(err.Error(), maxMessage), Hint: "nothing was sent to the server", Err: err}
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	return q, token, nil
}

// isCredential reports whether a header is one from which Argo CD takes a token (util/grpc and server.getToken).
func isCredential(key string, values []string) bool {
	key = strings.ToLower(key)
	return key == "authorization" || key == "token" || strings.HasPrefix(key, "grpc-metadata-") ||
		key == "cookie" && strings.Contains(strings.Join(values, ";"), "argocd.token")
}

// send makes the call and returns the answer if its status is 2xx; else an *Error. Calls that change nothing are repeated, at most Retries
// times, as long as no answer has begun.
func (c *Client) send(ctx context.Context, r request) (*answer, error) {
	pause := firstPause
	for try := 0; ; try++ {
		a, again, err := c.sendOnce(ctx, r)
		if err == nil {
			return a, nil
		}
		if again < 0 || try >= c.shared.o.Retries || r.changes() {
			return nil, err
		}
		if again > 0 {
			pause = again
		}
		if cause := c.shared.sleep(ctx, pause); cause != nil {
			e := &Error{Instance: c.Name(), Op: r.op}
			c.explainGivenUp(e, errors.Join(cause, err))
			e.Message += ", and until then: " + safeText(err.Error(), maxMessage/2)
			return nil, e
		}
		pause = min(2*pause, maxPause)
	}
}

// sendOnce makes the call once. With an error it returns the pause before a repetition: -1 means never, 0 the usual pause, else the pause
// that the server named.
func (c *Client) sendOnce(ctx context.Context, r request) (_ *answer, again time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer func() {
		if err != nil {
			cancel(nil)
		}
	}()
	q, token, err := c.newRequest(ctx, r)
	if err != nil {
		return nil, -1, c.completeError(r.op, err)
	}
	watch := newIdleTimer(c.shared.o.Timeout, r.patient, cancel)
	watch.start()
	resp, err := c.shared.http.Do(q)
	watch.stop()
	if err != nil {
		e, repeat := c.explainNoAnswer(ctx, r, err)
		if !repeat {
			return nil, -1, e
		}
		return nil, 0, e
	}
	a := newAnswer(ctx, resp, watch, cancel)
	if resp.StatusCode/100 == 2 {
		if e := c.explainPage(r, a); e != nil {
			a.close()
			return nil, -1, e
		}
		return a, 0, nil
	}
	defer a.close()
	body, _ := io.ReadAll(io.LimitReader(a, maxErrorBody)) // a part of it is enough
	e := c.explainRefusal(r, q.URL, resp, body, token)
	return nil, pauseOf(resp, e), e
}

// pauseOf returns the pause before a refused call may be repeated, as sendOnce does. If the server names a longer one than maxPause it sets
// the hint of e.
func pauseOf(resp *http.Response, e *Error) time.Duration {
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return -1
	}
	if e.Kind == TooLarge { // this may also have status 429, and a repetition would fail too
		return -1
	}
	said := resp.Header.Get("Retry-After")
	if said == "" {
		return 0
	}
	pause := maxPause + 1
	if n, err := strconv.ParseUint(said, 10, 31); err == nil {
		pause = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(said); err == nil {
		pause = max(0, time.Until(at))
	}
	if pause > maxPause {
		e.Hint = "the server asks to wait: " + safeText(said, 60) + "; try again then"
		return -1
	}
	return pause
}

// completeError sets the fields Instance and Op of an *Error.
func (c *Client) completeError(op string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Instance, e.Op = c.Name(), op
		return e
	}
	return err
}

// Get reads one JSON value of at most MaxObject bytes; a larger one is an error of kind [TooLarge] that names the bound. Each element of
// path is one segment below /api/v1, and is escaped here ("https://10.0.0.1:6443" is one segment); a path that begins with "api" is below
// the root.
func (c *Client) Get(ctx context.Context, path []string, query url.Values) ([]byte, error) {
	r := request{op: "get " + shown(path), method: http.MethodGet, path: path, query: query, gzip: true}
	return c.readValue(ctx, r, c.shared.o.MaxObject)
}

// Call makes a request that changes something: it is sent once, whatever happens, with the JSON content type. The answer has at most
// MaxObject bytes, and may be empty. If an error leaves open whether the server made the change, its hint says so. path is as for
// [Client.Get].
func (c *Client) Call(ctx context.Context, method string, path []string, query url.Values, body []byte) ([]byte, error) {
	r := request{op: method + " " + shown(path), method: method, path: path, query: query, body: body, gzip: true}
	return c.readValue(ctx, r, c.shared.o.MaxObject)
}

// Ask makes a POST that changes nothing, such as for what an application set would generate. It may be repeated like a Get; all else is as
// for [Client.Call].
func (c *Client) Ask(ctx context.Context, path []string, query url.Values, body []byte) ([]byte, error) {
	r := request{op: "ask " + shown(path), method: http.MethodPost, path: path, query: query, body: body, gzip: true, asks: true}
	return c.readValue(ctx, r, c.shared.o.MaxObject)
}

// readValue makes a call whose answer is one JSON value of at most maxBytes, and returns it; empty if a request other than GET has no
// answer.
func (c *Client) readValue(ctx context.Context, r request, maxBytes limit.Bytes) ([]byte, error) {
	a, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer a.close()
	body, err := a.readAll(maxBytes)
	if err != nil {
		return nil, c.explainBroken(r, a, err)
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 && r.method != http.MethodGet {
		return body, nil
	}
	if len(body) > 0 && body[0] == '<' {
		return nil, c.explainShape(r, a, "the answer is a web page, not JSON"+pageTitle(body))
	}
	if err := jsonstream.Check(body, bounds(maxBytes)); err != nil {
		return nil, c.explainReadError(r, a, err)
	}
	return body, nil
}

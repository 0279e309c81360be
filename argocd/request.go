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
)

// request is one call of the API.
type request struct {
	op     string // for errors
	method string
	path   []string
	query  url.Values
	body   []byte
	gzip   bool
	// patient is a stream that may be idle as long as its context lives.
	patient bool
	// asks is set when a POST changes nothing: it is a question with a body.
	asks bool
}

// changes reports whether the server may have done something that stays.
func (r request) changes() bool { return r.method != http.MethodGet && !r.asks }

const (
	// maxErrorBody bounds the part of a refusal that is read, in bytes.
	maxErrorBody = 64 << 10
	// firstPause is before the first repetition; it doubles.
	firstPause = 250 * time.Millisecond
	// maxPause is the longest Retry-After that is waited for: agents give up soon after.
	maxPause = 20 * time.Second
)

// errSilent is the cause of a request that was given up because the server sent nothing.
var errSilent = errors.New("the server sent nothing")

// url makes the address of a path. Each segment is one segment, whatever is in it.
func (c *Client) url(path []string, query url.Values) (*url.URL, error) {
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
		// Argo CD takes what is behind the last colon of a path for a verb.
		escaped += "/" + strings.ReplaceAll(url.PathEscape(part), ":", "%3A")
	}
	u.Path, u.RawPath = plain, escaped
	u.RawQuery = query.Encode()
	return &u, nil
}

// prepare makes the HTTP request, with the credential, which it gives too.
func (c *Client) prepare(ctx context.Context, r request) (*http.Request, string, error) {
	u, err := c.url(r.path, r.query)
	if err != nil {
		return nil, "", &Error{Kind: Invalid, Message: clean(err.Error(), maxMessage), Hint: "give the name of the object", Err: err}
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	q, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, "", &Error{Kind: Invalid, Message: clean(err.Error(), maxMessage), Err: err}
	}
	for key, values := range c.shared.header {
		if c.user && isCredential(key, values) {
			continue // it would make the user somebody else
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
		q.Header.Set("Content-Type", "application/json") // without one it is refused with 415
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
		return nil, "", &Error{Kind: Unauthenticated, Message: clean(err.Error(), maxMessage), Hint: "nothing was sent to the server", Err: err}
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	return q, token, nil
}

// isCredential reports whether Argo CD takes a token from a header (util/grpc and server.getToken).
func isCredential(key string, values []string) bool {
	key = strings.ToLower(key)
	return key == "authorization" || key == "token" || strings.HasPrefix(key, "grpc-metadata-") ||
		key == "cookie" && strings.Contains(strings.Join(values, ";"), "argocd.token")
}

// send makes the call and gives the answer when it is a good one; else an *Error. Calls that
// change nothing are repeated, as long as there is no answer.
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
			e.Message += ", and until then: " + clean(err.Error(), maxMessage/2)
			return nil, e
		}
		pause = min(2*pause, maxPause)
	}
}

// sendOnce makes the call once. With an error it returns the pause before a repetition: never (-1), the usual pause (0), or
// the pause that the server named.
func (c *Client) sendOnce(ctx context.Context, r request) (_ *answer, again time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer func() {
		if err != nil {
			cancel(nil)
		}
	}()
	q, token, err := c.prepare(ctx, r)
	if err != nil {
		return nil, -1, c.completeError(r.op, err)
	}
	watch := newWatch(c.shared.o.Timeout, r.patient, cancel)
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
	body, _ := io.ReadAll(io.LimitReader(a, maxErrorBody)) // what came of it is enough
	e := c.explainRefusal(r, q.URL, resp, body, token)
	return nil, pauseOf(resp, e), e
}

// pauseOf returns the pause before a refused call may be repeated, as sendOnce does.
func pauseOf(resp *http.Response, e *Error) time.Duration {
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return -1
	}
	if e.Kind == TooLarge { // also 429, and the same the next time
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
		e.Hint = "the server asks to wait: " + clean(said, 60) + "; try again then"
		return -1
	}
	return pause
}

// completeError fills in the fields that every error has.
func (c *Client) completeError(op string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Instance, e.Op = c.Name(), op
		return e
	}
	return err
}

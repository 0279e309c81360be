// Package embed finds texts by what they mean: a service turns texts into vectors, which are kept in a file and compared one by one.
//
//	c, err := embed.NewClient(embed.ClientOptions{URL: "http://127.0.0.1:11434/v1", Model: "nomic-embed-text"})
//	vectors, err := c.Embed(ctx, texts)               // one for each text, of unit length, a byte a dimension
//	err = f.Append(ctx, c.Model(), entries, nil)      // f is a File
//	found, err := f.Scan(ctx, c.Model(), func(e embed.Entry) { … query.Cosine(e.Vector) … })
//
// Any server of POST /v1/embeddings will do. What leaves this machine is the texts of [Client.Embed]; redirects are not followed, and a key is
// sent over https or to this machine only. After three failures in a row a service rests, for half a minute up to ten ([ErrResting]). Eight
// bits are enough for a ranking: the cosine of two vectors of 384 dimensions is wrong by about 0.002.
//
// It is optional: package memory searches by words without it. A [Client] and a [File] may be used by many goroutines.
package embed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/forwardproxy"
	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of one request.
const (
	// MaxBatch is the largest number of texts in a request.
	MaxBatch = 32
	// MaxText is the number of bytes sent of a text. Most models read 256 to 512 tokens, which is about as much.
	MaxText = 2 << 10
	// maxAnswer bounds the answer: MaxBatch vectors of MaxDimensions numbers, of 25 bytes each, and some.
	maxAnswer = 8 << 20
)

// DefaultTimeout bounds a request for a batch. It is long because a small machine may run the model itself.
const DefaultTimeout = 30 * time.Second

// ClientOptions describe the service that turns texts into vectors. URL and Model are required.
type ClientOptions struct {
	// URL is the base as OpenAI's own clients take it, with /v1 at its end.
	URL   string
	Model string
	// Key is sent as a bearer token; "" sends none.
	Key string
	// Timeout bounds one request (DefaultTimeout). A caller that wants to wait less passes a context that ends earlier.
	Timeout time.Duration
	// HTTP makes the requests; nil means a client of its own.
	HTTP *http.Client
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// Client is a service that turns texts into vectors.
type Client struct {
	url, shown, model, key string
	timeout                time.Duration
	http                   *http.Client
	rest                   rest
}

// NewClient returns a client, or an error about invalid options. It makes no connection. Errors hold no key, and no secret of the address.
func NewClient(o ClientOptions) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(o.URL, "/"))
	switch {
	case err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, errors.New("the address of the service for embeddings is no http or https URL with a host; write it like http://127.0.0.1:11434/v1")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("the address of the service for embeddings at %s has a user name, a query or a fragment; give the base only, and name the variable that holds the key", base.Host)
	case o.Model == "":
		return nil, fmt.Errorf("no model is named that makes the vectors at %s; name one that the service has", base.Host)
	case o.Key != "" && base.Scheme == "http" && !isLocal(base.Hostname()):
		return nil, fmt.Errorf("the key would go to %s in clear text; use https, or a service on this machine", base.Host)
	case strings.ContainsFunc(o.Key, func(r rune) bool { return r < ' ' || r > '~' }):
		return nil, fmt.Errorf("the key for %s holds a character that no header can carry (a line break at its end?)", base.Host)
	}
	c := &Client{
		url: base.String() + "/embeddings", shown: base.Scheme + "://" + base.Host, model: o.Model, key: o.Key, timeout: cmp.Or(max(o.Timeout, 0), DefaultTimeout),
		rest: rest{now: o.Now},
	}
	if c.rest.now == nil {
		c.rest.now = time.Now
	}
	own := http.Client{}
	if o.HTTP != nil {
		own = *o.HTTP
	} else {
		t := &http.Transport{
			DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, MaxIdleConns: 2, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
		}
		forwardproxy.Use(t)
		own.Transport = t
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	return c, nil
}

// isLocal reports whether a host is a loopback address or localhost.
func isLocal(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback()
	}
	return host == "localhost"
}

// Model returns the name of the model.
func (c *Client) Model() string { return c.model }

// Address returns the scheme and host of the service.
func (c *Client) Address() string { return c.shown }

// Close gives up idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Errors of a [Client], beside those of its context.
var (
	// ErrResting means that the service has failed several times and is not asked for a while.
	ErrResting = errors.New("it has failed several times")
	// ErrRefused means that the service works, but rejected these texts.
	ErrRefused = errors.New("it does not take these texts")
)

// Embed returns the vectors of at most MaxBatch texts, in their order and all of the same dimensions. Only the first MaxText bytes of each
// are sent. No texts give nil.
func (c *Client) Embed(ctx context.Context, texts []string) ([]Vector, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	if len(texts) > MaxBatch {
		return nil, fmt.Errorf("%d texts are for more than one request, which has at most %d", len(texts), MaxBatch)
	}
	if err := c.rest.checkResting(); err != nil {
		return nil, fmt.Errorf("the service for embeddings at %s: %w", c.shown, err)
	}
	vectors, wait, err := c.request(ctx, texts)
	switch {
	case err == nil || errors.Is(err, ErrRefused):
		c.rest.countSuccess()
	case errors.Is(ctx.Err(), context.Canceled): // whoever asked has gone, which says nothing of the service
		return nil, context.Cause(ctx)
	default:
		c.rest.countFailure(wait)
	}
	if err != nil {
		return nil, fmt.Errorf("the service for embeddings at %s: %w", c.shown, err)
	}
	return vectors, nil
}

// request makes one request. wait is the time for which the service asked to be left alone, 0 if it did not.
func (c *Client) request(ctx context.Context, texts []string) (vectors []Vector, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %s", c.timeout))
	defer cancel()
	sent := make([]string, len(texts))
	for i, text := range texts {
		sent[i] = strings.ToValidUTF8(limit.Clip(text, MaxText), "\ufffd")
	}
	body, err := json.Marshal(struct {
		Model    string   `json:"model"`
		Input    []string `json:"input"`
		Encoding string   `json:"encoding_format"`
	}{c.model, sent, "float"})
	if err != nil {
		return nil, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, 0, errors.New("its address cannot be asked")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, 0, c.noAnswerError(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // so that the connection can be used again
		return nil, retryAfter(res), c.statusError(res.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, 0, c.noAnswerError(ctx, err)
	case len(answer) > maxAnswer:
		return nil, 0, fmt.Errorf("its answer is longer than %s", limit.Bytes(maxAnswer).Human())
	}
	vectors, err = parseAnswer(answer, len(texts))
	return vectors, 0, err
}

// noAnswerError returns the error of a request that got no answer, without the address, which the error of the HTTP client repeats.
func (c *Client) noAnswerError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return fmt.Errorf("no answer: %s; see that it runs", limit.Short(err.Error(), 200))
}

// statusError returns the error for a status other than 200.
func (c *Client) statusError(code int) error {
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("it answered %d; see that the variable of the key holds the right one", code)
	case code == http.StatusNotFound:
		return fmt.Errorf("it answered 404; see that it has the model %q, and that the address ends where /embeddings follows", limit.Short(c.model, 80))
	case code == http.StatusBadRequest || code == http.StatusRequestEntityTooLarge || code == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: it answered %d", ErrRefused, code)
	case code >= 300 && code < 400:
		return fmt.Errorf("it answered %d, a redirect, which is not followed; write down where it leads", code)
	}
	return fmt.Errorf("it answered %d", code)
}

// retryAfter returns the seconds of a Retry-After header, at most maxRest; 0 if there is none.
func retryAfter(res *http.Response) time.Duration {
	seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(min(seconds, 3600))*time.Second, maxRest)
}

// parseAnswer reads the vectors of n texts from an answer, in the order of the texts. It returns an error unless each is there exactly
// once, is not zero, and has as many dimensions as the others.
func parseAnswer(body []byte, n int) ([]Vector, error) {
	var answer struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, errors.New("its answer is no list of vectors as OpenAI's API has it") // its words may repeat what was sent
	}
	if len(answer.Data) != n {
		return nil, fmt.Errorf("it gave %d vectors for %d texts", len(answer.Data), n)
	}
	out := make([]Vector, n)
	for i, one := range answer.Data {
		at := i
		if one.Index != nil {
			at = *one.Index
		}
		if at < 0 || at >= n || out[at].Values != nil {
			return nil, fmt.Errorf("it gave vectors that cannot be told apart: the index %d", at)
		}
		v, ok := Quantize(one.Embedding)
		if !ok {
			return nil, fmt.Errorf("it gave a vector of %d dimensions without a direction; at most %d are kept", len(one.Embedding), MaxDimensions)
		}
		if i > 0 && len(v.Values) != len(answer.Data[0].Embedding) {
			return nil, fmt.Errorf("it gave vectors of %d and of %d dimensions", len(answer.Data[0].Embedding), len(v.Values))
		}
		out[at] = v
	}
	return out, nil
}

// A service that has failed maxFailures times in a row is not asked for minRest; each further failure doubles that, up to maxRest.
const (
	maxFailures = 3
	minRest     = 30 * time.Second
	maxRest     = 10 * time.Minute
)

// rest decides when a service that failed may be asked again.
type rest struct {
	now func() time.Time

	mu       sync.Mutex
	failures int
	until    time.Time
	last     time.Duration
}

// checkResting returns an [ErrResting] while the service must not be asked, else nil.
func (r *rest) checkResting() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := r.until.Sub(r.now()); left > 0 {
		return fmt.Errorf("%w, and is asked again in %s", ErrResting, left.Round(time.Second))
	}
	return nil
}

// countSuccess ends a row of failures: the service may be asked at once.
func (r *rest) countSuccess() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures, r.last, r.until = 0, 0, time.Time{}
}

// countFailure counts a failure. After maxFailures in a row the service is not asked for a time that doubles, and in any case not for wait,
// which the service itself has named; 0 if it named none.
func (r *rest) countFailure(wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures++
	if r.failures >= maxFailures {
		r.last = min(max(2*r.last, minRest), maxRest)
		wait = max(wait, r.last)
	}
	if wait > 0 {
		r.until = r.now().Add(wait)
	}
}

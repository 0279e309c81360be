package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/forwardproxy"
)

const (
	// maxAnswer bounds what is read of an answer, in bytes.
	maxAnswer = 64 << 10
	// packFrom is the size from which a body is compressed.
	packFrom = 1 << 10
	// maxWait bounds the wait that Retry-After may ask for.
	maxWait = 5 * time.Minute
)

// endpoint returns the URL to which traces are posted: base, with the path of OTLP unless it has one.
func endpoint(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", fmt.Errorf("%s is not the address of a collector, like http://127.0.0.1:4318", u.Redacted())
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/traces"
	}
	return u.String(), nil
}

// newClient returns an HTTP client with one connection, whose requests take at most timeout and follow no redirect.
func newClient(timeout time.Duration) *http.Client {
	t := &http.Transport{
		DialContext: (&net.Dialer{Timeout: timeout}).DialContext, MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, IdleConnTimeout: 90 * time.Second,
		ForceAttemptHTTP2: true, TLSHandshakeTimeout: timeout, MaxResponseHeaderBytes: maxAnswer,
	}
	forwardproxy.Use(t)
	return &http.Client{
		Timeout: timeout, Transport: t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// outcome is the result of a request to the collector.
type outcome struct {
	// again is true when the same spans may be sent later, after wait.
	again bool
	wait  time.Duration
	// rejected counts the spans that the collector did not accept in a request that it took.
	rejected int64
	// why is nil when the request was taken.
	why error
}

// post sends a body to the collector and returns the outcome.
func post(ctx context.Context, client *http.Client, to string, body []byte, now func() time.Time) outcome {
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"plimsoll"}}
	if len(body) >= packFrom {
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		_, _ = w.Write(body) // into memory
		_ = w.Close()
		body, header["Content-Encoding"] = packed.Bytes(), []string{"gzip"}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return outcome{why: err}
	}
	req.Header = header
	res, err := client.Do(req)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		return outcome{again: true, why: err}
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return outcome{again: true, wait: retryAfter(res.Header.Get("Retry-After"), now()), why: refusalError(res, text)}
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return outcome{why: refusalError(res, text)}
	}
	var answer struct {
		Partial struct {
			Rejected json.Number `json:"rejectedSpans"` // a string by OTLP/JSON, a number by some
			Message  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(text, &answer) != nil {
		return outcome{} // it was taken, whatever was said
	}
	rejected, _ := strconv.ParseInt(answer.Partial.Rejected.String(), 10, 64)
	if rejected <= 0 {
		return outcome{}
	}
	return outcome{rejected: rejected, why: fmt.Errorf("%d spans were not taken: %s", rejected, cleanText(answer.Partial.Message))}
}

// refusalError returns a collector's refusal as an error, with its words.
func refusalError(res *http.Response, text []byte) error {
	said := cleanText(string(text))
	if res.Header.Get("Location") != "" {
		said = "it names another address, which is not gone to"
	}
	if said == "" {
		return errors.New("status " + strconv.Itoa(res.StatusCode))
	}
	return fmt.Errorf("status %d: %s", res.StatusCode, said)
}

// retryAfter returns the wait in a Retry-After header: seconds or a date (RFC 9110, section 10.2.3), at most maxWait; 0 for none.
func retryAfter(text string, now time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(n)*time.Second, maxWait)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxWait)
	}
	return 0
}

package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/plimsoll/plimsoll/internal/forwardproxy"
)

const (
	// attempts bounds the times a notice is posted.
	attempts = 3
	// attemptTime bounds one of them.
	attemptTime = 4 * time.Second
	// retryAfter is the first pause between two; the next is twice as long.
	retryAfter = 500 * time.Millisecond
	// maxRedirects bounds those within the host.
	maxRedirects = 3
	// maxAnswer bounds what is read of an answer, in bytes. Nothing of it is used.
	maxAnswer = 64 << 10
)

// webhook posts notices as JSON to a URL, which may hold a token anywhere but in its host.
type webhook struct {
	url    *url.URL
	client *http.Client
}

// newWebhook returns the webhook of a URL. It is an error if that is not http or https, has no host, or has a user name.
func newWebhook(text string) (*webhook, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("notices go to a URL with http or https and a host, without a user name: https://host/path")
	}
	w := &webhook{url: u}
	t := &http.Transport{
		DialContext: (&net.Dialer{Timeout: attemptTime}).DialContext, TLSHandshakeTimeout: attemptTime,
		DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswer, ForceAttemptHTTP2: true,
	}
	forwardproxy.Use(t)
	w.client = &http.Client{Transport: t, CheckRedirect: w.checkRedirect}
	return w, nil
}

// String returns the scheme and the host of the URL, because the rest may hold a token.
func (w *webhook) String() string { return w.url.Scheme + "://" + w.url.Host + "/…" }

// Check returns nil: a server that is not there now may come.
func (w *webhook) Check() error { return nil }

// checkRedirect lets a notice go on within the host, as the same POST (307, 308). Any other redirect is taken as the answer.
func (w *webhook) checkRedirect(next *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || next.Method != http.MethodPost || next.URL.Scheme != w.url.Scheme || next.URL.Host != w.url.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// Send posts the notice. After a failure of the network, or of an overloaded server (429, 5xx), it posts again, attempts times in all.
func (w *webhook) Send(ctx context.Context, n Notice) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	pause := retryAfter
	for i := 1; ; i++ {
		again, err := w.post(ctx, body)
		if err == nil || !again || i == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// post posts once; again is true if another attempt may succeed.
func (w *webhook) post(ctx context.Context, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url.String(), bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the URL cannot be used")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "plimsoll")
	answer, err := w.client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address, which may hold a token
		}
		return true, err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	switch code := answer.StatusCode; {
	case code < 300:
		return false, nil
	case code < 400:
		to, err := answer.Location()
		if err != nil {
			return false, fmt.Errorf("it answers with %d, which leads nowhere", code)
		}
		return false, fmt.Errorf("it answers with %d, which leads to %s://%s and is not followed; write the address that it leads to", code, to.Scheme, cleanText(to.Host, maxName))
	default:
		return code == http.StatusTooManyRequests || code >= 500, fmt.Errorf("it answers with %d %s", code, http.StatusText(code))
	}
}

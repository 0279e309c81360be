package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/forwardproxy"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

// HTTPOptions configure [HTTP].
type HTTPOptions struct {
	// Name identifies the server in events and errors.
	Name string
	// URL is the server's MCP endpoint. Required.
	URL string
	// Header is set on every request and replaces the client's own headers of these names.
	Header http.Header
	// Client makes the requests; nil means a client that uses nothing of the environment but the proxy settings. It has the TLS options.
	// Its CheckRedirect is not used: see [HTTP].
	Client *http.Client
	// Timeout bounds the time that a request waits for its answer or another message; 0 means no bound.
	Timeout time.Duration
	// Journal gets events; it may be nil.
	Journal *journal.Journal
}

// maxBody bounds the body of an answer that is not a message, in bytes.
const maxBody = 64 << 10

// Remote is a Peer to a server over streamable HTTP.
type Remote struct {
	o      HTTPOptions
	url    *url.URL
	client *http.Client
	noise  *noiseCounter
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	session session
	mirrors mirrors
	// fallback is the connection to a server of the HTTP+SSE transport, nil if there is none; fellBack is closed once there is one.
	fallback *Server
	fellBack chan struct{}
}

// HTTP returns a Peer for the server at o.URL; the error is for an invalid URL.
//
// A message with a Header is from a client of HTTP and passes as that client means it: end-to-end headers in both directions, the status,
// every event. A Remote keeps nothing of such clients and may serve many. A message without a Header is from a client that does not use
// HTTP: then the Remote is the HTTP client for it, and keeps its session.
//
// If initialize is refused as servers of the HTTP+SSE transport (2024-11-05) do, and GET gives their endpoint, that transport is used.
//
// A POST is sent once. Redirects are followed to the same origin, and only those that keep the method; others are the server's answer.
func HTTP(o HTTPOptions) (*Remote, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the URL of the MCP server %s must be http://HOST/PATH or https://HOST/PATH", o.Name)
	}
	r := &Remote{o: o, url: u, noise: newNoiseCounter(o.Name, o.Journal)}
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	} else {
		t := forwardproxy.Transport()
		t.MaxIdleConnsPerHost = 64 // agents call tools in parallel
		t.DisableCompression = true
		client.Transport = t
	}
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		first := via[0]
		if len(via) > 5 || next.Method != first.Method || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host {
			return http.ErrUseLastResponse
		}
		return nil
	}
	r.client = &client
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.session.ready, r.fellBack = make(chan struct{}), make(chan struct{})
	return r, nil
}

// beginWork returns a context that also ends with Close, and the function that cancels it; open is false if the Remote is closed. The caller must
// call that function and r.wg.Done when its work is done.
func (r *Remote) beginWork(ctx context.Context) (context.Context, context.CancelCauseFunc, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, false
	}
	r.wg.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.ctx, func() { cancel(ErrClosed) })
	return ctx, func(err error) {
		cancel(err)
		if stop != nil {
			stop()
		}
	}, true
}

// Send implements [transport.Peer]. It returns once the message was written, or earlier if that failed; the answer comes in the background.
func (r *Remote) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	if ctx.Err() != nil {
		to.Done(context.Cause(ctx))
		return
	}
	if old := r.fallbackServer(); old != nil && m.Header == nil {
		old.Send(ctx, m, to)
		return
	}
	ctx, cancel, open := r.beginWork(ctx)
	if !open {
		to.Done(ErrClosed)
		return
	}
	x := &exchange{r: r, cancel: cancel, m: m, to: to, sent: make(chan struct{})}
	go func() {
		defer r.wg.Done()
		defer cancel(nil)
		defer x.onWritten()
		if m.Header != nil {
			x.passMessage(ctx)
		} else {
			x.sendForClient(ctx)
		}
	}()
	<-x.sent
}

// Listen implements [transport.Peer]. If the server offers nothing to listen to, as one of 2026-07-28, Done comes when ctx ends.
func (r *Remote) Listen(ctx context.Context, header http.Header, to transport.Receiver) {
	ctx, cancel, open := r.beginWork(ctx)
	if !open {
		to.Done(ErrClosed)
		return
	}
	go func() {
		defer r.wg.Done()
		defer cancel(nil)
		if header == nil {
			r.keepListening(ctx, to)
			return
		}
		x := &exchange{r: r, cancel: cancel, m: transport.Message{Header: header}, to: to, sent: make(chan struct{})}
		x.passBody(ctx, http.MethodGet)
	}()
}

// End implements [transport.Ender]: it ends the session that header names, with DELETE, and returns after Done.
func (r *Remote) End(ctx context.Context, header http.Header, to transport.Receiver) {
	ctx, cancel, open := r.beginWork(ctx)
	if !open {
		to.Done(ErrClosed)
		return
	}
	defer r.wg.Done()
	defer cancel(nil)
	x := &exchange{r: r, cancel: cancel, m: transport.Message{Header: header}, to: to, sent: make(chan struct{})}
	x.passBody(ctx, http.MethodDelete)
}

// Close implements [transport.Peer]. It ends the session of a client without HTTP by a DELETE, for which it waits at most DefaultGrace.
func (r *Remote) Close() error {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	id, old := r.session.id, r.fallback
	r.mu.Unlock()
	if old != nil {
		_ = old.Close() // never fails
	}
	r.cancel(ErrClosed)
	r.wg.Wait()
	if first && id != "" {
		// The server may be gone: Close must not wait for it for long.
		ctx, cancel := context.WithTimeout(context.Background(), DefaultGrace)
		defer cancel()
		if answer, err := r.do(ctx, http.MethodDelete, r.ownHeader(nil), nil, nil); err == nil {
			_ = answer.Body.Close() // its status does not matter: 405 is allowed
		}
	}
	if first && r.o.Client == nil {
		r.client.CloseIdleConnections()
	}
	r.noise.flush()
	return nil
}

// fallbackServer returns the connection by the HTTP+SSE transport; nil if there is none.
func (r *Remote) fallbackServer() *Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fallback
}

// displayURL returns the URL as it may be shown: without user, password and query, and with an ellipsis for each part of the path that may
// be a key, as some hosts of MCP servers put keys there.
func (r *Remote) displayURL() string {
	parts := strings.Split(r.url.Path, "/")
	for i, part := range parts {
		digits := strings.ContainsFunc(part, func(c rune) bool { return c >= '0' && c <= '9' })
		if len(part) > 24 || digits && len(part) > 4 {
			parts[i] = "..."
		}
	}
	return r.url.Scheme + "://" + r.url.Host + strings.Join(parts, "/")
}

// Unreachable reports that a server gave no answer.
type Unreachable struct {
	Server, URL string
	Err         error
}

func (e *Unreachable) Error() string {
	return fmt.Sprintf("cannot reach the MCP server %s at %s: %v; check that it is running and that the URL is right", e.Server, e.URL, e.Err)
}

// Unwrap returns the cause.
func (e *Unreachable) Unwrap() error { return e.Err }

// CutError reports that an answer ended before its response was complete. The request was not sent again.
type CutError struct {
	Server, URL string
	Err         error
}

func (e *CutError) Error() string {
	return fmt.Sprintf("the answer of the MCP server %s at %s broke off: %v; the request was not repeated: check what it did before you repeat it", e.Server, e.URL, e.Err)
}

// Unwrap returns the cause.
func (e *CutError) Unwrap() error { return e.Err }

// StatusError reports that a server refused a message over HTTP.
type StatusError struct {
	Server, URL, Method string
	Status              int
	// Text is the answer's body in one line, with its middle cut out above 200 bytes; "" if the body is empty or HTML.
	Text string
	Next string // what to do
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("the MCP server %s at %s answered %s with status %d %s", e.Server, e.URL, e.Method, e.Status, http.StatusText(e.Status))
	if e.Text != "" {
		text += " (" + e.Text + ")"
	}
	return text + ": " + e.Next
}

// HTTPStatus returns Status, for callers that do not know this package: the detection of a server's protocol version is one.
func (e *StatusError) HTTPStatus() int { return e.Status }

// statusError returns the error for a status that refuses a message, with what the user can do next.
func (r *Remote) statusError(m transport.Message, status int, body []byte) *StatusError {
	method := m.Head.Method
	if m.Head.Kind == jsonrpc.Response {
		method = "a response"
	}
	e := &StatusError{Server: r.o.Name, URL: r.displayURL(), Method: method, Status: status}
	if text := strings.TrimSpace(string(body)); text != "" && text[0] != '<' { // a page says less than its status
		e.Text = lastLine([]byte(strings.ReplaceAll(text, "\n", " ")))
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Next = "it wants other credentials; set its headers in the configuration"
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		e.Next = "check the path of its URL"
	case status >= 300 && status < 400:
		e.Next = "it redirects to another origin, which is not followed; set that URL in the configuration"
	case status >= 500:
		e.Next = "the message was not repeated; try again, or look at the server's log"
	default:
		e.Next = "it does not take this message; look at the server's log"
	}
	return e
}

// reason returns an error of net/http without the URL, which may contain secrets.
func reason(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

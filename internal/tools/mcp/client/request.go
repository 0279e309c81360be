package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

const (
	eventStream = "text/event-stream"
	jsonType    = "application/json"
)

// hop are the headers that belong to one connection (RFC 9110, 7.6.1), and those that net/http sets itself.
var hop = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Host", "Content-Length", "Expect", "Accept-Encoding",
}

// passHeader returns the client's headers that are passed on to the server.
func passHeader(from http.Header) http.Header {
	h := from.Clone()
	for _, value := range from.Values("Connection") {
		for name := range strings.SplitSeq(value, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hop {
		h.Del(name)
	}
	return h
}

// do makes a request to the server's own address; see doAt.
func (r *Remote) do(ctx context.Context, method string, header http.Header, body []byte, written func()) (*http.Response, error) {
	return r.doAt(ctx, r.url, method, header, body, written)
}

// doAt makes an HTTP request to an address and returns the answer, decompressed. written, if not nil, is called when the request was written. The
// caller closes the body.
func (r *Remote) doAt(ctx context.Context, at *url.URL, method string, header http.Header, body []byte, written func()) (*http.Response, error) {
	if written != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { written() }})
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = header
	for name, values := range r.o.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	// No compression: a compressed stream comes in blocks and not message by message.
	req.Header.Set("Accept-Encoding", "identity")
	if _, named := req.Header["User-Agent"]; !named {
		req.Header.Set("User-Agent", "plimsoll")
	}
	if body != nil {
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.ContentLength = int64(len(body))
		// With GetBody net/http sends again a request that was certainly never written (the connection had
		// closed while idle). With one of these headers it would also repeat a request that was written and
		// not answered, which must not happen.
		if header.Get("Idempotency-Key") == "" && header.Get("X-Idempotency-Key") == "" {
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		}
	}
	answer, err := r.client.Do(req)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &Unreachable{Server: r.o.Name, URL: r.displayURL(), Err: reason(err)}
	}
	switch encoding := answer.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		answer.Body = &unzipped{under: answer.Body}
		answer.Header.Del("Content-Encoding")
		answer.Header.Del("Content-Length")
	default:
		_ = answer.Body.Close() // nothing in it can be read
		return nil, &CutError{Server: r.o.Name, URL: r.displayURL(), Err: fmt.Errorf("the content encoding %q was not asked for", encoding)}
	}
	return answer, nil
}

// unzipped decompresses a body as it comes.
type unzipped struct {
	under io.ReadCloser
	zip   *gzip.Reader
	err   error
}

// Read unpacks gzip. The first call reads the header of the stream; if that is damaged, every call returns the error.
func (u *unzipped) Read(p []byte) (int, error) {
	if u.zip == nil && u.err == nil {
		u.zip, u.err = gzip.NewReader(u.under) // not earlier: it reads, and the headers go first
	}
	if u.err != nil {
		return 0, u.err
	}
	return u.zip.Read(p)
}

func (u *unzipped) Close() error { return u.under.Close() }

// mediaType returns the media type of a body without its parameters; "" if it is missing or invalid.
func mediaType(h http.Header) string {
	name, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return name
}

// exchange is one message and what comes back for it.
type exchange struct {
	r      *Remote
	cancel context.CancelCauseFunc
	m      transport.Message
	to     transport.Receiver
	sent   chan struct{} // closed when the message was written, or never will be
	told   bool          // Done was called; only used by the goroutine of the exchange
	// repeated is set when the message is sent again in a new session.
	repeated bool
	state
}

// onWritten lets Send return, because the request was written or will not be; only the first call counts.
func (x *exchange) onWritten() {
	x.once.Do(func() { close(x.sent) })
}

// passMessage sends a message of a client of HTTP as it is.
func (x *exchange) passMessage(ctx context.Context) { x.passBody(ctx, http.MethodPost) }

// passBody makes the request of a client of HTTP, passes the answer on as it comes, and calls Done.
func (x *exchange) passBody(ctx context.Context, method string) {
	var body []byte
	if method == http.MethodPost {
		body = x.m.Raw
	}
	ctx, stop := x.withTimeout(ctx)
	defer stop()
	answer, err := x.r.do(ctx, method, passHeader(x.m.Header), body, x.onWritten)
	if err != nil {
		x.to.Done(err)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	x.onWritten()
	a := transport.Answer{Status: answer.StatusCode, Header: answer.Header}
	switch media := mediaType(answer.Header); {
	case media == eventStream && answer.StatusCode == http.StatusOK:
		x.to.Open(a)
		err = x.readEvents(ctx, answer.Body, true)
		if method == http.MethodGet && err == io.EOF {
			err = nil
		}
	case media == jsonType && answer.StatusCode != http.StatusAccepted && method == http.MethodPost:
		err = x.passJSON(a, answer.Body)
	default:
		a.Body, _ = io.ReadAll(io.LimitReader(answer.Body, maxBody)) // what came is told
		x.to.Open(a)
	}
	if err != nil {
		err = x.cutError(ctx, err)
	}
	x.to.Done(err)
}

// cutError returns the error for an answer that ended with err before its response: the cause of ctx if that has ended, else a [*CutError].
func (x *exchange) cutError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &CutError{Server: x.r.o.Name, URL: x.r.displayURL(), Err: err}
}

// passJSON passes on a body that is one JSON text. If the status is an error and the body is not a JSON-RPC message, it is passed on as
// Answer.Body.
func (x *exchange) passJSON(a transport.Answer, body io.Reader) error {
	head, rest, err := readHead(body)
	if err != nil && len(head) == 0 {
		if err == io.EOF { // empty
			err = nil
		}
		x.to.Open(a)
		return err
	}
	if a.Status >= 300 {
		if _, ok := refusalOf(head); !ok || rest != nil {
			a.Body = head[:min(len(head), maxBody)]
			x.to.Open(a)
			return nil
		}
	}
	if _, bad := rawjson.Only(head); bad != nil && rest == nil {
		rest = failingReader{io.ErrUnexpectedEOF} // HTTP cannot tell that it broke off
	}
	x.to.Open(a)
	return x.receive(&transport.Frame{Head: head, Rest: rest})
}

// refusalOf returns the head of the JSON-RPC message in the body of an error status; ok is false if it is not one. An error of OAuth looks
// like one except for the member jsonrpc.
func refusalOf(body []byte) (jsonrpc.Head, bool) {
	h, err := jsonrpc.Scan(body)
	return h, err == nil && !rawjson.Get(body, "jsonrpc").IsZero()
}

// readHead reads the beginning of a body that is one JSON text. rest is nil if head is all of it, else a reader of the remaining part. err is set
// only if nothing could be read.
func readHead(body io.Reader) (head []byte, rest io.Reader, err error) {
	head = make([]byte, 4<<10)
	n := 0
	for {
		var m int
		m, err = body.Read(head[n:])
		n += m
		if err != nil || n > jsonrpc.Hold {
			break
		}
		if n == len(head) {
			head = append(head, make([]byte, min(len(head), jsonrpc.Hold+1-n))...)
		}
	}
	head = head[:n]
	switch {
	case err == nil:
		return head, body, nil
	case n == 0:
		return nil, nil, err
	case err == io.EOF:
		head, _ = jsonrpc.Legible(bytes.TrimSpace(head), nil)
		return head, nil, nil
	}
	return head, failingReader{err}, nil
}

// failingReader is the rest of a message that broke off behind its head.
type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// restWatcher records how the rest of a frame ended.
type restWatcher struct {
	src    io.Reader
	failed error
}

func (f *restWatcher) Read(p []byte) (int, error) {
	n, err := f.src.Read(p)
	if err != nil && err != io.EOF {
		f.failed = err
	}
	return n, err
}

// err returns the error that broke the frame off, nil if there was none. f may be nil.
func (f *restWatcher) err() error {
	if f == nil {
		return nil
	}
	return f.failed
}

// watchRest replaces the rest of a frame by a reader that records its error; nil if there is no rest.
func watchRest(f *transport.Frame) *restWatcher {
	if f.Rest == nil {
		return nil
	}
	watch := &restWatcher{src: f.Rest}
	f.Rest = watch
	return watch
}

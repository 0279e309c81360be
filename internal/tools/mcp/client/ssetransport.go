package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/sse"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// endpointWait bounds the wait for the address to which a client of the HTTP+SSE transport (2024-11-05) sends messages.
const endpointWait = 10 * time.Second

// mayBeSSETransport reports whether the status of an answer to initialize is one with which servers of the HTTP+SSE transport answer a POST
// (streamable HTTP, backwards compatibility).
func mayBeSSETransport(x *exchange, status int) bool {
	return x.m.Head.Method == "initialize" &&
		(status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed)
}

// connectSSE returns a connection by the HTTP+SSE transport; nil if the server does not speak it. That transport has one stream for everything,
// like a process: the stream becomes the standard output of a [Server], and a POST for each message its standard input.
func (r *Remote) connectSSE(ctx context.Context) *Server {
	first, err := r.openSSE(ctx)
	if err != nil {
		return nil
	}
	s := Stdio(StdioOptions{
		Name: r.o.Name, Timeout: r.o.Timeout, Journal: r.o.Journal,
		Launch: func(ctx context.Context) (*Process, error) {
			if p := first; p != nil {
				first = nil
				return p, nil
			}
			return r.openSSE(ctx)
		},
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		go s.Close()
		first.Kill()
		return nil
	}
	r.fallback = s
	close(r.fellBack)
	return s
}

// sseStream is a connection of the HTTP+SSE transport.
type sseStream struct {
	r      *Remote
	to     *url.URL // where messages are sent
	ctx    context.Context
	cancel context.CancelFunc
	line   []byte // the part of a message that has no newline yet
	mu     sync.Mutex
	ended  error
	gone   chan struct{}
}

// openSSE opens the stream of the HTTP+SSE transport, which has to begin with an endpoint of the same origin.
func (r *Remote) openSSE(ctx context.Context) (*Process, error) {
	o := &sseStream{r: r, gone: make(chan struct{})}
	o.ctx, o.cancel = context.WithCancel(r.ctx)
	stop := context.AfterFunc(ctx, o.cancel)
	timer := time.AfterFunc(endpointWait, o.cancel)
	header := http.Header{"Accept": {eventStream}}
	answer, err := r.do(o.ctx, http.MethodGet, header, nil, nil)
	if err != nil {
		o.cancel()
		return nil, err
	}
	fail := func(text string) (*Process, error) {
		o.cancel()
		_ = answer.Body.Close()
		return nil, fmt.Errorf("the MCP server %s at %s: %s", r.o.Name, r.displayURL(), text)
	}
	if answer.StatusCode != http.StatusOK || mediaType(answer.Header) != eventStream {
		return fail(fmt.Sprintf("GET was answered with status %d and no stream", answer.StatusCode))
	}
	events := sse.NewReader(answer.Body, 0)
	e, head, rest, err := events.Next()
	if err != nil || e.Name != "endpoint" || rest != nil {
		return fail("its stream does not begin with an endpoint")
	}
	o.to, err = r.url.Parse(string(bytes.TrimSpace(head)))
	if err != nil || o.to.Scheme != r.url.Scheme || o.to.Host != r.url.Host {
		return fail("it names an endpoint of another origin, which is not followed")
	}
	if !timer.Stop() || !stop() {
		return fail("it was too slow")
	}
	out, in := io.Pipe()
	go o.copyEvents(events, answer.Body, in)
	return &Process{
		Stdin: o, Stdout: out, Kill: o.cancel,
		Wait: func() (Exit, error) {
			<-o.gone
			return Exit{Text: o.endReason()}, nil
		},
	}, nil
}

// endReason returns why the stream has ended, as a clause for messages.
func (o *sseStream) endReason() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended == nil {
		return "its stream ended"
	}
	return "its stream ended: " + o.ended.Error()
}

// copyEvents writes the data of each event as a line, until the stream ends.
func (o *sseStream) copyEvents(events *sse.Reader, body io.Closer, in *io.PipeWriter) {
	defer close(o.gone)
	defer o.cancel()
	var err error
	for err == nil {
		var head []byte
		var rest io.Reader
		if _, head, rest, err = events.Next(); err == nil && len(head) > 0 {
			err = jsonrpc.WriteLine(in, head, rest)
		}
	}
	_ = body.Close()
	_ = in.Close() // a line that broke off has no newline
	o.setEnded(err)
}

// setEnded records why the stream has ended. Only the first reason is kept, and the regular end is none.
func (o *sseStream) setEnded(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended == nil && err != io.EOF {
		o.ended = err
	}
}

// Write sends each line as a message, and returns when the server has accepted it. A line without a newline is kept for the next call.
func (o *sseStream) Write(p []byte) (int, error) {
	for i, part := range bytes.SplitAfter(p, []byte{'\n'}) {
		if o.line = append(o.line, part...); len(part) == 0 || part[len(part)-1] != '\n' {
			continue
		}
		err := o.post(bytes.TrimSpace(o.line))
		if o.line = o.line[:0]; err != nil {
			o.setEnded(err)
			return i, err
		}
	}
	return len(p), nil
}

// post sends a message to the address that the stream named. A status of 300 and more is an error; the body of the answer is not read.
func (o *sseStream) post(message []byte) error {
	header := http.Header{"Content-Type": {jsonType}}
	answer, err := o.r.doAt(o.ctx, o.to, http.MethodPost, header, message, nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode >= 300 {
		h, _ := jsonrpc.Scan(message)
		return o.r.statusError(transport.Message{Raw: message, Head: h}, answer.StatusCode, nil)
	}
	return nil
}

// Close ends the connection: there is no other way to tell the server that no more messages come.
func (o *sseStream) Close() error {
	o.cancel()
	return nil
}

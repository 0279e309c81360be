package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

const (
	// The pause before a reconnection is what the server asked for, else firstReconnect, and half as long again
	// each time up to maxPause. The official clients use the same values.
	firstReconnect = time.Second
	// maxResumes bounds the attempts in a row to resume a stream that bring no new event.
	maxResumes = 5
	// cancelWait bounds the sending of a cancellation.
	cancelWait = 5 * time.Second
)

// deliverJSON passes on an answer that is one JSON text. The error says why it broke off, or that it is not the response.
func (x *exchange) deliverJSON(answer *http.Response) error {
	head, rest, err := readHead(answer.Body)
	if err != nil {
		return err
	}
	if rest == nil {
		if _, err := rawjson.Only(head); err != nil {
			// HTTP cannot tell that it broke off: the end of the connection is the end of the body.
			rest = failingReader{io.ErrUnexpectedEOF}
		}
	}
	f := &transport.Frame{Head: head, Rest: rest}
	if !x.isForClient(f) {
		return fmt.Errorf("its body is not the response")
	}
	return x.receive(f)
}

// deliverStream passes on an answer that is a stream of events, and resumes a broken one if possible. It returns the error for Done.
func (x *exchange) deliverStream(ctx context.Context, answer *http.Response) error {
	err := x.readEvents(ctx, answer.Body, false)
	_, modern := rawjson.Text(x.m.Raw, "params", "_meta", metaVersion)
	last, retry := x.lastID, x.retry
	for tries := 0; !x.answered && !modern && last != "" && ctx.Err() == nil && tries < maxResumes; tries++ {
		if !sleep(ctx, reconnectPause(retry, tries)) {
			break
		}
		header := x.r.ownHeader(nil)
		header.Set("Accept", eventStream)
		header.Set(headerLastID, last)
		again, failed := x.r.do(ctx, http.MethodGet, header, nil, nil)
		if failed != nil {
			continue
		}
		if again.StatusCode != http.StatusOK || mediaType(again.Header) != eventStream {
			_ = again.Body.Close()
			if again.StatusCode < 500 {
				break // it will not be resumed
			}
			continue
		}
		before := x.got
		err = x.readEvents(ctx, again.Body, false)
		_ = again.Body.Close()
		if x.got > before {
			tries = -1
			if x.lastID != "" {
				last = x.lastID
			}
		}
		if x.retry > 0 {
			retry = x.retry
		}
	}
	if err == nil {
		return nil
	}
	x.cancelIfEnded(ctx)
	return x.cutError(ctx, err)
}

// cancelIfEnded sends the server a cancellation if ctx has ended before the answer and the server is of an older version. Newer servers notice
// the end of the connection.
func (x *exchange) cancelIfEnded(ctx context.Context) {
	_, modern := rawjson.Text(x.m.Raw, "params", "_meta", metaVersion)
	if ctx.Err() == nil || modern || x.answered || x.m.Head.Kind != jsonrpc.Request || x.m.Head.Method == "initialize" || x.r.ctx.Err() != nil {
		return
	}
	why := "the client took the request back"
	if late, ok := errors.AsType[*TimeoutError](context.Cause(ctx)); ok {
		why = fmt.Sprintf("no answer within %v", late.After)
	}
	raw := jsonrpc.NewRequest("", "notifications/cancelled", fmt.Appendf(nil, `{"requestId":%s,"reason":%q}`, x.m.Head.ID, why))
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return
	}
	x.answered = true
	m := transport.Message{Raw: raw, Head: head}
	_, cancel, open := x.r.beginWork(context.Background())
	if !open {
		return
	}
	go func() {
		defer x.r.wg.Done()
		defer cancel(nil)
		// Its own time: the request's is over.
		ctx, stop := context.WithTimeout(x.r.ctx, cancelWait)
		defer stop()
		if answer, err := x.r.do(ctx, http.MethodPost, x.r.ownHeader(&m), raw, nil); err == nil {
			_ = answer.Body.Close() // the answer does not matter
		}
	}()
}

// keepListening keeps open the stream on which an older server sends messages that belong to no request, and calls Done when ctx ends or
// the Remote is closed.
func (r *Remote) keepListening(ctx context.Context, to transport.Receiver) {
	r.mu.Lock()
	ready := r.session.ready
	r.mu.Unlock()
	select {
	case <-ready:
	case <-r.fellBack:
		over := make(chan struct{})
		r.fallbackServer().Listen(ctx, nil, &followedDone{to, over})
		<-over
		return
	case <-ctx.Done():
		to.Done(r.endError(ctx))
		return
	}
	x := &exchange{r: r, cancel: func(error) {}, to: to, sent: make(chan struct{})}
	last, retry := "", time.Duration(0)
	for tries := 0; ctx.Err() == nil; tries++ {
		if tries > 0 && !sleep(ctx, reconnectPause(retry, tries-1)) {
			break
		}
		r.waitRenewed(ctx)
		header := r.ownHeader(nil)
		header.Set("Accept", eventStream)
		if last != "" {
			header.Set(headerLastID, last)
		}
		answer, err := r.do(ctx, http.MethodGet, header, nil, nil)
		if err != nil {
			continue
		}
		switch id := header.Get(headerSession); {
		case answer.StatusCode == http.StatusOK && mediaType(answer.Header) == eventStream:
			before := x.got
			x.lastID, x.retry = last, retry
			_ = x.readEvents(ctx, answer.Body, false) // however it ended, it is opened again
			if x.got > before {
				tries = 0
			}
			last, retry = x.lastID, max(x.retry, 0)
		case answer.StatusCode == http.StatusNotFound && id != "" && tries < maxResumes:
			last = ""
			_ = r.renewSession(ctx, id) // if that fails, the next message gets the error
		case answer.StatusCode < 500:
			// The server does not offer such a stream (405), or not to us.
			_ = answer.Body.Close()
			<-ctx.Done()
		}
		_ = answer.Body.Close()
	}
	to.Done(r.endError(ctx))
}

// endError returns the error for Done of a stream whose context has ended: ErrClosed after Close, else nil.
func (r *Remote) endError(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), ErrClosed) {
		return ErrClosed
	}
	return nil
}

// reconnectPause returns the pause that the server has asked for, or else one that grows with the number of tries.
func reconnectPause(asked time.Duration, tries int) time.Duration {
	if asked > 0 {
		return min(asked, 10*time.Minute)
	}
	pause := firstReconnect
	for range min(tries, 20) {
		pause += pause / 2
	}
	return min(pause, maxPause)
}

// sleep waits for d and returns true; if ctx ends before, it returns false at once.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

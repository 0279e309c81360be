package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A heldBody is a request body in memory, charged to the budget. It lives until the
// handler and every reader handed to the transport have let go of it: the transport may
// still be sending when the answer has begun.
type heldBody struct {
	bytes []byte // as it came
	room  hold
	refs  atomic.Int32
	// pooled is true when nothing refers to the bytes when refs is 0. A request that was
	// edited may share them with what was stored, so its buffer is left to the collector.
	pooled bool
}

// releaseUse ends one use of the body. The last one gives back its memory and its share of the budget.
func (b *heldBody) releaseUse() {
	if b.refs.Add(-1) > 0 {
		return
	}
	b.room.shrinkTo(0)
	if b.pooled {
		freeBuffer(b.bytes)
	}
	b.bytes = nil
}

// reader returns content, the body as it came or an edit of it, as a request body. It keeps b from being released until it is closed.
func (b *heldBody) reader(content []byte) io.ReadCloser {
	b.refs.Add(1)
	return &heldReader{left: content, body: b}
}

// A heldReader is closed by one goroutine of the transport while another may still read
// (HTTP/2 does so when the answer comes before the body is sent). Once it is closed the
// bytes may be those of another request, so no read may be under way or begin.
type heldReader struct {
	mu   sync.Mutex
	left []byte
	body *heldBody // nil once it was closed
}

// Read implements [io.Reader]. After Close it returns [http.ErrBodyReadAfterClose].
func (r *heldReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.body == nil:
		return 0, http.ErrBodyReadAfterClose
	case len(r.left) == 0:
		return 0, io.EOF
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// writeTo writes the unread bytes to w in one call, at most most of them. They stay in memory until the call is over, even if the reader is
// closed meanwhile. After Close it returns [http.ErrBodyReadAfterClose].
func (r *heldReader) writeTo(w io.Writer, most int64) (int64, error) {
	r.mu.Lock()
	body := r.body
	if body == nil {
		r.mu.Unlock()
		return 0, http.ErrBodyReadAfterClose
	}
	p := r.left[:min(int64(len(r.left)), most)]
	r.left = r.left[len(p):]
	body.refs.Add(1)
	r.mu.Unlock()
	defer body.releaseUse()
	n, err := w.Write(p)
	return int64(n), err
}

// Close ends this use of the held body. A second call does nothing.
func (r *heldReader) Close() error {
	r.mu.Lock()
	body := r.body
	r.left, r.body = nil, nil
	r.mu.Unlock()
	if body != nil {
		body.releaseUse()
	}
	return nil
}

// attachTo makes content the body of req, which may then be sent again on a new connection. With chunked its length is not announced.
func (b *heldBody) attachTo(req *http.Request, content []byte, chunked bool) {
	if len(content) == 0 && !chunked {
		req.Body = http.NoBody // net/http takes any other for a body of unknown length
		return
	}
	req.Body = b.reader(content)
	req.GetBody = func() (io.ReadCloser, error) { return b.reader(content), nil }
	req.ContentLength = int64(len(content))
	if chunked {
		req.ContentLength = -1
	}
}

// errTooLargeToHold means that a body is too large to be looked into, and streams through instead.
var errTooLargeToHold = errors.New("the body is larger than what is looked into")

// errGiants means that a large body streams through because others as large take the memory or the turn.
var errGiants = errors.New("other large bodies are being looked into")

// A resumedBody is a body whose beginning was read into memory before it turned out to be
// too large. The memory is given back as soon as the beginning has been sent.
type resumedBody struct {
	held io.ReadCloser // nil once it was sent
	rest io.ReadCloser
}

// Read reads the held beginning of the body, closes it, and then reads the rest from the client.
func (b *resumedBody) Read(p []byte) (int, error) {
	if b.held == nil {
		return b.rest.Read(p)
	}
	n, err := b.held.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.held.Close()
		b.held, err = nil, nil
	}
	return n, err
}

func (b *resumedBody) Close() error {
	if b.held != nil {
		_ = b.held.Close()
	}
	return b.rest.Close()
}

// noRoomError returns the error for a body of size bytes for which the budget had no room in time: the context's if that ended; errGiants
// for a giant, which is then passed on unread; else a *refusal with 503.
func (p *Proxy) noRoomError(ctx context.Context, size int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if size >= giantBody {
		return errGiants
	}
	return &refusal{
		status: http.StatusServiceUnavailable, reason: "memory", retry: p.o.BudgetWait + time.Second,
		text: fmt.Sprintf("Plimsoll's memory budget for requests (%d bytes) is full and a body of %d bytes found no room in %v: send it again, or raise [window] body_memory",
			p.budget.size, size, p.o.BudgetWait),
	}
}

// answerBodyError answers a request whose body could not be read with err, if that is a *refusal. Otherwise the client went away: it
// journals that and panics with http.ErrAbortHandler.
func (p *Proxy) answerBodyError(w http.ResponseWriter, r *http.Request, rt *route, err error) {
	if e, ok := errors.AsType[*refusal](err); ok {
		p.answerRefusal(w, rt, e)
		return
	}
	// The client went away in the middle of its own request.
	p.journalEvent(journal.WindowResponse{Upstream: rt.up.Name, Dialect: rt.dialect.String(), Request: rt.request, Ended: "client_gone"})
	panic(http.ErrAbortHandler)
}

// withoutChecksum returns the body of an edited request without Claude Code's checksum.
//
// Towards Anthropic itself, Claude Code (2.1.197, watched) writes a checksum of each body
// into the first block of the system prompt: "x-anthropic-billing-header: …; cch=1a2b3;".
// Towards gateways it leaves that out. An edited body is no longer the one that was summed
// up, so it goes the way the tool itself writes it when it makes no such claim. It also
// changes with every turn, and without it the bodies between two compactions begin alike.
func withoutChecksum(r *wire.Request) []byte {
	if !hasChecksum(r) {
		return r.Body
	}
	span := r.System[0].Texts[0]
	literal := r.Raw(span)
	at := bytes.Index(literal, []byte(" cch="))
	if at < 0 {
		return r.Body
	}
	end := bytes.IndexByte(literal[at:], ';')
	if end < 0 || end > 32 {
		return r.Body
	}
	body, err := wire.Splice(r.Body, []wire.Edit{{Span: wire.Span{Start: span.Start + at, End: span.Start + at + end + 1}}})
	if err != nil {
		return r.Body
	}
	return body
}

// hasChecksum reports whether the system prompt begins with Claude Code's block that holds a checksum, which differs in every request.
func hasChecksum(r *wire.Request) bool {
	return len(r.System) > 0 && len(r.System[0].Texts) > 0 &&
		bytes.HasPrefix(r.Raw(r.System[0].Texts[0]), []byte(`"x-anthropic-billing-header:`))
}

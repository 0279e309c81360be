package proxy

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll/plimsoll/internal/eventstream"
	"github.com/plimsoll/plimsoll/internal/window/overflow"
	"github.com/plimsoll/plimsoll/internal/window/reasoning"
	"github.com/plimsoll/plimsoll/window/wire"
)

// What is held of an answer while it is not clear whether it is a refusal.
const (
	holdBytes = 64 << 10
	holdTime  = 2 * time.Second
	// holdDecoded bounds what held bytes unpack to.
	holdDecoded = 1 << 20
	// maxWindow bounds the window of a packed answer that is read along; servers have 4 MiB at most.
	maxWindow = 8 << 20
)

// An answer is a response whose beginning may have been read.
type answer struct {
	res    *http.Response
	body   *heldReads
	held   []byte
	reader *wire.Answer // has been shown the held bytes; nil when nobody reads along
	stream bool
	// over is the provider's refusal, when it refused.
	over    overflow.Overflow
	refused bool
	// refusal names the reasoning that the provider refused, when thoughts is true.
	refusal  reasoning.Refusal
	thoughts bool
	// failure is the text of a refusal for some other reason; it may be for what the request contains.
	failure []byte
}

// refusals are the statuses with which providers refuse what a request contains: 404 and 403 where a model takes no images or a file is gone.
var refusals = []int{
	http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError,
}

// accepted reports whether the provider accepted the request, as far as the beginning of its answer tells.
func (a *answer) accepted() bool {
	return a.res.StatusCode == http.StatusOK && !a.refused && !a.thoughts && len(a.failure) == 0
}

// mayRefuseContents reports whether a failure in unknown words may mean that the provider does not accept some contents: by a status for
// invalid requests, or by such an error in a stream. Servers of open models use 500 for arguments that are no JSON (llama.cpp#25510).
func (a *answer) mayRefuseContents() bool {
	text := bytes.ToLower(a.failure)
	has := func(word string) bool { return bytes.Contains(text, []byte(word)) }
	switch a.res.StatusCode {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return true
	case http.StatusOK:
		return has("invalid") || has("validation") || has(`"code":400`) || has("bad request")
	case http.StatusInternalServerError:
		return has("parse") && (has("argument") || has("template") || has("json"))
	}
	return false
}

// A readResult is the outcome of one read of a body.
type readResult struct {
	n   int
	err error
}

// heldReads reads a body with a limit on the wait: a read that takes too long goes on in the background, and the next call gets its bytes.
type heldReads struct {
	io.ReadCloser
	buf     *[32 << 10]byte
	pending chan readResult // not nil while a read is under way
	left    []byte          // read in the background, not taken yet
	err     error           // that came with left
}

// readBefore reads once from the body. p is valid until the next call. ok is false if the timer fired first, and the read then goes on in
// the background; a nil timer never fires.
func (h *heldReads) readBefore(timer <-chan time.Time) (p []byte, err error, ok bool) {
	if h.buf == nil {
		h.buf = relayBuffers.Get().(*[32 << 10]byte)
	}
	if timer == nil {
		n, err := h.ReadCloser.Read(h.buf[:])
		return h.buf[:n], err, true
	}
	if h.pending == nil {
		h.pending = make(chan readResult, 1)
		go func(ch chan<- readResult, body io.Reader, buf []byte) {
			n, err := body.Read(buf)
			ch <- readResult{n, err}
		}(h.pending, h.ReadCloser, h.buf[:])
	}
	select {
	case r := <-h.pending:
		h.pending = nil
		return h.buf[:r.n], r.err, true
	case <-timer:
		return nil, nil, false
	}
}

// Read returns the bytes of a read in the background first, and waits for it.
func (h *heldReads) Read(p []byte) (int, error) {
	if h.pending != nil {
		r := <-h.pending
		h.pending = nil
		h.left, h.err = h.buf[:r.n], r.err
	}
	if len(h.left) > 0 {
		n := copy(p, h.left)
		h.left = h.left[n:]
		return n, nil
	}
	if h.err != nil {
		return 0, h.err
	}
	return h.ReadCloser.Read(p)
}

// Close closes the body, which ends a read that is under way, and waits for that read.
func (h *heldReads) Close() error {
	err := h.ReadCloser.Close()
	if h.pending != nil {
		<-h.pending
		h.pending = nil
	}
	if h.buf != nil {
		relayBuffers.Put(h.buf)
		h.buf = nil
	}
	return err
}

// readBeginning reads the beginning of an answer until it is clear whether it refuses the request: the body of an error, or what comes
// before the content of a 200. It stops at holdBytes, and in a stream or a long answer after holdTime; an answer that is not clear by then
// is no refusal. What was read is kept for the client.
func (a *answer) readBeginning(d wire.Dialect) {
	kind := mediaType(a.res.Header)
	a.stream = isStream(kind)
	encoding := a.res.Header.Get("Content-Encoding")
	failed := a.res.StatusCode != http.StatusOK
	if !failed && !isReadable(encoding, kind) {
		return
	}
	var late <-chan time.Time // never, for an answer that is small and no stream: it is of use only whole
	if a.stream || a.res.ContentLength < 0 || a.res.ContentLength > holdBytes {
		timer := time.NewTimer(holdTime)
		defer timer.Stop()
		late = timer.C
	}
	for len(a.held) < holdBytes {
		p, err, ok := a.body.readBefore(late)
		if !ok {
			break
		}
		a.held = append(a.held, p...)
		if err != nil {
			a.body.err = err
		}
		if !failed {
			a.showReader(d, encoding, p)
			if a.reader.Begun || a.reader.Done || len(a.reader.ErrorBody) > 0 {
				break
			}
		}
		if err != nil {
			break
		}
	}
	if failed {
		text := unpackBeginning(encoding, a.held)
		kind := a.res.Header.Get("Content-Type")
		if a.over, a.refused = overflow.Classify(a.res.StatusCode, kind, text); !a.refused {
			if a.refusal, a.thoughts = reasoning.Refused(a.res.StatusCode, kind, text); !a.thoughts && slices.Contains(refusals, a.res.StatusCode) && !overflow.Busy(text) {
				a.failure = text
			}
		}
		return
	}
	if a.reader == nil {
		return // its head came and nothing else in that time
	}
	if !a.reader.Begun && len(a.reader.ErrorBody) > 0 {
		if a.over, a.refused = overflow.Event(a.reader.ErrorBody); !a.refused {
			if a.refusal, a.thoughts = reasoning.Event(a.reader.ErrorBody); !a.thoughts && !overflow.Busy(a.reader.ErrorBody) {
				a.failure = a.reader.ErrorBody
			}
		}
	}
	// Some providers end an answer without content with a stop reason that says so.
	if !a.reader.Begun && !a.refused && a.reader.Done {
		a.over, a.refused = overflow.StopReason(a.reader.StopReason)
	}
}

// showReader gives p, the next bytes of the body, to the reader. A compressed body is decompressed from its start each time.
func (a *answer) showReader(d wire.Dialect, encoding string, p []byte) {
	if isIdentity(encoding) {
		if a.reader == nil {
			a.reader = newReader(d, a.res.Header)
		}
		_, _ = a.reader.Write(p)
		return
	}
	a.reader = newReader(d, a.res.Header)
	_, _ = a.reader.Write(unpackBeginning(encoding, a.held))
}

// newReader returns a parser of answers of a dialect, in the form that the Content-Type in h names: JSON, server-sent events or AWS event
// stream.
func newReader(d wire.Dialect, h http.Header) *wire.Answer {
	if kind := mediaType(h); kind != eventstream.Type {
		return wire.NewAnswer(d, isStream(kind))
	}
	return wire.NewFramedAnswer(d)
}

// isStream reports whether an answer of this media type is a stream of events.
func isStream(kind string) bool { return kind == "text/event-stream" || kind == eventstream.Type }

// mediaType returns the Content-Type without its parameters, in lower case.
func mediaType(h http.Header) string {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// isIdentity reports whether a content encoding means that nothing is compressed.
func isIdentity(encoding string) bool { return encoding == "" || encoding == "identity" }

// isReadable reports whether an answer with this content encoding and media type can be parsed as it passes: events or JSON, in an encoding
// that can be decompressed.
func isReadable(encoding, kind string) bool {
	switch encoding {
	case "", "identity", "gzip", "x-gzip", "br", "zstd":
	default:
		return false
	}
	return isStream(kind) || kind == "application/json"
}

// unpackBeginning decompresses the beginning of a body, to at most holdDecoded bytes; nil for an unknown encoding.
func unpackBeginning(encoding string, packed []byte) []byte {
	if isIdentity(encoding) {
		return packed
	}
	r, err := newUnpacker(encoding, bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	defer r.Close()
	text, _ := io.ReadAll(io.LimitReader(r, holdDecoded)) // it ends in the middle: what there is counts
	return text
}

var errUnreadable = errors.New("the content encoding is not read along")

// newUnpacker returns a reader that decompresses r; the error is errUnreadable for an unknown encoding. The caller closes it.
func newUnpacker(encoding string, r io.Reader) (io.ReadCloser, error) {
	switch encoding {
	case "gzip", "x-gzip":
		return gzip.NewReader(r)
	case "br":
		plain, err := wire.NewBrotliReader(r, maxWindow)
		return io.NopCloser(plain), err
	case "zstd":
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, errUnreadable
}

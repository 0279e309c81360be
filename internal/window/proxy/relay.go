package proxy

import (
	"errors"
	"io"
	"log"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// silent drops what the standard library would log: all that is to be known is in the journal.
var silent = log.New(io.Discard, "", 0)

// An ending describes how an answer ended: complete, or cut off, and why.
type ending struct {
	bytes int64
	how   string // of journal.WindowResponse.Ended
	err   error
}

// writeHead sends the status and headers of an answer, without those that belong to one connection. Headers already set in w win.
func writeHead(w http.ResponseWriter, res *http.Response) {
	h := w.Header()
	var own http.Header
	if len(h) > 0 {
		own = maps.Clone(h)
	}
	maps.Copy(h, res.Header)
	dropHopByHop(h)
	maps.Copy(h, own)
	// net/http fills these two in when they are missing; the provider left them out.
	for _, name := range []string{"Date", "Content-Type"} {
		if _, ok := h[name]; !ok {
			h[name] = nil
		}
	}
	if len(res.Trailer) > 0 {
		h["Trailer"] = []string{strings.Join(slices.Sorted(maps.Keys(res.Trailer)), ", ")}
		delete(h, "Content-Length") // HTTP/2 may have both; HTTP/1.1 has trailers only when chunked
	}
	w.WriteHeader(res.StatusCode)
}

var relayBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// relayBody sends before, what was already read of the body, and then the body as it arrives. Each read is flushed, so that an event of a
// stream never waits for the next. see, if not nil, is shown every byte after it was written. watch, if not nil, reads the body.
func relayBody(w http.ResponseWriter, res *http.Response, before []byte, watch *stallWatch, see func([]byte)) ending {
	e := ending{how: "complete"}
	flusher, _ := w.(http.Flusher)
	left := res.ContentLength // -1 when unknown
	write := func(p []byte) bool {
		n, err := w.Write(p)
		e.bytes += int64(n)
		if see != nil {
			see(p)
		}
		if left >= 0 {
			left -= int64(n)
		}
		if err != nil {
			e.how, e.err = "client_gone", err
			return false
		}
		if left != 0 && flusher != nil {
			flusher.Flush()
		}
		return true
	}
	if len(before) > 0 && !write(before) {
		return e
	}
	body := io.Reader(res.Body)
	if watch != nil {
		body = watch
	}
	if left < 0 && len(before) == 0 && flusher != nil {
		flusher.Flush() // the head of a stream is news by itself
	}
	buf := relayBuffers.Get().(*[32 << 10]byte)
	defer relayBuffers.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if n > 0 && !write(buf[:n]) {
			return e
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			sendTrailers(w.Header(), res.Trailer)
			return e
		case errors.Is(err, errStalled):
			e.how, e.err = "stalled", err
		case res.Request != nil && res.Request.Context().Err() != nil:
			e.how, e.err = "client_gone", err
		default:
			e.how, e.err = "upstream_cut", err
		}
		return e
	}
}

// sendTrailers adds the trailers that came after the body. HTTP/2 may send trailers that the head did not announce; net/http takes those
// under a prefix.
func sendTrailers(h, trailer http.Header) {
	announced := h["Trailer"]
	for name, values := range trailer {
		if !hasToken(announced, name) {
			name = http.TrailerPrefix + name
		}
		h[name] = values
	}
}

// abortIfCut panics with http.ErrAbortHandler if the answer was cut off: that closes the client's connection, so that it does not take half
// an answer for a whole one.
func abortIfCut(e ending) {
	if e.err != nil {
		panic(http.ErrAbortHandler)
	}
}

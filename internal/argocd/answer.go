package argocd

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// idleTimer cancels a request when the server sends nothing for too long. It does not run while this program works on what has come.
type idleTimer struct {
	after time.Duration // 0: never
	timer *time.Timer
	fire  func()
}

// newIdleTimer returns a timer that cancels with errSilent when nothing came for the time after; with patient it never does.
func newIdleTimer(after time.Duration, patient bool, cancel context.CancelCauseFunc) *idleTimer {
	if patient {
		after = 0
	}
	return &idleTimer{after: after, fire: func() { cancel(errSilent) }}
}

// start starts the timer, or starts it again: when it runs out, the call is cancelled with errSilent. Without a time-out it does nothing.
func (w *idleTimer) start() {
	if w.after == 0 {
		return
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(w.after, w.fire)
		return
	}
	w.timer.Reset(w.after)
}

func (w *idleTimer) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// answer is the body of an HTTP answer, decompressed while it arrives.
type answer struct {
	status      int
	contentType string
	length      int64 // of the decoded body in bytes; -1 if not known

	ctx    context.Context // its cause is the reason if a read failed
	cancel context.CancelCauseFunc
	watch  *idleTimer
	body   io.ReadCloser
	packed bool
	unpack *gzip.Reader
	bytes  int64 // number of bytes that were read
}

// newAnswer returns the answer to a request. A body in gzip is unpacked as it is read; its length counts as unknown, -1. Closing the answer
// calls cancel; the caller has to close it.
func newAnswer(ctx context.Context, resp *http.Response, w *idleTimer, cancel context.CancelCauseFunc) *answer {
	a := &answer{
		status: resp.StatusCode, contentType: resp.Header.Get("Content-Type"), length: resp.ContentLength,
		ctx: ctx, cancel: cancel, watch: w, body: resp.Body,
	}
	switch strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))) {
	case "gzip", "x-gzip":
		a.packed, a.length = true, -1
	}
	return a
}

// Read implements [io.Reader]. If the context has ended, the error is its cause, such as errSilent.
func (a *answer) Read(p []byte) (int, error) {
	a.watch.start()
	n, err := a.readBody(p)
	a.watch.stop()
	a.bytes += int64(n)
	if err != nil && err != io.EOF {
		if cause := context.Cause(a.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}

// readBody reads the body, decompressed if it is gzip.
func (a *answer) readBody(p []byte) (int, error) {
	if !a.packed {
		return a.body.Read(p)
	}
	if a.unpack == nil {
		z, err := gzip.NewReader(a.body)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // the header says gzip, and the body is empty
		}
		if err != nil {
			return 0, err
		}
		a.unpack = z
	}
	return a.unpack.Read(p)
}

// close ends the answer. If it was read to its end the connection can be used again.
func (a *answer) close() {
	a.watch.stop()
	_ = a.body.Close() // Read has returned any error
	a.cancel(nil)
}

// readAll returns the rest of the answer; errTooLong if it is larger than maxBytes.
func (a *answer) readAll(maxBytes limit.Bytes) ([]byte, error) {
	if a.length > int64(maxBytes) {
		return nil, errTooLong
	}
	size := a.length + 512
	if a.length < 0 {
		size = 8 << 10
	}
	buf := make([]byte, 0, size)
	for {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(2*cap(buf), int(maxBytes)+512))
			copy(grown, buf)
			buf = grown
		}
		n, err := a.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if len(buf) > int(maxBytes) {
			return nil, errTooLong
		}
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

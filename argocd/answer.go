package argocd

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/plimsoll/plimsoll/limit"
)

// idleTimer ends a request when the server sends nothing for too long. The time in which this program works on what came does
// not count.
type idleTimer struct {
	after time.Duration // 0: never
	timer *time.Timer
	fire  func()
}

func newWatch(after time.Duration, patient bool, cancel context.CancelCauseFunc) *idleTimer {
	if patient {
		after = 0
	}
	return &idleTimer{after: after, fire: func() { cancel(errSilent) }}
}

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

// answer is the body of an HTTP answer, decoded as it comes.
type answer struct {
	status      int
	contentType string
	length      int64 // decoded, -1: not known

	ctx    context.Context // its cause tells why a read failed
	cancel context.CancelCauseFunc
	watch  *idleTimer
	body   io.ReadCloser
	packed bool
	unpack *gzip.Reader
	bytes  int64 // given out
}

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

// Read implements [io.Reader]. An error tells why: errSilent, or the cause of the context.
func (a *answer) Read(p []byte) (int, error) {
	a.watch.start()
	n, err := a.read(p)
	a.watch.stop()
	a.bytes += int64(n)
	if err != nil && err != io.EOF {
		if cause := context.Cause(a.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}

func (a *answer) read(p []byte) (int, error) {
	if !a.packed {
		return a.body.Read(p)
	}
	if a.unpack == nil {
		z, err := gzip.NewReader(a.body)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // it is to be gzip, and there is nothing
		}
		if err != nil {
			return 0, err
		}
		a.unpack = z
	}
	return a.unpack.Read(p)
}

// close ends the answer. What was read to its end leaves the connection for the next one.
func (a *answer) close() {
	a.watch.stop()
	_ = a.body.Close() // what it would say has been said by Read
	a.cancel(nil)
}

// all reads the rest, at most maxBytes.
func (a *answer) all(maxBytes limit.Bytes) ([]byte, error) {
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

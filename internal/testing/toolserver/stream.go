package toolserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// keptEvents and keptBytes bound what a stream keeps for a client that comes back.
const (
	keptEvents = 1000
	keptBytes  = 64 << 10 // of one event; larger ones are not kept
)

// stream is the sink of one HTTP request: a JSON body, or server-sent events.
type stream struct {
	mode  Answer
	id    string      // "" without event ids
	other func() sink // where messages go that a JSON body has no place for

	mu      sync.Mutex
	w       http.ResponseWriter // nil while nobody is connected
	out     *bufio.Writer
	begun   bool
	events  [][]byte
	first   int // number of events[0]
	over    bool
	faulted bool
	changed chan struct{} // closed when over, dropped or faulted
}

func newStream(w http.ResponseWriter, mode Answer) *stream {
	return &stream{mode: mode, w: w, out: bufio.NewWriterSize(w, 32<<10), changed: make(chan struct{}), first: 1}
}

// signal makes the handler return; the caller holds mu.
func (k *stream) signal() {
	select {
	case <-k.changed:
	default:
		close(k.changed)
	}
}

// detach gives up the connection, so that its handler may return.
func (k *stream) detach() {
	k.mu.Lock()
	k.w, k.out = nil, nil
	k.mu.Unlock()
}

// begin sends the head of an SSE answer; the caller holds mu.
func (k *stream) begin() {
	if k.begun || k.w == nil {
		return
	}
	k.begun = true
	h := k.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	k.w.WriteHeader(http.StatusOK)
	if k.id != "" && k.first+len(k.events) == 1 {
		k.keep([]byte{})
		fmt.Fprintf(k.out, "id: %s\ndata: \n\n", k.eventID(1))
	}
	k.flush()
}

func (k *stream) eventID(n int) string { return k.id + "." + strconv.Itoa(n) }

// keep stores an event for clients that resume the stream, at most keptEvents of them. One of more than keptBytes is stored as empty.
func (k *stream) keep(m []byte) {
	if k.id == "" {
		return
	}
	if len(m) > keptBytes {
		m = nil
	}
	k.events = append(k.events, bytes.Clone(m))
	if len(k.events) > keptEvents {
		k.events = k.events[1:]
		k.first++
	}
}

func (k *stream) flush() {
	k.out.Flush()
	_ = http.NewResponseController(k.w).Flush()
}

// event writes one event; the caller holds mu. m is for keeping, or nil when it is made by write.
func (k *stream) event(m []byte, write func(w *bufio.Writer) error) error {
	k.begin()
	if k.id != "" {
		k.keep(m)
	}
	if k.w == nil {
		if k.id == "" {
			return io.ErrClosedPipe
		}
		return nil
	}
	k.out.WriteString("event: message\n")
	if k.id != "" {
		fmt.Fprintf(k.out, "id: %s\n", k.eventID(k.first+len(k.events)-1))
	}
	k.out.WriteString("data: ")
	if err := write(k.out); err != nil {
		k.out.Flush()
		_ = http.NewResponseController(k.w).Flush()
		return err
	}
	k.out.WriteString("\n\n")
	k.flush()
	return nil
}

// message sends a message that belongs to a request before its response: on this stream, or, if the answer is plain JSON, on the session's
// other one.
func (k *stream) message(m []byte) error {
	if k.mode == JSON {
		if k.other != nil {
			if to := k.other(); to != nil {
				return to.message(m)
			}
		}
		return nil // the sessionless version has no other stream for it
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.event(m, func(w *bufio.Writer) error {
		_, err := w.Write(m)
		return err
	})
}

// response sends the response, in the form that the stream has: an event, or plain JSON. write writes it.
func (k *stream) response(status int, write func(w *bufio.Writer) error) (err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		if k.begun && k.w != nil { // a second answer, where there is a place for one
			return k.event(nil, write)
		}
		return nil
	}
	defer func() {
		if errors.Is(err, ErrCut) || errors.Is(err, ErrDied) {
			k.cut() // before the handler hears that it is over: it would end the answer as a whole one
		}
		k.over = true
		k.signal()
	}()
	if k.begun || k.mode == SSE && status == http.StatusOK || k.w == nil {
		if k.w == nil { // made for later: a client that comes back gets it
			var b bytes.Buffer
			w := bufio.NewWriter(&b)
			err := write(w)
			w.Flush()
			k.keep(b.Bytes())
			return err
		}
		return k.event(nil, write)
	}
	k.begun = true
	k.w.Header().Set("Content-Type", "application/json")
	k.w.WriteHeader(status)
	err = write(k.out)
	return errors.Join(err, k.out.Flush())
}

// noise writes bytes that are no message as the data of an event.
func (k *stream) noise(write func(w *bufio.Writer) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.w == nil || k.mode == JSON {
		return nil
	}
	k.begin()
	k.out.WriteString("data: ")
	if err := write(k.out); err != nil {
		return err
	}
	k.out.WriteString("\n\n")
	k.flush()
	return nil
}

func (k *stream) abort(error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut()
	k.signal()
}

// cut sends what was written and makes the handler break the connection; the caller holds mu.
func (k *stream) cut() {
	if k.w != nil && k.begun {
		k.out.Flush()
		_ = http.NewResponseController(k.w).Flush()
	}
	k.faulted = true
}

// drop closes the connection and tells the client when to come back.
func (k *stream) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.w == nil || k.mode == JSON || k.id == "" {
		return
	}
	k.begin()
	fmt.Fprintf(k.out, "retry: 50\nid: %s\ndata: \n\n", k.eventID(k.first+len(k.events)))
	k.keep([]byte{})
	k.flush()
	k.w, k.out = nil, nil
	k.signal()
}

// resume sends a client the stored events after number n and goes on with the stream there. changed is closed when the stream is taken over
// again or ends; over reports that the response was sent already.
func (k *stream) resume(w http.ResponseWriter, n int) (changed chan struct{}, over bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.w, k.out = w, bufio.NewWriterSize(w, 32<<10)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	for i, m := range k.events {
		if number := k.first + i; number > n && len(m) > 0 {
			fmt.Fprintf(k.out, "event: message\nid: %s\ndata: %s\n\n", k.eventID(number), m)
		}
	}
	k.begun = true
	k.flush()
	k.changed = make(chan struct{})
	return k.changed, k.over
}

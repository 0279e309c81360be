// Package a2a03 speaks A2A 0.3 in front of a handler of 1.0: JSON-RPC, the agent card of both versions in one, and the
// tasks of push notifications.
//
// Requests are read into the types of 1.0, answers are written from them. What 0.3 cannot say is said as its SDKs do: a data
// part that is not an object goes under "value", with data_part_compat in its metadata.
//
// The server in front bounds requests in size and shape, and writes streams: it takes the ids of events out and gives each a
// time. golden files of agent/a2a (testdata/answers03) hold the answers byte for byte.
package a2a03

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"runtime/debug"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// Options configure the serving of calls.
type Options struct {
	Handler a2asrv.RequestHandler
	// KeepAlive is the time between comments on a stream on which nothing happens.
	KeepAlive time.Duration
	// Panicked is called with the value and stack of a panic of the handler, and returns the error for the client.
	Panicked func(caught any) error
}

// parseError returns the error for a request from an error of encoding/json: invalid parameters, or invalid JSON.
func parseError(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return fmt.Errorf("%w: it is %s, which is no object with the parameters", sdk.ErrInvalidParams, e.Value)
		}
		return fmt.Errorf("%w: %s is a value of another kind: %s", sdk.ErrInvalidParams, e.Field, e.Value)
	}
	return fmt.Errorf("%w: %w", sdk.ErrParseError, err)
}

// recoverPanic calls do and returns its error. If do panics, the error is that of Options.Panicked.
func (o *Options) recoverPanic(do func() error) (err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = o.Panicked(fmt.Sprintf("%v\n%s", caught, debug.Stack()))
		}
	}()
	return do()
}

// stream writes events as they come, and comments while there are none. encode and fail make the data of an event and of an error; after an
// error the stream ends.
func (o *Options) stream(w http.ResponseWriter, r *http.Request, events iter.Seq2[sdk.Event, error], encode func(any) ([]byte, error), fail func(error) []byte) {
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-cache")
	head.Set("Connection", "keep-alive")
	head.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)

	ctx := r.Context()
	gone := make(chan struct{}) // nobody takes frames any more
	defer close(gone)
	frames := make(chan []byte)
	go func() {
		defer close(frames)
		give := func(frame []byte) bool {
			select {
			case frames <- frame:
				return true
			case <-gone:
			case <-ctx.Done():
			}
			return false
		}
		err := o.recoverPanic(func() error {
			for event, err := range events {
				if err != nil {
					return err
				}
				frame, err := encode(oldEvent(event))
				if err != nil {
					return err
				}
				if !give(frame) {
					return nil
				}
			}
			return nil
		})
		if err != nil {
			give(fail(err))
		}
	}()

	var idle <-chan time.Time
	if o.KeepAlive > 0 {
		ticker := time.NewTicker(o.KeepAlive)
		defer ticker.Stop()
		idle = ticker.C
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-idle:
			_, err = w.Write([]byte(": keep-alive\n\n"))
		case frame, more := <-frames:
			if !more {
				return
			}
			_, err = fmt.Fprintf(w, "data: %s\n\n", frame)
		}
		if err != nil {
			return // the client is gone
		}
	}
}

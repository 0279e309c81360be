package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

func newBytes(b []byte) io.Reader { return bytes.NewReader(b) }

// Reply hands a whole message made here to a receiver and says Done.
func Reply(to Receiver, message []byte) {
	to.Receive(&Frame{Head: message})
	to.Done(nil)
}

// Ask sends a request made here and returns its response, at most max bytes of it.
// Notifications that come with it are dropped; a request of the server within it is
// answered by nobody, so Ask is only for methods that cause none.
func Ask(ctx context.Context, p Peer, m Message, max int64) ([]byte, error) {
	var (
		response []byte
		failed   error
		refused  Answer
		done     = make(chan error, 1)
	)
	p.Send(ctx, m, Funcs{
		OnOpen: func(a Answer) { refused = a },
		OnReceive: func(f *Frame) {
			if response != nil || failed != nil {
				return
			}
			if failed = f.ReadAll(max); failed != nil {
				return
			}
			if head, err := jsonrpc.Scan(f.Head); err == nil && head.Kind == jsonrpc.Response {
				response = bytes.Clone(f.Head)
			}
		},
		OnDone: func(err error) { done <- err },
	})
	select {
	case err := <-done:
		switch {
		case response != nil:
			return response, nil
		case failed != nil:
			return nil, failed
		case err != nil:
			return nil, err
		case refused.Status != 0:
			return nil, fmt.Errorf("the server answered with status %d and no message", refused.Status)
		}
		return nil, fmt.Errorf("the server ended without an answer to %s", m.Head.Method)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

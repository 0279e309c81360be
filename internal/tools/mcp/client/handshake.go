package client

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

const (
	// maxHandshake bounds an initialize message that is kept to be sent again to a restarted server. Real ones
	// have a few KiB.
	maxHandshake = 256 << 10
	// replayWait bounds the wait for a restarted server's answer to initialize. Servers that are downloaded first
	// (npx, uvx) take long.
	replayWait = time.Minute
)

// handshake keeps the opening messages between the client and a server of 2025-11-25 or older. In the sessionless version there are none.
type handshake struct {
	initialize  []byte // as the client sent it; nil until the server has accepted one
	result      []byte
	initialized []byte
	asking      chan struct{} // if Shared: closed when the initialize under way was answered; nil if there is none
}

// keepHandshake stores an initialize and its answer, if that is a result, for restarts and for later clients; it is called before the client gets
// the answer. It wakes the clients that wait for it.
func (s *Server) keepHandshake(c *call, answer []byte) {
	result := rawjson.Get(answer, "result")
	s.mu.Lock()
	defer s.mu.Unlock()
	if !result.IsZero() && c.raw != nil && len(answer) <= maxHandshake {
		s.handshake.initialize = c.raw
		s.handshake.result = bytes.Clone(result.Of(answer))
		s.handshake.initialized = nil
	}
	if s.handshake.asking != nil {
		close(s.handshake.asking)
		s.handshake.asking = nil
	}
}

// shareHandshake answers an initialize with the result that the first client got. The first one's is sent to the server, and others wait
// for its answer, until ctx or the server ends.
func (s *Server) shareHandshake(ctx context.Context, c *client, m transport.Message, to transport.Receiver) {
	for {
		s.mu.Lock()
		result, asking := s.handshake.result, s.handshake.asking
		if result == nil && asking == nil {
			s.handshake.asking = make(chan struct{})
			s.mu.Unlock()
			c.sendRequest(ctx, m, &firstHandshake{Receiver: to, s: s})
			return
		}
		s.mu.Unlock()
		if result != nil {
			transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, result))
			return
		}
		select {
		case <-asking:
		case <-ctx.Done():
			to.Done(context.Cause(ctx))
			return
		case <-s.ctx.Done():
			to.Done(ErrClosed)
			return
		}
	}
}

// firstHandshake is the receiver of the first client's initialize: if that fails the next client's is sent.
type firstHandshake struct {
	transport.Receiver
	s *Server
}

// Done wakes the clients that wait for the answer to initialize, also if there was none.
func (f *firstHandshake) Done(err error) {
	f.s.mu.Lock()
	if f.s.handshake.asking != nil {
		close(f.s.handshake.asking)
		f.s.handshake.asking = nil
	}
	f.s.mu.Unlock()
	f.Receiver.Done(err)
}

// replayHandshake repeats the client's handshake with a restarted server. It returns nil when the server is ready for the waiting messages, and
// also if there is no handshake to repeat.
func (s *Server) replayHandshake(g *generation) error {
	s.mu.Lock()
	if len(s.queue) > 0 && s.queue[0].call != nil && s.queue[0].call.method == "initialize" {
		s.handshake.initialize, s.handshake.initialized = nil, nil // the client begins anew
	}
	first, second := s.handshake.initialize, s.handshake.initialized
	if len(s.queue) > 0 && s.queue[0].call == nil && second != nil && bytes.Equal(s.queue[0].raw, second) {
		second = nil // it waits in the queue: the server ended in the middle of the handshake
	}
	s.serial++
	id := jsonrpc.ID(fmt.Sprintf(`"plimsoll-again-%d"`, s.serial))
	done := make(chan error, 1)
	accepted := false
	c := &call{client: s.main, id: id, original: id, method: "plimsoll/again", gen: g, to: transport.Funcs{
		OnReceive: func(f *transport.Frame) {
			accepted = f.ReadAll(maxHandshake) == nil && !rawjson.Get(f.Head, "result").IsZero()
		},
		OnDone: func(err error) { done <- err },
	}}
	if first != nil {
		s.open[id] = c
	}
	s.mu.Unlock()
	if first == nil {
		return nil
	}
	if err := g.write(withID(first, id)); err != nil {
		s.removeOpen(c)
		return fmt.Errorf("it does not read its standard input: %w", err)
	}
	timer := time.NewTimer(replayWait)
	defer timer.Stop()
	var err error
	select {
	case err = <-done:
	case <-timer.C:
		err = fmt.Errorf("after its restart it did not answer initialize within %v", replayWait)
		s.removeOpen(c)
	}
	switch {
	case err != nil:
		return err
	case !accepted:
		return fmt.Errorf("after its restart it refused the initialize that it took before")
	case second == nil:
		return nil
	}
	return g.write(second)
}

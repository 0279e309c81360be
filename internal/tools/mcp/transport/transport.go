// Package transport defines the messages between the parts of the tools plane: a client's message on its way to an MCP server, and the frames that
// come back for it.
//
//	MCP client ──► server ──► gateway ──► bridge ──► client ──► MCP server
//
// Each arrow is a [Peer]: it takes a [Message] and hands what comes back for it to a [Receiver], one [Frame] at a time, so that the same parts serve
// every pairing of transports. A frame is the bytes of a message as its sender wrote them: a small one is whole in memory, of a large one there is a
// beginning and a reader for the rest. Nothing here decodes a message and encodes it again.
//
// A Peer may be called by many goroutines. The calls of one Receiver never overlap, and Done is the last of them. Receive may take its time: a slow
// client slows the server down, so what must go on meanwhile must not wait for it.
package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/plimsoll/plimsoll/internal/sse"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/limit"
)

// Message is one message of a client.
type Message struct {
	// Raw is the message as the client wrote it, without framing. It must not be changed;
	// whoever edits makes a new one.
	Raw []byte
	// Head holds the places of its parts in Raw.
	Head jsonrpc.Head
	// Header is of the HTTP request that brought it; nil over standard streams.
	Header http.Header
	// Principal names who sends it: equal for the same client across sessions, a digest
	// and never a credential. Handles to results belong to it.
	Principal string
	// MaxText bounds the text that its sender takes in one result; whoever pages by itself goes by it. 0 is not known,
	// below 0 has no bound.
	MaxText limit.Bytes
}

// Event holds the fields of the server-sent event that a frame came in; all are "" elsewhere.
type Event = sse.Event

// Frame is one message of a server. It is valid until Receive returns.
//
// To a client of HTTP (its message has a Header) also events without data are handed:
// they have an empty Head and no Rest, and their fields tell the client where to resume
// and how long to wait. Who looks at messages passes them on; see [Frame.Bare].
type Frame struct {
	// Head is the beginning of the message, without framing: all of it when Rest is nil.
	Head []byte
	// Rest gives what follows Head and io.EOF at the end of the message. Any other error
	// says that the message was broken off there. What is not read is skipped.
	Rest  io.Reader
	Event Event
	// Paged is set when the result is a page of its tool's own making, within Message.MaxText where that can be: it is not paged
	// once more.
	Paged bool

	scanned []byte // of which start was read
	start   jsonrpc.Start
}

// Start returns what Head, the beginning of the message, tells about it. It is parsed once for each Head.
func (f *Frame) Start() jsonrpc.Start {
	same := len(f.Head) > 0 && len(f.scanned) == len(f.Head) && &f.scanned[0] == &f.Head[0]
	if !same {
		f.scanned, f.start = f.Head, jsonrpc.ScanStart(f.Head)
	}
	return f.start
}

// Whole reports whether Head is all of the message.
func (f *Frame) Whole() bool { return f.Rest == nil }

// Bare reports whether this is an event's fields without a message.
func (f *Frame) Bare() bool { return len(f.Head) == 0 && f.Rest == nil }

// Reader reads the message from its beginning.
func (f *Frame) Reader() io.Reader {
	if f.Rest == nil {
		return newBytes(f.Head)
	}
	return io.MultiReader(newBytes(f.Head), f.Rest)
}

// ErrTooLarge reports that a message that must be held whole is larger than that may be.
var ErrTooLarge = errors.New("the message is too large to be held in memory")

// ReadAll reads the rest of the frame into memory, if it has at most max bytes in all. Otherwise it returns ErrTooLarge, and the frame can still
// be read to its end through Reader.
func (f *Frame) ReadAll(max int64) error {
	if f.Rest == nil {
		return nil
	}
	head := append([]byte(nil), f.Head...)
	rest, err := io.ReadAll(io.LimitReader(f.Rest, max-int64(len(head))+1))
	f.Head = append(head, rest...)
	if err != nil {
		return err
	}
	if int64(len(f.Head)) > max {
		return ErrTooLarge
	}
	f.Rest = nil
	return nil
}

// Answer is the part of an HTTP server's answer before and beside its messages.
type Answer struct {
	Status int
	Header http.Header
	// Body is the body of an answer where no message was expected or none could be read: an
	// error page, nothing. At most 64 KiB.
	Body []byte
}

// Receiver takes what comes back for one message, or what a server sends of its own accord.
type Receiver interface {
	// Open passes on the status and headers of a server's HTTP answer, before its first frame.
	// It is not called by servers on standard streams, nor for answers made here.
	Open(a Answer)
	// Receive takes one frame. The frame must not be used after it returns.
	Receive(f *Frame)
	// Done ends the response. err says why when the response is still missing:
	// the server is gone, its answer was broken off, the context ended. For a request that
	// was answered, and for a notification that was taken, it is nil.
	Done(err error)
}

// Peer is a connection to a server.
type Peer interface {
	// Send passes a message on and returns when it is on its way: messages sent one after
	// the other arrive in that order. What comes back goes to the receiver, which is
	// always told Done, before or after Send returns. The end of ctx takes a request back:
	// over HTTP its answer is closed, over standard streams a cancellation is sent.
	Send(ctx context.Context, m Message, to Receiver)
	// Listen hands over what the server sends that belongs to no message of the client,
	// until ctx ends. header is of the client's own HTTP request; nil makes one.
	Listen(ctx context.Context, header http.Header, to Receiver)
	// Close ends the connection; requests under way are told Done with an error.
	Close() error
}

// Ender is a Peer whose session a client can end itself, before the connection closes: an
// HTTP server by DELETE. A Peer that stands between passes it on if its next one is an Ender.
type Ender interface {
	// End asks the server to end the session that header, of the client's own HTTP request,
	// names. Open gets the server's answer; no frame comes.
	End(ctx context.Context, header http.Header, to Receiver)
}

// Funcs is a Receiver of functions; those that are nil do nothing.
type Funcs struct {
	OnOpen    func(Answer)
	OnReceive func(*Frame)
	OnDone    func(error)
}

// Open implements Receiver.
func (f Funcs) Open(a Answer) {
	if f.OnOpen != nil {
		f.OnOpen(a)
	}
}

// Receive implements Receiver.
func (f Funcs) Receive(m *Frame) {
	if f.OnReceive != nil {
		f.OnReceive(m)
	}
}

// Done implements Receiver.
func (f Funcs) Done(err error) {
	if f.OnDone != nil {
		f.OnDone(err)
	}
}

func newBytes(b []byte) io.Reader { return bytes.NewReader(b) }

// Reply passes a whole message made here to a receiver and ends the response.
func Reply(to Receiver, message []byte) {
	to.Receive(&Frame{Head: message})
	to.Done(nil)
}

// Ask sends a request of the caller's own and returns its response, at most max bytes of it. Notifications that come with it are dropped. A
// request of the server within it is not answered, so Ask is only for methods that cause none.
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

package toolbox

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

const (
	// maxReplies bounds the answers to requests of one server that are being sent at once.
	maxReplies = 16
	// replyWait bounds the sending of one.
	replyWait = 10 * time.Second
)

// notificationReceiver receives the notifications and requests that a server sends by itself. It implements [transport.Receiver].
type notificationReceiver struct {
	l *serverSession
	p transport.Peer
}

func (r *notificationReceiver) Open(transport.Answer) {}

func (r *notificationReceiver) Receive(f *transport.Frame) {
	h := jsonrpc.ScanStart(f.Head).Head
	switch {
	case h.Kind == jsonrpc.Request:
		r.l.refuse(r.p, h)
	case h.Method == "notifications/tools/list_changed":
		r.l.changed()
	}
}

func (r *notificationReceiver) Done(error) {}

// refuse answers a request of the server with an error, and a ping with a result. This client has declared no capabilities: it has no user
// to ask, no model to lend and no files to list.
func (l *serverSession) refuse(p transport.Peer, h jsonrpc.Head) {
	select {
	case l.replies <- struct{}{}:
	default: // it floods; what it asks for is not to be had anyway
		l.b.count.unanswered.Add(1)
		return
	}
	raw := jsonrpc.ResultResponse(h.ID, []byte("{}"))
	if h.Method != "ping" {
		l.b.count.refused.Add(1)
		raw = jsonrpc.ErrorResponse(h.ID, jsonrpc.CodeMethod, fmt.Sprintf(
			"this client is an agent without %s: nobody is here to answer; go on with what the call has, or fail it and say what is missing", clip(h.Method, 64)), nil)
	}
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		<-l.replies
		return
	}
	go func() { // who receives must not wait for the server to take something
		defer func() { <-l.replies }()
		ctx, cancel := context.WithTimeout(l.b.ctx, replyWait)
		defer cancel()
		p.Send(ctx, transport.Message{Raw: raw, Head: head, Principal: l.b.principal}, transport.Funcs{})
	}()
}

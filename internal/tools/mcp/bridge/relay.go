package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// filter lists the notifications that a subscriptions/listen asks for.
type filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

// subscriptionRelay is the one subscription of a legacy client's session at the server: to the changes of lists that the server offers, and
// to the resources that the client named. When these change it opens another subscription, and ends the old one once the new one is
// acknowledged, so that nothing is missed.
type subscriptionRelay struct {
	l *legacy

	change sync.Mutex // held while a change of the subscription is under way

	mu      sync.Mutex
	to      []*listener // the newest gets the messages
	uris    []string
	current *stream
	pause   time.Duration
	started bool
	out     sync.Mutex // held while a receiver is called
}

// stream is one subscriptions/listen at the server.
type stream struct {
	id      jsonrpc.ID
	stop    context.CancelFunc
	granted chan filter // gets what the server acknowledged, or is closed without a value
	once    sync.Once
}

// The first and the longest pause before a subscription that broke off is opened again.
const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// start begins to listen and opens the first subscription. Later calls do nothing.
func (n *subscriptionRelay) start() {
	n.mu.Lock()
	retry := n.started
	n.started = true
	n.mu.Unlock()
	if !retry {
		n.l.next.Listen(n.l.ctx, nil, transport.Funcs{OnReceive: n.l.passUnsolicited})
		go func() { _, _ = n.renew(n.l.ctx) }()
	}
}

// listener is a client's stream for messages that belong to no request.
type listener struct{ to transport.Receiver }

// attach makes to the client's newest listener, until detach is called, which waits for a call of to that is running.
func (n *subscriptionRelay) attach(to transport.Receiver) (detach func()) {
	at := &listener{to}
	n.mu.Lock()
	n.to = append(n.to, at)
	n.mu.Unlock()
	return func() {
		n.out.Lock() // waits until a receiver that is being called has returned
		n.mu.Lock()
		if i := slices.Index(n.to, at); i >= 0 {
			n.to = slices.Delete(n.to, i, i+1)
		}
		n.mu.Unlock()
		n.out.Unlock()
	}
}

// subscribe answers resources/subscribe (on) or resources/unsubscribe, once the server has acknowledged the change; at once if there is nothing to
// change. It is an error if the server does not grant the subscription.
func (n *subscriptionRelay) subscribe(ctx context.Context, params []byte, on bool) ([]byte, error) {
	uri, ok := rawjson.Text(params, "uri")
	if !ok {
		return nil, fail(jsonrpc.CodeParams, "params.uri is missing")
	}
	l := n.l
	l.mu.Lock()
	offers := l.offers
	l.mu.Unlock()
	if !offers.subscribe {
		return nil, fail(jsonrpc.CodeMethod, "Method not found: %s has no subscriptions to resources", l.o.Server)
	}
	n.mu.Lock()
	at := slices.Index(n.uris, uri)
	switch {
	case on && at >= 0 || !on && at < 0:
		n.mu.Unlock()
		return []byte("{}"), nil
	case on && len(n.uris) >= maxURIs:
		n.mu.Unlock()
		return nil, fail(jsonrpc.CodeInternal, "this session has %d resources subscribed to, which is the limit: end one", maxURIs)
	case on:
		n.uris = append(n.uris, uri)
	default:
		n.uris = slices.Delete(n.uris, at, at+1)
	}
	n.mu.Unlock()
	granted, err := n.renew(ctx)
	if err == nil {
		err = ctx.Err() // nobody is there any more to be told that it has it
	}
	if on && (err != nil || !slices.Contains(granted.URIs, uri)) {
		n.mu.Lock()
		if i := slices.Index(n.uris, uri); i >= 0 {
			n.uris = slices.Delete(n.uris, i, i+1)
		}
		n.mu.Unlock()
	}
	switch {
	case err != nil:
		return nil, err
	case on && !slices.Contains(granted.URIs, uri):
		return nil, fail(jsonrpc.CodeParams, "the server does not subscribe to %s", clipped(uri))
	}
	return []byte("{}"), nil
}

// renew opens a subscription to everything that is wanted now, ends the previous one when the new one is acknowledged, and returns what the
// server agreed to. If nothing is wanted, it only ends the previous one.
func (n *subscriptionRelay) renew(ctx context.Context) (filter, error) {
	n.change.Lock()
	defer n.change.Unlock()
	l := n.l
	l.mu.Lock()
	want := filter{Tools: l.offers.tools, Prompts: l.offers.prompts, Resources: l.offers.resources}
	l.mu.Unlock()
	n.mu.Lock()
	want.URIs = slices.Clone(n.uris)
	before := n.current
	n.mu.Unlock()
	if !want.Tools && !want.Prompts && !want.Resources && len(want.URIs) == 0 {
		n.replace(before, nil)
		return filter{}, nil
	}
	s, err := n.openStream(want)
	if err != nil {
		return filter{}, err
	}
	wait, stop := context.WithTimeout(ctx, l.o.Handshake)
	defer stop()
	select {
	case granted, ok := <-s.granted:
		if !ok {
			s.stop()
			return filter{}, fail(jsonrpc.CodeInternal, "%s refused subscriptions/listen", l.o.Server)
		}
		n.replace(before, s)
		return granted, nil
	case <-wait.Done():
		s.stop()
		return filter{}, fail(jsonrpc.CodeInternal, "%s did not acknowledge subscriptions/listen within %v", l.o.Server, l.o.Handshake)
	}
}

// replace makes now the current subscription and ends before; either may be nil.
func (n *subscriptionRelay) replace(before, now *stream) {
	n.mu.Lock()
	n.current, n.pause = now, 0
	n.mu.Unlock()
	if before != nil {
		before.stop()
	}
}

// openStream requests a subscription; the server's acknowledgement comes on the stream's channel granted.
func (n *subscriptionRelay) openStream(want filter) (*stream, error) {
	l := n.l
	b, err := json.Marshal(want)
	if err != nil {
		return nil, err
	}
	params, err := l.withMeta(fmt.Appendf(nil, `{"notifications":%s}`, b))
	if err != nil {
		return nil, err
	}
	s := &stream{id: l.newID(), granted: make(chan filter, 1)}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(l.ctx)
	raw := jsonrpc.NewRequest(s.id, "subscriptions/listen", params)
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return nil, err
	}
	l.next.Send(ctx, transport.Message{Raw: raw, Head: head}, transport.Funcs{
		OnReceive: func(f *transport.Frame) { n.receive(s, f) },
		OnDone:    func(error) { n.reopenIfBroken(s, ctx) },
	})
	return s, nil
}

// receive takes the acknowledgement of a subscription, and passes its notifications to the client, without the subscription's id.
func (n *subscriptionRelay) receive(s *stream, f *transport.Frame) {
	if f.ReadAll(maxControl) != nil {
		return
	}
	head, err := jsonrpc.Scan(f.Head)
	if err != nil || head.Kind != jsonrpc.Notification {
		return
	}
	params := head.Params.Of(f.Head)
	if head.Method == "notifications/subscriptions/acknowledged" {
		var granted struct{ Notifications filter }
		_ = json.Unmarshal(params, &granted) // nothing is granted by what cannot be read
		s.once.Do(func() { s.granted <- granted.Notifications })
		return
	}
	out := f.Head
	if len(params) > 0 {
		if params, err = dropMeta(params, metaSubscription); err == nil {
			out, err = replaceParams(f.Head, head, params)
		}
		if err != nil {
			return
		}
	}
	n.notifyClient(&transport.Frame{Head: out})
}

// notifyClient passes a message to the client's newest listener; without one it is dropped.
func (n *subscriptionRelay) notifyClient(f *transport.Frame) {
	n.out.Lock()
	defer n.out.Unlock()
	n.mu.Lock()
	var to transport.Receiver
	if len(n.to) > 0 {
		to = n.to[len(n.to)-1].to
	}
	n.mu.Unlock()
	if to != nil {
		to.Receive(f)
	}
}

// reopenIfBroken is called when a subscription has ended. If the server ended the current one, it is opened again after a pause.
func (n *subscriptionRelay) reopenIfBroken(s *stream, ctx context.Context) {
	s.once.Do(func() { close(s.granted) })
	n.mu.Lock()
	broke := n.current == s && ctx.Err() == nil
	var pause time.Duration
	if broke {
		n.current = nil
		pause = max(firstPause, min(maxPause, 2*n.pause))
		n.pause = pause
	}
	n.mu.Unlock()
	if broke {
		n.scheduleRetry(pause)
	}
}

// scheduleRetry returns at once. After a pause it opens the subscription again in the background, with growing pauses until that succeeds or the
// listener is closed.
func (n *subscriptionRelay) scheduleRetry(pause time.Duration) {
	time.AfterFunc(pause, func() {
		if n.l.ctx.Err() != nil {
			return
		}
		if _, err := n.renew(n.l.ctx); err == nil || n.l.ctx.Err() != nil {
			return
		}
		n.mu.Lock()
		n.pause = min(maxPause, 2*max(pause, firstPause))
		pause := n.pause
		n.mu.Unlock()
		n.scheduleRetry(pause)
	})
}

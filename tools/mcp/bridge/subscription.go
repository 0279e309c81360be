package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// filter is what a subscriptions/listen asks for.
type filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

// subscription is one subscriptions/listen of a client.
type subscription struct {
	s      *session
	w      *waiter
	filter filter
	mu     sync.Mutex
	open   bool // the acknowledgement was sent
	ended  bool
	asked  []string // resources, until it is known which the server took
	early  [][]byte // what came before the acknowledgement
}

// listen serves subscriptions/listen from the session's notifications.
func (s *session) listen(w *waiter, m transport.Message) {
	raw := rawjson.Get(m.Raw, "params", "notifications")
	l := &subscription{s: s, w: w}
	if raw.IsZero() || json.Unmarshal(raw.Of(m.Raw), &l.filter) != nil {
		w.fail(fail(jsonrpc.CodeParams, "subscriptions/listen needs params.notifications: an object of toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions"))
		return
	}
	if len(l.filter.URIs) > maxURIs {
		w.fail(fail(jsonrpc.CodeParams, "resourceSubscriptions names %d resources, at most %d are taken", len(l.filter.URIs), maxURIs))
		return
	}
	l.filter.Tools = l.filter.Tools && s.offers.tools
	l.filter.Prompts = l.filter.Prompts && s.offers.prompts
	l.filter.Resources = l.filter.Resources && s.offers.resources
	if !s.offers.subscribe {
		l.filter.URIs = nil
	}
	s.mu.Lock()
	full := len(s.listens) >= maxListens
	if !full {
		w.stopWatching = context.AfterFunc(w.ctx, func() { l.close(false) })
		s.listens = append(s.listens, l)
	}
	s.mu.Unlock()
	if full {
		s.b.o.event(journal.ToolRefused{Server: s.b.o.Server, Why: "busy"})
		w.fail(fail(jsonrpc.CodeInternal, "this client has %d subscriptions open, which is the limit: end one", maxListens))
		return
	}
	l.begin()
}

// begin subscribes to the resources and acknowledges when the server has answered for all
// of them. The requests are on their way when it returns.
func (l *subscription) begin() {
	l.mu.Lock()
	uris := l.filter.URIs
	l.asked, l.filter.URIs = uris, nil
	l.mu.Unlock()
	ctx, stop := context.WithTimeout(l.w.ctx, l.s.b.o.Handshake)
	left := len(uris) + 1
	one := func(uri string, granted bool) {
		l.mu.Lock()
		if granted {
			l.filter.URIs = append(l.filter.URIs, uri)
		}
		left--
		last := left == 0
		l.mu.Unlock()
		if last {
			stop()
			l.acknowledge()
		}
	}
	for _, uri := range uris {
		l.s.subscribe(ctx, uri, func(granted bool) { one(uri, granted) })
	}
	one("", false)
}

// acknowledge says what was granted, which is the first message that a client gets.
func (l *subscription) acknowledge() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		go l.unsubscribe(slices.Clone(l.filter.URIs))
		return
	}
	slices.Sort(l.filter.URIs)
	ack, err := json.Marshal(l.filter)
	if err != nil {
		ack = []byte("{}")
	}
	params := fmt.Appendf(nil, `{"_meta":{%q:%s},"notifications":%s}`, metaSubscription, l.w.id, ack)
	l.w.receive(&transport.Frame{Head: jsonrpc.NewRequest("", "notifications/subscriptions/acknowledged", params)})
	l.open = true
	for _, m := range l.early {
		l.w.receive(&transport.Frame{Head: m})
	}
	l.early = nil
}

// close ends the subscription; politely is by us, with a response.
func (l *subscription) close(politely bool) {
	l.mu.Lock()
	was, open := l.ended, l.open
	uris := slices.Clone(l.filter.URIs)
	l.ended, l.early = true, nil
	l.mu.Unlock()
	if was {
		return
	}
	s := l.s
	s.mu.Lock()
	s.listens = slices.DeleteFunc(s.listens, func(o *subscription) bool { return o == l })
	s.mu.Unlock()
	if politely {
		l.w.finish(jsonrpc.ResultResponse(l.w.id, fmt.Appendf(nil, `{"resultType":"complete","_meta":{%q:%s}}`, metaSubscription, l.w.id)))
	} else {
		l.w.done(context.Canceled)
	}
	if open {
		l.unsubscribe(uris)
	}
}

func (l *subscription) unsubscribe(uris []string) {
	for _, uri := range uris {
		l.s.unsubscribe(uri)
	}
}

// subscribe makes the server tell of changes of a resource, and tells whether it does.
// Subscriptions to one resource are counted.
func (s *session) subscribe(ctx context.Context, uri string, granted func(bool)) {
	s.mu.Lock()
	first := s.uris[uri] == 0
	full := first && len(s.uris) >= maxURIs
	if !full {
		s.uris[uri]++
	}
	s.mu.Unlock()
	if !first || full {
		granted(!full)
		return
	}
	raw := s.resourceRequest("resources/subscribe", uri)
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		granted(false)
		return
	}
	taken := false
	s.next.Send(ctx, transport.Message{Raw: raw, Head: head, Principal: s.principal}, transport.Funcs{
		OnReceive: func(f *transport.Frame) { taken = taken || !rawjson.Get(f.Head, "result").IsZero() },
		OnDone: func(error) {
			if !taken {
				s.mu.Lock()
				s.drop(uri)
				s.mu.Unlock()
			}
			granted(taken)
		},
	})
}

// drop counts one subscription less and says whether it was the last; the caller holds mu.
func (s *session) drop(uri string) bool {
	s.uris[uri]--
	if s.uris[uri] > 0 {
		return false
	}
	delete(s.uris, uri)
	return true
}

func (s *session) resourceRequest(method, uri string) []byte {
	return jsonrpc.NewRequest(s.newID(), method, append(rawjson.Quote([]byte(`{"uri":`), uri), '}'))
}

func (s *session) unsubscribe(uri string) {
	s.mu.Lock()
	last := s.drop(uri)
	s.mu.Unlock()
	if last && s.ctx.Err() == nil {
		raw := s.resourceRequest("resources/unsubscribe", uri)
		if head, err := jsonrpc.Scan(raw); err == nil {
			s.next.Send(s.ctx, transport.Message{Raw: raw, Head: head, Principal: s.principal}, transport.Funcs{})
		}
	}
}

// changed passes a notification of a change to the subscriptions that want it.
func (s *session) changed(f *transport.Frame, method string, params []byte) {
	uri, _ := rawjson.Text(params, "uri")
	s.mu.Lock()
	listens := slices.Clone(s.listens)
	s.mu.Unlock()
	for _, l := range listens {
		if !l.wants(method, uri) {
			continue
		}
		stamped, err := setMeta(params, pair{metaSubscription, []byte(l.w.id)})
		if err != nil {
			continue
		}
		head, err := jsonrpc.Scan(f.Head)
		if err != nil {
			continue
		}
		out, err := replaceParams(f.Head, head, stamped)
		if err != nil {
			continue
		}
		l.mu.Lock()
		switch {
		case l.open && !l.ended:
			l.w.receive(&transport.Frame{Head: out})
		case !l.ended && len(l.early) < maxEarlyNews:
			l.early = append(l.early, out)
		}
		l.mu.Unlock()
	}
}

func (l *subscription) wants(method, uri string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch method {
	case "notifications/tools/list_changed":
		return l.filter.Tools
	case "notifications/prompts/list_changed":
		return l.filter.Prompts
	case "notifications/resources/list_changed":
		return l.filter.Resources
	case "notifications/resources/updated":
		// A server may name a part of the resource that was subscribed to.
		uris := l.filter.URIs
		if !l.open {
			uris = l.asked
		}
		return slices.ContainsFunc(uris, func(u string) bool {
			return uri == u || strings.HasPrefix(uri, strings.TrimSuffix(u, "/")+"/")
		})
	}
	return false
}

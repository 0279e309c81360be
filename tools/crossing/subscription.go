package crossing

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/peer"
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
}

// listen serves subscriptions/listen from the session's notifications.
func (s *session) listen(w *waiter, m peer.Message) {
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
		w.untether = context.AfterFunc(w.ctx, func() { l.close(false) })
		s.listens = append(s.listens, l)
	}
	s.mu.Unlock()
	if full {
		s.b.o.event(journal.ToolRefused{Server: s.b.o.Server, Why: "busy"})
		w.fail(fail(jsonrpc.CodeInternal, "this client has %d subscriptions open, which is the limit: end one", maxListens))
		return
	}
	// Resources are asked for one after the other, which takes time the sender of the
	// next message should not wait for.
	go l.begin()
}

// begin subscribes to the resources, then acknowledges what there is.
func (l *subscription) begin() {
	l.mu.Lock()
	granted := l.filter
	l.mu.Unlock()
	granted.URIs = slices.DeleteFunc(slices.Clone(granted.URIs), func(uri string) bool { return !l.s.subscribe(l.w.ctx, uri) })
	l.mu.Lock()
	l.filter = granted
	l.mu.Unlock()
	ack, err := json.Marshal(granted)
	if err != nil {
		l.w.fail(err)
		return
	}
	params := fmt.Appendf(nil, `{"_meta":{%q:%s},"notifications":%s}`, metaSubscription, l.w.id, ack)
	l.mu.Lock()
	ended := l.ended
	if !ended {
		l.w.receive(&peer.Frame{Head: jsonrpc.NewRequest("", "notifications/subscriptions/acknowledged", params)})
		l.open = true
	}
	l.mu.Unlock()
	if ended {
		l.unsubscribe()
	}
}

// close ends the subscription; politely is by us, with a response.
func (l *subscription) close(politely bool) {
	l.mu.Lock()
	was, open := l.ended, l.open
	l.ended = true
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
		l.unsubscribe()
	}
}

func (l *subscription) unsubscribe() {
	for _, uri := range l.filter.URIs {
		l.s.unsubscribe(uri)
	}
}

// subscribe makes the server tell of changes of a resource; subscriptions to one resource are counted.
func (s *session) subscribe(ctx context.Context, uri string) bool {
	s.mu.Lock()
	first := s.uris[uri] == 0
	if first && len(s.uris) >= maxURIs {
		s.mu.Unlock()
		return false
	}
	s.uris[uri]++
	s.mu.Unlock()
	if !first {
		return true
	}
	ctx, stop := context.WithTimeout(ctx, s.b.o.Handshake)
	defer stop()
	a, err := ask(ctx, s.next, peer.Message{Raw: s.resourceRequest("resources/subscribe", uri), Principal: s.principal})
	if err == nil && a.message != nil && !rawjson.Get(a.message, "result").IsZero() {
		return true
	}
	s.mu.Lock()
	if s.uris[uri]--; s.uris[uri] <= 0 {
		delete(s.uris, uri)
	}
	s.mu.Unlock()
	return false
}

func (s *session) resourceRequest(method, uri string) []byte {
	return jsonrpc.NewRequest(s.newID(), method, append(rawjson.Quote([]byte(`{"uri":`), uri), '}'))
}

func (s *session) unsubscribe(uri string) {
	s.mu.Lock()
	s.uris[uri]--
	last := s.uris[uri] <= 0
	if last {
		delete(s.uris, uri)
	}
	s.mu.Unlock()
	if last && s.ctx.Err() == nil {
		raw := s.resourceRequest("resources/unsubscribe", uri)
		if head, err := jsonrpc.Scan(raw); err == nil {
			s.next.Send(s.ctx, peer.Message{Raw: raw, Head: head, Principal: s.principal}, peer.Funcs{})
		}
	}
}

// changed passes a notification of a change to the subscriptions that want it.
func (s *session) changed(f *peer.Frame, method string, params []byte) {
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
		if l.open && !l.ended {
			l.w.receive(&peer.Frame{Head: out})
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
		return slices.ContainsFunc(l.filter.URIs, func(u string) bool {
			return uri == u || strings.HasPrefix(uri, strings.TrimSuffix(u, "/")+"/")
		})
	}
	return false
}

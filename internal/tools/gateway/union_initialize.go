package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/bridge"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of one server's instructions and of all together, in bytes: they are in every request that the model gets.
const (
	maxInstructions    = 2 << 10
	maxAllInstructions = 8 << 10
)

// initializeTimeout bounds the time that one server may delay the answer to initialize.
const initializeTimeout = 30 * time.Second

// features are the capabilities that servers may declare, with the members of each.
var features = []struct{ name, value string }{
	{"tools", `{"listChanged":true}`},
	{"prompts", `{"listChanged":true}`},
	{"resources", `{"listChanged":true}`},
	{"completions", "{}"},
	{"logging", "{}"},
}

// initializeAll answers initialize or server/discover with the combined capabilities and instructions of all servers. A server that does not
// answer is left out and tried again later; if none answers it is an error. If one refuses the sessionless version, the client is told to begin
// with initialize.
func (u *union) initializeAll(ctx context.Context, m transport.Message, to transport.Receiver) {
	if m.Head.Method == "initialize" {
		u.mu.Lock()
		u.greeting = m.Raw
		u.mu.Unlock()
	}
	answers := make([][]byte, len(u.parts))
	var older atomic.Bool // one of them refuses the sessionless version
	u.forEach(func(c *part) {
		answer, ok := u.initializeOne(ctx, c, m)
		if !ok && u.modern && answer != nil {
			older.Store(true)
			return
		}
		if !ok {
			if ctx.Err() == nil {
				u.markLost(c)
			}
			return
		}
		u.markFound(c)
		answers[c.index] = answer
	})
	if ctx.Err() != nil {
		to.Done(ctx.Err())
		return
	}
	if older.Load() { // all of them are for a client that begins again
		u.refuse(m, to, jsonrpc.CodeInvalidRequest, beginWithInitialize)
		return
	}
	version, failures := "", 0
	has := map[string]bool{}
	subscribe := false
	var instructions strings.Builder
	for i, a := range answers {
		if a == nil {
			failures++
			continue
		}
		if v, ok := rawjson.Text(a, "result", "protocolVersion"); ok && (version == "" || v < version) {
			version = v
		}
		for _, f := range features {
			if !rawjson.Get(a, "result", "capabilities", f.name).IsZero() {
				has[f.name] = true
			}
		}
		if v := rawjson.Get(a, "result", "capabilities", "resources", "subscribe"); !v.IsZero() && string(v.Of(a)) == "true" {
			subscribe = true
		}
		if text, ok := rawjson.Text(a, "result", "instructions"); ok && text != "" {
			fmt.Fprintf(&instructions, "%s: %s\n", u.parts[i].prefix, limit.Cut(text, maxInstructions, cutMark))
		}
	}
	if failures == len(u.parts) {
		u.refuse(m, to, jsonrpc.CodeInternal, "none of the servers behind this endpoint answers")
		return
	}
	has["tools"] = true // the added ones at least
	b := []byte(`{"capabilities":{`)
	for _, f := range features {
		if !has[f.name] {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		value := f.value
		if f.name == "resources" && subscribe {
			value = `{"listChanged":true,"subscribe":true}`
		}
		b = append(rawjson.Quote(b, f.name), ':')
		b = append(b, value...)
	}
	b = append(b, '}')
	if instructions.String() != "" {
		b = rawjson.Quote(append(b, `,"instructions":`...), limit.Cut(instructions.String(), maxAllInstructions, cutMark))
	}
	if u.modern {
		b = fmt.Appendf(b, `,"supportedVersions":[%q],"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":%s}}`, bridge.ModernVersion, ownInfo)
	} else {
		if version == "" {
			version = bridge.LegacyVersion
		}
		b = fmt.Appendf(b, `,"protocolVersion":%s,"serverInfo":%s}`, rawjson.Quote(nil, version), ownInfo)
	}
	transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, b))
}

// ownInfo is the serverInfo of the merged endpoint.
const ownInfo = `{"name":"plimsoll","version":"1"}`

// cutMark returns the mark in place of n bytes of instructions that were cut out.
func cutMark(n int) string { return fmt.Sprintf(" … [%d bytes cut] … ", n) }

// initializeOne sends m to one server and returns its answer, nil if there was none. ok is false unless the answer is a result.
func (u *union) initializeOne(ctx context.Context, c *part, m transport.Message) (answer []byte, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, initializeTimeout)
	defer cancel()
	answer, err := transport.Ask(ctx, c.session, m, maxInitialize)
	if err != nil || rawjson.Get(answer, "result").IsZero() {
		return answer, false
	}
	u.mu.Lock()
	c.begun = true
	u.mu.Unlock()
	return answer, true
}

// reconnect reports whether a server can be reached again, by a ping. A server that has never answered initialize gets the client's initialize
// instead. Without sessions it returns true, and the next request will show it.
func (u *union) reconnect(c *part) bool {
	u.mu.Lock()
	greeting, ready, begun := u.greeting, u.ready, c.begun
	u.mu.Unlock()
	if u.modern {
		return true // the next request will show
	}
	if greeting == nil {
		return false
	}
	if !begun {
		head, err := jsonrpc.Scan(greeting)
		if err != nil {
			return false
		}
		if _, ok := u.initializeOne(u.ctx, c, transport.Message{Raw: greeting, Head: head}); !ok {
			return false
		}
		if head, err = jsonrpc.Scan(ready); err == nil {
			c.session.Send(u.ctx, transport.Message{Raw: ready, Head: head}, transport.Funcs{})
		}
		return true
	}
	_, ok := u.listEntries(u.ctx, c, transport.Message{}, "ping", "none")
	return ok
}

// subscribe opens a stream of notifications with every server and merges them into one: first an acknowledgement of everything that the servers
// agreed to within ackTimeout, then their notifications, until ctx ends.
func (u *union) subscribe(ctx context.Context, m transport.Message, to transport.Receiver) {
	s := &subscription{u: u, to: to, waiting: len(u.parts), acked: make(chan struct{})}
	for _, c := range u.parts {
		go c.session.Send(ctx, m, &requestMarker{u: u, c: c, Receiver: &subscribed{s: s}, ctx: ctx})
	}
	t := time.NewTimer(ackTimeout)
	defer t.Stop()
	select {
	case <-s.acked:
	case <-t.C: // a server that has not answered has agreed to nothing
	case <-ctx.Done():
	}
	s.begin(m)
	<-ctx.Done()
	s.finish()
}

// ackTimeout bounds the wait for the servers to acknowledge which notifications they will send.
const ackTimeout = 5 * time.Second

// A subscription is one client's merged stream of notifications.
type subscription struct {
	u  *union
	to transport.Receiver

	mu      sync.Mutex
	waiting int
	acked   chan struct{}
	agreed  []string // raw members of notifications
	uris    []string // raw
	early   [][]byte // what came before the acknowledgement
	begun   bool
	over    bool
}

// maxHeldNotifications bounds the notifications that are held back until the acknowledgement is sent; further ones are dropped.
const maxHeldNotifications = 64

// A subscribed receives one server's notifications for a subscription.
type subscribed struct {
	s        *subscription
	notified bool
}

func (r *subscribed) Open(transport.Answer) {}

// Receive takes the server's acknowledgement, and passes its other notifications on. Those that come before the client's acknowledgement was sent
// are held, up to maxHeldNotifications.
func (r *subscribed) Receive(f *transport.Frame) {
	h := f.Start().Head
	if h.Kind != jsonrpc.Notification {
		return // the end of one stream is not the end of all
	}
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.Method == "notifications/subscriptions/acknowledged" {
		if f.Whole() {
			s.addAgreed(f.Head)
		}
		r.countAck()
		return
	}
	if s.over {
		return
	}
	if !s.begun {
		if f.Whole() && len(s.early) < maxHeldNotifications {
			s.early = append(s.early, append([]byte(nil), f.Head...))
		}
		return
	}
	s.to.Receive(f)
}

// Done counts a server whose stream has ended as one that has acknowledged.
func (r *subscribed) Done(error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.countAck()
}

// countAck counts this server, once, as one that has acknowledged; the last closes s.acked. The caller holds s.mu.
func (r *subscribed) countAck() {
	if !r.notified {
		r.notified = true
		if r.s.waiting--; r.s.waiting == 0 {
			close(r.s.acked)
		}
	}
}

// addAgreed adds what a server has agreed to, according to its acknowledgement. The caller holds s.mu.
func (s *subscription) addAgreed(ack []byte) {
	at := rawjson.Get(ack, "params", "notifications")
	if at.IsZero() {
		return
	}
	for m, err := range rawjson.Members(ack, at.Start) {
		if err != nil {
			return
		}
		switch v := string(m.Value.Of(ack)); {
		case v == "true":
			s.agreed = appendNew(s.agreed, string(m.Key))
		case string(m.Key) == "resourceSubscriptions" && v[0] == '[':
			for e, err := range rawjson.Elements(ack, m.Value.Start) {
				if err == nil {
					s.uris = appendNew(s.uris, string(e.Of(ack)))
				}
			}
		}
	}
}

func appendNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// begin sends the client the acknowledgement and then the notifications that were held.
func (s *subscription) begin(m transport.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := append([]byte(`{"_meta":{"io.modelcontextprotocol/subscriptionId":`), m.Head.ID...)
	b = append(b, `},"notifications":{`...)
	comma := ""
	for _, key := range s.agreed {
		b = append(b, comma...)
		b = append(rawjson.Quote(b, key), ":true"...)
		comma = ","
	}
	if len(s.uris) > 0 {
		b = append(append(b, comma...), `"resourceSubscriptions":[`...)
		for i, uri := range s.uris {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, uri...)
		}
		b = append(b, ']')
	}
	s.begun = true
	s.to.Receive(&transport.Frame{Head: jsonrpc.NewRequest("", "notifications/subscriptions/acknowledged", append(b, "}}"...))})
	for _, message := range s.early {
		s.to.Receive(&transport.Frame{Head: message})
	}
	s.early = nil
}

// finish ends the client's stream.
func (s *subscription) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.to.Done(nil)
}

package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// Legacy returns a Peer for one client of 2025-11-25 or older, over a server of 2026-07-28. It is one session: what the client declares in
// it is added to every request.
func Legacy(next transport.Peer, o Options) transport.Peer {
	l := &legacy{
		o: o.withDefaults(), next: next, prefix: "plimsoll-" + newToken()[:16] + "-",
		calls: make(map[jsonrpc.ID]*exchange), asked: make(map[jsonrpc.ID]*exchange),
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.subscriptionRelay.l = l
	return l
}

// legacy is one client's session over a sessionless server.
type legacy struct {
	o                 Options
	next              transport.Peer
	prefix            string // of the ids made here, unguessable so that no client's id equals one
	ctx               context.Context
	stop              context.CancelFunc
	subscriptionRelay subscriptionRelay

	mu           sync.Mutex
	client       []byte // clientInfo, raw
	capabilities []byte // the client's as the server gets them, raw
	can          clientCapabilities
	version      string
	level        string
	offers       serverCapabilities
	serial       int
	calls        map[jsonrpc.ID]*exchange // by the client's id
	asked        map[jsonrpc.ID]*exchange // by the ids of requests made to the client
}

func (l *legacy) newID() jsonrpc.ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serial++
	return jsonrpc.ID(strconv.Quote(l.prefix + strconv.Itoa(l.serial)))
}

// Send implements transport.Peer. What 2026-07-28 has too is sent to the server as a request of that version; initialize, ping, levels of
// logs and subscriptions are answered here, from what the server has said. Methods of tasks are refused.
func (l *legacy) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	params := m.Head.Params.Of(m.Raw)
	switch m.Head.Kind {
	case jsonrpc.Response:
		l.takeAnswer(m)
		to.Done(nil)
		return
	case jsonrpc.Notification:
		if m.Head.Method == "notifications/cancelled" {
			l.cancelRequest(jsonrpc.ID(rawjson.Get(params, "requestId").Of(params)))
		}
		to.Done(nil) // 2026-07-28 has no other notification of clients
		return
	case jsonrpc.Request:
	default:
		to.Done(nil)
		return
	}
	switch m.Head.Method {
	case "initialize":
		// It may take long; a ping or a cancellation may come meanwhile.
		go func() { l.reply(to, m.Head.ID, func() ([]byte, error) { return l.initialize(ctx, m) }) }()
	case "ping":
		transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, []byte("{}")))
	case "logging/setLevel":
		l.reply(to, m.Head.ID, func() ([]byte, error) { return l.setLevel(params) })
	case "resources/subscribe", "resources/unsubscribe":
		go func() {
			l.reply(to, m.Head.ID, func() ([]byte, error) {
				return l.subscriptionRelay.subscribe(ctx, params, m.Head.Method == "resources/subscribe")
			})
		}()
	case "tasks/get", "tasks/list", "tasks/result", "tasks/cancel", "server/discover", "subscriptions/listen":
		transport.Reply(to, fail(jsonrpc.CodeMethod, "Method not found: %s is not offered in this session", m.Head.Method).response(m.Head.ID))
	default:
		l.beginExchange(ctx, m, to)
	}
}

// reply answers with the result that compute returns, or with its error.
func (l *legacy) reply(to transport.Receiver, id jsonrpc.ID, compute func() ([]byte, error)) {
	result, err := compute()
	var f *failure
	var refused *refusedByServer
	switch {
	case err == nil:
		transport.Reply(to, jsonrpc.ResultResponse(id, result))
	case errors.As(err, &f):
		transport.Reply(to, f.response(id))
	case errors.As(err, &refused):
		to.Open(refused.answer)
		to.Done(nil)
	default:
		to.Done(err)
	}
}

// initialize returns the result of initialize, made from the server's answer to server/discover. It records what the client has declared.
func (l *legacy) initialize(ctx context.Context, m transport.Message) ([]byte, error) {
	params := m.Head.Params.Of(m.Raw)
	version, _ := rawjson.Text(params, "protocolVersion")
	if version == "" {
		return nil, fail(jsonrpc.CodeParams, "initialize lacks params.protocolVersion")
	}
	if !slices.Contains(legacyVersions, version) {
		version = LegacyVersion
	}
	declared := rawjson.Get(params, "capabilities").Of(params)
	capabilities, err := modernCapabilities(declared)
	if err != nil {
		return nil, fail(jsonrpc.CodeParams, "initialize: capabilities cannot be read: %v", err)
	}
	client := rawjson.Get(params, "clientInfo").Of(params)
	if !isObject(client) {
		client = []byte(ownInfo)
	}
	l.mu.Lock()
	l.client, l.capabilities, l.can, l.version = bytes.Clone(client), bytes.Clone(capabilities), readClientCapabilities(declared), version
	l.mu.Unlock()
	bounded, stop := context.WithTimeout(ctx, l.o.Handshake)
	defer stop()
	asked, err := l.withMeta(nil)
	if err != nil {
		return nil, err
	}
	a, err := ask(bounded, l.next, transport.Message{Raw: jsonrpc.NewRequest(l.newID(), "server/discover", asked), Principal: m.Principal})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fail(jsonrpc.CodeInternal, "%s did not answer server/discover within %v: see whether it runs", l.o.Server, l.o.Handshake)
	case err != nil:
		return nil, err
	case a.message == nil:
		return nil, &refusedByServer{a.http}
	}
	result := rawjson.Get(a.message, "result")
	if result.IsZero() {
		text, _ := rawjson.Text(a.message, "error", "message")
		return nil, fail(jsonrpc.CodeInternal, "%s refused server/discover: %s", l.o.Server, clipped(text))
	}
	if versionOf(a.message) != Sessionless {
		return nil, fail(jsonrpc.CodeInternal, "%s does not support %s: %s", l.o.Server, ModernVersion,
			clipped(string(rawjson.Get(a.message, "result", "supportedVersions").Of(a.message))))
	}
	return l.initializeResult(result.Of(a.message), version)
}

// initializeResult makes the result of initialize from that of server/discover, records what the server offers, and starts the subscription.
func (l *legacy) initializeResult(discovered []byte, version string) ([]byte, error) {
	offered, err := legacyCapabilities(rawjson.Get(discovered, "capabilities").Of(discovered))
	if err != nil {
		return nil, fail(jsonrpc.CodeInternal, "%s: capabilities that cannot be read: %v", l.o.Server, err)
	}
	l.mu.Lock()
	l.offers = readServerCapabilities(offered)
	l.mu.Unlock()
	info := rawjson.Get(discovered, "_meta", metaServer).Of(discovered)
	if !isObject(info) {
		info = []byte(`{"name":"unnamed","version":"0"}`) // older clients require one
	}
	b := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"serverInfo":%s`, version, offered, info)
	if v := rawjson.Get(discovered, "instructions"); !v.IsZero() {
		b = fmt.Appendf(b, `,"instructions":%s`, v.Of(discovered))
	}
	l.subscriptionRelay.start()
	return append(b, '}'), nil
}

// withMeta returns params with the members of _meta that each request of 2026-07-28 has. params may be nil.
func (l *legacy) withMeta(params []byte) ([]byte, error) {
	l.mu.Lock()
	client, capabilities, level := l.client, l.capabilities, l.level
	l.mu.Unlock()
	if client == nil { // the client has not sent initialize
		client, capabilities = []byte(ownInfo), []byte("{}")
	}
	pairs := []pair{{metaVersion, []byte(`"` + ModernVersion + `"`)}, {metaClient, client}, {metaCapabilities, capabilities}}
	if level != "" {
		pairs = append(pairs, pair{metaLevel, []byte(`"` + level + `"`)})
	}
	return setMeta(params, pairs...)
}

// setLevel records the level of log messages, for later requests, and returns the empty result.
func (l *legacy) setLevel(params []byte) ([]byte, error) {
	level, _ := rawjson.Text(params, "level")
	if levelOf(level) < 0 {
		return nil, fail(jsonrpc.CodeParams, "logging/setLevel: %q is no level, use one of %v", clipped(level), levels)
	}
	l.mu.Lock()
	l.level = level
	l.mu.Unlock()
	return []byte("{}"), nil
}

// cancelRequest ends a request that the client cancels. The server learns of it by the end of the request's context.
func (l *legacy) cancelRequest(id jsonrpc.ID) {
	l.mu.Lock()
	x := l.calls[id]
	l.mu.Unlock()
	if x != nil {
		x.finish(nil, context.Canceled)
	}
}

// Listen implements transport.Peer: the notifications come from the session's own subscription.
func (l *legacy) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	detach := l.subscriptionRelay.attach(to)
	ctx, stop := context.WithCancel(ctx)
	context.AfterFunc(l.ctx, stop)
	context.AfterFunc(ctx, func() {
		stop()
		detach()
		to.Done(nil)
	})
}

// passUnsolicited passes on a message that a server on standard streams has sent outside of any request. A log message goes to the newest request,
// or else to the client's listener; anything else is dropped.
func (l *legacy) passUnsolicited(f *transport.Frame) {
	if f.ReadAll(maxControl) != nil {
		return
	}
	head, err := jsonrpc.Scan(f.Head)
	if err != nil || head.Kind != jsonrpc.Notification || !rawjson.Get(f.Head, "params", "_meta", metaSubscription).IsZero() {
		return // only log messages come outside of requests
	}
	l.mu.Lock()
	var newest *exchange
	for _, x := range l.calls {
		if newest == nil || x.serial > newest.serial {
			newest = x
		}
	}
	l.mu.Unlock()
	if newest != nil {
		newest.deliver(f)
		return
	}
	l.subscriptionRelay.notifyClient(f)
}

// Close ends all open requests with an error, and the subscription, and closes the connection to the server.
func (l *legacy) Close() error {
	l.mu.Lock()
	var open []*exchange
	for _, x := range l.calls {
		open = append(open, x)
	}
	l.mu.Unlock()
	for _, x := range open {
		x.finish(nil, errors.New("the gateway is closing"))
	}
	l.stop()
	return l.next.Close()
}

// refusedByServer is an HTTP answer of the server that the client must see, such as 401 with a challenge.
type refusedByServer struct{ answer transport.Answer }

// Error implements error.
func (e *refusedByServer) Error() string {
	return "the server answered " + http.StatusText(e.answer.Status)
}

// Package delegate makes an agent that speaks A2A 1.0 an MCP server in this process, whose tools are its skills; the gateway connects to it.
//
// A call is a task, or a message where the agent answers with one: statuses are the call's progress, artifacts its result. Up to 256 KiB of
// it are held in memory, the rest in a file. A task that waits for its client is a result that says what is asked; the next call of the
// session goes on with it. The agent's context id is kept for a session, see [agent.SessionOf].
//
// A stream that breaks off is taken up again, and else the task is asked for, until the agent was not reached for half a minute. The end of
// a call's context cancels the task. A message is sent once, and counts the agents that its question came through, up to [MaxHops].
//
// The address is the user's. The card is the agent's: what it names at another host, scheme or port must be public or allowed, and never
// gets the credentials. Redirects are not followed.
package delegate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	sdklog "github.com/a2aproject/a2a-go/v2/log"

	"github.com/plimsoll/plimsoll/internal/recent"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

const (
	// MaxHops is the number of agents that a question may have passed through; beyond it calls are refused.
	MaxHops = 5
	// maxCalls bounds the calls of all sessions that are open at one time, and maxSessions the sessions that are remembered.
	maxCalls, maxSessions = 64, 256
	// maxWaiting bounds the tasks of a session that wait for an answer of it; the newest are kept.
	maxWaiting = 8
)

// Options configure an [Agent]. Name and URL are required.
type Options struct {
	// Name begins the names of the tools.
	Name string
	// URL is the agent's address: its card is below it, at .well-known/agent-card.json.
	URL string
	// Header is sent to URL's scheme, host and port, and nowhere else.
	Header http.Header
	// Transport reaches URL's host; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// Allow and Hosts are the networks and hosts that the card may lead to, beside URL's and public ones.
	Allow []netip.Prefix
	Hosts []string
	// TempDir takes answers of more than 256 KiB until they are handed on; "" means the system's directory.
	TempDir string
	Journal *journal.Journal
}

// Agent offers another agent, which speaks A2A, as an MCP server whose tools are the agent's skills.
type Agent struct {
	o     Options
	http  *http.Client
	gate  *gate
	calls chan struct{} // a place for each open call
	// firstPause is shorter in tests.
	firstPause time.Duration

	reading chan struct{} // taken by who reads the card
	card    *card         // guarded by reading

	mu       sync.Mutex
	sessions recent.Map[any, *session]
}

// New returns an Agent, or an error when the URL is invalid. It sends nothing.
func New(o Options) (*Agent, error) {
	home, err := url.Parse(o.URL)
	if err != nil || home.Host == "" || home.Scheme != "http" && home.Scheme != "https" {
		return nil, fmt.Errorf("the address of the agent %s is no URL; write it as https://HOST/PATH", o.Name)
	}
	a := &Agent{
		o: o, gate: newGate(home, &o), calls: make(chan struct{}, maxCalls), reading: make(chan struct{}, 1), firstPause: firstPause,
		sessions: recent.Map[any, *session]{Max: maxSessions},
	}
	a.http = &http.Client{
		Transport:     a.gate,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return a, nil
}

// Dial returns a connection to the tools for one client. It sends nothing.
func (a *Agent) Dial() transport.Peer { return &peer{a: a} }

// Close closes idle connections to the agent. Whoever has dialled peers closes them before.
func (a *Agent) Close() error {
	a.gate.closeIdleConnections()
	return nil
}

// session is the state of one client session's conversation with the agent.
type session struct {
	context string // the agent's id of it
	waiting []waiting
}

// waiting is a task that waits for an answer of the client, and the tool that began it.
type waiting struct {
	id   sdk.TaskID
	tool string
}

// beginCall returns the context id of a session's conversation, "" for an unknown session, and the task that its next message answers: named or, if
// that is "", a waiting one, preferably of the same tool; "" if none waits. A waiting task is taken off the list, and a named one that is not on
// the list comes back as it is.
func (a *Agent) beginCall(key any, tool string, named sdk.TaskID) (contextID string, task sdk.TaskID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.sessions.Get(key)
	if key == nil || !ok {
		return "", named
	}
	at := -1
	for i, w := range s.waiting {
		if w.id == named || named == "" && (at < 0 || w.tool == tool && s.waiting[at].tool != tool) {
			at = i
		}
	}
	if at >= 0 {
		named = s.waiting[at].id
		s.waiting = append(s.waiting[:at:at], s.waiting[at+1:]...)
	}
	return s.context, named
}

// recordAnswer records after a call that the session has the context answered, and that task w waits for the session's next message if w
// has an id. A context that another call has set meanwhile stays. sent is the context that this call began with.
func (a *Agent) recordAnswer(key any, sent, answered string, w waiting) {
	if key == nil || answered == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.sessions.Get(key)
	if !ok {
		s = &session{}
		a.sessions.Put(key, s)
	}
	if s.context == "" || s.context == sent { // else another call of the session was first
		s.context = answered
	}
	if w.id != "" {
		s.waiting = append(s.waiting, w)
		s.waiting = s.waiting[max(0, len(s.waiting)-maxWaiting):]
	}
}

// withoutSDKLog returns a context in which the SDK logs nothing: errors are reported in results.
func withoutSDKLog(ctx context.Context) context.Context {
	return sdklog.AttachLogger(ctx, slog.New(slog.DiscardHandler))
}

// pause waits for d. It returns the cause of ctx when that ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// withoutAddress returns an error without the URL in it, whose query may hold a secret.
func withoutAddress(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// peer is one client's connection: an MCP server with the card's skills, made when the card is first read.
type peer struct {
	a *Agent

	mu     sync.Mutex
	closed bool
	card   *card // that the server is of
	server *builtin.Server
	conn   transport.Peer // nil until the card was read
}

var errClosed = errors.New("the connection to the agent was closed")

// Join returns another peer: a gateway that shares a connection between clients gives each its own.
func (p *peer) Join() transport.Peer { return p.a.Dial() }

// Send implements [transport.Peer].
func (p *peer) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	p.mu.Lock()
	conn, closed := p.conn, p.closed
	p.mu.Unlock()
	asks := m.Head.Method == "initialize" || m.Head.Method == "server/discover" || m.Head.Method == "tools/list"
	switch {
	case closed:
		to.Done(errClosed)
	case m.Head.Kind != jsonrpc.Request && conn == nil:
		to.Done(nil)
	case conn != nil && !asks:
		conn.Send(ctx, m, to)
	default:
		go func() { // few: the MCP server in front bounds how many requests wait
			conn, err := p.connect(ctx, asks)
			if err != nil {
				transport.Reply(to, jsonrpc.ErrorResponse(m.Head.ID, jsonrpc.CodeInternal, err.Error(), nil))
				return
			}
			conn.Send(ctx, m, to)
		}()
	}
}

// connect returns the connection to a server of the agent's card. With fresh an old card is read again; the server changes with the card,
// but not while calls are open.
func (p *peer) connect(ctx context.Context, fresh bool) (transport.Peer, error) {
	c, err := p.a.currentCard(ctx, fresh)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, errClosed
	case p.card == c, p.server != nil && p.server.Stats().Open > 0: // a new card waits for the end of the calls
		return p.conn, nil
	}
	server, err := c.newServer(p)
	if err != nil {
		return nil, err
	}
	p.card, p.server, p.conn = c, server, server.Dial()
	return p.conn, nil
}

// Listen implements [transport.Peer]. It sends no notifications: clients see a new card when they list the tools.
func (p *peer) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	context.AfterFunc(ctx, func() { to.Done(nil) })
}

// Close implements [transport.Peer]. It returns when the open calls have ended and their tasks were cancelled.
func (p *peer) Close() error {
	p.mu.Lock()
	server := p.server
	p.closed = true
	p.mu.Unlock()
	if server != nil {
		return server.Close()
	}
	return nil
}

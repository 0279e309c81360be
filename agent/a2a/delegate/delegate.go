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
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

const (
	// MaxHops bounds the agents that a question may have come through.
	MaxHops = 5
	// maxCalls bounds the calls of all sessions that are open at one time, and maxSessions the sessions that are remembered.
	maxCalls, maxSessions = 64, 256
	// maxWaiting bounds the tasks of a session that wait for it.
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
	// Allow and Hosts are the addresses that the card may lead to beside that and public ones.
	Allow []netip.Prefix
	Hosts []string
	// TempDir takes what an agent answers beyond a few kilobytes, until it is handed on; "" is the system's.
	TempDir string
	Journal *journal.Journal
}

// Agent is another agent as an MCP server.
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

// New checks the options. It sends nothing.
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

// Dial returns a connection to the tools, for one client. It sends nothing.
func (a *Agent) Dial() transport.Peer { return &peer{a: a} }

// Close drops idle connections. The peers are closed by whoever dialled them, before.
func (a *Agent) Close() error {
	a.gate.closeIdle()
	return nil
}

// session is the state of one session's conversation with the agent.
type session struct {
	context string // the agent's id of it
	waiting []waiting
}

// waiting is a task that waits for its client.
type waiting struct {
	id   sdk.TaskID
	tool string
}

// begin returns the context of a session's message and the task that waits for it, of the same tool if there is one. With named it is that.
func (a *Agent) begin(key any, tool string, named sdk.TaskID) (contextID string, task sdk.TaskID) {
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

// keep remembers the context that a message which was sent in sent was answered in, and a task that waits.
func (a *Agent) keep(key any, sent, answered string, w waiting) {
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

// withoutSDKLog keeps the SDK's own words out of the log: what goes wrong is told in results.
func withoutSDKLog(ctx context.Context) context.Context {
	return sdklog.AttachLogger(ctx, slog.New(slog.DiscardHandler))
}

// pause waits, or returns why not.
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

// withoutAddress returns an error without the address in it, which may have a secret in its query.
func withoutAddress(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

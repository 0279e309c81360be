package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// Defaults of [Options].
const (
	// DefaultMaxSessions bounds sessions and, beside them, the connections for clients without one.
	DefaultMaxSessions = 1000
	// DefaultIdle is the time that a session without an open request or stream is kept: agents
	// pause for as long as their users do.
	DefaultIdle = 30 * time.Minute
	// DefaultMaxMessage bounds a message of a client in bytes; it is held whole.
	DefaultMaxMessage = 16 << 20
	// DefaultMaxBodies bounds the bytes of all messages of clients held at one time.
	DefaultMaxBodies = 64 << 20
	// DefaultMaxOpen bounds the requests of one session that wait for an answer.
	DefaultMaxOpen = 256
	// DefaultMaxStored bounds the bytes of events held for clients, of all sessions together:
	// those a slow reader has not taken, and those kept for one that comes back.
	DefaultMaxStored = 8 << 20
	// DefaultMaxStoredSession is the share of one session.
	DefaultMaxStoredSession = 256 << 10
	// DefaultKeepAlive is the pause after which a silent stream gets a comment. Proxies and
	// clients give up on silent connections after 30 s to 60 s.
	DefaultKeepAlive = 15 * time.Second
	// DefaultWriteTimeout bounds the time in which a client reads nothing of a pending write.
	DefaultWriteTimeout = 30 * time.Second
	// DefaultReadTimeout bounds the reading of a request's body.
	DefaultReadTimeout = 60 * time.Second
)

// Opening describes the client for which a connection to a server is opened.
type Opening struct {
	// Message is the client's first message; zero when it begins with GET or DELETE.
	Message transport.Message
	// Header is of the client's HTTP request.
	Header http.Header
	// Principal is the result of [Options.Principal].
	Principal string
	// Modern is set when the client speaks MCP 2026-07-28 or later: there is no session. The
	// Session is then used for all of the principal's modern requests, whose ids may repeat:
	// the Receiver tells them apart, as does an id of the peer's own upstream.
	Modern bool
	// Begins is set when Message is initialize, which begins a session. When neither Modern
	// nor Begins is set the client goes on with a session that is not known here: it can
	// only be the server's own (Passed), else Open returns ErrNoSession.
	Begins bool
	// SessionID is the Mcp-Session-Id that the client sent, "" if none.
	SessionID string
}

// Session is a connection to a server for one client.
type Session struct {
	// Peer gets the client's messages. It is closed when the session ends.
	Peer transport.Peer
	// Passed is set when the server speaks streamable HTTP itself, in the client's protocol version: its
	// status, headers, session ids and event ids reach the client unchanged, GET and DELETE
	// reach the server ([transport.Ender]). Otherwise session and event ids are made here.
	Passed bool
	// Headers is set when the Peer is to know the headers of the client's requests although the
	// session is not passed: tools of this process that act with their client's credentials.
	Headers bool
}

// ErrNoSession reports that there is no such session: the client gets 404, which tells it to
// begin anew.
var ErrNoSession = errors.New("there is no such session; begin a new one with initialize")

// Refusal is an error of Open or Principal that carries the answer to the client.
type Refusal struct {
	Status int         // of the HTTP answer
	Code   int         // of the JSON-RPC error
	Text   string      // for the client
	Data   []byte      // of the JSON-RPC error, raw JSON; nil is none
	Header http.Header // more headers, such as WWW-Authenticate
}

func (r *Refusal) Error() string { return r.Text }

// Options configure a [Handler]. Only Open is required; zero values mean the defaults.
type Options struct {
	// Name is the server's, for events.
	Name string
	// Open finds the connection to the server for a client. It must not wait for the server: what
	// it returns may begin to do so at the first message. ctx is of the client's request,
	// so the Session must not depend on it. A [Refusal] tells the client why not.
	Open func(ctx context.Context, o Opening) (Session, error)
	// Principal names the sender of a request: a digest, never a credential; nil: everybody is "".
	// An error that is no Refusal is answered with 401.
	Principal func(*http.Request) (string, error)

	// InputSchema gives the inputSchema of a tool, raw JSON, as far as it is known without
	// asking the server; nil is none. It names the headers of modern requests that repeat
	// arguments (x-mcp-header), which are then checked. The server checks those of passed
	// sessions itself.
	InputSchema func(principal, tool string) []byte

	MaxSessions      int
	Idle             time.Duration
	MaxMessage       int64
	MaxBodies        int64
	MaxOpen          int
	MaxStored        int64
	MaxStoredSession int64
	KeepAlive        time.Duration
	WriteTimeout     time.Duration
	ReadTimeout      time.Duration

	// Hosts and Origins are the values of the Host and Origin headers that are let in, as
	// "localhost", "localhost:8080" (without a port: any port) or, for an origin,
	// "https://example.com". A nil list checks nothing: the caller has done so. An absent
	// Origin is let in: only browsers send one, and they are whom the check is for.
	Hosts, Origins []string
	// Resource gives the URL of our own OAuth protected resource metadata, which stands in
	// for the server's in WWW-Authenticate of passed sessions; nil leaves the server's.
	Resource func(*http.Request) string
	// Journal gets ToolRefused events; nil is none.
	Journal *journal.Journal
}

// StdioOptions configure [Stdio]; zero values mean the defaults.
type StdioOptions struct {
	// Name is the server's, for events.
	Name       string
	MaxMessage int64
	// MaxOpen bounds the requests that wait for an answer (DefaultMaxOpen).
	MaxOpen int
	// Grace bounds the time for open requests after the client closed its end; 0 means 2 s.
	Grace time.Duration
	// Principal is put into every message.
	Principal string
	Journal   *journal.Journal
}

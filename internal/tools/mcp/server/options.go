package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

// Defaults of [Options].
const (
	// DefaultMaxSessions bounds the sessions, together with the connections for clients without one.
	DefaultMaxSessions = 1000
	// DefaultIdle bounds the time that a session is kept without an open request or stream: agents pause as long as
	// their users do.
	DefaultIdle = 30 * time.Minute
	// DefaultMaxMessage bounds a message of a client, which is held in memory, in bytes.
	DefaultMaxMessage = 16 << 20
	// DefaultMaxBodies bounds the bytes of all messages of clients held at one time.
	DefaultMaxBodies = 64 << 20
	// DefaultMaxOpen bounds the requests of one session that wait for an answer.
	DefaultMaxOpen = 256
	// DefaultMaxStored bounds the bytes of events that are held for clients in all sessions together: those that a
	// slow reader has not taken, and those that are kept for a client that resumes.
	DefaultMaxStored = 8 << 20
	// DefaultMaxStoredSession bounds these bytes for one session.
	DefaultMaxStoredSession = 256 << 10
	// DefaultKeepAlive is the pause after which a silent stream gets a comment. Proxies and
	// clients give up on silent connections after 30 s to 60 s.
	DefaultKeepAlive = 15 * time.Second
	// DefaultWriteTimeout bounds the time that a write to the client may take.
	DefaultWriteTimeout = 30 * time.Second
	// DefaultReadTimeout bounds the reading of a request's body.
	DefaultReadTimeout = 60 * time.Second
)

// Opening describes the client for which a connection to a server is opened.
type Opening struct {
	// Message is the client's first message; the zero value if it begins with GET or DELETE.
	Message transport.Message
	// Header is the header of the client's HTTP request.
	Header http.Header
	// Principal is the result of [Options.Principal].
	Principal string
	// Modern is set when the client speaks MCP 2026-07-28 or later, without a session. The Session is then used for all modern requests of
	// the principal, whose ids may repeat: they are told apart by the Receiver, and the Peer needs ids of its own towards the server.
	Modern bool
	// Begins is set when Message is initialize, which begins a session. If neither Modern nor Begins is set the client continues a session
	// that is not known here: it can only be the server's own (Passed); else Open returns ErrNoSession.
	Begins bool
	// SessionID is the Mcp-Session-Id that the client sent; "" if it sent none.
	SessionID string
}

// Session is a connection to a server for one client.
type Session struct {
	// Peer gets the client's messages. It is closed when the session ends.
	Peer transport.Peer
	// Passed is set when the server itself speaks streamable HTTP in the client's protocol version: its status, headers, session ids and
	// event ids reach the client unchanged, and GET and DELETE reach the server ([transport.Ender]). Otherwise session and event ids are
	// made here.
	Passed bool
	// Headers is set when the Peer gets the headers of the client's requests although the session is not passed: for tools of this process
	// that use their client's credentials.
	Headers bool
}

// ErrNoSession reports that there is no such session: the client gets status 404, which tells it to begin a new one.
var ErrNoSession = errors.New("there is no such session; begin a new one with initialize")

// Refusal is an error of Open or Principal that says what the client is answered.
type Refusal struct {
	Status int         // of the HTTP answer
	Code   int         // of the JSON-RPC error
	Text   string      // for the client
	Data   []byte      // of the JSON-RPC error, raw JSON; may be nil
	Header http.Header // more headers, such as WWW-Authenticate
}

func (r *Refusal) Error() string { return r.Text }

// Options configure a [Handler]. Only Open is required; zero values mean the defaults.
type Options struct {
	// Name is the name of the server in events.
	Name string
	// Open returns the connection to the server for a client. It must not wait for the server: the connection may do so at its first
	// message. ctx ends with the client's request, so the Session must not depend on it. For an error that is a [Refusal] the client gets
	// that answer.
	Open func(ctx context.Context, o Opening) (Session, error)
	// Principal returns who sends a request, as a digest and never a credential; if it is nil everybody is "". For an error that is not a
	// Refusal the client gets 401.
	Principal func(*http.Request) (string, error)

	// InputSchema returns the inputSchema of a tool, raw JSON, if it is known without asking the server; else nil. It names the headers of
	// modern requests that repeat arguments (x-mcp-header), which are then checked. The field may be nil. In passed sessions the server
	// itself checks them.
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

	// Hosts and Origins are the accepted values of the Host and Origin headers, as "localhost", "localhost:8080" (without a port: any port)
	// or, for an origin, "https://example.com". A nil list checks nothing: then the caller has done so. A request without Origin is
	// accepted: only browsers send one, and the check is for them.
	Hosts, Origins []string
	// Resource returns the URL of the gateway's own OAuth protected resource metadata, which replaces the server's in WWW-Authenticate of
	// passed sessions; nil leaves the server's.
	Resource func(*http.Request) string
	// Journal gets ToolRefused events; it may be nil.
	Journal *journal.Journal
}

// StdioOptions configure [Stdio]; zero values mean the defaults.
type StdioOptions struct {
	// Name is the name of the server in events.
	Name       string
	MaxMessage int64
	// MaxOpen bounds the requests that wait for an answer (DefaultMaxOpen).
	MaxOpen int
	// Grace bounds the time for open requests after the client closed its end; 0 means DefaultGrace.
	Grace time.Duration
	// Principal is set in every message.
	Principal string
	Journal   *journal.Journal
}

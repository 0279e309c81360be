package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/bridge"
	mcpclient "github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	mcpserver "github.com/plimsoll/plimsoll/internal/tools/mcp/server"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// DefaultMaxProcesses is the default of ServerOptions.MaxProcesses.
const DefaultMaxProcesses = 16

// Dialing says how a connection to a server will be used.
type Dialing struct {
	// Shared is set when several clients will use the connection. On standard streams the Peer has a Join method that gives each client a
	// Peer of its own.
	Shared bool
	// Header is the header of the client's HTTP request, for its Authorization, if the connection to a remote server is for one client;
	// else nil.
	Header http.Header
}

// ServerOptions configure a [Server]. Dial and Spool are required.
type ServerOptions struct {
	// Name is the gateway's name for the server.
	Name string
	// Dial returns a connection to the server without waiting for it, as mcpclient.Stdio and mcpclient.HTTP do. Close of the Peer ends the
	// connection.
	Dial func(Dialing) transport.Peer
	// Remote is set when Dial's Peers speak streamable HTTP: an HTTP client of the same protocol version then has its session with the
	// server itself.
	Remote bool
	// Address is the host of a remote server, with its port if that is not 443, for events.
	Address string
	// Builtin is set when Dial's Peers are tools of this process (package builtin): they speak both protocol versions, so nothing is asked
	// or bridged; they get the headers of their clients' HTTP requests, and MaxProcesses does not bound their sessions.
	Builtin bool
	// Named is set when the tools' names already begin with Name and [Separator], so that no prefix is added.
	Named    bool
	Spool    *spool.Spool
	Journal  *journal.Journal
	Settings Settings
	// Definitions limit what the tools' definitions take in lists of this server alone.
	Definitions Definitions
	// Query starts the child that runs jq programs; see [Options].
	Query   []string
	TempDir string
	// MaxProcesses bounds the processes that run at one time (DefaultMaxProcesses). Each client with a session has its own; clients without
	// sessions share one.
	MaxProcesses int
}

// Server is one MCP server for any number of clients of both protocol versions.
type Server struct {
	o         ServerOptions
	catalogue *Catalogue
	inner     *Catalogue // of the sessions behind a merged endpoint

	mu        sync.Mutex
	closed    bool
	versions  versions       // that the server speaks
	learnedAt time.Time      // when versions was set
	living    int            // processes
	guards    bool           // the remote server wants credentials, which its clients have
	shared    transport.Peer // of the clients without sessions, while there are any
	users     int            // clients of shared
	direct    transport.Peer // the connection that sessions with the remote server itself share
}

// NewServer returns a server. It does not connect to it yet.
func NewServer(o ServerOptions) *Server {
	if o.MaxProcesses <= 0 {
		o.MaxProcesses = DefaultMaxProcesses
	}
	s := &Server{o: o, catalogue: NewCatalogue(), inner: NewCatalogue()}
	if o.Builtin {
		s.versions = versions{sessions: true, sessionless: true}
	}
	return s
}

// Name returns the name of the server.
func (s *Server) Name() string { return s.o.Name }

// Named reports whether the server's tools already have its name as a prefix.
func (s *Server) Named() bool { return s.o.Named }

// Open implements mcpserver.Options.Open for the server. A client that neither begins with initialize nor speaks the sessionless version
// gets ErrNoSession from a local server; a server that cannot be started is a Refusal with status 503.
func (s *Server) Open(ctx context.Context, o mcpserver.Opening) (mcpserver.Session, error) {
	if s.o.Remote {
		return s.openRemote(ctx, o)
	}
	if !o.Modern && !o.Begins {
		return mcpserver.Session{}, mcpserver.ErrNoSession
	}
	n, err := s.negotiate(o.Modern, nil)
	if err != nil {
		return mcpserver.Session{}, &mcpserver.Refusal{Status: http.StatusServiceUnavailable, Code: jsonrpc.CodeInternal, Text: err.Error()}
	}
	return mcpserver.Session{Peer: s.newSession(n, o.Modern), Headers: s.o.Builtin}, nil
}

// openRemote lets a client have its session with the remote server itself if both speak the same version, and bridges them otherwise. If the
// server wants its clients' credentials it never bridges: a client must see the server's challenges (status, WWW-Authenticate) unchanged, at any
// request, to get the access that is asked for.
func (s *Server) openRemote(ctx context.Context, o mcpserver.Opening) (mcpserver.Session, error) {
	var known versions
	if !s.needsCredentials(o.Header) {
		known = s.remoteVersions(ctx, o)
	}
	if passesThrough(o.Modern, known) {
		return mcpserver.Session{Peer: s.newSession(noCloser{s.directPeer()}, o.Modern), Passed: true}, nil
	}
	if !o.Modern && !o.Begins {
		return mcpserver.Session{}, mcpserver.ErrNoSession
	}
	n, err := s.negotiate(o.Modern, authorization(o.Header))
	if err != nil {
		return mcpserver.Session{}, &mcpserver.Refusal{Status: http.StatusServiceUnavailable, Code: jsonrpc.CodeInternal, Text: err.Error()}
	}
	return mcpserver.Session{Peer: s.newSession(n, o.Modern)}, nil
}

// authorization returns the part of a client's header that is passed on when the gateway itself has the session; nil if there is none.
func authorization(h http.Header) http.Header {
	if v := h.Values("Authorization"); len(v) > 0 {
		return http.Header{"Authorization": v}
	}
	return nil
}

// Local returns a connection to the server for one client on standard streams, of either protocol version.
func (s *Server) Local() transport.Peer { return newLocal(s) }

// newSession returns a session over next; many is Options.Many.
func (s *Server) newSession(next transport.Peer, many bool) *Session {
	return New(s.options(next, many))
}

func (s *Server) options(next transport.Peer, many bool) Options {
	return Options{
		Name: s.o.Name, Address: s.o.Address, Next: next, Spool: s.o.Spool, Journal: s.o.Journal, Settings: s.o.Settings, Definitions: s.o.Definitions,
		Catalogue: s.catalogue, Query: s.o.Query, TempDir: s.o.TempDir, Many: many,
	}
}

// innerSession returns a session behind a merged endpoint. The endpoint, not this session, adds the tools with the names n.
func (s *Server) innerSession(next transport.Peer, many bool, n result.Names) *Session {
	o := s.options(next, many)
	o.Bare, o.Names, o.Catalogue, o.Definitions = true, n, s.inner, Definitions{}
	return New(o)
}

// Close closes the shared connections to the server, after which none can be made. Sessions have to be closed before, by whoever opened them.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	peers := []transport.Peer{s.direct, s.shared}
	s.direct, s.shared = nil, nil
	s.mu.Unlock()
	var all error
	for _, p := range peers {
		if p != nil {
			all = errors.Join(all, p.Close())
		}
	}
	return all
}

var errServerClosed = errors.New("the gateway is going down")

// directPeer returns the connection for sessions with the remote server itself, which all of them share; after Close it is one that fails.
func (s *Server) directPeer() transport.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return failedTransport{errServerClosed}
	}
	if s.direct == nil {
		s.direct = s.o.Dial(Dialing{Shared: true})
	}
	return s.direct
}

// remoteVersions returns the versions of a remote server. It asks the server, at most once in versionAge, with a discovery and, if the
// client may need it, an initialize. If that fails they are the zero value, which is not kept: the answer to the client's own request will
// show them. A server that answers 401 or 403 is noted as one that wants credentials.
func (s *Server) remoteVersions(ctx context.Context, o mcpserver.Opening) versions {
	s.mu.Lock()
	v, fresh := s.versions, time.Since(s.learnedAt) < versionAge
	s.mu.Unlock()
	if !o.Begins && !o.Modern { // it goes on with a session of the server's
		return v
	}
	first := transport.Message{Principal: o.Principal, Header: probeHeader(o.Header)}
	var err error
	if v.unknown() || !fresh {
		s.setVersions(versions{}) // it may be another server by now
		v, err = s.detect(ctx, noCloser{s.directPeer()}, first)
	}
	// For an older client: a discovery need not name older versions that the server speaks too (that of the Python SDK 2.x does not).
	if err == nil && !o.Modern && v.sessionless && !v.sessions && !v.refused {
		v.sessions = answersInitialize(ctx, noCloser{s.directPeer()}, first)
		v.refused = !v.sessions
		s.setVersions(v)
	}
	if err != nil {
		status := 0
		if said, ok := errors.AsType[*mcpclient.StatusError](err); ok {
			status = said.Status
		} else if said, ok := errors.AsType[*bridge.Undecided](err); ok {
			status = said.Answer.Status
		}
		if status == http.StatusUnauthorized || status == http.StatusForbidden {
			s.mu.Lock()
			s.guards = true
			s.mu.Unlock()
		}
		return versions{}
	}
	return v
}

// needsCredentials reports whether the server has asked for credentials, or this client sends some.
func (s *Server) needsCredentials(h http.Header) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.guards || h.Get("Authorization") != ""
}

// probeHeader returns the header for a server/discover, with the client's credentials.
func probeHeader(h http.Header) http.Header {
	out := http.Header{
		"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"},
		"Mcp-Protocol-Version": {bridge.ModernVersion}, "Mcp-Method": {"server/discover"},
	}
	if v := h.Values("Authorization"); len(v) > 0 {
		out["Authorization"] = v
	}
	return out
}

// bridgeOptions returns the options for bridging to this server.
func (s *Server) bridgeOptions() bridge.Options {
	return bridge.Options{Server: s.o.Name}
}

func (o *ServerOptions) event(e journal.Event) {
	if o.Journal != nil {
		o.Journal.Append(e)
	}
}

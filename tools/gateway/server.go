package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/bridge"
	mcpclient "github.com/plimsoll/plimsoll/tools/mcp/client"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	mcpserver "github.com/plimsoll/plimsoll/tools/mcp/server"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/tools/result"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// DefaultMaxProcesses bounds the processes of one server.
const DefaultMaxProcesses = 16

// eraAge is how long a remote server's era is believed: it may be replaced by a newer one.
const eraAge = time.Hour

// Dialing says what a way to a server is for.
type Dialing struct {
	// Shared says that several clients will use it. On standard streams it is then a
	// process of all of them, with a Join method that gives each its own Peer.
	Shared bool
	// Header is of the client's HTTP request, for its Authorization, where a remote server
	// is spoken to on behalf of one client; else nil.
	Header http.Header
}

// ServerOptions configure a [Server]. Dial and Spool are required.
type ServerOptions struct {
	// Name is what the gateway calls the server.
	Name string
	// Dial makes a way to the server and does not wait for it: mcpclient.Stdio or
	// mcpclient.HTTP. Close of the Peer ends it.
	Dial func(Dialing) transport.Peer
	// Remote says that Dial's Peers speak streamable HTTP: a client of HTTP and of the same
	// era then has its session with the server itself.
	Remote bool
	// Builtin says that Dial's Peers are tools of this process (package builtin): they speak
	// both eras, so that nothing is asked or bridged, they are given the headers of their
	// clients' HTTP requests, and a session is not bounded by MaxProcesses.
	Builtin  bool
	Spool    *spool.Spool
	Journal  *journal.Journal
	Settings Settings
	// Query starts the child that runs jq programs; see Options.
	Query   []string
	TempDir string
	// Bridge answers server/discover for a server of the older era too. Without it such a
	// probe is answered as the server itself would, with an error, and a client that knows
	// both eras goes back to initialize and has what it would have without the gateway.
	// Other requests of the newer era are bridged always.
	Bridge bool
	// MaxProcesses bounds the processes at one time (DefaultMaxProcesses). A client with a
	// session has one of its own; those without share one.
	MaxProcesses int
}

// Server is one MCP server for any number of clients of both eras.
type Server struct {
	o         ServerOptions
	catalogue *Catalogue
	inner     *Catalogue // of the sessions behind a merged endpoint

	mu     sync.Mutex
	closed bool
	eras   eras
	known  time.Time      // when eras was learned
	living int            // processes
	guards bool           // a remote server wants credentials, which are its clients'
	shared transport.Peer // of the clients without sessions, while there are any
	users  int
	direct transport.Peer // the way to a remote server that passed sessions share
}

// eras says which eras a server speaks. The zero value is not known.
type eras struct{ legacy, modern bool }

func (e eras) unknown() bool { return !e.legacy && !e.modern }

// NewServer returns a server that nothing was sent to yet.
func NewServer(o ServerOptions) *Server {
	if o.MaxProcesses <= 0 {
		o.MaxProcesses = DefaultMaxProcesses
	}
	s := &Server{o: o, catalogue: NewCatalogue(), inner: NewCatalogue()}
	if o.Builtin {
		s.eras = eras{legacy: true, modern: true}
	}
	return s
}

// Name is the server's.
func (s *Server) Name() string { return s.o.Name }

// Open is mcpserver.Options.Open of the server.
func (s *Server) Open(ctx context.Context, o mcpserver.Opening) (mcpserver.Session, error) {
	if s.o.Remote {
		return s.openRemote(ctx, o)
	}
	if !o.Modern && !o.Begins {
		return mcpserver.Session{}, mcpserver.ErrNoSession
	}
	w, err := s.way(o.Modern, nil)
	if err != nil {
		return mcpserver.Session{}, &mcpserver.Refusal{Status: http.StatusServiceUnavailable, Code: jsonrpc.CodeInternal, Text: err.Error()}
	}
	return mcpserver.Session{Peer: s.session(w, o.Modern), Headers: s.o.Builtin}, nil
}

// openRemote lets a client have its session with the server itself where both are of one
// era, and stands between them where they are not. A server that wants its clients'
// credentials always has its sessions itself: a client must see its challenges as they are
// (status, WWW-Authenticate), at any request, to get the access that is asked for.
func (s *Server) openRemote(ctx context.Context, o mcpserver.Opening) (mcpserver.Session, error) {
	var e eras
	if !s.guarded(o.Header) {
		e = s.remoteEras(ctx, o)
	}
	if e.unknown() || o.Modern && e.modern || !o.Modern && e.legacy {
		return mcpserver.Session{Peer: s.session(keptOpen{s.through()}, o.Modern), Passed: true}, nil
	}
	if !o.Modern && !o.Begins {
		return mcpserver.Session{}, mcpserver.ErrNoSession
	}
	w, err := s.way(o.Modern, authorization(o.Header))
	if err != nil {
		return mcpserver.Session{}, &mcpserver.Refusal{Status: http.StatusServiceUnavailable, Code: jsonrpc.CodeInternal, Text: err.Error()}
	}
	return mcpserver.Session{Peer: s.session(w, o.Modern)}, nil
}

// authorization is what of a client's header goes on to a server that the gateway itself
// has the session with.
func authorization(h http.Header) http.Header {
	if v := h.Values("Authorization"); len(v) > 0 {
		return http.Header{"Authorization": v}
	}
	return nil
}

// Local is the way to the server for one client on standard streams, of whatever era.
func (s *Server) Local() transport.Peer { return newLocal(s) }

// session puts the policy in front of a way.
func (s *Server) session(next transport.Peer, many bool) *Session {
	return New(s.options(next, many))
}

func (s *Server) options(next transport.Peer, many bool) Options {
	return Options{
		Name: s.o.Name, Next: next, Spool: s.o.Spool, Journal: s.o.Journal, Settings: s.o.Settings,
		Catalogue: s.catalogue, Query: s.o.Query, TempDir: s.o.TempDir, Many: many,
	}
}

// bare is a session whose added tools are somebody else's.
func (s *Server) bare(next transport.Peer, many bool, n result.Names) *Session {
	o := s.options(next, many)
	o.Bare, o.Names, o.Catalogue = true, n, s.inner
	return New(o)
}

// Close ends all ways to the server. Sessions are ended by whoever opened them, before.
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

// through is the way to a remote server that passed sessions share.
func (s *Server) through() transport.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return gone{errServerClosed}
	}
	if s.direct == nil {
		s.direct = s.o.Dial(Dialing{Shared: true})
	}
	return s.direct
}

// remoteEras asks a remote server once which eras it speaks. What could not be learned is
// not remembered: the client's own request will show.
func (s *Server) remoteEras(ctx context.Context, o mcpserver.Opening) eras {
	s.mu.Lock()
	e, fresh := s.eras, time.Since(s.known) < eraAge
	s.mu.Unlock()
	if !e.unknown() && (fresh || !o.Begins && !o.Modern) {
		return e
	}
	if !o.Begins && !o.Modern {
		return e // it goes on with a session of the server's
	}
	first := transport.Message{Principal: o.Principal, Header: probing(o.Header)}
	e, err := s.detect(ctx, keptOpen{s.through()}, first)
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
		return eras{}
	}
	return e
}

// guarded says that credentials are at play between the client and the server.
func (s *Server) guarded(h http.Header) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.guards || h.Get("Authorization") != ""
}

func probing(h http.Header) http.Header {
	out := http.Header{
		"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"},
		"Mcp-Protocol-Version": {bridge.ModernVersion}, "Mcp-Method": {"server/discover"},
	}
	if v := h.Values("Authorization"); len(v) > 0 {
		out["Authorization"] = v
	}
	return out
}

// detect asks next for its era, and a server of the newer one whether it speaks the older too.
func (s *Server) detect(ctx context.Context, next transport.Peer, first transport.Message) (eras, error) {
	era, err := bridge.Detect(ctx, next, first, s.bridging())
	if said, ok := errors.AsType[*mcpclient.StatusError](err); ok && speaksNot(said.Status) {
		era, err = bridge.LegacyEra, nil
	}
	if err != nil {
		return eras{}, err
	}
	e := eras{legacy: era == bridge.LegacyEra, modern: era == bridge.ModernEra}
	if e.modern {
		e.legacy = speaksLegacy(ctx, next, first)
	}
	s.learned(e)
	return e, nil
}

// speaksNot says that a status tells a server that does not know the request, and not one
// that wants credentials or has no time: the backward compatibility rules of 2026-07-28.
func speaksNot(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusProxyAuthRequired, http.StatusRequestTimeout:
		return false
	}
	return status >= 400 && status < 500
}

func (s *Server) learned(e eras) {
	s.mu.Lock()
	s.eras, s.known = e, time.Now()
	s.mu.Unlock()
}

func (s *Server) speaks() eras {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.eras
}

func (s *Server) bridging() bridge.Options {
	return bridge.Options{Server: s.o.Name, Journal: s.o.Journal}
}

// process makes a way to the server of its own, within the bound.
func (s *Server) process(d Dialing) (transport.Peer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errServerClosed
	case !s.o.Remote && !s.o.Builtin && s.living >= s.o.MaxProcesses:
		s.o.event(journal.ToolRefused{Server: s.o.Name, Why: "busy"})
		return nil, fmt.Errorf("%d processes of the MCP server %s are running, no more are started; end a session or raise max_processes", s.living, s.o.Name)
	}
	s.living++
	return &counted{Peer: s.o.Dial(d), s: s}, nil
}

func (o *ServerOptions) event(e journal.Event) {
	if o.Journal != nil {
		o.Journal.Append(e)
	}
}

// ended says that a process ended. With the last of them goes what was learned: the next
// one may be of another version.
func (s *Server) ended() {
	s.mu.Lock()
	if s.living--; s.living == 0 && !s.o.Remote && !s.o.Builtin {
		s.eras = eras{}
	}
	s.mu.Unlock()
}

// counted is a process that gives its place back when it is closed.
type counted struct {
	transport.Peer
	s    *Server
	once sync.Once
}

func (c *counted) Close() error {
	err := c.Peer.Close()
	c.once.Do(c.s.ended)
	return err
}

// joiner is a way that gives each of its clients a Peer.
type joiner interface{ Join() transport.Peer }

// join gives a client without a session its part of the shared process, which ends when
// the last of them has left.
func (s *Server) join() (transport.Peer, error) {
	s.mu.Lock()
	if s.shared == nil {
		s.mu.Unlock()
		p, err := s.process(Dialing{Shared: true})
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		if s.shared == nil && !s.closed {
			s.shared = p
		} else {
			defer p.Close() // somebody else was faster
		}
	}
	defer s.mu.Unlock()
	if s.shared == nil {
		return nil, errServerClosed
	}
	s.users++
	mine := s.shared
	if c, ok := mine.(*counted); ok {
		if j, ok := c.Peer.(joiner); ok {
			mine = j.Join()
		}
	}
	return &joined{Peer: mine, s: s, own: mine != s.shared}, nil
}

type joined struct {
	transport.Peer
	s    *Server
	own  bool // the Peer is this client's alone
	once sync.Once
}

func (j *joined) Close() error {
	var err error
	j.once.Do(func() {
		if j.own {
			err = j.Peer.Close()
		}
		s := j.s
		s.mu.Lock()
		var last transport.Peer
		if s.users--; s.users == 0 {
			last, s.shared = s.shared, nil
		}
		s.mu.Unlock()
		if last != nil {
			err = errors.Join(err, last.Close())
		}
	})
	return err
}

// Package gateway puts a policy between MCP clients and MCP servers: a result of any size reaches the agent in bounded, valid, navigable pieces, and
// everything that is not a large result, or not allowed, passes byte for byte.
//
//	server := gateway.NewServer(gateway.ServerOptions{Name: "github", Spool: store, Dial: dial, Settings: gateway.Settings{Deny: []string{"delete_*"}}})
//	http.Handle("/mcp/github", mcpserver.New(mcpserver.Options{Open: server.Open}))
//
// A [Session] is the policy for one client over any [transport.Peer]. A [Server] is one configured MCP server for any number of clients; it stands
// between protocol versions where they differ. A [Merge] is one endpoint in front of several servers. No call of a tool is ever made that a client
// did not make, but for a refresh of a read-only one that the model asked for. No text of a call or result goes into an event.
//
// Of a session are kept its open requests (at most [MaxOpen]), 32 digests of calls and the client's name; lists of tools (up to [MaxListBytes])
// stand once for all sessions that got the same. Reads of kept results run beside the calls, at most [MaxReading] in a session. A panic costs the
// request in which it happened. All methods may be called from any goroutine.
package gateway

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// Bounds of a session.
const (
	// MaxOpen bounds the requests of one session that wait for an answer.
	MaxOpen = 1024
	// MaxReading bounds the reads of kept results of one session that run at once.
	MaxReading = 8
)

// Options of a [Session]. Next and Spool are required.
type Options struct {
	// Name is the gateway's name for the server, in events and results.
	Name string
	// Address is the host of a remote server, with its port where that is not 443, for events.
	Address string
	// Next is the connection to the server, in the protocol version of the client.
	Next  transport.Peer
	Spool *spool.Spool
	// Journal takes events; nil takes none.
	Journal  *journal.Journal
	Settings Settings
	// Definitions bound what the tools' definitions take.
	Definitions Definitions
	// Catalogue is shared by the sessions with one server; nil makes one.
	Catalogue *Catalogue
	// Query starts the child that runs jq programs: a program and its arguments. If it is empty queries are refused.
	Query []string
	// TempDir is the folder for files without a name; "" is the system's.
	TempDir string
	// Many is set when several clients of the sessionless version share the session, so that ids may repeat.
	Many bool
	// Bare leaves the tools that read kept results to a caller in front, who gives them the names Names.
	Bare  bool
	Names result.Names

	// through is set when Next is a union of servers that already have the policy; it returns the name here of a server's tool, ok false if
	// there is none.
	through func(server, tool string) (string, bool)
}

// Session is a connection to a server with the policy applied: a result that is too large is kept and paged, what is not allowed is
// refused, everything else passes byte for byte. It serves one client, or all clients of the sessionless version with the same principal.
type Session struct {
	o   Options
	own string // prefix of the ids of the gateway's own requests

	mu      sync.Mutex
	open    map[jsonrpc.ID]*openRequest
	client  string // clientInfo.name of initialize
	version string // the protocol version that both agreed on
	tasks   recall // the tool that a task belongs to, by principal and id
	tokens  recall // by progress token, whether its request is underWay or spent
	// logLevel is the level that the client has set; "" before that.
	logLevel string
	asking   map[string]*listRequest // lists under way, by principal
	short    shortlist

	reading chan struct{}
	serial  atomic.Uint64
	ctx     context.Context // ends with the session
	end     context.CancelFunc
}

// openRequest is a request that has no answer yet.
type openRequest struct {
	cancel context.CancelFunc // cancels what the gateway does for it; nil when it is the server's to answer
}

// New returns a session. It does nothing until the first message.
func New(o Options) *Session {
	if o.Catalogue == nil {
		o.Catalogue = NewCatalogue()
	}
	if o.Names == (result.Names{}) {
		o.Names = result.DefaultNames
	}
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	s := &Session{
		o: o, own: "plimsoll-" + hex.EncodeToString(b[:]) + "-",
		open: map[jsonrpc.ID]*openRequest{}, reading: make(chan struct{}, MaxReading),
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends the session and the connection to the server.
func (s *Session) Close() error {
	s.end()
	return s.o.Next.Close()
}

// End implements [transport.Ender]; it does nothing if Next is not one.
func (s *Session) End(ctx context.Context, header http.Header, to transport.Receiver) {
	if e, ok := s.o.Next.(transport.Ender); ok {
		e.End(ctx, header, to)
		return
	}
	to.Done(nil)
}

// Listen implements [transport.Peer]: it watches for changes of the server's tools.
func (s *Session) Listen(ctx context.Context, header http.Header, to transport.Receiver) {
	s.o.Next.Listen(ctx, header, s.watchedReceiver(ctx, transport.Message{}, to))
}

func (s *Session) event(e journal.Event) {
	if s.o.Journal != nil {
		s.o.Journal.Append(e)
	}
}

// Send implements [transport.Peer]. It handles the requests that the gateway changes or answers itself, and forwards all others. A request
// whose id is in use, or one too many, is refused.
func (s *Session) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	if s.o.Settings.restrictsTools() && s.o.through == nil && s.refuseAmbiguous(m, to) {
		return
	}
	if m.Head.Kind != jsonrpc.Request {
		s.forwardOther(ctx, m, to)
		return
	}
	x := &exchange{s: s, id: m.Head.ID, to: to}
	defer x.recover()
	p := parseParams(m)
	// Ids are one client's: of a server over HTTP that gives no sessions all clients use this.
	x.tracked = !s.o.Many && (m.Header == nil || !p.modern() && m.Header.Get("Mcp-Session-Id") != "")
	if x.tracked {
		if code, text := s.trackRequest(m.Head.ID); code != 0 {
			s.event(journal.ToolRefused{Server: s.o.Name, Tool: clip(p.name), Why: "busy"})
			transport.Reply(to, jsonrpc.ErrorResponse(m.Head.ID, code, text, nil))
			return
		}
		if x.token = string(p.token); x.token != "" {
			s.tokens.put(x.token, underWay)
		}
	}
	switch m.Head.Method {
	case "initialize", "server/discover":
		s.handleInitialize(ctx, m, p, x)
	case "logging/setLevel":
		s.setLogLevel(m)
		s.o.Next.Send(ctx, m, s.watchedReceiver(ctx, m, x))
	case "tools/list":
		s.handleList(ctx, m, p, x)
	case "tools/call":
		s.callTool(ctx, m, p, x)
	case "resources/read":
		if s.o.through != nil {
			s.o.Next.Send(ctx, m, s.watchedReceiver(ctx, m, x))
			return
		}
		s.forward(ctx, m, p, x, &call{method: result.ReadResource, limits: s.o.Settings.limitsOf("")})
	case "tasks/result":
		// What a task of 2025-11-25 answers with is the result of the tool.
		s.forwardTask(ctx, m, p, x, result.CallTool)
	case result.GetTask:
		s.forwardTask(ctx, m, p, x, result.GetTask)
	default:
		s.o.Next.Send(ctx, m, s.watchedReceiver(ctx, m, x))
	}
}

// trackRequest records that a request is open. If its id is in use, or MaxOpen requests are open, it returns the code and text of an error
// instead; else code is 0.
func (s *Session) trackRequest(id jsonrpc.ID) (code int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[id]; ok {
		return jsonrpc.CodeInvalidRequest, fmt.Sprintf("a request with the id %s is still open; every request needs an id of its own", id)
	}
	if len(s.open) >= MaxOpen {
		return jsonrpc.CodeInternal, fmt.Sprintf("%d requests are open, no more are taken; wait for an answer and try again", len(s.open))
	}
	s.open[id] = &openRequest{}
	return 0, ""
}

// forwardOther forwards a notification or response. A cancellation of the gateway's own work only ends that.
func (s *Session) forwardOther(ctx context.Context, m transport.Message, to transport.Receiver) {
	if m.Head.Method == "notifications/cancelled" {
		id := jsonrpc.ID(rawjson.Get(m.Raw, "params", "requestId").Of(m.Raw))
		s.mu.Lock()
		o := s.open[id]
		s.mu.Unlock()
		if o != nil && o.cancel != nil {
			o.cancel()
			to.Done(nil)
			return
		}
	}
	s.o.Next.Send(ctx, m, to)
}

// cancellable returns a context for work that the gateway itself does for a request. It ends when the client cancels the request, when ctx ends,
// or when the session does. The caller calls the CancelFunc.
func (s *Session) cancellable(ctx context.Context, id jsonrpc.ID) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	s.mu.Lock()
	if o := s.open[id]; o != nil {
		o.cancel = cancel
	}
	s.mu.Unlock()
	return ctx, func() { stop(); cancel() }
}

// leaveToServer records that the server has the request from now on, so that a cancellation is forwarded to it.
func (s *Session) leaveToServer(id jsonrpc.ID) {
	s.mu.Lock()
	if o := s.open[id]; o != nil {
		o.cancel = nil
	}
	s.mu.Unlock()
}

// newID returns the id of a new request of the gateway's own.
func (s *Session) newID() jsonrpc.ID {
	return jsonrpc.ID(fmt.Sprintf("%q", fmt.Sprintf("%s%d", s.own, s.serial.Add(1))))
}

// profile returns the profile of the client that sent a request: by the name in the request, else by that in initialize.
func (s *Session) profile(p params) Profile {
	if p.client != "" {
		return ProfileOf(p.client)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return ProfileOf(s.client)
}

// protocol returns the protocol version of a request or else of the session, for events; "" if it does not look like one.
func (s *Session) protocol(p params) string {
	v := p.version
	if v == "" {
		s.mu.Lock()
		v = s.version
		s.mu.Unlock()
	}
	if len(v) != len("2025-11-25") || v[4] != '-' || v[7] != '-' || v < "2024" || v > "2100" {
		return ""
	}
	return v
}

// names returns the names of the added tools in this principal's list; the default ones before there is a list.
func (s *Session) names(principal string) result.Names {
	if s.o.Bare {
		return s.o.Names
	}
	if k, _ := s.o.Catalogue.get(principal); k != nil {
		return k.names
	}
	return s.o.Names
}

// clip cuts a name to 64 bytes, for an event.
func clip(name string) string { return limit.Clip(name, 64) }

package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	mcpserver "github.com/plimsoll/plimsoll/internal/tools/mcp/server"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// Separator stands between a server's prefix and the name of its tool or prompt.
const Separator = "__"

// MaxName is the length of the longest tool name that all common clients and model providers accept.
const MaxName = 64

// Part is a server behind a merged endpoint.
type Part struct {
	Server *Server
	// Prefix of its tools and prompts; "" means the server's name. No two may be equal.
	Prefix string
}

// MergeOptions configure a [Merge].
type MergeOptions struct {
	// Name of the endpoint, for events; "" means "merged".
	Name    string
	Parts   []Part
	Spool   *spool.Spool
	Journal *journal.Journal
	// Settings apply to the added tools only; every server has its own.
	Settings Settings
	// Definitions bound what the definitions of all tools together take.
	Definitions Definitions
	Query       []string
}

// Merge is one endpoint in front of several servers. Their tools and prompts get prefixes,
// resources keep their addresses. A server that is gone takes only its own tools away.
type Merge struct {
	o         MergeOptions
	paths     resourceMap
	catalogue *Catalogue
}

// NewMerge returns the endpoint of several servers.
func NewMerge(o MergeOptions) *Merge {
	if o.Name == "" {
		o.Name = "merged"
	}
	o.Parts = slices.Clone(o.Parts)
	for i := range o.Parts {
		if o.Parts[i].Prefix == "" {
			o.Parts[i].Prefix = o.Parts[i].Server.Name()
		}
	}
	return &Merge{o: o, catalogue: NewCatalogue()}
}

// Open implements mcpserver.Options.Open for the merged endpoint. A message without a session that does not begin one gets ErrNoSession.
func (m *Merge) Open(_ context.Context, o mcpserver.Opening) (mcpserver.Session, error) {
	if !o.Modern && !o.Begins {
		return mcpserver.Session{}, mcpserver.ErrNoSession
	}
	p, err := m.session(o.Modern, o.Modern)
	if err != nil {
		return mcpserver.Session{}, &mcpserver.Refusal{Status: http.StatusServiceUnavailable, Code: jsonrpc.CodeInternal, Text: err.Error()}
	}
	return mcpserver.Session{Peer: p, Headers: m.needsHeaders()}, nil
}

// needsHeaders reports whether one of the servers is built in, and so must get the headers of clients' requests.
func (m *Merge) needsHeaders() bool {
	return slices.ContainsFunc(m.o.Parts, func(p Part) bool { return p.Server.o.Builtin })
}

// withoutHeaders removes the clients' HTTP headers from messages to a server whose transport makes its own.
type withoutHeaders struct{ transport.Peer }

// Send sends m without its HTTP headers.
func (h withoutHeaders) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	m.Header = nil
	h.Peer.Send(ctx, m, to)
}

// Local returns the connection to all servers for one client on standard streams.
func (m *Merge) Local() transport.Peer {
	return &local{open: func(modern bool) (transport.Peer, error) { return m.session(modern, false) }}
}

// session returns the client's view of all servers: their union, and in front of it, once, the tools that read kept results. A server that
// cannot be connected answers requests with its error; that is an error here only if it is the only server. many is Options.Many.
func (m *Merge) session(modern, many bool) (transport.Peer, error) {
	u := &union{m: m, modern: modern, open: map[jsonrpc.ID]*part{}}
	u.ctx, u.end = context.WithCancel(context.Background())
	var failed error
	for i, p := range m.o.Parts {
		w, err := p.Server.negotiate(modern, nil)
		c := &part{index: i, prefix: p.Prefix, named: p.Server.o.Named, server: p.Server.Name()}
		if err != nil { // others may still have room
			failed = errors.Join(failed, err)
			c.session = p.Server.innerSession(failedTransport{err}, many, result.DefaultNames)
		} else {
			var next transport.Peer = w
			if !p.Server.o.Builtin {
				next = withoutHeaders{w}
			}
			c.session = p.Server.innerSession(next, many, result.DefaultNames)
		}
		u.parts = append(u.parts, c)
		u.addTarget(c.session, func(to transport.Receiver) transport.Receiver { return &requestMarker{u: u, c: c, Receiver: to} })
	}
	if failed != nil && len(u.parts) == 1 {
		return nil, failed
	}
	return New(Options{
		Name: m.o.Name, Next: u, Spool: m.o.Spool, Journal: m.o.Journal, Settings: m.o.Settings, Definitions: m.o.Definitions, Query: m.o.Query,
		Many: many, Catalogue: m.catalogue, through: u.nameOf,
	}), nil
}

// part is one server of a union.
type part struct {
	index   int
	prefix  string
	named   bool // its tools have the prefix already
	server  string
	session *Session
	down    bool // guarded by the union
	begun   bool // it took initialize
}

// Merged returns the name that a server's tool has in a merged endpoint. prefix is the server's [Part.Prefix], name the tool's own name. If the
// result would be longer than MaxName, it is cut and ends in a digest of the whole, so that it is always the same.
func Merged(prefix, name string) string {
	full := prefix + Separator + name
	if len(full) <= MaxName {
		return full
	}
	sum := sha256.Sum256([]byte(full))
	return full[:MaxName-9] + "_" + hex.EncodeToString(sum[:4])
}

// mergedName returns the name that a tool of the server has in the merged endpoint.
func (c *part) mergedName(name string) string {
	if c.named {
		return name
	}
	return Merged(c.prefix, name)
}

// localName returns the server's own name of a tool; merged is its name in the merged endpoint, which was not shortened.
func (c *part) localName(merged string) string {
	if c.named {
		return merged
	}
	return merged[len(c.prefix)+len(Separator):]
}

// route returns the server that a merged name belongs to, and the name of the tool there; nil if there is none. A name of MaxName bytes may
// be a shortened one: then ask is called for the lists of servers.
func (u *union) route(name string, ask func(*part) *toolList) (*part, string) {
	var found *part
	for _, c := range u.parts {
		if strings.HasPrefix(name, c.prefix+Separator) && (found == nil || len(c.prefix) > len(found.prefix)) {
			found = c
		}
	}
	if found != nil && len(name) < MaxName {
		return found, found.localName(name)
	}
	if len(name) == MaxName {
		for _, c := range u.parts {
			if !strings.HasPrefix(name, shortenedPrefix(c.prefix)) {
				continue
			}
			if k := ask(c); k != nil {
				for tool := range k.traits {
					if c.mergedName(tool) == name {
						return c, tool
					}
				}
			}
		}
		if found != nil {
			return found, found.localName(name)
		}
	}
	return nil, ""
}

// shortenedPrefix returns the beginning that all shortened names of a server's tools have.
func shortenedPrefix(prefix string) string {
	full := prefix + Separator
	return full[:min(len(full), MaxName-9)]
}

// nameOf returns the merged name of a server's tool; ok is false if the server is not part of this union.
func (u *union) nameOf(server, tool string) (string, bool) {
	for _, c := range u.parts {
		if c.server == server {
			return c.mergedName(tool), true
		}
	}
	return "", false
}

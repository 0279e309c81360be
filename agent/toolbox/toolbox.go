package toolbox

import (
	"context"
	"errors"
	"net/http"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/builtin"
	"github.com/plimsoll/plimsoll/tools/gateway"
	"github.com/plimsoll/plimsoll/tools/peer"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// Server is one MCP server. Exactly one of Command, URL, Peer and Gateway is given.
type Server struct {
	Name     string
	Command  []string
	Env      []string
	Dir      string
	URL      string
	Header   http.Header
	Peer     func() peer.Peer
	Gateway  *gateway.Server
	Settings gateway.Settings
}

// Options configure a Toolbox; the zero value is one without tools.
type Options struct {
	Servers   []Server
	Functions []builtin.Tool
	Spool     *spool.Spool
	Principal string
	Query     []string
	MaxResult limit.Bytes
	Journal   *journal.Journal
}

// Toolbox is the tools of an agent.
type Toolbox struct{}

var _ agent.Tools = (*Toolbox)(nil)

// New connects to the servers.
func New(ctx context.Context, o Options) (*Toolbox, error) { return &Toolbox{}, nil }

// List implements [agent.Tools].
func (b *Toolbox) List(ctx context.Context) ([]agent.ToolSpec, error) { return nil, nil }

// Check implements [agent.Tools].
func (b *Toolbox) Check(c agent.Call) error { return errors.New("there are no tools") }

// Call implements [agent.Tools].
func (b *Toolbox) Call(ctx context.Context, c agent.Call, chunk func(string)) (agent.Output, error) {
	return agent.Output{}, errors.New("there are no tools")
}

// Stats counts.
type Stats struct {
	Servers []ServerStats
}

// ServerStats tells of one server.
type ServerStats struct {
	Name  string
	Tools int
	Err   error
}

// Stats tells the counts since New.
func (b *Toolbox) Stats() Stats { return Stats{} }

// Close ends the servers.
func (b *Toolbox) Close() error { return nil }

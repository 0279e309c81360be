package mcp

import (
	"os"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/delegate"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// delegate returns the gateway for an agent of [a2a]. Nothing is sent to the agent before a client connects.
func (p *Plane) delegate(s config.MCPServer) (*gateway.Server, error) {
	header, err := headersOf(s, os.Getenv)
	if err != nil {
		return nil, err
	}
	o := delegate.Options{Name: s.Name, URL: s.A2A, Header: header, TempDir: p.temp, Journal: p.Journal}
	o.Allow, o.Hosts = p.Settings.Serve.Allowed()
	if p.Client != nil {
		o.Transport = p.Client.Transport
	}
	other, err := delegate.New(o)
	if err != nil {
		return nil, err
	}
	p.closer.Add(other.Close)
	g := gateway.NewServer(gateway.ServerOptions{
		Name: s.Name, Dial: func(gateway.Dialing) transport.Peer { return other.Dial() }, Spool: p.Spool, Journal: p.Journal,
		Settings: policyOf(s), Query: p.Query, TempDir: p.temp, Builtin: true, Named: true,
	})
	p.servers = append(p.servers, g)
	return g, nil
}

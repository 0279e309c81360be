package mcp

import (
	"context"
	"fmt"
	"runtime"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/memory/memtools"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// MemoryName is the name of the memory's MCP server in events, in sizes and in paths.
const MemoryName = "memory"

// MemoryOptions are the options of `plimsoll mcp memory` besides the configuration.
type MemoryOptions struct {
	// ReadOnly leaves out the tools that write.
	ReadOnly bool
	// Namespace is the one that tools write to and, with the user's, search; "" means that of the working directory's project.
	Namespace string
	// Search are the namespaces that the tools search; nil means Namespace and the user's.
	Search []string
	// Version of this program, which clients are told.
	Version string
	shared  bool // clients may be of other users
	// MCPOptions say how clients connect, as in [ArgoCDOptions].
	MCPOptions
}

// ServeMemory runs the MCP server of the memory, until the client closes its end, ctx ends or a signal asks for the end.
func ServeMemory(ctx context.Context, app *core.Core, o MemoryOptions) error {
	o.Name = MemoryName
	return withPlane(ctx, app, o.MCPOptions, func(ctx context.Context, plane *Plane) (config.MCPServer, *gateway.Server, error) {
		g, err := plane.Memory(ctx, o)
		return plane.memoryServer(), g, err
	})
}

// memoryServer returns the memory's server in the form of a configured server.
func (p *Plane) memoryServer() config.MCPServer {
	return config.MCPServer{Name: MemoryName, MCP: p.Settings.MCP, Merge: true}
}

// Memory returns the gateway of the memory's MCP server.
func (p *Plane) Memory(ctx context.Context, o MemoryOptions) (*gateway.Server, error) {
	m, err := memories.Open(p.app, memories.Options{Journal: p.Journal, Vectors: memories.VectorsInBackground})
	if err != nil {
		return nil, fmt.Errorf("the memory: %w", err)
	}
	p.closer.Add(m.Close)
	tools, err := m.Tools(ctx, memories.ToolOptions{Namespace: o.Namespace, Search: o.Search, Client: "mcp", Own: o.Listen == "" && !o.shared, ReadOnly: o.ReadOnly || p.Settings.MCP.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("the memory: %w", err)
	}
	server, err := builtin.New(builtin.Options{
		Name: "plimsoll-memory", Title: "Memory", Version: o.Version, Instructions: tools.Instructions(), Tools: MemoryTools(tools), Journal: p.Journal,
	})
	if err != nil {
		return nil, fmt.Errorf("the tools of the memory: %w", err)
	}
	p.closer.Add(server.Close)
	g := gateway.NewServer(gateway.ServerOptions{
		Name: MemoryName, Dial: func(gateway.Dialing) transport.Peer { return server.Dial() }, Spool: p.Spool, Journal: p.Journal,
		Settings: policyOf(p.memoryServer()), Query: p.Query, TempDir: p.temp, Builtin: true,
	})
	p.servers = append(p.servers, g)
	return g, nil
}

// MemoryTools returns the memory's tools in the form for an MCP server.
func MemoryTools(set *memtools.Toolset) []builtin.Tool {
	var all []builtin.Tool
	for _, t := range set.Tools() {
		tool := builtin.Tool{
			Name: t.Name, Title: t.Title, Description: t.Description,
			Hints: builtin.Hints{ReadOnly: t.ReadOnly, Destructive: t.Destructive, Idempotent: t.Idempotent},
		}
		switch t.Name {
		case memtools.SearchName:
			tool = builtin.Typed(tool, func(ctx context.Context, c *builtin.Call, in memtools.SearchArguments) (*builtin.Result, error) {
				text, err := set.Search(ctx, in, c.MaxText)
				if err != nil {
					return nil, err
				}
				return &builtin.Result{Text: text, Paged: true}, nil
			})
		case memtools.GetName:
			tool = builtin.Typed(tool, func(ctx context.Context, _ *builtin.Call, in memtools.GetArguments) (*builtin.Result, error) {
				return plainText(set.Get(ctx, in))
			})
		case memtools.ManageName:
			tool = builtin.Typed(tool, func(ctx context.Context, _ *builtin.Call, in memtools.ManageArguments) (*builtin.Result, error) {
				return plainText(set.Manage(ctx, in))
			})
		case memtools.NotesName:
			tool = builtin.Typed(tool, func(ctx context.Context, _ *builtin.Call, in memtools.NotesArguments) (*builtin.Result, error) {
				return plainText(set.RunNotes(ctx, in))
			})
		}
		all = append(all, tool)
	}
	return all
}

func plainText(text string, err error) (*builtin.Result, error) {
	if err != nil {
		return nil, err
	}
	return &builtin.Result{Text: text}, nil
}

// servedNamespace is the namespace that clients of the daemon write to, which does not know their projects.
const servedNamespace = "project/serve"

// servesMemory reports whether the daemon serves the memory: unless it is off, if everybody who gets through is this user or has the token.
func servesMemory(s config.Settings, token string) bool {
	if s.Memory.State == config.MemoryOff {
		return false
	}
	return token != "" || runtime.GOOS == "linux" && !s.Serve.AnyUser // there the listener looks whose process connects
}

// addMemory makes the endpoint of the memory. It is not merged into /mcp: clients have to name it.
func (d *Daemon) addMemory(ctx context.Context, version string) error {
	g, err := d.Plane.Memory(ctx, MemoryOptions{Namespace: servedNamespace, Version: version, shared: true})
	if err != nil {
		return err
	}
	d.Made[MemoryName] = g
	path := "/mcp/" + MemoryName
	d.closing = append(d.closing, d.Plane.mount(d.Routes, path, d.Plane.memoryServer(), g))
	d.paths = append(d.paths, [2]string{path, "the memory"})
	return nil
}

// Package mcp is the commands of the tools plane: `plimsoll mcp`, `mcp argocd`, `mcp wrap` and
// `stats --mcp`; and the plane itself, for the agents and the daemon.
//
//	plane, err := mcp.Open(app, settings, mcp.PlaneOptions{Journal: events})
//	defer plane.Close()
//	gateway, err := plane.Gateway(server, os.Stderr) // starts no process: the first call does
//
// A [Plane] wires the MCP gateway to what it needs of others: the spool of results, the ledger of
// claims, the sandbox of each server. It is safe for concurrent use once opened; Gateway, ArgoCD and
// Close are for one goroutine. What can be left out (sizes, the ledger) is left out with a warning.
// The package is tested by its own tests and by the scripts in cmd/plimsoll/testdata.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/shellwords"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	mcpserver "github.com/plimsoll/plimsoll/internal/tools/mcp/server"
	"github.com/plimsoll/plimsoll/internal/tools/wrap"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/journal"
)

// MCPOptions are the options of `plimsoll mcp` besides the configuration.
type MCPOptions struct {
	// Command starts the server, URL is its address, Server names one of [mcp.servers].
	// Exactly one is set.
	Command []string
	URL     string
	Server  string
	// URLEnv names a variable that holds the address, BearerEnv one that holds the token for
	// it: arguments can be read by every user of the machine.
	URLEnv, BearerEnv string
	// Name is the name of the server in events and sizes; "" means one made from Command, URL or Server.
	Name string
	// Headers are sent to URL, each as NAME=VARIABLE: the value is that of the environment variable.
	Headers []string
	// Listen is an address to serve streamable HTTP on; "" serves standard streams.
	Listen string
	// ReadyFile is written with the endpoint's URL once Listen accepts requests.
	ReadyFile string
	// Events gets one JSON object on a line for every event; it may be nil. Not with
	// standard streams, which are the client's.
	Events io.Writer
	// Stdin and Stdout are the client's streams; Stderr is for Plimsoll's own words and the
	// server's.
	Stdin  io.Reader
	Stdout io.Writer
	Stderr *os.File
	// Quiet leaves out Plimsoll's own words but errors.
	Quiet bool
}

// Serve runs the gateway in front of one MCP server, until the client closes its end, ctx ends or a signal asks for the end.
func Serve(ctx context.Context, app *core.Core, o MCPOptions) (err error) {
	server, err := mcpServer(app, o)
	if err != nil {
		return err
	}
	if len(server.Command) > 0 { // said at once, where the client shows it, and not at each request
		if _, err := lookPath(server.Command[0], server.Dir, config.Getenv(append(os.Environ(), server.Env...))("PATH")); err != nil {
			return err
		}
	}
	o.Name = server.Name
	return withPlane(ctx, app, o, func(_ context.Context, plane *Plane) (config.MCPServer, *gateway.Server, error) {
		g, err := plane.Gateway(server, o.Stderr)
		return server, g, err
	})
}

// withPlane opens the tools plane and serves the gateway that open returns: over HTTP if the options have an address, else to the one
// client on the standard streams.
func withPlane(ctx context.Context, app *core.Core, o MCPOptions, open func(context.Context, *Plane) (config.MCPServer, *gateway.Server, error)) (err error) {
	settings, err := app.Config.For("")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	observers := []journal.Observer{}
	if o.Events != nil {
		log := core.NewEventLog(o.Events)
		defer func() { err = errors.Join(err, log.Close()) }()
		observers = append(observers, log)
	}
	if o.Listen == "" && !o.Quiet { // over HTTP the events and metrics tell
		observers = append(observers, &LargeResults{Window: assumedWindow(settings.Window), Tell: func(line string) { fmt.Fprintln(o.Stderr, "plimsoll: "+printable.Text(line)) }})
	}
	record := app.KeepRun(settings, runs.KindGateway, journal.Report{Tool: "mcp:" + o.Name, Command: o.Command})
	defer func() { record.End(err) }()
	plane, err := Open(app, settings, PlaneOptions{Observers: append(observers, record.Observers()...)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	plane.sweep(ctx)
	server, g, err := open(ctx, plane)
	if err != nil {
		return err
	}
	if o.Listen != "" {
		return plane.listen(ctx, server, g, o)
	}
	err = mcpserver.Stdio(ctx, o.Stdin, o.Stdout, g.Local(), mcpserver.StdioOptions{Name: server.Name, Principal: plane.Local(), Journal: plane.Journal})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // asked to end
	}
	return err
}

// Started returns the MCP server that a command line starts, with the settings of all servers. The line is split into words as a shell
// would; no shell runs it.
func Started(app *core.Core, line string) (config.MCPServer, error) {
	words, err := shellwords.Split(line)
	if err == nil && len(words) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil { // the line is not shown: it may hold a secret
		return config.MCPServer{}, fmt.Errorf(`the command of --mcp cannot be read: %w; write it as in --mcp "npx -y @modelcontextprotocol/server-everything"`, err)
	}
	s, err := mcpServer(app, MCPOptions{Command: words})
	if err != nil {
		return s, err
	}
	_, err = lookPath(words[0], "", os.Getenv("PATH"))
	return s, err
}

// ClientServer is a server in a client's file, with the headers that the file has for it.
type ClientServer struct {
	config.MCPServer
	Header http.Header
}

// OfClient returns the servers in a client's configuration file, with the settings of all servers. An unusable one is left out with a
// warning; a file without a usable one is an error.
func OfClient(app *core.Core, path string) ([]ClientServer, error) {
	found, err := wrap.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--mcp-config: there is no file %s; name your client's, such as .mcp.json, ~/.codex/config.toml or ~/.cursor/mcp.json", printable.Text(path))
	}
	if err != nil {
		return nil, fmt.Errorf("--mcp-config: %w", err)
	}
	settings, err := app.Config.For("")
	if err != nil {
		return nil, err
	}
	var out []ClientServer
	var left []string
	for _, s := range found {
		name := config.SafeName(s.Name)
		if s.Action == wrap.Left {
			left = append(left, fmt.Sprintf("%s (line %d): %s", name, s.Line, s.Why))
			continue
		}
		out = append(out, ClientServer{
			MCPServer: config.MCPServer{Name: name, Command: s.Command, URL: s.URL, Env: s.Env, Dir: s.Dir, MCP: settings.MCP},
			Header:    s.Header,
		})
	}
	if len(out) == 0 {
		if len(left) == 0 {
			return nil, fmt.Errorf("--mcp-config: %s has no MCP servers: they stand under mcpServers, servers, mcp or (TOML) mcp_servers", printable.Text(path))
		}
		return nil, fmt.Errorf("--mcp-config: no server of %s is usable: %s", printable.Text(path), strings.Join(left, "; "))
	}
	for _, l := range left {
		app.Warn(fmt.Sprintf("goes on without a server of %s: %s", printable.Text(path), l))
	}
	return out, nil
}

// mcpServer returns the server that the options name, with the settings in force for it.
func mcpServer(app *core.Core, o MCPOptions) (config.MCPServer, error) {
	if o.URLEnv != "" {
		if o.URL != "" {
			return config.MCPServer{}, errors.New("--url and --url-env both name an address; leave one out")
		}
		if o.URL = os.Getenv(o.URLEnv); o.URL == "" {
			return config.MCPServer{}, fmt.Errorf("--url-env: the variable %s is empty; set it to the server's address", o.URLEnv)
		}
	}
	given := 0
	for _, is := range []bool{len(o.Command) > 0, o.URL != "", o.Server != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return config.MCPServer{}, errors.New("name one server: a command after --, --url URL, or --server NAME of [mcp.servers]; as in: plimsoll mcp -- npx -y @modelcontextprotocol/server-everything")
	}
	servers, err := app.Config.Servers("")
	if err != nil {
		return config.MCPServer{}, err
	}
	if o.Server != "" {
		i := slices.IndexFunc(servers, func(s config.MCPServer) bool { return s.Name == o.Server })
		if i < 0 {
			names := make([]string, len(servers))
			for i, s := range servers {
				names[i] = s.Name
			}
			if len(names) == 0 {
				return config.MCPServer{}, fmt.Errorf("there is no MCP server %q: no server is configured; write a table [mcp.servers.%s]", o.Server, config.SafeName(o.Server))
			}
			return config.MCPServer{}, fmt.Errorf("there is no MCP server %q; there are: %s", o.Server, strings.Join(names, ", "))
		}
		return servers[i], nil
	}
	settings, err := app.Config.For("")
	if err != nil {
		return config.MCPServer{}, err
	}
	s := config.MCPServer{Name: o.Name, Command: o.Command, URL: o.URL, Token: o.BearerEnv, Headers: o.Headers, MCP: settings.MCP}
	for _, pair := range o.Headers {
		if name, variable, ok := strings.Cut(pair, "="); !ok || name == "" || variable == "" {
			return config.MCPServer{}, fmt.Errorf("--header %s is not NAME=VARIABLE, as in --header X-Api-Key=MY_KEY: the value comes from the variable", config.SafeName(pair))
		}
	}
	if s.Name == "" {
		s.Name = defaultName(o)
	}
	// What is configured for a server of this name counts here too, its command aside.
	if i := slices.IndexFunc(servers, func(c config.MCPServer) bool { return c.Name == s.Name }); i >= 0 && o.Name != "" {
		s.MCP, s.Tools = servers[i].MCP, servers[i].Tools
	}
	return s, nil
}

// defaultName returns a name for a server that has none: the host of its URL, or the package that its launcher (as npx) starts, or its program.
func defaultName(o MCPOptions) string {
	if o.URL != "" {
		if u, err := url.Parse(o.URL); err == nil { // without what may be a secret in it
			return config.SafeName(u.Host)
		}
		return "remote"
	}
	words := slices.DeleteFunc(slices.Clone(o.Command), func(w string) bool {
		// Neither flags, nor what may hold a secret: values, addresses, hidden files.
		return strings.HasPrefix(w, "-") || strings.HasPrefix(w, ".env") || strings.Contains(w, "=") || strings.Contains(w, "://")
	})
	if len(words) == 0 {
		words = o.Command
	}
	name := words[0]
	if base := filepath.Base(name); len(words) > 1 && slices.Contains([]string{"npx", "bunx", "uvx", "pipx", "node", "bun", "deno", "python", "python3", "env", "uv", "docker"}, base) {
		name = words[1]
		if slices.Contains([]string{"run", "exec", "x"}, name) && len(words) > 2 {
			name = words[2]
		}
	}
	if i := strings.LastIndexByte(name, '@'); i > 0 { // a version
		name = name[:i]
	}
	name = filepath.Base(name)
	return config.SafeName(strings.TrimSuffix(name, filepath.Ext(name)))
}

// listen serves one server over HTTP, behind the same checks as in the daemon.
func (p *Plane) listen(ctx context.Context, s config.MCPServer, g *gateway.Server, o MCPOptions) (err error) {
	token, err := listen.Token(p.Settings.Serve, os.Getenv)
	if err != nil {
		return err
	}
	door, err := listen.Door(p.Settings, token, proxy.Options{Journal: p.Journal})
	if err != nil {
		return err
	}
	defer door.Close()
	mux := &Routes{routes: map[string]http.Handler{}, token: token}
	closing := p.mount(mux, "/mcp", s, g)
	defer func() { err = errors.Join(err, closing()) }()
	serve := p.Settings.Serve
	serve.Listen = o.Listen
	return listen.Until(ctx, listen.Options{
		Serve: serve, Door: door, Handler: door.Protect(mux), ReadyFile: o.ReadyFile, Path: "/mcp", End: closing,
		Ready: func(url string) {
			if !o.Quiet {
				fmt.Fprintf(o.Stderr, "plimsoll: %s is at %s/mcp\n", s.Name, url)
			}
		},
	})
}

// Routes is an http.Handler that passes requests on to the endpoint of their path.
type Routes struct {
	routes map[string]http.Handler
	token  string
}

// Takes reports whether a path is for the MCP gateway: /mcp and below, and the path of the metadata about access to it. It may begin with
// the token.
func (m *Routes) Takes(path string) bool {
	below := listen.Below(path, m.token)
	return below == "/mcp" || strings.HasPrefix(below, "/mcp/") || strings.HasPrefix(below, wellKnown)
}

// find returns the handler of a path, also with one slash more at the end; nil if there is none.
func (m *Routes) find(path string) http.Handler {
	if h := m.routes[path]; h != nil {
		return h
	}
	return m.routes[strings.TrimSuffix(path, "/")]
}

// ServeHTTP passes a request to the handler of its path, or answers 404 with the paths of MCP servers that there are.
func (m *Routes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := m.find(r.URL.Path)
	if h == nil {
		var there []string
		for path := range m.routes {
			if strings.HasPrefix(path, "/mcp") {
				there = append(there, path)
			}
		}
		slices.Sort(there)
		http.Error(w, "there is no MCP server at this path; there are: "+strings.Join(there, ", "), http.StatusNotFound)
		return
	}
	h.ServeHTTP(w, r)
}

// wellKnown is the path where clients look for who may give them access to a resource (RFC 9728).
const wellKnown = "/.well-known/oauth-protected-resource"

// mount makes the endpoint of a server at path. closing ends its sessions.
func (p *Plane) mount(m *Routes, path string, s config.MCPServer, g *gateway.Server) (closing func() error) {
	here := func(r *http.Request) string {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		return scheme + "://" + r.Host
	}
	o := mcpserver.Options{
		Name: s.Name, Open: g.Open, Principal: p.principal, Idle: s.MCP.Idle, Journal: p.Journal,
	}
	if s.URL != "" {
		o.Resource = func(r *http.Request) string { return here(r) + wellKnown + path }
	}
	h := mcpserver.New(o)
	m.routes[path] = h
	if u := resourceOf(s); u != nil {
		metadata := h.Metadata(u, p.Client, func(r *http.Request) string { return here(r) + path })
		m.routes[wellKnown+path] = metadata
		if len(m.routes) == 2 { // alone here: clients also look at the root
			m.routes[wellKnown] = metadata
		}
	}
	return h.Close
}

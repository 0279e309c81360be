package app

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"

	"github.com/plimsoll/plimsoll/config"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/endpoint"
	"github.com/plimsoll/plimsoll/tools/gateway"
)

// mcpDaemon is the part of the daemon that serves [mcp.servers].
type mcpDaemon struct {
	plane   *toolsPlane
	routes  *mcpRoutes
	closing []func() error
	paths   [][2]string // path, and what is there
}

// openMCP puts every configured server at /mcp/NAME, and those that are to be merged at /mcp
// too. It starts no process: the first client does. nil when no server is configured.
func (a *App) openMCP(s config.Settings, j *journal.Journal, token string) (_ *mcpDaemon, err error) {
	servers, err := a.Config.Servers("")
	if err != nil || len(servers) == 0 {
		return nil, err
	}
	plane, err := a.openTools(s, toolsOptions{journal: j})
	if err != nil {
		return nil, fmt.Errorf("the MCP gateway: %w", err)
	}
	// What opens the daemon, and what it opens model providers with, is no server's business.
	for _, name := range []string{s.Serve.Token, s.Upstream.OpenAIKey, s.Upstream.AnthropicKey, s.Upstream.GeminiKey, s.Window.SummaryKey} {
		if name != "" {
			plane.hidden = append(plane.hidden, name)
		}
	}
	d := &mcpDaemon{plane: plane, routes: &mcpRoutes{routes: map[string]http.Handler{}, token: token}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	var parts []gateway.Part
	for _, server := range servers {
		g, err := plane.serve(server, nil)
		if err != nil {
			return nil, err
		}
		path := "/mcp/" + server.Name
		d.closing = append(d.closing, plane.mount(d.routes, path, server, g))
		var what string
		if u := resourceOf(server); u != nil {
			what = Printable(u.Scheme + "://" + u.Host) // there may be a key in the rest
		} else {
			what = Printable(server.Command[0])
		}
		d.paths = append(d.paths, [2]string{path, what})
		if server.Merge {
			parts = append(parts, gateway.Part{Server: g})
		}
	}
	if len(parts) > 0 {
		m := gateway.NewMerge(gateway.MergeOptions{
			Name: "merged", Parts: parts, Spool: plane.spool, Journal: j, Query: plane.query,
			Settings: gateway.Settings{Limits: limitsOf(s.MCP), MaxSearch: s.MCP.MaxSearch},
		})
		h := endpoint.New(endpoint.Options{
			Name: "merged", Open: m.Open, Principal: plane.principal, MaxSessions: s.MCP.MaxSessions, Idle: s.MCP.Idle, Journal: j,
		})
		d.routes.routes["/mcp"] = h
		d.closing = append(d.closing, h.Close)
		d.paths = append(d.paths, [2]string{"/mcp", fmt.Sprintf("%d of them as one", len(parts))})
	}
	return d, nil
}

// say prints where the servers are.
func (d *mcpDaemon) say(w io.Writer, root string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range d.paths {
		fmt.Fprintf(t, "  %s%s\tto %s\n", root, p[0], p[1])
	}
	_ = t.Flush()
}

// end ends the clients' sessions: their open streams would keep the listener from ending.
func (d *mcpDaemon) end() error {
	var all error
	for _, c := range d.closing {
		all = errors.Join(all, c())
	}
	d.closing = nil
	return all
}

// Close ends the sessions and the servers.
func (d *mcpDaemon) Close() error { return errors.Join(d.end(), d.plane.Close()) }

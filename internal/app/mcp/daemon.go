package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	mcpserver "github.com/plimsoll/plimsoll/internal/tools/mcp/server"
	"github.com/plimsoll/plimsoll/journal"
)

// Daemon is the part of the daemon that serves [mcp.servers], [a2a], Argo CD and the memory over MCP.
type Daemon struct {
	Plane   *Plane
	Routes  *Routes
	closing []func() error
	Made    map[string]*gateway.Server // by the name of the server, for agents
	paths   [][2]string                // of each endpoint, the path and a description
}

// OpenDaemon makes an endpoint /mcp/NAME for every configured server, for Argo CD and for the memory, and /mcp for those that are merged. It
// starts no process: the first client does. hidden are variables that servers do not get. It returns nil if no server and no Argo CD is configured
// and the memory is not served.
func OpenDaemon(app *core.Core, s config.Settings, j *journal.Journal, token, version string, hidden []string) (_ *Daemon, err error) {
	servers, err := app.Config.Servers("")
	if err != nil {
		return nil, err
	}
	instances, err := app.Config.ArgoCD()
	if err != nil || len(servers) == 0 && len(instances) == 0 && !servesMemory(s, token) {
		return nil, err
	}
	plane, err := Open(app, s, PlaneOptions{Journal: j})
	if err != nil {
		return nil, fmt.Errorf("the MCP gateway: %w", err)
	}
	plane.Hidden = append(plane.Hidden, hidden...)
	d := &Daemon{Plane: plane, Routes: &Routes{routes: map[string]http.Handler{}, token: token}, Made: map[string]*gateway.Server{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if slices.ContainsFunc(servers, func(s config.MCPServer) bool { return s.Name == MemoryName }) {
		return nil, fmt.Errorf("[mcp.servers.%s] wants /mcp/%s, where the memory is; give the server another name", MemoryName, MemoryName)
	}
	if servesMemory(s, token) {
		if err := d.addMemory(context.Background(), version); err != nil { // requests are worth more than what is remembered
			app.Warn(err.Error())
		}
	}
	var parts []gateway.Part
	if len(instances) > 0 {
		if slices.ContainsFunc(servers, func(s config.MCPServer) bool { return s.Name == ArgoCDName }) {
			return nil, fmt.Errorf("both [mcp.servers.%s] and [mcp.argocd.NAME] want /mcp/%s; give the server another name", ArgoCDName, ArgoCDName)
		}
		part, err := d.addArgoCD(instances, version)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	for _, server := range servers {
		g, err := plane.Gateway(server, nil)
		if err != nil {
			return nil, err
		}
		d.Made[server.Name] = g
		path := "/mcp/" + server.Name
		d.closing = append(d.closing, plane.mount(d.Routes, path, server, g))
		what := ""
		if u, err := url.Parse(server.URL + server.A2A); err == nil && u.Host != "" {
			what = printable.Name(u.Scheme + "://" + u.Host) // there may be a key in the rest
		} else {
			what = printable.Name(server.Command[0])
		}
		if server.A2A != "" {
			what = "the agent at " + what
		}
		d.paths = append(d.paths, [2]string{path, what})
		if server.Merge {
			parts = append(parts, gateway.Part{Server: g})
		}
	}
	if len(parts) > 0 {
		m := gateway.NewMerge(gateway.MergeOptions{
			Name: "merged", Parts: parts, Spool: plane.Spool, Journal: j, Query: plane.Query,
			Settings: gateway.Settings{Limits: limitsOf(s.MCP), MaxSearch: s.MCP.MaxSearch}, Definitions: plane.definitions(s.MCP.ToolsMax),
		})
		h := mcpserver.New(mcpserver.Options{
			Name: "merged", Open: m.Open, Principal: plane.principal, Idle: s.MCP.Idle, Journal: j,
		})
		d.Routes.routes["/mcp"] = h
		d.closing = append(d.closing, h.Close)
		d.paths = append(d.paths, [2]string{"/mcp", fmt.Sprintf("%d of them as one", len(parts))})
	}
	return d, nil
}

// addArgoCD makes the endpoint of the Argo CD server, and returns its part of the merged one.
func (d *Daemon) addArgoCD(instances []config.ArgoCDInstance, version string) (gateway.Part, error) {
	clients, err := argocdConfigured(d.Plane.app, d.Plane, instances)
	if err != nil {
		return gateway.Part{}, err
	}
	g, err := d.Plane.ArgoCD(clients, version)
	if err != nil {
		return gateway.Part{}, err
	}
	d.Made[ArgoCDName] = g
	path := "/mcp/" + ArgoCDName
	d.closing = append(d.closing, d.Plane.mount(d.Routes, path, d.Plane.argocdServer(), g))
	names := make([]string, len(clients))
	for i, c := range clients {
		names[i] = printable.Name(c.Name())
	}
	d.paths = append(d.paths, [2]string{path, "Argo CD " + strings.Join(names, ", ")})
	return gateway.Part{Server: g}, nil
}

// Say prints the addresses of the endpoints below root. A nil Daemon prints nothing.
func (d *Daemon) Say(w io.Writer, root string) {
	if d == nil {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range d.paths {
		fmt.Fprintf(t, "  %s%s\tto %s\n", root, p[0], p[1])
	}
	_ = t.Flush()
}

// End ends the clients' sessions, whose open streams would keep the listener from ending. A nil Daemon does nothing.
func (d *Daemon) End() error {
	if d == nil {
		return nil
	}
	var all error
	for _, c := range d.closing {
		all = errors.Join(all, c())
	}
	d.closing = nil
	return all
}

// Close ends the sessions and closes the servers.
func (d *Daemon) Close() error { return errors.Join(d.End(), d.Plane.Close()) }

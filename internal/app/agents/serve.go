package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent/a2a"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/footprint"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/systemd"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/watch/metrics"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// ServeOptions are the options of `plimsoll agent serve` besides the configuration.
type ServeOptions struct {
	AgentOptions
	// Names are the agents to serve; none means all of [agents], or the built-in one.
	Names []string
	// Listen is the address; "" is that of [serve].
	Listen    string
	ReadyFile string
	// Service is the connection to the service manager; it may be nil.
	Service *systemd.Service
	// Events gets one JSON object on a line for every event; it may be nil.
	Events io.Writer
}

// collectAt is GOGC of a process that serves agents for months: its caches stay, so it has half as much garbage beside them as with Go's
// default of 100.
const collectAt = 50

// memoryBound is the soft limit of Go's memory in that process. In a simulated day (bench soak) its caches and work take half of that; on a
// busy machine 73 MiB were seen without a limit.
const memoryBound = 56 * limit.MiB

// Daemon is the part of a daemon that serves agents over A2A. It is an http.Handler.
type Daemon struct {
	agents []*servedAgent
	token  string
	plane  *mcp.Plane // the gateways, if Close has to close them; else nil
	closed bool       // by Close, which one goroutine calls
}

type servedAgent struct {
	*openedAgent
	server *a2a.Server
	prefix string // /a2a/NAME
}

// openAll opens agents and their A2A servers.
//
// With skip an agent that cannot be opened is left out with a warning: the rest of a daemon does not depend on it.
func openAll(ctx context.Context, app *core.Core, list []config.Agent, g *gateways, token string, skip bool) (_ *Daemon, err error) {
	d := &Daemon{token: token}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close(ctx))
		}
	}()
	networks, hosts := g.plane.Settings.Serve.Allowed()
	for _, c := range list {
		opened, err := openAgent(ctx, app, c, g)
		if err != nil && skip && ctx.Err() == nil {
			app.Warn(fmt.Sprintf("agent %s is not served: %v", c.Name, err))
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := opened.ended.startMark(); err != nil {
			app.Warn(err.Error())
		}
		served := &servedAgent{openedAgent: opened, prefix: "/a2a/" + c.Name}
		d.agents = append(d.agents, served)
		dir, err := agentDir(app, c.Name, "tasks")
		if err != nil {
			return nil, err
		}
		served.server, err = a2a.New(a2a.Options{
			Name: c.Name, Executor: a2a.AgentExecutor(opened.agent), Card: a2a.Card{Description: describeAgent(opened), Skills: skillsOf(opened), Version: g.o.Version, Bearer: token != ""},
			Path: served.prefix + "/", Dir: dir, Journal: g.plane.Journal, Log: app.Log(), PushAllow: networks, PushHosts: hosts,
		})
		if err != nil {
			return nil, fmt.Errorf("the A2A server of agent %s: %w", c.Name, err)
		}
	}
	return d, nil
}

// skillsOf returns the skills for the agent's card. A skill has an id, a name, a description and tags (A2A 1.0, 4.4.5).
func skillsOf(o *openedAgent) []sdk.AgentSkill {
	c := o.config
	if c.Builtin == mcp.ArgoCDName {
		return []sdk.AgentSkill{
			{
				ID: "search", Name: "Search", Tags: []string{"argocd", "search"},
				Description: "Finds applications, projects, application sets and clusters by name, project, namespace, repository, health or sync, with exact counts.",
				Examples:    []string{"Which applications are degraded?", "How many applications does the project billing have?"},
			},
			{
				ID: "details", Name: "Details", Tags: []string{"argocd", "diagnosis"},
				Description: "Tells the state of one application: its resources, events, logs, history and what is out of sync.",
				Examples:    []string{"Why is the application checkout not healthy?"},
			},
		}
	}
	tags := append([]string{"tools"}, c.Servers...)
	return []sdk.AgentSkill{{ID: c.Name, Name: c.Name, Description: describeAgent(o), Tags: tags}}
}

// describeAgent returns the description in the agent's card.
func describeAgent(o *openedAgent) string {
	text := o.config.Intro
	if text == "" && o.config.Builtin == mcp.ArgoCDName {
		text = "Answers questions about Argo CD: applications, projects, application sets and clusters."
	}
	text = cmp.Or(text, "An agent of Plimsoll.")
	if o.model.isStandin() {
		text += " Its model is a stand-in that goes by keywords: nothing here is a real model."
	}
	return text
}

// Takes reports whether a path is for the agents. It may begin with the token.
func (d *Daemon) Takes(path string) bool {
	if len(d.agents) == 0 {
		return false
	}
	below := listen.Below(path, d.token)
	return below == "/a2a" || strings.HasPrefix(below, "/a2a/") || d.alone(below) != nil
}

// alone returns the only agent if path is where clients look for the card of a host's agent; else nil.
func (d *Daemon) alone(path string) *servedAgent {
	if len(d.agents) == 1 && (path == "/.well-known/agent-card.json" || path == "/.well-known/agent.json") {
		return d.agents[0]
	}
	return nil
}

// ServeHTTP passes a request to the agent below whose prefix its path lies; with a single agent also one for the card of the host's agent.
// Any other path is not found, and the answer names the prefixes.
func (d *Daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if only := d.alone(r.URL.Path); only != nil {
		there := r.Clone(r.Context())
		there.URL.Path, there.URL.RawPath = only.prefix+r.URL.Path, ""
		only.server.ServeHTTP(w, there)
		return
	}
	for _, s := range d.agents {
		if rest, ok := strings.CutPrefix(r.URL.Path, s.prefix); ok && (rest == "" || rest[0] == '/') {
			s.server.ServeHTTP(w, r)
			return
		}
	}
	var there []string
	for _, s := range d.agents {
		there = append(there, s.prefix)
	}
	http.Error(w, "there is no agent at "+printable.Text(r.URL.Path)+"; there are: "+strings.Join(there, ", "), http.StatusNotFound)
}

// Say prints the addresses of the agents below root. A nil Daemon prints nothing.
func (d *Daemon) Say(w io.Writer, root string) {
	if d == nil {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range d.agents {
		fmt.Fprintf(t, "  %s%s\tagent %s of %s, over A2A\n", root, s.prefix, s.config.Name, s.model)
	}
	_ = t.Flush()
}

// Now returns the current state of the agents, for the metrics.
func (d *Daemon) Now() (list []metrics.Agent) {
	for _, s := range d.agents {
		list = append(list, metrics.Agent{Name: s.config.Name, Memory: s.agent.MemoryUsage().Total, Window: s.ended.ratio()})
	}
	return list
}

// Close cancels the tasks of the agents and closes the agents, the last opened first. A task that has not returned when ctx ends counts as failed.
// It returns all errors joined; a second call does nothing.
func (d *Daemon) Close(ctx context.Context) error {
	if d.closed {
		return nil
	}
	d.closed = true
	var all error
	for _, s := range slices.Backward(d.agents) {
		if s.server != nil {
			all = errors.Join(all, s.server.Close(ctx))
		}
		all = errors.Join(all, s.openedAgent.Close())
	}
	if d.plane != nil {
		all = errors.Join(all, d.plane.Close())
	}
	return all
}

// End closes the Daemon and gives running tasks at most [listen.Drain], even if ctx has ended. A nil Daemon does nothing.
func (d *Daemon) End(ctx context.Context) error {
	if d == nil {
		return nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), listen.Drain)
	defer cancel()
	return d.Close(last)
}

// OpenDaemon opens the agents of [agents] that are to be served, with the gateways of servers or, if that is nil, its own. It returns nil
// if there are none.
func OpenDaemon(ctx context.Context, app *core.Core, s config.Settings, j *journal.Journal, servers *mcp.Daemon, token, version string) (*Daemon, error) {
	configured, err := app.Config.Agents()
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(configured, func(c config.Agent) bool { return !c.A2A })
	if len(list) == 0 {
		return nil, nil
	}
	g := &gateways{made: map[string]*gateway.Server{}, o: AgentOptions{Version: version, Quiet: true}}
	var own *mcp.Plane
	if servers != nil {
		g.plane, g.made = servers.Plane, servers.Made
	} else if own, err = mcp.Open(app, s, mcp.PlaneOptions{Journal: j}); err != nil {
		return nil, err
	} else {
		g.plane = own
	}
	if own != nil {
		own.Hidden = append(own.Hidden, SecretVariables(s, list)...)
	}
	d, err := openAll(ctx, app, list, g, token, true)
	if err != nil {
		if own != nil {
			err = errors.Join(err, own.Close())
		}
		return nil, err
	}
	d.plane = own
	return d, nil
}

// servable returns the agents with these names; without names all of [agents] that are to be served, or the built-in one if none is configured. It
// is an error if some are configured and none is to be served.
func servable(app *core.Core, names []string) ([]config.Agent, error) {
	var out []config.Agent
	if len(names) == 0 {
		configured, err := app.Config.Agents()
		if err != nil {
			return nil, err
		}
		for _, c := range configured {
			if c.A2A {
				out = append(out, c)
			}
		}
		if len(configured) > 0 && len(out) == 0 {
			return nil, errors.New("none of [agents] is to be served: each has a2a = false; name one")
		}
		if len(out) == 0 {
			names = []string{builtinAgent}
		}
	}
	for _, name := range names {
		c, err := findAgent(app, name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o config.Agent) bool { return o.Name == c.Name }) {
			continue // named twice
		}
		out = append(out, c)
	}
	return out, nil
}

// SecretVariables returns the names of the variables with Plimsoll's own credentials and those of agents, which tools do not get unless
// their own table names them.
func SecretVariables(s config.Settings, agents []config.Agent) []string {
	names := []string{
		s.Serve.Token, s.Upstream.OpenAIKey, s.Upstream.AnthropicKey, s.Upstream.GeminiKey, s.Window.SummaryKey, s.Memory.EmbedKey, s.Memory.FactsKey,
	}
	for _, c := range agents {
		names = append(names, c.KeyEnv)
		names = append(names, keyVariables()...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
}

// Serve serves agents over A2A and nothing else, until ctx ends or SIGINT or SIGTERM asks for the end; a second signal ends at once.
func Serve(ctx context.Context, app *core.Core, o ServeOptions) (err error) {
	settings, err := app.Config.For("")
	if err != nil {
		return err
	}
	list, err := servable(app, o.Names)
	if err != nil {
		return err
	}
	footprint.CollectAt(collectAt)
	footprint.Bound(int64(memoryBound))
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	meters := metrics.New(metrics.FromEnvironment(os.Getenv))
	told := core.NewLog(o.Stderr)
	defer func() { _ = told.Close() }()
	observers := []journal.Observer{meters, told}
	if o.Events != nil {
		log := core.NewEventLog(o.Events)
		defer func() { err = errors.Join(err, log.Close()) }()
		observers = append(observers, log)
	}
	record := app.KeepRun(settings, runs.KindServe, journal.Report{Tool: "serve", Variant: "agents"})
	defer func() { record.End(err) }()
	observers = append(observers, record.Observers()...)
	plane, err := mcp.Open(app, settings, mcp.PlaneOptions{Observers: observers})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	container := core.WatchContainer("each MCP server has its own (memory_max in [mcp])", plane.Journal, app.Warn)
	defer func() { container.End(core.LastWords(err)) }()
	plane.Hidden = append(plane.Hidden, SecretVariables(settings, list)...)
	token, err := listen.Token(settings.Serve, os.Getenv)
	if err != nil {
		return err
	}
	d, err := openAll(ctx, app, list, &gateways{plane: plane, made: map[string]*gateway.Server{}, o: o.AgentOptions}, token, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.End(ctx)) }()
	meters.ShowAgents(d.Now)
	door, err := listen.Door(settings, token, proxy.Options{Journal: plane.Journal})
	if err != nil {
		return err
	}
	defer door.Close()
	if o.Listen != "" {
		settings.Serve.Listen = o.Listen
	}
	ready := make(chan struct{})
	return listen.Until(ctx, listen.Options{
		Serve: settings.Serve, Door: door, Handler: listen.Handler(door, ready, meters.Handler(), door.Protect(d)),
		Taking: ready, ReadyFile: o.ReadyFile, Service: o.Service, Warn: app.Warn,
		Ready: func(url string) {
			if !o.Quiet {
				fmt.Fprintf(o.Stderr, "plimsoll: serving on %s\n", url)
				d.Say(o.Stderr, url)
			}
		},
		End: func() error {
			stop() // a second signal ends the program at once
			return d.End(ctx)
		},
	})
}

// Listed is an agent that can be asked.
type Listed struct {
	Name    string   `json:"name"`
	Model   string   `json:"model"` // "" if none can be found; Why then has the reason
	Why     string   `json:"why,omitempty"`
	Servers []string `json:"servers"`
	Builtin string   `json:"builtin,omitempty"`
	Served  bool     `json:"a2a"`
	From    string   `json:"from"`
}

// List returns the agents, sorted by name.
func List(app *core.Core) ([]Listed, error) {
	all, err := byName(app)
	if err != nil {
		return nil, err
	}
	settings, err := app.Config.For("")
	if err != nil {
		return nil, err
	}
	var out []Listed
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		l := Listed{Name: c.Name, Servers: c.Servers, Builtin: c.Builtin, Served: c.A2A, From: c.Source.String()}
		if l.Servers == nil {
			l.Servers = []string{}
		}
		if !defined(c) {
			l.From = "built in"
		}
		if m, err := chooseModel(c, "", "", settings.Upstream, os.Getenv); err == nil {
			l.Model = m.String()
		} else {
			l.Why = err.Error()
		}
		out = append(out, l)
	}
	return out, nil
}

package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/footprint"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// ArgoCDName is the name of the Argo CD server in events, in sizes and in paths.
const ArgoCDName = "argocd"

// ArgoCDOptions are the options of `plimsoll mcp argocd` besides the configuration.
type ArgoCDOptions struct {
	// Server is the address of one Argo CD, Context a context in the argocd command's own
	// configuration, Instance one of [mcp.argocd]; all "" serves every instance of [mcp.argocd],
	// or, if there is none, the one named by the ARGOCD_ variables and the argocd command's configuration.
	Server, Context, Instance string
	// Simulator serves a simulated Argo CD instead of a real one.
	Simulator *SimulatorOptions
	// Version of this program, which clients are told.
	Version string
	// MCPOptions say how clients connect: Listen, ReadyFile, Events, Stdin, Stdout, Stderr, Quiet
	// are used here.
	MCPOptions
}

// argocdCollectAt is GOGC of the Argo CD server. Objects by the hundred thousand pass through a small heap: with half the default, a
// machine that is busy with something else, so that the collector comes late, sees a lower peak.
const argocdCollectAt = 50

// argocdMemory is the soft limit of the Argo CD server's Go memory: on a busy machine 40 MiB were seen without it.
const argocdMemory = 24 * limit.MiB

// ServeArgoCD runs the MCP server of Argo CD, until the client closes its end, ctx ends or a signal asks for the end.
func ServeArgoCD(ctx context.Context, app *core.Core, o ArgoCDOptions) error {
	footprint.CollectAt(argocdCollectAt)
	footprint.Bound(int64(argocdMemory))
	o.Name = ArgoCDName
	return withPlane(ctx, app, o.MCPOptions, func(ctx context.Context, plane *Plane) (config.MCPServer, *gateway.Server, error) {
		clients, err := ArgoCDClients(ctx, app, plane, o)
		if err != nil {
			return config.MCPServer{}, nil, err
		}
		g, err := plane.ArgoCD(clients, o.Version)
		return plane.argocdServer(), g, err
	})
}

// argocdServer returns the Argo CD server in the form of a configured server.
func (p *Plane) argocdServer() config.MCPServer {
	return config.MCPServer{Name: ArgoCDName, MCP: p.Settings.MCP, Merge: true}
}

// ArgoCD returns the gateway of an Argo CD server for the given instances.
func (p *Plane) ArgoCD(clients []*argocd.Client, version string) (*gateway.Server, error) {
	policy, err := tokenPolicy(p.Settings.MCP.ArgoCDTokens)
	if err != nil {
		return nil, err
	}
	tools, err := toolset.New(toolset.Options{
		Instances: clients, Inventory: inventory.Options{Dir: p.temp, SnapshotTTL: p.Settings.MCP.ArgoCDSnapshot, MaxMatches: p.Settings.MCP.MaxSearch},
		AllowWrites: p.Settings.MCP.ArgoCDWrites, AllArguments: p.allArgoCDTools(), UserTokens: policy, Journal: p.Journal,
	})
	if err != nil {
		return nil, fmt.Errorf("the Argo CD tools: %w", err)
	}
	p.closer.Add(tools.Close)
	server, err := builtin.New(builtin.Options{
		Name: "plimsoll-argocd", Title: "Argo CD", Version: version, Instructions: tools.Instructions(), Tools: tools.Tools(), Journal: p.Journal,
	})
	if err != nil {
		return nil, fmt.Errorf("the Argo CD tools: %w", err)
	}
	p.closer.Add(server.Close)
	policies := policyOf(p.argocdServer())
	if !p.allArgoCDTools() {
		policies.Unlisted = toolset.Rare()
	}
	g := gateway.NewServer(gateway.ServerOptions{
		Name: ArgoCDName, Dial: func(gateway.Dialing) transport.Peer { return server.Dial() }, Spool: p.Spool, Journal: p.Journal,
		Settings: policies, Definitions: p.definitions(p.Settings.MCP.ToolsMax), Query: p.Query, TempDir: p.temp,
		Builtin: true,
	})
	p.servers = append(p.servers, g)
	return g, nil
}

// allArgoCDTools reports whether all tools are listed, with all their arguments.
func (p *Plane) allArgoCDTools() bool { return p.Settings.MCP.ArgoCDTools == "all" }

// tokenPolicy returns the policy of argocd_tokens; "" is off, an unknown word an error.
func tokenPolicy(text string) (toolset.TokenPolicy, error) {
	switch text {
	case "off", "":
		return toolset.TokensOff, nil
	case "allow":
		return toolset.TokensAllow, nil
	case "require":
		return toolset.TokensRequire, nil
	}
	return 0, fmt.Errorf("argocd_tokens is %q; write off, allow or require", text)
}

// ArgoCDClients returns clients for the Argo CD that the options name, and if they name none for the simulated one of the settings, else for all
// configured instances, else for the one that the ARGOCD_ variables or the argocd command's configuration name. Options that contradict each other
// are an error.
func ArgoCDClients(ctx context.Context, app *core.Core, p *Plane, o ArgoCDOptions) ([]*argocd.Client, error) {
	given := 0
	for _, is := range []bool{o.Server != "", o.Context != "", o.Instance != "", o.Simulator != nil} {
		if is {
			given++
		}
	}
	if given > 1 && (given != 2 || o.Server == "" || o.Context == "") {
		return nil, errors.New("--server (with --context), --instance and --simulator each say which Argo CD it is; leave the others out")
	}
	if given == 0 {
		o.Simulator = simulatorOf(p.Settings.MCP)
	}
	if o.Simulator != nil {
		client, err := p.simulate(ctx, *o.Simulator, o.Stderr)
		if err != nil {
			return nil, err
		}
		return []*argocd.Client{client}, nil
	}
	instances, err := app.Config.ArgoCD()
	if err != nil {
		return nil, err
	}
	if o.Server != "" || o.Context != "" || len(instances) == 0 && o.Instance == "" {
		c, err := argocdDiscovered(app, p, o)
		if err != nil {
			return nil, err
		}
		return []*argocd.Client{c}, nil
	}
	if o.Instance != "" {
		var names []string
		for _, in := range instances {
			if in.Name == o.Instance {
				return argocdConfigured(app, p, []config.ArgoCDInstance{in})
			}
			names = append(names, in.Name)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("--instance %s: no instance is configured; write a table [mcp.argocd.%s] with its url", config.SafeName(o.Instance), config.SafeName(o.Instance))
		}
		return nil, fmt.Errorf("--instance %s: there is none of this name; there are: %s", config.SafeName(o.Instance), strings.Join(names, ", "))
	}
	return argocdConfigured(app, p, instances)
}

// simulatorOf returns the simulated Argo CD of the settings, nil for none.
func simulatorOf(s config.MCPSettings) *SimulatorOptions {
	switch s.ArgoCDSimulator {
	case "off", "":
		return nil
	case "on":
		return &SimulatorOptions{}
	}
	return &SimulatorOptions{Size: s.ArgoCDSimulator}
}

// KnowsArgoCD reports whether an Argo CD is configured, a simulated one too, or named by the ARGOCD_ variables or the argocd command's
// configuration. It returns true also if the configuration is invalid, so that its error is seen when it is used.
func KnowsArgoCD(app *core.Core) bool {
	if instances, err := app.Config.ArgoCD(); err != nil || len(instances) > 0 {
		return true
	}
	if s, err := app.Config.For(""); err == nil && simulatorOf(s.MCP) != nil {
		return true
	}
	home, _ := os.UserHomeDir()
	_, _, err := argocd.Discover(argocd.DiscoverOptions{Getenv: os.Getenv, Home: home})
	return !errors.Is(err, argocd.ErrNoServer)
}

// argocdDiscovered returns a client for the server that the options, the ARGOCD_ variables and the argocd command's configuration name,
// after warnings about what is not safe in them.
func argocdDiscovered(app *core.Core, p *Plane, o ArgoCDOptions) (*argocd.Client, error) {
	home, _ := os.UserHomeDir()
	options, warnings, err := argocd.Discover(argocd.DiscoverOptions{Getenv: os.Getenv, Home: home, Context: o.Context, Server: o.Server})
	for _, w := range warnings {
		app.Warn(w)
	}
	if err != nil {
		return nil, fmt.Errorf("which Argo CD: %w; with several, write tables [mcp.argocd.NAME]; a simulated one needs neither: argocd_simulator = \"on\" below [mcp], or PLIMSOLL_MCP_ARGOCD_SIMULATOR=on", err)
	}
	return p.connect(options)
}

// argocdConfigured returns clients for configured instances, and warns of each whose connection is not safe.
func argocdConfigured(app *core.Core, p *Plane, instances []config.ArgoCDInstance) ([]*argocd.Client, error) {
	var out []*argocd.Client
	for _, in := range instances {
		options, err := argocdOptions(app, in)
		if err != nil {
			return nil, nameInstance(in, err)
		}
		c, err := p.connect(options)
		if err != nil {
			return nil, nameInstance(in, err)
		}
		if c.Insecure() && !core.OnLoopback(c.URL()) {
			app.Warn(fmt.Sprintf("Argo CD %s: what it says cannot be trusted, and the token can be read on the way: its certificate is not checked, or the address is http://", c.Name()))
		}
		out = append(out, c)
	}
	return out, nil
}

func nameInstance(in config.ArgoCDInstance, err error) error {
	return fmt.Errorf("the Argo CD %s (%s): %w", in.Name, in.Source, err)
}

// connect returns a client, which is closed with the plane. It sends nothing yet.
func (p *Plane) connect(options argocd.Options) (*argocd.Client, error) {
	c, err := argocd.New(options)
	if err != nil {
		return nil, err
	}
	p.closer.Do(c.Close)
	return c, nil
}

// argocdOptions returns the options of a client for a configured instance. An empty variable that it names is an error.
func argocdOptions(app *core.Core, in config.ArgoCDInstance) (argocd.Options, error) {
	o := argocd.Options{}
	if in.Context != "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return o, err
		}
		// The context alone counts: the ARGOCD_ variables are of whatever server is meant in this shell.
		directory := func(name string) string {
			if name == "ARGOCD_CONFIG_DIR" || name == "XDG_CONFIG_HOME" {
				return os.Getenv(name)
			}
			return ""
		}
		found, warnings, err := argocd.Discover(argocd.DiscoverOptions{Getenv: directory, Home: home, Context: in.Context, Server: in.URL})
		for _, w := range warnings {
			app.Warn(w)
		}
		if err != nil {
			return o, err
		}
		o = found
	}
	o.Name = in.Name
	if in.Context == "" {
		o.URL = in.URL
	}
	switch {
	case in.Token != "":
		value := strings.TrimSpace(os.Getenv(in.Token))
		if value == "" {
			return o, fmt.Errorf("the token: the variable %s is empty; set it", in.Token)
		}
		o.Token = func(context.Context) (string, error) { return value, nil }
	case in.TokenFile != "":
		o.Token = argocd.FileToken(in.TokenFile)
	case len(in.TokenCommand) > 0:
		o.Token = argocd.CommandToken(in.TokenCommand)
	}
	for _, pair := range in.Headers {
		name, variable, _ := strings.Cut(pair, "=")
		value := os.Getenv(variable)
		if value == "" {
			return o, fmt.Errorf("header %s: the variable %s is empty; set it", name, variable)
		}
		if o.Header == nil {
			o.Header = http.Header{}
		}
		o.Header.Set(name, value)
	}
	if in.CA != "" {
		o.CAFile = in.CA
	}
	if in.Cert != "" {
		o.CertFile, o.KeyFile = in.Cert, in.Key
	}
	o.Insecure = o.Insecure || in.Insecure
	return o, nil
}

// ArgoCDTool is a tool of the Argo CD server.
type ArgoCDTool struct {
	Name      string   `json:"name"`
	Title     string   `json:"title"`
	Writes    bool     `json:"writes"` // it exists only if writes are allowed
	Arguments []string `json:"arguments"`
}

// ArgoCDTools returns all tools of the Argo CD server, sorted by name.
func ArgoCDTools() ([]ArgoCDTool, error) {
	nowhere, err := argocd.New(argocd.Options{URL: "http://127.0.0.1"}) // nothing is asked of it
	if err != nil {
		return nil, err
	}
	defer nowhere.Close()
	tools, err := toolset.New(toolset.Options{Instances: []*argocd.Client{nowhere}, AllowWrites: true})
	if err != nil {
		return nil, err
	}
	defer tools.Close()
	var out []ArgoCDTool
	for _, t := range tools.Tools() {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if len(t.Input) > 0 {
			if err := json.Unmarshal(t.Input, &schema); err != nil {
				return nil, fmt.Errorf("the schema of %s: %w", t.Name, err)
			}
		}
		out = append(out, ArgoCDTool{Name: t.Name, Title: t.Title, Writes: !t.Hints.ReadOnly, Arguments: slices.Sorted(maps.Keys(schema.Properties))})
	}
	sorting.By(out, func(a, b ArgoCDTool) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// SimulatorOptions describe a simulated Argo CD.
type SimulatorOptions struct {
	Size   string // of applications, projects, …; "" means "819,236,287,13"
	Faults string // as "latency=200ms,cut=100000"; "" means none
}

// Simulation is a simulated Argo CD that listens on a loopback address.
type Simulation struct {
	*simulator.Simulator
	URL, Token string
	Server     *http.Server
}

// Simulate starts a simulated Argo CD. Its token is random, so nobody else on this machine has access.
func Simulate(ctx context.Context, o SimulatorOptions) (*Simulation, error) {
	options, err := simulator.ParseSize(o.Size)
	if err != nil {
		return nil, fmt.Errorf("the simulated Argo CD: %w", err)
	}
	if options.Faults, err = simulator.ParseFaults(o.Faults); err != nil {
		return nil, fmt.Errorf("--faults: %w", err)
	}
	options.Token = rand.Text()
	sim, err := simulator.New(options)
	if err != nil {
		return nil, fmt.Errorf("the simulated Argo CD: %w", err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the simulated Argo CD: %w", err)
	}
	s := &Simulation{
		Simulator: sim, URL: "http://" + l.Addr().String(), Token: options.Token,
		Server: &http.Server{Handler: sim, ReadHeaderTimeout: 10 * time.Second},
	}
	go func() { _ = s.Server.Serve(l) }()
	return s, nil
}

// client returns a client for the simulation.
func (s *Simulation) client() (*argocd.Client, error) {
	return argocd.New(argocd.Options{
		Name: "simulator", URL: s.URL, Token: func(context.Context) (string, error) { return s.Token, nil },
	})
}

// Close ends the simulation at once, even if clients are connected.
func (s *Simulation) Close() error { return s.Server.Close() }

// simulate starts a simulated Argo CD, which ends with the plane, and returns a client for it. say, unless nil, gets a line about it.
func (p *Plane) simulate(ctx context.Context, o SimulatorOptions, say io.Writer) (*argocd.Client, error) {
	s, err := Simulate(ctx, o)
	if err != nil {
		return nil, err
	}
	p.closer.Add(s.Close)
	c, err := s.client()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	p.closer.Do(c.Close)
	n := s.Counts()
	if say != nil {
		fmt.Fprintf(say, "plimsoll: a simulated Argo CD with %s, %s, %s and %s; nothing of it is real\n",
			limit.Count(n.Applications, "application"), limit.Count(n.Projects, "project"), limit.Count(n.ApplicationSets, "application set"), limit.Count(n.Clusters, "cluster"))
	}
	return c, nil
}

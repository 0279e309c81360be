// Package agents is the commands of Plimsoll's own agents: `plimsoll ask`, `agent serve`, `agent list`
// and `agent sessions`; and the agents of the daemon.
//
//	report, err := agents.Ask(ctx, app, agents.AskOptions{Question: "which applications are degraded?"})
//	os.Exit(report.Status())
//
// An agent is wired from the configuration: which model is asked and with whose key, which MCP
// servers it has, through the gateway of internal/app/mcp, and where its conversations lie. Functions are safe
// for concurrent use. The package is tested by its own tests, by the scripts in cmd/plimsoll/testdata
// and by e2e.
package agents

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/conversation"
	"github.com/plimsoll/plimsoll/agent/prompt"
	"github.com/plimsoll/plimsoll/agent/toolbox"
	"github.com/plimsoll/plimsoll/internal/agent/lab"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/app/remember"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
)

// AgentOptions select an agent, and override parts of its configuration.
type AgentOptions struct {
	// Name is one of [agents], or argocd, which is built in; "" means the only one that is
	// configured, or argocd.
	Name string
	// Model replaces the configured one: NAME, PROVIDER/NAME, or StandinModel.
	Model string
	// BaseURL replaces the configured or known address of the model; the key of its provider is sent there.
	BaseURL string
	// MCP are command lines that start MCP servers, whose tools the agent gets in addition to its own.
	MCP []string
	// MCPConfig are files of clients (.mcp.json, config.toml of Codex) whose servers the agent gets too.
	MCPConfig []string
	// forgets reports whether no conversation is stored.
	forgets bool
	// private reports whether nothing of the conversation may be stored, and the memory has no part in it.
	private bool
	// typed reports whether a person types the questions at a terminal.
	typed bool
	// remembers lets the agent search the memory, if there is one; where the memory is on every agent may.
	remembers bool
	// Lab adds tools that misbehave, for demonstrations.
	Lab bool
	// Version of this program.
	Version string
	// Stderr gets the messages of tools' servers and of Plimsoll.
	Stderr *os.File
	Quiet  bool
}

// builtinAgent is the name of the agent that needs no configuration.
const builtinAgent = mcp.ArgoCDName

// byName returns all agents by name: the configured ones, and the built-in one unless its name is configured.
func byName(app *core.Core) (map[string]config.Agent, error) {
	configured, err := app.Config.Agents()
	if err != nil {
		return nil, err
	}
	out := map[string]config.Agent{}
	for _, c := range configured {
		out[c.Name] = c
	}
	if _, taken := out[builtinAgent]; !taken {
		c, _, err := app.Config.Agent(builtinAgent)
		if err != nil {
			return nil, err
		}
		out[builtinAgent] = c
	}
	return out, nil
}

// generalAgent is the name of the agent that answers if neither an agent nor Argo CD is configured: it has a model and no tools.
const generalAgent = "assistant"

// configuredAgent returns the agent for a question: that of [findAgent]; but if nothing at all is configured, or generalAgent is named and not
// configured, one without tools, so that a first question needs only a key.
func configuredAgent(app *core.Core, o AgentOptions) (config.Agent, error) {
	if o.Name != "" && o.Name != generalAgent {
		return findAgent(app, o.Name)
	}
	configured, err := app.Config.Agents()
	if err != nil {
		return config.Agent{}, err
	}
	if o.Name == "" && (len(configured) > 0 || mcp.KnowsArgoCD(app)) || slices.ContainsFunc(configured, func(c config.Agent) bool { return c.Name == generalAgent }) {
		return findAgent(app, o.Name)
	}
	c, _, err := app.Config.Agent(generalAgent)
	return c, err
}

// findAgent returns the agent with a name; "" means the only configured one, or the built-in one if none is. An unknown name is an error, and so
// is "" if several are configured.
func findAgent(app *core.Core, name string) (config.Agent, error) {
	all, err := byName(app)
	if err != nil {
		return config.Agent{}, err
	}
	if name == "" {
		name = builtinAgent
		if configured, err := app.Config.Agents(); err == nil && len(configured) == 1 {
			name = configured[0].Name
		} else if len(configured) > 1 {
			return config.Agent{}, fmt.Errorf("which agent? Name one with --agent; there are: %s", strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		}
	}
	c, ok := all[name]
	if !ok {
		return c, fmt.Errorf("there is no agent %q; there are: %s; plimsoll agent init %s writes one", config.SafeName(name), strings.Join(slices.Sorted(maps.Keys(all)), ", "), config.SafeName(name))
	}
	return c, nil
}

// openedAgent is an open agent, with the model and tools it uses.
type openedAgent struct {
	config config.Agent
	model  modelChoice
	agent  *agent.Agent
	tools  *toolbox.Toolbox
	window int // tokens that the model takes
	ended  *deaths
	closer core.Closer
}

// Close ends the agent's queries, then closes what it used, the last opened first.
func (o *openedAgent) Close() error { return o.closer.Close(nil) }

// gateways makes the gateways of an agent's MCP servers, each once.
type gateways struct {
	plane *mcp.Plane
	made  map[string]*gateway.Server
	o     AgentOptions
	agent string // the name of the agent, for the memory
}

// openGateway returns the gateway for a name in `servers`: a configured MCP server, argocd or memory. A second call with the same name
// returns the same gateway.
func (g *gateways) openGateway(ctx context.Context, app *core.Core, name string) (*gateway.Server, error) {
	if s := g.made[name]; s != nil {
		return s, nil
	}
	var s *gateway.Server
	servers, err := app.Config.Servers("")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(servers, func(s config.MCPServer) bool { return s.Name == name })
	switch {
	case i >= 0:
		s, err = g.plane.Gateway(servers[i], nil) // a person reads an answer there
	case name == mcp.ArgoCDName:
		var mo mcp.ArgoCDOptions
		if !g.o.Quiet && g.o.Stderr != nil {
			mo.Stderr = g.o.Stderr
		}
		clients, e := mcp.ArgoCDClients(ctx, app, g.plane, mo)
		if e != nil {
			return nil, e
		}
		s, err = g.plane.ArgoCD(clients, g.o.Version)
	case name == mcp.MemoryName:
		s, err = g.plane.Memory(ctx, mcp.MemoryOptions{
			ReadOnly: true, Namespace: "agent/" + config.SafeName(g.agent), Search: []string{"agent/" + config.SafeName(g.agent), memories.ProjectNamespace(""), memories.UserNamespace},
			Version: g.o.Version,
		})
	default:
		err = fmt.Errorf("there is no MCP server %s; write a table [mcp.servers.%s]", config.SafeName(name), config.SafeName(name))
	}
	if err != nil {
		return nil, err
	}
	g.made[name] = s
	return s, nil
}

// agentDir returns the directory of an agent's durable state, below the state directory; what is its last element.
func agentDir(app *core.Core, name, what string) (string, error) {
	state, err := app.Dirs.EnsureState()
	if err != nil {
		return "", fmt.Errorf("an agent keeps its conversations: %w; set PLIMSOLL_STATE_DIR to a directory that is yours to write to", err)
	}
	return filepath.Join(state, "agents", config.SafeName(name), what), nil
}

// openAgent opens an agent: its model, its tools through the gateway, and its conversations. It warns if the environment has keys for other
// models too. The caller closes the agent.
func openAgent(ctx context.Context, app *core.Core, c config.Agent, g *gateways) (_ *openedAgent, err error) {
	plane := g.plane
	choice, err := chooseModel(c, g.o.Model, g.o.BaseURL, plane.Settings.Upstream, os.Getenv)
	if err != nil {
		return nil, naming(c, err)
	}
	if others := otherKeys(choice, os.Getenv); len(others) > 0 {
		app.Warn(fmt.Sprintf("asking %s, by %s; %s is set too, and --model PROVIDER/NAME or LLM_PROVIDER chooses", choice, choice.why, strings.Join(others, ", ")))
	}
	died := ""
	if os.Getenv(SearchFirstName) != "" {
		died = "the agent was killed for lack of memory"
	}
	o := &openedAgent{config: c, model: choice, window: c.Window, ended: openDeaths(app, c.Name, plane.Journal, died)}
	o.closer.Add(o.ended.Close)
	defer func() {
		if err != nil {
			err = o.closer.Close(err)
		}
	}()
	with := agent.Options{
		Name: c.Name, Gate: func(specs []agent.ToolSpec) func(agent.Call) string { return prompt.SearchFirst(specs, o.ended.Halved) },
		Limits: limitsOfAgent(c), Room: roomOf(app, plane, o.ended), Journal: plane.Journal, Summarize: c.Summarizer == "model", NoSummary: c.Summarizer == "off",
	}
	if o.window == 0 && !choice.isStandin() {
		o.window = with.Room.Windows.Window(choice.upstream(), choice.name, nil).Context
	}
	if with.Model, err = openModel(ctx, choice, c, plane.Client, &o.closer); err != nil {
		return nil, naming(c, err)
	}
	if core.ThroughProxy(choice.url) {
		plane.Journal.Append(journal.WindowOff{Reason: "they go through the proxy of the run that it is in", Through: true})
	}
	if with.Model, err = withBudget(app, plane.Settings, choice, with.Model, &o.closer); err != nil {
		return nil, err
	}
	if err := o.openTools(ctx, app, g); err != nil {
		return nil, err
	}
	with.Tools, with.Room.Keep = o.tools, o.tools.Keep
	if err := o.openConversations(app, g, &with); err != nil {
		return nil, err
	}
	if with.Compose, err = promptOf(c, choice, with.Room.Windows, o.tools.Instructions()); err != nil {
		return nil, naming(c, err)
	}
	if o.agent, err = agent.New(with); err != nil {
		return nil, naming(c, err)
	}
	o.closer.Add(o.agent.Close)
	return o, nil
}

// naming puts the agent, and the place of its table if it has one, before an error.
func naming(c config.Agent, err error) error {
	if !defined(c) {
		return err
	}
	return fmt.Errorf("the agent %s (%s): %w", c.Name, c.Source, err)
}

// openTools opens the agent's tools: those of its own servers, those of servers named on the command line, and, with --lab, those for trying
// out failures.
func (o *openedAgent) openTools(ctx context.Context, app *core.Core, g *gateways) (err error) {
	plane := g.plane
	to := toolbox.Options{Spool: plane.Spool, Journal: plane.Journal, Query: plane.Query, Principal: plane.Local(), ByWindow: true}
	g.agent = o.config.Name
	for _, name := range o.serverNames(app, g) {
		s, err := g.openGateway(ctx, app, name)
		if err != nil {
			return naming(o.config, err)
		}
		to.Servers = append(to.Servers, toolbox.Server{Name: name, Gateway: s})
	}
	given, err := givenServers(app, g.o)
	if err != nil {
		return err
	}
	for _, s := range given {
		base := s.Name
		for n := 2; slices.ContainsFunc(to.Servers, func(other toolbox.Server) bool { return other.Name == s.Name }); n++ {
			s.Name = fmt.Sprintf("%s-%d", base, n)
		}
		served, err := plane.GatewayOfClient(s)
		if err != nil {
			return err
		}
		to.Servers = append(to.Servers, toolbox.Server{Name: s.Name, Gateway: served})
	}
	if g.o.Lab {
		to.Functions = lab.Tools(lab.Options{Hog: []string{plane.Query[0], HogArgument}})
	}
	if o.tools, err = toolbox.New(ctx, to); err != nil {
		return naming(o.config, err)
	}
	o.closer.Add(o.tools.Close)
	for _, s := range o.tools.Stats().Servers {
		if s.Err != nil {
			app.Warn(fmt.Sprintf("agent %s goes on without the tools of %s, and tries again: %v", o.config.Name, s.Name, s.Err))
		}
	}
	return nil
}

// serverNames returns the names of the servers that the agent uses: the configured ones, Argo CD's first if this is the agent for Argo CD,
// and the memory's if [searchesMemory] says so. A stand-in for a model gets the memory's tools only if they are configured.
func (o *openedAgent) serverNames(app *core.Core, g *gateways) []string {
	names := slices.Clone(o.config.Servers)
	if o.config.Builtin == mcp.ArgoCDName && !slices.Contains(names, mcp.ArgoCDName) {
		names = slices.Insert(names, 0, mcp.ArgoCDName)
	}
	// The stand-in goes by the names of tools, so it gets these only where its agent asks for them.
	if searchesMemory(app, g.plane.Settings, g.o) && !o.model.isStandin() && !slices.Contains(names, mcp.MemoryName) {
		names = append(names, mcp.MemoryName)
	}
	return names
}

// givenServers returns the servers that the command line names, by command lines and by files of clients.
func givenServers(app *core.Core, o AgentOptions) (given []mcp.ClientServer, err error) {
	for _, line := range o.MCP {
		s, err := mcp.Started(app, line)
		if err != nil {
			return nil, err
		}
		given = append(given, mcp.ClientServer{MCPServer: s})
	}
	for _, path := range o.MCPConfig {
		servers, err := mcp.OfClient(app, path)
		if err != nil {
			return nil, err
		}
		given = append(given, servers...)
	}
	return given, nil
}

// openConversations opens the store of the agent's conversations, unless g.o.forgets is set, and the memory that keeps what is said, unless
// g.o.private is set.
func (o *openedAgent) openConversations(app *core.Core, g *gateways, with *agent.Options) error {
	name := o.config.Name
	if !g.o.forgets { // else they are in memory
		dir, err := agentDir(app, name, "conversations")
		if err != nil {
			return err
		}
		kept, err := conversation.Open(conversation.Options{Dir: dir, Journal: g.plane.Journal, Log: app.Log()})
		if err != nil {
			return naming(o.config, fmt.Errorf("keep its conversations: %w; PLIMSOLL_STATE_DIR names another directory", err))
		}
		o.closer.Add(kept.Close)
		with.Conversations = patient{kept, app.Warn}
	}
	if g.o.private {
		return nil
	}
	remembered := remember.Open(app, g.plane.Settings, remember.Options{
		Journal: g.plane.Journal, Namespace: remember.AgentNamespace(name), Client: name, Inside: !g.o.typed || app.Fence().Inside(), Own: true, Turns: true, Warn: app.Warn,
	})
	o.closer.Do(remembered.Close)
	// What is not kept of a conversation is not remembered either.
	if with.Recaller = remembered.AgentRecaller(); !g.o.forgets {
		with.Keeper = remembered.AgentKeeper()
	}
	return nil
}

// searchesMemory reports whether an agent gets the memory's tools although its configuration does not name them. Where [memory] on is not
// set, it is so for questions and chats if anything was ever kept.
func searchesMemory(app *core.Core, s config.Settings, o AgentOptions) bool {
	switch s.Memory.State {
	case config.MemoryOn:
		return true
	case config.MemoryOff:
		return false
	}
	return o.remembers && memories.Exists(app)
}

// defined reports whether the agent has a table in the configuration.
func defined(c config.Agent) bool { return c.Source != config.Source{} }

// promptOf returns a function that makes the system prompt from the tools. The prompt is the configured one; without one it is composed from
// the tools and from servers, which has the instructions of their servers.
func promptOf(c config.Agent, m modelChoice, windows *models.Resolver, servers string) (func([]agent.ToolSpec) string, error) {
	text, err := c.ReadPrompt()
	if err != nil {
		return nil, err
	}
	if text != "" {
		return func([]agent.ToolSpec) string { return text }, nil
	}
	w := windows.Window(m.upstream(), m.name, nil)
	o := prompt.Options{Intro: c.Intro, Kind: c.Builtin, Extra: servers, SearchForced: c.SearchForced, MaxTokens: c.MaxOutput, Window: c.Window}
	o.MaxTokens = cmp.Or(o.MaxTokens, w.Output)
	o.Window = cmp.Or(o.Window, w.Context)
	return prompt.Compose(o), nil
}

// HogArgument is the argument with which this program runs as the child that takes memory, for the laboratory's tool build.
const HogArgument = "plimsoll-lab-hog"

func limitsOfAgent(c config.Agent) agent.Limits {
	return agent.Limits{
		MaxSteps: c.MaxSteps, MaxHistoryMessages: c.MaxHistoryMessages, MaxStepResult: c.MaxStepResult, CallHistory: c.CallHistory,
		Identical: c.Identical, Window: c.Window, MaxOutput: c.MaxOutput, Trigger: c.Trigger, Target: c.Target,
		MaxParallel: c.MaxParallel, MaxQueries: c.MaxQueries, ToolTimeout: c.ToolTimeout, ModelTimeout: c.ModelTimeout,
	}
}

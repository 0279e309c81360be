package agents

import (
	"context"
	"errors"
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

// configuredAgent returns the agent for a question: that of [find], but if nothing at all is configured, one without tools, so that a first
// question needs only a key.
func configuredAgent(app *core.Core, o AgentOptions) (config.Agent, error) {
	if o.Name != "" && o.Name != generalAgent {
		return find(app, o.Name)
	}
	configured, err := app.Config.Agents()
	if err != nil {
		return config.Agent{}, err
	}
	if o.Name == "" && (len(configured) > 0 || mcp.KnowsArgoCD(app)) || slices.ContainsFunc(configured, func(c config.Agent) bool { return c.Name == generalAgent }) {
		return find(app, o.Name)
	}
	c, _, err := app.Config.Agent(generalAgent)
	return c, err
}

// find returns the agent with a name; "" means the only configured one, or the built-in one if none is. An unknown name is an error, and so
// is "" if several are configured.
func find(app *core.Core, name string) (config.Agent, error) {
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
	closes []func() error
}

// Close ends the agent's queries, then closes what it used, the last opened first.
func (o *openedAgent) Close() error {
	var all error
	for _, c := range slices.Backward(o.closes) {
		all = errors.Join(all, c())
	}
	o.closes = nil
	return all
}

// gateways makes the gateways of an agent's MCP servers, each once.
type gateways struct {
	plane *mcp.Plane
	made  map[string]*gateway.Server
	o     AgentOptions
	agent string // the name of the agent, for the memory
}

// open returns the gateway for a name in `servers`: a configured MCP server, argocd or memory.
func (g *gateways) open(ctx context.Context, app *core.Core, name string) (*gateway.Server, error) {
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

// openAgent opens an agent: its model, its tools through the gateway, and its conversations.
func openAgent(ctx context.Context, app *core.Core, c config.Agent, g *gateways) (_ *openedAgent, err error) {
	where := func(err error) error {
		if err == nil || !defined(c) {
			return err
		}
		return fmt.Errorf("the agent %s (%s): %w", c.Name, c.Source, err)
	}
	plane := g.plane
	choice, err := chooseModel(c, g.o.Model, g.o.BaseURL, plane.Settings.Upstream, os.Getenv)
	if err != nil {
		return nil, where(err)
	}
	if others := otherKeys(choice, os.Getenv); len(others) > 0 {
		app.Warn(fmt.Sprintf("asking %s, by %s; %s is set too, and --model PROVIDER/NAME or LLM_PROVIDER chooses", choice, choice.why, strings.Join(others, ", ")))
	}
	died := ""
	if os.Getenv(SearchFirstName) != "" {
		died = "the agent was killed for lack of memory"
	}
	ended := openDeaths(app, c.Name, plane.Journal, died)
	room := roomOf(app, plane, ended)
	o := &openedAgent{config: c, model: choice, window: c.Window, ended: ended, closes: []func() error{ended.Close}}
	if o.window == 0 && !choice.isStandin() {
		o.window = room.Windows.Window(choice.upstream(), choice.name, nil).Context
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	model, closing, err := openModel(ctx, choice, c, plane.Client)
	if err != nil {
		return nil, where(err)
	}
	if core.ThroughProxy(choice.url) {
		plane.Journal.Append(journal.WindowOff{Reason: "they go through the proxy of the run that it is in", Through: true})
	}
	if model, closing, err = withBudget(app, plane.Settings, choice, model, closing); err != nil {
		return nil, errors.Join(err, closing())
	}
	o.closes = append(o.closes, closing)

	to := toolbox.Options{Spool: plane.Spool, Journal: plane.Journal, Query: plane.Query, Principal: plane.Local(), ByWindow: true}
	names := c.Servers
	if c.Builtin == mcp.ArgoCDName && !slices.Contains(names, mcp.ArgoCDName) {
		names = append([]string{mcp.ArgoCDName}, names...)
	}
	// The stand-in goes by the names of tools, so it gets these only where its agent asks for them.
	if searchesMemory(app, plane.Settings, g.o) && !choice.isStandin() && !slices.Contains(names, mcp.MemoryName) {
		names = append(slices.Clone(names), mcp.MemoryName)
	}
	g.agent = c.Name
	for _, name := range names {
		s, err := g.open(ctx, app, name)
		if err != nil {
			return nil, where(err)
		}
		to.Servers = append(to.Servers, toolbox.Server{Name: name, Gateway: s})
	}
	var given []mcp.ClientServer
	for _, line := range g.o.MCP {
		s, err := mcp.Started(app, line)
		if err != nil {
			return nil, err
		}
		given = append(given, mcp.ClientServer{MCPServer: s})
	}
	for _, path := range g.o.MCPConfig {
		of, err := mcp.OfClient(app, path)
		if err != nil {
			return nil, err
		}
		given = append(given, of...)
	}
	for _, s := range given {
		base := s.Name
		for n := 2; slices.ContainsFunc(to.Servers, func(other toolbox.Server) bool { return other.Name == s.Name }); n++ {
			s.Name = fmt.Sprintf("%s-%d", base, n)
		}
		served, err := plane.GatewayOfClient(s)
		if err != nil {
			return nil, err
		}
		to.Servers = append(to.Servers, toolbox.Server{Name: s.Name, Gateway: served})
	}
	if g.o.Lab {
		to.Functions = lab.Tools(lab.Options{Hog: []string{plane.Query[0], HogArgument}})
	}
	if o.tools, err = toolbox.New(ctx, to); err != nil {
		return nil, where(err)
	}
	o.closes = append(o.closes, o.tools.Close)
	for _, s := range o.tools.Stats().Servers {
		if s.Err != nil {
			app.Warn(fmt.Sprintf("agent %s goes on without the tools of %s, and tries again: %v", c.Name, s.Name, s.Err))
		}
	}

	var conversations agent.Conversations // in memory, of what nobody asks to keep
	if !g.o.forgets {
		dir, err := agentDir(app, c.Name, "conversations")
		if err != nil {
			return nil, err
		}
		kept, err := conversation.Open(conversation.Options{Dir: dir, Journal: plane.Journal, Log: app.Log()})
		if err != nil {
			return nil, where(fmt.Errorf("keep its conversations: %w; PLIMSOLL_STATE_DIR names another directory", err))
		}
		o.closes = append(o.closes, kept.Close)
		conversations = patient{kept, app.Warn}
	}

	// What is not kept of a conversation is not remembered either.
	var keeper agent.Keeper
	var recaller agent.Recaller
	if !g.o.private {
		remembered := remember.Open(app, plane.Settings, remember.Options{
			Journal: plane.Journal, Namespace: remember.AgentNamespace(c.Name), Client: c.Name, Inside: !g.o.typed || app.Fence().Inside(), Own: true, Turns: true, Warn: app.Warn,
		})
		o.closes = append(o.closes, func() error { remembered.Close(); return nil })
		if recaller = remembered.AgentRecaller(); !g.o.forgets {
			keeper = remembered.AgentKeeper()
		}
	}

	room.Keep = o.tools.Keep
	compose, err := promptOf(c, choice, room.Windows, o.tools.Instructions())
	if err != nil {
		return nil, where(err)
	}
	o.agent, err = agent.New(agent.Options{
		Name: c.Name, Model: model, Tools: o.tools,
		Compose: compose, Gate: func(specs []agent.ToolSpec) func(agent.Call) string { return prompt.SearchFirst(specs, ended.Halved) },
		Limits: limitsOfAgent(c), Room: room,
		Conversations: conversations, Journal: plane.Journal, Summarize: c.Summarizer == "model", NoSummary: c.Summarizer == "off",
		Keeper: keeper, Recaller: recaller,
	})
	if err != nil {
		return nil, where(err)
	}
	o.closes = append(o.closes, o.agent.Close)
	return o, nil
}

// searchesMemory reports whether an agent gets the tools of the memory without asking for them.
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

// promptOf returns a function that makes the system prompt from the tools: the configured prompt, or else one composed from the tools and
// from servers, the instructions of their servers.
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
	if o.MaxTokens == 0 {
		o.MaxTokens = w.Output
	}
	if o.Window == 0 {
		o.Window = w.Context
	}
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

package profile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// Agent is all that is known of one agent. A field that is not set says that nothing is known of it.
type Agent struct {
	// Name is the one by which everything is kept: history, slots, tables of the configuration.
	Name string
	// Title is the name as people write it: "Claude Code".
	Title string
	// Aliases are other names of its command, in tables and for --tool.
	Aliases []string
	// Packages hold it, by the names under which package runners get them.
	Packages []string
	// SharesName names another well-known program of the same name; such an agent is protected only where it is named.
	SharesName string

	// InitialEstimate is the memory expected before its first run here, MaxConcurrent the bound of runs at once; 0 means no bound.
	InitialEstimate limit.Bytes
	MaxConcurrent   int

	// Source is the origin of the facts about its requests: "measured" with the version, or "documentation".
	Source string
	// Compacts is true when it makes room in its history by itself (Claude Code at about 83 % of the window, Codex at
	// about 90 %): the proxy acts late, so that it gets the chance.
	Compacts bool
	// Resume is the command that goes on with the newest session in the same directory; each as its own documentation has it (November 2026).
	Resume string
	// StatusLine is the settings file in which it looks for a command that prints a line below its prompt.
	StatusLine func(Home) string

	// ServerFiles are the user's own files in which it looks for MCP servers, the weaker first.
	ServerFiles func(Home) []string
	// ServerNames end the paths of all its files with MCP servers, a project's included: by them a file is told to be one of this agent's.
	ServerNames []string
	// Servers gives it servers for one run while its files stay as they are.
	Servers func(Servers)
	// MCPClient begins the name it gives itself as a client of MCP servers (clientInfo.name), in lower case, and is its name in
	// the gateway's reports; "" where it gives none or none is known.
	MCPClient string
	// DefersTools is true when it does not give its model all definitions of tools where they are many, but lets it find them.
	DefersTools bool
	// ResultCap is the text of one tool's result in bytes that it is given whole: under the size at which it cuts, drops or
	// moves a result away itself. 0 is what a client is given that nothing is known of.
	ResultCap limit.Bytes

	// Clouds is true when it asks Amazon Bedrock or Azure OpenAI where the variables of their libraries say so, or nothing is known of it.
	Clouds bool

	// UserAgent begins the User-Agent of its requests to a model.
	UserAgent string
	// Speaks reads from a request whose it is; nil: a request without tools is none of the conversation.
	Speaks func(Request) Origin
	// Typed lists which of a message's texts a person typed, where Speaks says that one may have; nil: nothing proves it.
	Typed func([]Said) []int

	// Adapter is set of a program that only translates between an editor and an agent.
	Adapter *Adapter

	plan   func(*planner)
	trusts func(*planner) bool // takes the settings of the folder it starts in; nil: it asks for no trust
}

// An Adapter is a program that translates for an agent which it starts as its child: the child's end is the run's, and what the run
// took is learnt under the agent's name.
type Adapter struct {
	// Agent is the name of the agent.
	Agent string
	// Child reports, from the arguments of a process below the adapter, its program first, whether it is the agent.
	Child func(argv []string) bool
}

// known are the agents. Each stands in a file of its own, which puts it here.
var known []*Agent

// add makes an agent known.
func add(a Agent) *Agent {
	known = append(known, &a)
	sorting.By(known, func(a, b *Agent) int { return cmp.Compare(a.Name, b.Name) })
	return &a
}

// All lists the agents, by name.
func All() []*Agent { return slices.Clone(known) }

// Find finds an agent by its canonical name.
func Find(name string) (*Agent, bool) {
	i := slices.IndexFunc(known, func(a *Agent) bool { return a.Name == name })
	if i < 0 {
		return nil, false
	}
	return known[i], true
}

// Named finds an agent by one of the names that people use for it, in any case: claude, Claude-Code.
func Named(name string) (*Agent, bool) {
	folded := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
	i := slices.IndexFunc(known, func(a *Agent) bool { return a.Name == folded || slices.Contains(a.Aliases, folded) })
	if i < 0 {
		return nil, false
	}
	return known[i], true
}

// OfPackage finds the agent that a package holds, by its name without a version.
func OfPackage(name string) (*Agent, bool) {
	i := slices.IndexFunc(known, func(a *Agent) bool { return slices.Contains(a.Packages, name) })
	if i < 0 {
		return nil, false
	}
	return known[i], true
}

// Package cuts the version off a package's specification: @openai/codex@latest, aider-chat==0.80, aider-chat[help], npm:@openai/codex@1.
func Package(spec string) string {
	spec = strings.TrimPrefix(spec, "npm:")
	if len(spec) > 1 {
		if i := strings.IndexByte(spec[1:], '@'); i >= 0 {
			spec = spec[:i+1]
		}
	}
	if i := strings.IndexAny(spec, "=<>~![ ;"); i > 0 {
		spec = spec[:i]
	}
	return strings.TrimSpace(spec)
}

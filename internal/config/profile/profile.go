// Package profile describes each agent: its names and packages, how it is pointed at the proxy and whose word counts for that, where its
// MCP servers stand and how it is given others for one run, and how its requests prove who speaks in them. No other package names an agent.
//
//	a, ok := profile.Find("codex")
//	s, err := a.Plan(profile.Setup{Argv: argv, Environ: os.Environ(), Dir: dir, Root: "http://127.0.0.1:4711/" + token})
//	cmd.Args, cmd.Env = s.Argv, s.Environ(os.Environ()) // unless s.Why says why there is no proxy
//
// To add an agent, write NAME.go with one call of add; what does not fit into the file stands in NAME_plan.go. Add a row to
// docs/clients.md and, where its requests are to be told from others', a recorded session to internal/window/client/testdata/sessions;
// tests hold these together.
//
// A base URL is not neutral: with it agents send other tools or take another kind of login. A profile sets what is needed and nothing else.
// Where the first request would not be the one the tool sends without Plimsoll, or a credential could reach the wrong host, there is no
// proxy. Files of tools are read (at most 1 MiB each), never written. Agents are values without state, for any number of goroutines.
package profile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// Agent holds what is known of one agent. A field that is not set means that it is not known.
type Agent struct {
	// Name identifies the agent in history, slots and tables of the configuration.
	Name string
	// Title is the name as people write it: "Claude Code".
	Title string
	// Aliases are other names of its command, in tables and for --tool.
	Aliases []string
	// Packages are the names of its packages, for package runners.
	Packages []string
	// SharesName describes another well-known program of the same name; such an agent is protected only if it is named.
	SharesName string

	// InitialEstimate is the memory expected before its first run here, MaxConcurrent the bound of runs at once; 0 means no bound.
	InitialEstimate limit.Bytes
	MaxConcurrent   int

	// Source is the origin of the facts about its requests: "measured" with the version, or "documentation".
	Source string
	// Compacts reports whether it makes room in its history by itself (Claude Code at about 83 % of the window, Codex at
	// about 90 %): the proxy then acts later, so that it can.
	Compacts bool
	// Resume is the command that continues the newest session in the same directory, as its documentation says (November 2026).
	Resume string
	// StatusLine is the settings file in which it looks for a command that prints a line below its prompt.
	StatusLine func(Home) string

	// ServerFiles are the user's own files in which it looks for MCP servers, the weaker first.
	ServerFiles func(Home) []string
	// ServerNames are the ends of the paths of all its files with MCP servers, also in projects, by which such a file is recognised.
	ServerNames []string
	// Servers makes it use other MCP servers for one run, without changing its files.
	Servers func(Servers)
	// MCPClient is the beginning of its name as a client of MCP servers (clientInfo.name), in lower case, and its name in
	// the gateway's reports; "" if it has none or it is not known.
	MCPClient string
	// DefersTools reports whether its model, if there are many tools, does not get all definitions but can search for them.
	DefersTools bool
	// ResultCap is the size in bytes up to which it gets a tool's result whole, below the size at which it cuts, drops or
	// stores a result itself; 0 means that of an unknown client.
	ResultCap limit.Bytes

	// Clouds reports whether it uses Amazon Bedrock or Azure OpenAI if the variables of their libraries say so, or may.
	Clouds bool

	// UserAgent is the beginning of the User-Agent of its requests to a model.
	UserAgent string
	// Patience is a time for which it surely waits for the first byte of an answer; 0 where nobody has looked. Measured with a server that sends
	// nothing: claude, codex and opencode waited on after 5 minutes, qwen gave up after 120 s and gemini after 60 s.
	Patience time.Duration
	// Speaks returns the origin of a request. If nil, a request without tools does not belong to the conversation.
	Speaks func(Request) Origin
	// Typed returns the indexes of a message's texts that a person typed, if Speaks says that one may have; nil if that cannot be known.
	Typed func([]Said) []int

	// Adapter is set for a program that only translates between an editor and an agent.
	Adapter *Adapter

	plan   func(*planner)
	trusts func(*planner) bool // reports whether it uses the settings of the folder it starts in; nil if it always does
}

// Adapter describes a program that translates for an agent, its child. The run ends with the child, and its resource use is
// recorded under the agent's name.
type Adapter struct {
	// Agent is the name of the agent.
	Agent string
	// Child reports whether a process below the adapter is the agent, by its arguments, the program first.
	Child func(argv []string) bool
}

// known holds all agents, sorted by name. Each has a file of its own, which adds it.
var known []*Agent

// add adds an agent to known and returns it.
func add(a Agent) *Agent {
	known = append(known, &a)
	sorting.By(known, func(a, b *Agent) int { return cmp.Compare(a.Name, b.Name) })
	return &a
}

// All returns all agents, sorted by name.
func All() []*Agent { return slices.Clone(known) }

// Find returns the agent with a canonical name; false if there is none.
func Find(name string) (*Agent, bool) {
	i := slices.IndexFunc(known, func(a *Agent) bool { return a.Name == name })
	if i < 0 {
		return nil, false
	}
	return known[i], true
}

// Named returns the agent with a name or an alias, in any case and with _ for -: claude, Claude-Code. It returns false if there is none.
func Named(name string) (*Agent, bool) {
	folded := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
	i := slices.IndexFunc(known, func(a *Agent) bool { return a.Name == folded || slices.Contains(a.Aliases, folded) })
	if i < 0 {
		return nil, false
	}
	return known[i], true
}

// OfPackage returns the agent that a package, named without a version, contains; false if there is none.
func OfPackage(name string) (*Agent, bool) {
	i := slices.IndexFunc(known, func(a *Agent) bool { return slices.Contains(a.Packages, name) })
	if i < 0 {
		return nil, false
	}
	return known[i], true
}

// Package returns the name in a package's specification, without the version: of @openai/codex@latest, aider-chat==0.80, aider-chat[help],
// npm:@openai/codex@1.
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

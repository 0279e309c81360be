package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/remember"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/tools/wrap"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// MCPDecision lists the MCP servers of the agent that would be behind the gateway, or says in NotWrapped why none would be. Both are empty
// for a tool that is not known to have servers.
type MCPDecision struct {
	Wrapped    []string `json:"wrapped,omitempty"`
	NotWrapped string   `json:"not_wrapped,omitempty"`
	Notes      []string `json:"notes,omitempty"`
}

// offeredMemory is the name under which the agent's memory is offered to a tool as an MCP server, where the memory is on.
const offeredMemory = "plimsoll-memory"

// words tells which servers get the gateway, or why none does; "" if neither is known.
func (d MCPDecision) words() string {
	switch {
	case len(d.Wrapped) > 0:
		return "the gateway for " + strings.Join(d.Wrapped, ", ")
	case d.NotWrapped != "":
		return "no gateway, because " + d.NotWrapped
	}
	return ""
}

// planServers returns how the tool's MCP servers are put behind the gateway for this run, without touching its files; the zero Setup for a
// tool that takes no servers for one run. folder is the place for private files.
func (x *process) planServers(argv, environ []string, folder string) (wrap.Setup, error) {
	p := x.decision
	agent, ok := p.agent()
	if !ok || agent.Servers == nil {
		return wrap.Setup{}, nil // no way is known in which it takes servers for one run
	}
	if p.Settings.MCP.Wrap == "off" {
		return wrap.Setup{Why: "[mcp] wrap is off (" + p.Settings.Source("mcp.wrap").String() + ")"}, nil
	}
	word, ok := agent.Word(argv, p.Match.Via)
	if !ok {
		return wrap.Setup{Why: "there is no telling where the tool's arguments begin in this command"}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return wrap.Setup{}, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return wrap.Setup{Why: "there is no home directory to look for its settings in"}, nil
	}
	project, err := os.Getwd()
	if err != nil {
		return wrap.Setup{}, err
	}
	if real, err := filepath.EvalSymlinks(project); err == nil {
		project = real
	}
	setup, err := x.clientSetup(argv, environ)
	if err != nil {
		return wrap.Setup{}, err
	}
	var offer []profile.Offered
	if p.Settings.Memory.State == config.MemoryOn {
		offer = []profile.Offered{{Name: offeredMemory, Command: []string{self, "mcp", "memory", "--quiet", "--in-run", filepath.Join(folder, "run.env")}}}
	}
	return wrap.ForTool(wrap.Start{
		Offer:     offer,
		Untrusted: !agent.Trusts(setup),
		Agent:     agent, Home: home, Project: project, Argv: argv, Word: word, Env: environ, Folder: folder,
		Options: wrap.Options{Command: self, InRun: filepath.Join(folder, "run.env")},
	}), nil
}

// whyNoTools returns the reason why the tool is not offered the memory's tools, from the results of planServers; "" if it is offered them.
func (x *process) whyNoTools(setup wrap.Setup, err error) string {
	agent, known := x.decision.agent()
	switch {
	case err != nil:
		return err.Error()
	case !known:
		return x.unknownTool()
	case agent.Servers == nil:
		return agent.Title + " takes no MCP server for one run"
	}
	return setup.Why
}

func (x *process) unknownTool() string {
	return x.decision.Tool + " is none of the agents that are known"
}

// reach returns what decides what the memory does in this run. noProxy is the reason why it has no proxy.
func (x *process) reach(noProxy string) remember.Reach {
	agent, known := x.decision.agent()
	if !known && noProxy != "" {
		noProxy = x.unknownTool()
	}
	return remember.Reach{Agent: agent, NoProxy: noProxy, NoTools: x.noTools}
}

// wrapServers puts the tool's MCP servers behind the gateway, and returns the command and the environment for the tool: argv and environ
// themselves if there is nothing to change. After an error, which goes into the report, the run goes on without the gateway.
func (x *process) wrapServers(run string, argv, environ []string) ([]string, []string) {
	x.noTools = "its MCP servers are not behind the gateway"
	given, env := argv, environ
	if given == nil {
		given, env = x.opts.Command, os.Environ()
	}
	folder, err := x.privateFolder(run)
	if err != nil {
		return argv, environ
	}
	dir := filepath.Dir(folder)
	setup, err := x.planServers(given, env, folder)
	x.noTools = x.whyNoTools(setup, err)
	if err == nil && setup.Argv != nil && setup.Why == "" {
		if err = os.MkdirAll(folder, 0o700); err == nil {
			x.closer.Do(func() { _ = os.RemoveAll(dir) })
			err = writeRunEnv(filepath.Join(folder, "run.env"), run, env)
		}
		for _, f := range setup.Files {
			if err == nil {
				err = atomicfile.Write(f.Path, f.Body, 0o600, atomicfile.Volatile) // it goes with the run
			}
		}
	}
	if err != nil {
		x.noTools = err.Error()
		x.report.warn("mcp", "MCP servers are not behind the gateway: "+err.Error())
		return argv, environ
	}
	for _, note := range setup.Notes {
		x.report.journal.Append(journal.Warned{About: "mcp", Text: note})
	}
	if setup.Argv == nil || setup.Why != "" {
		return argv, environ
	}
	return setup.Argv, append(slices.Clone(env), setup.Env...)
}

// runVariables are the variables that tell a gateway within the run where state lies, which some clients keep from the servers that they
// start. The run's ID is passed on with them.
var runVariables = []string{"PLIMSOLL_STATE_DIR", "PLIMSOLL_CACHE_DIR", "PLIMSOLL_CONFIG", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"}

// writeRunEnv writes the file that [EnterRun] reads.
func writeRunEnv(file, run string, environ []string) error {
	var text strings.Builder
	text.WriteString(sandbox.CookieName + "=" + run + "\n")
	get := config.Getenv(environ)
	for _, name := range runVariables {
		if value := get(name); value != "" && !strings.ContainsAny(value, "\n\r") {
			text.WriteString(name + "=" + value + "\n")
		}
	}
	return atomicfile.Write(file, []byte(text.String()), 0o600, atomicfile.Volatile) // it goes with the run
}

// EnterRun sets the variables of a run from a file that the run wrote, for a gateway within it whose client did not pass them on. Variables
// that are set already stay. It is an error if the file does not exist, as when the run is over.
func EnterRun(file string) error {
	text, err := statefile.Read(file, 64<<10)
	if err != nil {
		return fmt.Errorf("--in-run is set by plimsoll run, for as long as the run lasts: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if ok && os.Getenv(name) == "" && (name == sandbox.CookieName || slices.Contains(runVariables, name)) {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// decideServers returns what a dry run says about the MCP gateway, and sets x.noTools.
func (x *process) decideServers() MCPDecision {
	setup, err := x.planServers(x.opts.Command, os.Environ(), filepath.Join(os.TempDir(), "plimsoll-dry-run"))
	x.noTools = x.whyNoTools(setup, err)
	if err != nil {
		return MCPDecision{NotWrapped: err.Error()}
	}
	d := MCPDecision{NotWrapped: setup.Why, Notes: setup.Notes}
	for _, s := range setup.Servers {
		switch s.Action {
		case wrap.Wrapped:
			d.Wrapped = append(d.Wrapped, s.Name)
		case wrap.Left:
			d.Notes = append(d.Notes, fmt.Sprintf("%s is left alone: %s", s.Name, s.Why))
		}
	}
	return d
}

// collectTally adds what the MCP gateways of this run did to its report, and removes their account. It warns if the definitions of their tools
// take much of the window.
func (x *process) collectTally(run string) {
	rows, err := mcp.TakeTally(x.app.Core, run)
	if err != nil {
		x.report.warn("mcp", "not all that the MCP gateway did is in the report: "+err.Error())
	}
	for _, r := range rows {
		x.report.journal.Append(journal.ToolsTallied{
			Server: r.Server, Tool: r.Tool, Calls: r.Calls, UpstreamBytes: r.UpstreamBytes, DeliveredBytes: r.DeliveredBytes, Spilled: r.Spilled,
			DefinitionTokens: r.DefinitionTokens, Deferred: r.Deferred,
		})
	}
	done := x.report.reporter.Report()
	if text := tooManyDefinitions(done.MCP, done.Window); text != "" && !defers(done.Tool) {
		x.report.warn("mcp", text)
	}
}

package profile

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// How Claude Code takes the proxy's address, and whose word counts for it, is in claude_plan.go.
var _ = add(Agent{
	Name: "claude", Title: "Claude Code", Aliases: []string{"claude-code"}, Packages: []string{"@anthropic-ai/claude-code"},
	// The estimate and the bound are those of the sub-agent runner whose users know this name.
	InitialEstimate: 4096 * limit.MiB, MaxConcurrent: 3,
	Source: "measured: 2.1.332", Compacts: true, plan: planClaude, trusts: func(w *planner) bool { return readClaude(w).trustsProject() },
	Resume:     "claude --continue",
	StatusLine: func(h Home) string { return filepath.Join(claudeFolder(h), "settings.json") },

	ServerFiles: func(h Home) []string { return []string{claudeState(h)} },
	ServerNames: []string{"/.mcp.json", "/.claude.json"},
	Servers:     claudeServers,
	// It cuts at 25,000 tokens, and puts what is over 50,000 characters into a file.
	MCPClient: "claude-code", ResultCap: 50_000, DefersTools: true,

	UserAgent: "claude-cli/", Patience: time.Minute, Speaks: claudeSpeaks, Typed: claudeTyped,
})

// claudeFolder returns the folder of Claude Code's settings.
func claudeFolder(h Home) string { return h.folder("CLAUDE_CONFIG_DIR", h.path(".claude")) }

func claudeState(h Home) string {
	return joinBelow(h.folder("CLAUDE_CONFIG_DIR", h.Dir), ".claude.json")
}

// claudeServers gives Claude Code 2.1.197 a file by --mcp-config: its servers replace those of the same name in every scope, and all others
// stay. Claude Code uses servers of a project's .mcp.json only after the user has approved them, but those of such a file without asking:
// so only approved ones are put into it, or all where Claude Code itself does not ask (-p).
func claudeServers(w Servers) {
	const advice = "wrap that file with `plimsoll mcp wrap FILE`"
	if w.Given("--strict-mcp-config") {
		w.Refuse("--strict-mcp-config leaves only the servers of your own --mcp-config: " + advice)
		return
	}
	if w.Given("--mcp-config") {
		w.Note("the servers of your own --mcp-config go around Plimsoll: " + advice)
	}
	own := claudeState(w.Home())
	project, trusted := w.Project()
	var user struct {
		Projects map[string]claudeApprovals `json:"projects"`
	}
	_ = json.Unmarshal(w.Plain(w.Read(own)), &user)
	said := user.Projects[project]
	names := []string{filepath.Join(claudeFolder(w.Home()), "settings.json")}
	if trusted { // a repository cannot approve its own servers
		names = append(names, filepath.Join(project, ".claude", "settings.json"), filepath.Join(project, ".claude", "settings.local.json"))
	}
	for _, name := range names {
		var more claudeApprovals
		if json.Unmarshal(w.Plain(w.Read(name)), &more) == nil {
			said.All = said.All || more.All
			said.Enabled = append(said.Enabled, more.Enabled...)
			said.Disabled = append(said.Disabled, more.Disabled...)
		}
	}
	asks := !w.Given("-p") && !w.Given("--print")
	// From the weakest scope to the strongest: user, project, local.
	w.Load(own, func(place []string, name string) bool {
		return place[0] == "mcpServers" && !slices.Contains(said.Off, name)
	})
	w.Load(filepath.Join(project, ".mcp.json"), func(_ []string, name string) bool {
		switch {
		case slices.Contains(said.Disabled, name), slices.Contains(said.Off, name):
			return false
		case !trusted:
			w.Note("the server " + name + " of .mcp.json is left alone: Claude Code does not trust this folder yet, and asks when you start it here")
			return false
		case !asks, said.All, slices.Contains(said.Enabled, name):
			return true
		}
		w.Note("the server " + name + " of .mcp.json is not approved yet and goes around Plimsoll in this run")
		return false
	})
	w.Load(own, func(place []string, name string) bool {
		return place[0] == "projects" && place[1] == project && !slices.Contains(said.Off, name)
	})
	body := []byte("{}")
	w.Wrapped(func(s Server) {
		if entry := s.Entry(); entry != nil {
			body = setServer(body, "mcpServers", s.Name, entry)
		}
	})
	w.Offered(func(o Offered) { body = setServer(body, "mcpServers", o.Name, o.entry()) })
	if len(body) > 2 {
		// With "=": the flag takes all words that follow it, a prompt as well.
		w.Insert("--mcp-config=" + w.File("claude-mcp.json", append(body, '\n')))
	}
}

// claudeApprovals are a user's decisions about the servers of a project.
type claudeApprovals struct {
	All      bool     `json:"enableAllProjectMcpServers"`
	Enabled  []string `json:"enabledMcpjsonServers"`
	Disabled []string `json:"disabledMcpjsonServers"`
	Off      []string `json:"disabledMcpServers"`
}

// claudeSpeaks reads the origin of a request from "claude-cli/2.1.197 (external, cli)" and from the first block of the system prompt:
// "x-anthropic-billing-header: cc_version=…; cc_entrypoint=cli; cc_is_subagent=true;".
func claudeSpeaks(r Request) Origin {
	system, ok := r.System()
	if !ok {
		return Origin{Side: true}
	}
	said, ok := strings.CutPrefix(system, "x-anthropic-billing-header:")
	entry, sub := "", false
	for field := range strings.SplitSeq(said, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "cc_entrypoint":
			entry = value
		case "cc_is_subagent":
			sub = value != "false"
		}
	}
	o := Origin{Side: sub || r.Tools == 0}
	o.Person = ok && !o.Side && entry == "cli" && strings.HasSuffix(r.Header("User-Agent"), ", cli)")
	return o
}

// claudeTyped returns the index of the one text in a message that a person has typed; nil if there is none, or if it is not clear which. Other
// texts are Claude Code's, each in an element; a <command-name> of a command that is not local is followed by the text that the command stands
// for, which nobody typed.
func claudeTyped(parts []Said) []int {
	last := -1
	expands := false
	for i, p := range parts {
		if p.Media {
			continue
		}
		if !p.Single {
			return nil
		}
		if last >= 0 {
			return nil // two texts that are in no element: one is the client's
		}
		text := strings.TrimSpace(p.Text)
		switch {
		case strings.HasPrefix(text, "<command-name>"), strings.HasPrefix(text, "<command-message>"):
			expands = true
		case strings.HasPrefix(text, "<local-command-stdout>"), strings.HasPrefix(text, "<local-command-stderr>"):
			expands = false
		case agentWrote(text, claudeOpenings):
			if !inElement(text) {
				return nil
			}
		default:
			last = i
		}
	}
	if last < 0 || expands {
		return nil
	}
	return []int{last}
}

// claudeOpenings are beginnings of texts that Claude Code and its hooks write in the role of the user, outside of elements.
var claudeOpenings = []string{
	"This session is being continued from", "CRITICAL: Respond with TEXT ONLY", "Implement the following plan", "Caveat: The messages below",
	"Stop hook ", "Base directory for this skill", "Another Claude session", "Continue from where you left off", "Your task is to create a detailed summary",
	"Unknown skill", "The user ", "API Error",
}

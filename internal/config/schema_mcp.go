package config

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// mcpKeys are the keys of [mcp], for the gateway in front of MCP servers. Those that are perServer may also be set in [mcp.servers.NAME]
// for that server; those that are perMCPTool also in [mcp.servers.NAME.tools.TOOL].
var mcpKeys = []*Key{
	{
		Name: "wrap", Type: TypeChoice, Default: "auto", Choices: []string{"off", "auto"}, PerTool: true, Project: ProjectStricter,
		Doc: "Whether run puts the gateway in front of a tool's MCP servers, where the tool takes them for one run.",
		set: func(s *Settings, v any) { s.MCP.Wrap = v.(string) },
	},
	{
		Name: "max_output", Type: TypeAutoSize, Default: "auto", Variables: []string{"MAX_TOOL_OUTPUT_SIZE", "MAX_TOOL_OUTPUT_LENGTH"}, PerTool: true, perServer: true, perMCPTool: true,
		Project: ProjectFree, min: 256, max: int64(64 * limit.MiB), example: `"10K"`,
		auto: "window",
		Doc:  "Largest text of a result that reaches the client whole. auto goes by the client (10K for an unknown one); window, as auto for Plimsoll's own agents, is at most half of what is free in it.",
		set:  func(s *Settings, v any) { s.MCP.MaxOutput = v.(limit.Bytes) },
	},
	{
		Name: "max_items", Type: TypeCount, Default: "100", PerTool: true, perServer: true, perMCPTool: true, Project: ProjectFree, min: 0, max: 1 << 30, noBound: true, example: "100",
		Doc: "A JSON list with more items is paged, however small; 0 never does.",
		set: func(s *Settings, v any) { s.MCP.MaxItems = v.(int) },
	},
	{
		Name: "page_items", Type: TypeCount, Default: "20", PerTool: true, perServer: true, perMCPTool: true, Project: ProjectFree, min: 1, max: 100, example: "20",
		Doc: "Items of a page when the caller names no size.",
		set: func(s *Settings, v any) { s.MCP.PageItems = v.(int) },
	},
	{
		Name: "max_search", Type: TypeCount, Default: "1000", Variables: []string{"MAX_SEARCH_RESULTS"}, PerTool: true, perServer: true, Project: ProjectFree, min: 1, max: 1000, example: "1000",
		Doc: "Matches of one search; more are an error with a breakdown.",
		set: func(s *Settings, v any) { s.MCP.MaxSearch = v.(int) },
	},
	{
		Name: "max_media", Type: TypeSize, Default: "8M", PerTool: true, perServer: true, perMCPTool: true, Project: ProjectFree, min: 1 << 10, max: int64(limit.GiB), example: `"8M"`,
		Doc: "Largest image, sound or file that reaches the client; a line stands for a larger one.",
		set: func(s *Settings, v any) { s.MCP.MaxMedia = v.(limit.Bytes) },
	},
	{
		Name: "allow", Type: TypePatterns, PerTool: true, perServer: true, Project: ProjectNever, example: `["list_*", "get_*"]`,
		Doc: "Names of the tools that may be used, with * for any text; empty means all.",
		set: func(s *Settings, v any) { s.MCP.Allow = slices.Clone(v.([]string)) },
	},
	{
		Name: "deny", Type: TypePatterns, PerTool: true, perServer: true, Project: ProjectNever, example: `["delete_*"]`,
		Doc: "Names of the tools that may not be used, whatever allow says; what is denied anywhere is denied.",
		set: func(s *Settings, v any) {
			for _, name := range v.([]string) {
				if !slices.Contains(s.MCP.Deny, name) {
					s.MCP.Deny = append(s.MCP.Deny, name)
				}
			}
		},
	},
	{
		Name: "read_only", Type: TypeBool, Default: "false", PerTool: true, perServer: true, Project: ProjectNever, example: "false",
		Doc: "Whether only tools may be used that say they change nothing (readOnlyHint).",
		set: func(s *Settings, v any) { s.MCP.ReadOnly = v.(bool) },
	},
	{
		Name: "tools_max", Type: TypeCount, Default: "0", PerTool: true, perServer: true, Project: ProjectFree, min: 2000, max: maxTokens, noBound: true, optional: true,
		thousands: true, example: `"8k"`,
		Doc: "Tokens that definitions of tools may take; of more, those used most stay and tool_search finds the rest. 0 lists all.",
		set: func(s *Settings, v any) { s.MCP.ToolsMax = v.(int) },
	},
	{
		Name: "early", Type: TypeDuration, Default: "30s", PerTool: true, perServer: true, perMCPTool: true, Project: ProjectFree, max: int64(24 * time.Hour), example: `"30s"`,
		Doc: "How long to wait for a large result before its first page is delivered; 0s waits for the end.",
		set: func(s *Settings, v any) { s.MCP.Early = v.(time.Duration) },
	},
	{
		Name: "timeout", Type: TypeDuration, Default: "0s", PerTool: true, perServer: true, perMCPTool: true, Project: ProjectFree, max: int64(24 * time.Hour), example: `"2m"`,
		Doc: "How long a call may go without an answer or progress before it is cancelled; 0s leaves that to the client.",
		set: func(s *Settings, v any) { s.MCP.Timeout = v.(time.Duration) },
	},
	{
		Name: "max_result", Type: TypeSize, Default: "4G", PerTool: true, perServer: true, perMCPTool: true, Project: ProjectNever, min: int64(limit.MiB), max: maxMemory, example: `"4G"`,
		Doc: "Largest result that is taken from a server; a larger one is an error, and what came can be read.",
		set: func(s *Settings, v any) { s.MCP.MaxResult = v.(limit.Bytes) },
	},
	{
		Name: "memory_max", Type: TypeSize, Default: "2G", PerTool: true, perServer: true, Project: ProjectStricter, min: minMemory, max: maxMemory, example: `"1G"`,
		Doc: "Memory of a server process and all it starts.",
		set: func(s *Settings, v any) { s.MCP.MemoryMax = v.(limit.Bytes) },
	},
	{
		Name: "pids_max", Type: TypeCount, Default: "512", PerTool: true, perServer: true, Project: ProjectStricter, min: 1, max: maxPids, example: "256",
		Doc: "Processes and threads of a server.",
		set: func(s *Settings, v any) { s.MCP.PidsMax = v.(int) },
	},
	{
		Name: "max_processes", Type: TypeCount, Default: "16", perServer: true, Project: ProjectNever, min: 1, max: 1 << 16, example: "16",
		Doc: "Processes of one server that serve starts; clients with sessions get one each.",
		set: func(s *Settings, v any) { s.MCP.MaxProcesses = v.(int) },
	},
	{
		Name: "idle", Type: TypeDuration, Default: "30m", perServer: true, Project: ProjectNever, min: int64(time.Second), max: int64(30 * 24 * time.Hour), example: `"30m"`,
		Doc: "How long a client's session lives after its last request.",
		set: func(s *Settings, v any) { s.MCP.Idle = v.(time.Duration) },
	},
	{
		Name: "argocd_writes", Type: TypeBool, Default: "false", Project: ProjectNever, example: "false",
		Doc: "Whether the Argo CD server has the tools that change something.",
		set: func(s *Settings, v any) { s.MCP.ArgoCDWrites = v.(bool) },
	},
	{
		Name: "argocd_tools", Type: TypeChoice, Default: "common", Choices: []string{"common", "all"}, Project: ProjectNever,
		Doc: "Which tools of the Argo CD server are listed; the others work when called by their names.",
		set: func(s *Settings, v any) { s.MCP.ArgoCDTools = v.(string) },
	},
	{
		Name: "argocd_snapshot", Type: TypeDuration, Default: "0s", Project: ProjectNever, max: int64(24 * time.Hour), example: `"30s"`,
		Doc: "How long the pages of one listing come from one snapshot; 0s reads the server for every page.",
		set: func(s *Settings, v any) { s.MCP.ArgoCDSnapshot = v.(time.Duration) },
	},
	{
		Name: "argocd_simulator", Type: TypeText, Default: "off", Project: ProjectNever, example: `"on"`,
		Doc: "Whether a simulated Argo CD takes the place of a real one: off, on, or how much there is, as in 819,236,287,13 (applications, projects, application sets, clusters).",
		set: func(s *Settings, v any) { s.MCP.ArgoCDSimulator = v.(string) },
	},
	{
		Name: "argocd_tokens", Type: TypeChoice, Default: "off", Choices: []string{"off", "allow", "require"}, Project: ProjectNever,
		Doc: "Whether HTTP clients act with their own Argo CD tokens: never, when they send one, or always.",
		set: func(s *Settings, v any) { s.MCP.ArgoCDTokens = v.(string) },
	},
}

// serverKeys are the keys of [mcp.servers.NAME] and [a2a.NAME] only, which describe the server. A project's file, which may come with a
// cloned repository, sets none of them.
var serverKeys = []*Key{
	{
		Name: "command", Type: TypeArgv, Project: ProjectNever, example: `["npx", "-y", "@modelcontextprotocol/server-everything"]`,
		Doc:       "Program and arguments of a server that speaks over its standard streams.",
		setServer: func(s *MCPServer, v any) { s.Command = slices.Clone(v.([]string)) },
	},
	{
		Name: "url", Type: TypeAnyURL, Project: ProjectNever, example: `"https://mcp.example.com/mcp"`,
		Doc:       "Address of a server that speaks over HTTP.",
		setServer: func(s *MCPServer, v any) { s.URL = v.(string) },
	},
	{
		Name: "token", Type: TypeVariable, Project: ProjectNever, example: `"GITHUB_TOKEN"`,
		Doc:       "Variable that holds the bearer token for url; unset passes on what the client sends.",
		setServer: func(s *MCPServer, v any) { s.Token = v.(string) },
	},
	{
		Name: "headers", Type: TypePairs, Project: ProjectNever, example: `["X-Api-Key=MY_KEY"]`,
		Doc:       "Headers for url, each as NAME=VARIABLE.",
		setServer: func(s *MCPServer, v any) { s.Headers = slices.Clone(v.([]string)) },
	},
	{
		Name: "env", Type: TypePairs, Project: ProjectNever, example: `["LOG_LEVEL=warn"]`,
		Doc:       "Further variables for command, each as NAME=VALUE.",
		setServer: func(s *MCPServer, v any) { s.Env = slices.Clone(v.([]string)) },
	},
	{
		Name: "dir", Type: TypeDirectory, Project: ProjectNever, example: `"/srv/data"`,
		Doc:       "Working directory of command; empty is Plimsoll's own.",
		setServer: func(s *MCPServer, v any) { s.Dir = v.(string) },
	},
	{
		Name: "merge", Type: TypeBool, Default: "true", Project: ProjectNever, example: "true",
		Doc:       "Whether its tools also stand behind /mcp, as NAME__TOOL.",
		setServer: func(s *MCPServer, v any) { s.Merge = v.(bool) },
	},
	{
		Table: a2aTable, Name: "url", Type: TypeURL, Project: ProjectNever, example: `"https://agents.example.com/a2a/helper"`,
		Doc:       "Address of an agent over A2A 1.0; its card is read at .well-known/agent-card.json below it.",
		setServer: func(s *MCPServer, v any) { s.A2A = v.(string) },
	},
	{
		Table: a2aTable, Name: "token", Type: TypeVariable, Project: ProjectNever, example: `"HELPER_TOKEN"`,
		Doc:       "Variable that holds the bearer token for the host of url.",
		setServer: func(s *MCPServer, v any) { s.Token = v.(string) },
	},
}

func init() {
	for _, k := range serverKeys {
		k.Table = cmp.Or(k.Table, serversTable)
	}
}

// serversTable and a2aTable hold serverKeys, below a name.
const (
	serversTable = "mcp.servers"
	a2aTable     = "a2a"
)

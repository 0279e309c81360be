// Package wrap puts Plimsoll in front of the MCP servers in a client's configuration file.
//
//	change, err := wrap.Apply("/home/me/.cursor/mcp.json", wrap.Options{Command: self})
//	for _, s := range change.Servers {
//		fmt.Println(s.Line, s.Client, s.Name, s.Action, s.Why)
//	}
//	change, err = wrap.Undo("/home/me/.cursor/mcp.json", false)
//
// A server that is started becomes `plimsoll mcp --name NAME -- COMMAND ARGS…`, a remote one
// `plimsoll mcp --name NAME --url URL`. Everything else in its entry stays: variables,
// working directory, timeouts, whether it is enabled, keys that nobody here knows.
//
// # Which files
//
// The servers are found by the form of the file: mcpServers (Claude Code, Claude Desktop,
// Gemini CLI, Cursor, Windsurf, Cline, Copilot and many others), projects.*.mcpServers
// (Claude Code's own file), servers and mcp.servers (VS Code), mcp (opencode, Crush), context_servers (Zed), and
// mcp_servers in TOML (Codex) and as an array in TOML (Mistral Vibe). JSON may have comments and trailing commas. In YAML: extensions (Goose), mcp_servers
// (Hermes) and the list mcpServers (Continue); remote servers with what only their client fills in are left there.
//
// # Secrets of remote servers
//
// Every user of a machine can read arguments, so none holds a secret. Headers become
// variables of the entry's own environment, PLIMSOLL_MCP_HEADER_1 = "Name: value" and so
// on, and what the client would have filled into them (${TOKEN}, ${input:id}, {env:TOKEN})
// it fills in there. An address with a query, a user or something to fill in becomes
// PLIMSOLL_MCP_URL. Codex names variables of its own environment instead; they become
// `--bearer-env VARIABLE` and `--header NAME=VARIABLE`, and Codex is told to hand those on.
//
// A remote server without headers is left alone: the client may have logged in to it by
// itself, and that login cannot be handed on. So is one with settings for a login.
//
// # The edit
//
// Files are edited in ranges of bytes: comments, order, indentation, line endings, a byte
// order mark, the file's mode and a symbolic link stay. Before anything is written the
// outcome is parsed and compared: all but the wrapped entries must be what it was. Wrapping
// again changes nothing. The original goes to FILE.plimsoll-backup once; [Undo] gives
// exactly those bytes back when the file has not been changed since, and else takes every
// entry back on its own.
//
// Nothing that a file names is ever executed or followed. All functions may be called from
// any goroutine; two programs that write one file at once are told so, where that is seen.
//
// # Reading without an edit
//
// [Read] returns the servers of a file ready to be started, with everything that their client would have filled in.
//
// # Agents that need no file changed
//
// [ForTool] returns the flags and variables by which a known agent gets wrapped servers instead.
//
// The package is tested with a file of every client, and fuzzed: a valid file stays valid,
// nothing but servers changes, and undoing gives the file back.
package wrap

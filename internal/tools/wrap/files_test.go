package wrap_test

// files has a file of every client, before and after; "" is unchanged.
var files = []struct{ name, path, before, after string }{
	{"Claude Code, project", "/p/.mcp.json", `{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}"],
      "env": { "DEBUG": "1" }
    },
    "bare": {"command": "server"},
    "api": {
      "type": "http",
      "url": "https://api.example.com/mcp",
      "headers": { "Authorization": "Bearer ${TOKEN:-none}", "X-Team": "a \"b\"" },
      "timeout": 1000
    },
    "login": { "type": "http", "url": "https://mcp.example.com/mcp" },
    "helper": { "type": "http", "url": "https://mcp.example.com/mcp", "headersHelper": "/bin/x" },
    "old": { "type": "sse", "url": "https://mcp.example.com/sse", "headers": {"A": "b"} },
    "ours": { "command": "/usr/bin/plimsoll", "args": ["mcp", "argocd"] },
    "done": { "command": "plimsoll", "args": ["mcp", "--name", "done", "--", "x"] }
  }
}
`, `{
  "mcpServers": {
    "files": {
      "command": "/opt/plimsoll",
      "args": ["mcp", "--name", "files", "--", "npx", "-y", "@modelcontextprotocol/server-filesystem", "${HOME}"],
      "env": { "DEBUG": "1" }
    },
    "bare": {"command": "/opt/plimsoll", "args": ["mcp", "--name", "bare", "--", "server"]},
    "api": {
      "type": "stdio",
      "command": "/opt/plimsoll",
      "args": ["mcp", "--name", "api", "--url", "https://api.example.com/mcp"],
      "env": { "PLIMSOLL_MCP_HEADER_1": "Authorization: Bearer ${TOKEN:-none}", "PLIMSOLL_MCP_HEADER_2": "X-Team: a \"b\"" },
      "timeout": 1000
    },
    "login": { "type": "http", "url": "https://mcp.example.com/mcp" },
    "helper": { "type": "http", "url": "https://mcp.example.com/mcp", "headersHelper": "/bin/x" },
    "old": { "type": "stdio", "command": "/opt/plimsoll", "args": ["mcp", "--name", "old", "--url", "https://mcp.example.com/sse"], "env": { "PLIMSOLL_MCP_HEADER_1": "A: b" } },
    "ours": { "command": "/usr/bin/plimsoll", "args": ["mcp", "argocd"] },
    "done": { "command": "plimsoll", "args": ["mcp", "--name", "done", "--", "x"] }
  }
}
`},
	{
		"Claude Code, own file", "/h/.claude.json", `{"numStartups":12345678901234567890,"projects":{"/a/b":{"allowedTools":[],"mcpServers":{"x":{"type":"stdio","command":"x","args":[],"env":{}}}}},"mcpServers":{}}`,
		`{"numStartups":12345678901234567890,"projects":{"/a/b":{"allowedTools":[],"mcpServers":{"x":{"type":"stdio","command":"/opt/plimsoll","args":["mcp", "--name", "x", "--", "x"],"env":{}}}}},"mcpServers":{}}`,
	},
	{
		"Claude Desktop, Windows", "/u/claude_desktop_config.json", "\xef\xbb\xbf{\r\n\t\"mcpServers\": {\r\n\t\t\"w\": {\r\n\t\t\t\"command\": \"C:\\\\x.exe\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"/c\"\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}",
		"\xef\xbb\xbf{\r\n\t\"mcpServers\": {\r\n\t\t\"w\": {\r\n\t\t\t\"command\": \"/opt/plimsoll\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"mcp\",\r\n\t\t\t\t\"--name\",\r\n\t\t\t\t\"w\",\r\n\t\t\t\t\"--\",\r\n\t\t\t\t\"C:\\\\x.exe\",\r\n\t\t\t\t\"/c\"\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}",
	},
	{
		"Gemini CLI", "/h/.gemini/settings.json", `{
  // comments are taken
  "theme": "x",
  "mcpServers": {
    "a": { "httpUrl": "https://a.example/mcp", "headers": { "X-Key": "$KEY" }, "trust": true },
    "b": { "type": "http", "url": "https://b.example/mcp?key=$KEY", "headers": {}, "oauth": { "enabled": false } },
    "c": { "url": "https://c.example/mcp?key=1", "type": "http", "headers": { "A": "b" }, "timeout": 5 },
    "d": { "command": "d", "cwd": "x", "includeTools": ["y"], },
  }
}`, `{
  // comments are taken
  "theme": "x",
  "mcpServers": {
    "a": { "command": "/opt/plimsoll", "args": ["mcp", "--name", "a", "--url", "https://a.example/mcp"], "env": { "PLIMSOLL_MCP_HEADER_1": "X-Key: $KEY" }, "trust": true },
    "b": { "type": "http", "url": "https://b.example/mcp?key=$KEY", "headers": {}, "oauth": { "enabled": false } },
    "c": { "args": ["mcp", "--name", "c", "--url-env", "PLIMSOLL_MCP_URL"], "command": "/opt/plimsoll", "env": { "PLIMSOLL_MCP_URL": "https://c.example/mcp?key=1", "PLIMSOLL_MCP_HEADER_1": "A: b" }, "timeout": 5 },
    "d": { "command": "/opt/plimsoll", "args": ["mcp", "--name", "d", "--", "d"], "cwd": "x", "includeTools": ["y"], },
  }
}`,
	},
	{
		"Cursor", "/p/.cursor/mcp.json", `{"mcpServers":{"a":{"url":"https://a.example/mcp","headers":{"Authorization":"Bearer ${env:TOKEN}"}},"b":{"command":"node","args":[ /* first */ "x" ],"envFile":".env"}}}`,
		`{"mcpServers":{"a":{"command": "/opt/plimsoll", "args": ["mcp", "--name", "a", "--url", "https://a.example/mcp"],"env": { "PLIMSOLL_MCP_HEADER_1": "Authorization: Bearer ${env:TOKEN}" }},"b":{"command":"/opt/plimsoll","args":[ "mcp", "--name", "b", "--", "node", /* first */ "x" ],"envFile":".env"}}}`,
	},
	{
		"VS Code", "/p/.vscode/mcp.json", `{
	"inputs": [{ "type": "promptString", "id": "key", "password": true }],
	"servers": {
		"a": { "type": "stdio", "command": "uvx", "args": ["x"], "dev": { "watch": "**" } },
		"b": { "type": "http", "url": "https://b.example/mcp", "headers": { "X": "${input:key}" } }, // why
	},
}
`, `{
	"inputs": [{ "type": "promptString", "id": "key", "password": true }],
	"servers": {
		"a": { "type": "stdio", "command": "/opt/plimsoll", "args": ["mcp", "--name", "a", "--", "uvx", "x"], "dev": { "watch": "**" } },
		"b": { "type": "stdio", "command": "/opt/plimsoll", "args": ["mcp", "--name", "b", "--url", "https://b.example/mcp"], "env": { "PLIMSOLL_MCP_HEADER_1": "X: ${input:key}" } }, // why
	},
}
`,
	},
	{
		"VS Code, settings", "/p/.vscode/settings.json", `{"editor.x":1,"mcp":{"servers":{"a":{"command":"x"}}}}`,
		`{"editor.x":1,"mcp":{"servers":{"a":{"command":"/opt/plimsoll", "args": ["mcp", "--name", "a", "--", "x"]}}}}`,
	},
	{
		"opencode", "/p/opencode.jsonc", `{
  "mcp": {
    "a": { "type": "local", "command": ["bun", "x", "srv"], "environment": { "A": "b" }, "enabled": false },
    "b": { "type": "remote", "url": "https://b.example/mcp", "headers": { "X": "{env:KEY}" } },
    "c": { "type": "remote", "url": "https://c.example/mcp" },
    "d": { "enabled": true }
  }
}`, `{
  "mcp": {
    "a": { "type": "local", "command": ["/opt/plimsoll", "mcp", "--name", "a", "--", "bun", "x", "srv"], "environment": { "A": "b" }, "enabled": false },
    "b": { "type": "local", "command": ["/opt/plimsoll", "mcp", "--name", "b", "--url", "https://b.example/mcp"], "environment": { "PLIMSOLL_MCP_HEADER_1": "X: {env:KEY}" } },
    "c": { "type": "remote", "url": "https://c.example/mcp" },
    "d": { "enabled": true }
  }
}`,
	},
	{
		"Crush", "/p/crush.json", `{
  "$schema": "https://charm.land/crush.json",
  "mcp": {
    "files": { "type": "stdio", "command": "node", "args": ["/srv.js"], "timeout": 120, "disabled_tools": ["x"], "env": { "A": "b" } },
    "github": { "type": "http", "url": "https://api.example/mcp/", "timeout": 120, "headers": { "Authorization": "Bearer $GH_PAT" } },
    "stream": { "type": "sse", "url": "https://example.com/sse", "headers": { "API-Key": "$(echo $API_KEY)" } }
  }
}
`, `{
  "$schema": "https://charm.land/crush.json",
  "mcp": {
    "files": { "type": "stdio", "command": "/opt/plimsoll", "args": ["mcp", "--name", "files", "--", "node", "/srv.js"], "timeout": 120, "disabled_tools": ["x"], "env": { "A": "b" } },
    "github": { "type": "stdio", "command": "/opt/plimsoll", "args": ["mcp", "--name", "github", "--url", "https://api.example/mcp/"], "timeout": 120, "env": { "PLIMSOLL_MCP_HEADER_1": "Authorization: Bearer $GH_PAT" } },
    "stream": { "type": "stdio", "command": "/opt/plimsoll", "args": ["mcp", "--name", "stream", "--url", "https://example.com/sse"], "env": { "PLIMSOLL_MCP_HEADER_1": "API-Key: $(echo $API_KEY)" } }
  }
}
`,
	},
	{
		"Zed", "/h/.config/zed/settings.json", `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "local": {
      "command": "srv",
      "args": ["a"], // mine
      "env": {}
    },
    "ext": { "enabled": true, "settings": { "x": 1 } },
    "own": { "source": "custom", "enabled": true, "command": "uv", "args": ["run"] },
    "remote": { "url": "https://a.example/mcp", "headers": { "K": "v" } },
    "login": { "url": "https://b.example/mcp" },
  },
}
`, `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "local": {
      "command": "/opt/plimsoll",
      "args": ["mcp", "--name", "local", "--", "srv", "a"], // mine
      "env": {}
    },
    "ext": { "enabled": true, "settings": { "x": 1 } },
    "own": { "source": "custom", "enabled": true, "command": "/opt/plimsoll", "args": ["mcp", "--name", "own", "--", "uv", "run"] },
    "remote": { "command": "/opt/plimsoll", "args": ["mcp", "--name", "remote", "--url", "https://a.example/mcp"], "env": { "PLIMSOLL_MCP_HEADER_1": "K: v" } },
    "login": { "url": "https://b.example/mcp" },
  },
}
`,
	},
	{
		"opencode 2", "/p/opencode.json", `{"mcp":{"servers":{"a":{"type":"local","command":["x"],"disabled":true}}}}`,
		`{"mcp":{"servers":{"a":{"type":"local","command":["/opt/plimsoll", "mcp", "--name", "a", "--", "x"],"disabled":true}}}}`,
	},
	{
		"Windsurf", "/h/.codeium/windsurf/mcp_config.json", `{"mcpServers":{"a":{"serverUrl":"https://a.example/mcp","headers":{"K":"v"}}}}`,
		`{"mcpServers":{"a":{"command": "/opt/plimsoll", "args": ["mcp", "--name", "a", "--url", "https://a.example/mcp"],"env": { "PLIMSOLL_MCP_HEADER_1": "K: v" }}}}`,
	},
	{"Codex", "/h/.codex/config.toml", `model = "x" # mine

[mcp_servers.files]
command = "npx" # node
args = ["-y", 'srv']
startup_timeout_sec = 20.0
[mcp_servers.files.env]
A = "b"

[mcp_servers."two words"]
command = 'bare'
enabled = false

[mcp_servers.long]
command = "x"
args = [
  # all of them
  "a", # one
  "b",
]

[mcp_servers.api]
url = "https://api.example/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { "X-A" = "1", "X B" = "2" }
env_http_headers = { X-C = "CVAR" }
tool_timeout_sec = 5

[mcp_servers.apart]
url = "https://apart.example/mcp?k=v"
  [mcp_servers.apart.http_headers]
  K = "v"

[mcp_servers.login]
url = "https://login.example/mcp"

[other]
x = nan
`, `model = "x" # mine

[mcp_servers.files]
command = "/opt/plimsoll" # node
args = ["mcp", "--name", "files", "--", "npx", "-y", 'srv']
startup_timeout_sec = 20.0
[mcp_servers.files.env]
A = "b"

[mcp_servers."two words"]
command = "/opt/plimsoll"
args = ["mcp", "--name", "two words", "--", "bare"]
enabled = false

[mcp_servers.long]
command = "/opt/plimsoll"
args = [
  "mcp",
  "--name",
  "long",
  "--",
  "x",
  # all of them
  "a", # one
  "b",
]

[mcp_servers.api]
command = "/opt/plimsoll"
args = ["mcp", "--name", "api", "--url", "https://api.example/mcp", "--bearer-env", "TOKEN", "--header", "X-C=CVAR"]
env_vars = ["TOKEN", "CVAR"]
env = { PLIMSOLL_MCP_HEADER_1 = "X-A: 1", PLIMSOLL_MCP_HEADER_2 = "X B: 2" }
tool_timeout_sec = 5

[mcp_servers.apart]
command = "/opt/plimsoll"
args = ["mcp", "--name", "apart", "--url-env", "PLIMSOLL_MCP_URL"]
  [mcp_servers.apart.env]
  PLIMSOLL_MCP_HEADER_1 = "K: v"
  PLIMSOLL_MCP_URL = "https://apart.example/mcp?k=v"

[mcp_servers.login]
url = "https://login.example/mcp"

[other]
x = nan
`},
	{"Codex, other forms", "config.toml", `mcp_servers.dotted.command = "x"
mcp_servers.dotted.args = []
mcp_servers.web = {url = "https://w.example/mcp", bearer_token_env_var = "T", enabled = true}
mcp_servers.query.url = "https://q.example/mcp?a"
mcp_servers.query.http_headers.K = "v"
[[profiles]]
command = "not a server"
`, `mcp_servers.dotted.command = "/opt/plimsoll"
mcp_servers.dotted.args = ["mcp", "--name", "dotted", "--", "x"]
mcp_servers.web = {command = "/opt/plimsoll", args = ["mcp", "--name", "web", "--url", "https://w.example/mcp", "--bearer-env", "T"], env_vars = ["T"], enabled = true}
mcp_servers.query.command = "/opt/plimsoll"
mcp_servers.query.args = ["mcp", "--name", "query", "--url-env", "PLIMSOLL_MCP_URL"]
mcp_servers.query.env.PLIMSOLL_MCP_HEADER_1 = "K: v"
mcp_servers.query.env.PLIMSOLL_MCP_URL = "https://q.example/mcp?a"
[[profiles]]
command = "not a server"
`},
	{"Vibe", "/h/.vibe/config.toml", `active_model = "devstral" # mine

[[mcp_servers]]
name = "files" # the first
transport = "stdio"
command = "npx"
args = ["-y", 'srv']
startup_timeout_sec = 20
[mcp_servers.env]
A = "b"

[[providers]]
name = "mistral"
command = "no server"

[[mcp_servers]]
name = "api"
transport = "http"
url = "https://api.example/mcp?k=v"
headers = { "X-A" = "1" }

[[mcp_servers]]
transport = "stdio"
command = "bare"

  [[mcp_servers]]
  name = "apart"
  transport = 'streamable-http'
  url = "https://apart.example/mcp"
  [mcp_servers.headers]
  K = "v"

[[mcp_servers]]
name = "keyed"
transport = "http"
url = "https://keyed.example/mcp"
api_key_env = "KEY"
`, `active_model = "devstral" # mine

[[mcp_servers]]
name = "files" # the first
transport = "stdio"
command = "/opt/plimsoll"
args = ["mcp", "--name", "files", "--", "npx", "-y", 'srv']
startup_timeout_sec = 20
[mcp_servers.env]
A = "b"

[[providers]]
name = "mistral"
command = "no server"

[[mcp_servers]]
name = "api"
transport = "stdio"
command = "/opt/plimsoll"
args = ["mcp", "--name", "api", "--url-env", "PLIMSOLL_MCP_URL"]
env = { PLIMSOLL_MCP_HEADER_1 = "X-A: 1", PLIMSOLL_MCP_URL = "https://api.example/mcp?k=v" }

[[mcp_servers]]
transport = "stdio"
command = "/opt/plimsoll"
args = ["mcp", "--name", "mcp", "--", "bare"]

  [[mcp_servers]]
  name = "apart"
  transport = "stdio"
  command = "/opt/plimsoll"
  args = ["mcp", "--name", "apart", "--url", "https://apart.example/mcp"]
  [mcp_servers.env]
  PLIMSOLL_MCP_HEADER_1 = "K: v"

[[mcp_servers]]
name = "keyed"
transport = "http"
url = "https://keyed.example/mcp"
api_key_env = "KEY"
`},
	{
		"Vibe, inline", "config.toml", "mcp_servers = [\n  { name = \"a\", transport = \"stdio\", command = \"x\", args = [\"q\"] }, # one\n  {name='b',transport='stdio',command=\"y\"},\n]\n",
		"mcp_servers = [\n  { name = \"a\", transport = \"stdio\", command = \"/opt/plimsoll\", args = [\"mcp\", \"--name\", \"a\", \"--\", \"x\", \"q\"] }, # one\n  {name='b',transport='stdio',command=\"/opt/plimsoll\", args = [\"mcp\", \"--name\", \"b\", \"--\", \"y\"]},\n]\n",
	},
	{
		"Codex, inline", "config.toml", "[mcp_servers]\r\nin = { command = \"x\", env = { A = \"b\" } }\r\n",
		"[mcp_servers]\r\nin = { command = \"/opt/plimsoll\", args = [\"mcp\", \"--name\", \"in\", \"--\", \"x\"], env = { A = \"b\" } }\r\n",
	},
}

package wrap_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/tools/wrap"
)

var options = wrap.Options{Command: "/opt/plimsoll"}

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
    "old": { "type": "sse", "url": "https://mcp.example.com/sse", "headers": {"A": "b"} },
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
args = ["mcp", "--name", "api", "--url", "https://api.example/mcp", "--bearer-env", "TOKEN", "--header-env", "X-C=CVAR"]
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
	{
		"Codex, inline", "config.toml", "[mcp_servers]\r\nin = { command = \"x\", env = { A = \"b\" } }\r\n",
		"[mcp_servers]\r\nin = { command = \"/opt/plimsoll\", args = [\"mcp\", \"--name\", \"in\", \"--\", \"x\"], env = { A = \"b\" } }\r\n",
	},
}

func TestPlan(t *testing.T) {
	for _, f := range files {
		t.Run(f.name, func(t *testing.T) {
			change, err := wrap.Plan(f.path, []byte(f.before), options)
			if err != nil {
				t.Fatal(err)
			}
			if string(change.After) != f.after {
				t.Fatalf("unexpected:\n%s", wrap.Diff(f.path, []byte(f.after), change.After))
			}
			for _, s := range change.Servers {
				if s.Name == "" || s.Client == "" || s.Line == 0 || (s.Action == wrap.Left) != (s.Why != "") {
					t.Errorf("%+v", s)
				}
			}
			again, err := wrap.Plan(f.path, change.After, options)
			if err != nil || again.Changed(change.After) {
				t.Errorf("a second time changes it: %v\n%s", err, wrap.Diff(f.path, change.After, again.After))
			}
			back, err := wrap.Unplan(f.path, change.After, []byte(f.before))
			if err != nil || !back.Exact || string(back.After) != f.before {
				t.Errorf("undone: exact %v, %v\n%s", back.Exact, err, wrap.Diff(f.path, []byte(f.before), back.After))
			}
			// Without a backup nothing is lost: wrapping what comes back gives the same.
			lone, err := wrap.Unplan(f.path, change.After, nil)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(lone.After), "/opt/plimsoll") || strings.Contains(string(lone.After), "PLIMSOLL_MCP") {
				t.Errorf("still wrapped:\n%s", lone.After)
			}
			for _, s := range lone.Servers {
				if s.Action == wrap.Already {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

func TestStartedServersComeBackWithoutABackup(t *testing.T) {
	for _, f := range files {
		if strings.Contains(f.before, "url") || strings.Contains(f.before, "Url") {
			continue // an address comes back in its client's usual form
		}
		change, err := wrap.Plan(f.path, []byte(f.before), options)
		if err != nil {
			t.Fatal(err)
		}
		back, err := wrap.Unplan(f.path, change.After, nil)
		if err != nil {
			t.Fatal(err)
		}
		// An array of arguments that was not there is empty then.
		if got := strings.ReplaceAll(string(back.After), `, "args": []`, ""); got != f.before {
			t.Errorf("%s: %s", f.name, wrap.Diff(f.path, []byte(f.before), []byte(got)))
		}
	}
}

func TestUndoOfAFileThatWentOn(t *testing.T) {
	f := files[0]
	change, err := wrap.Plan(f.path, []byte(f.before), options)
	if err != nil {
		t.Fatal(err)
	}
	now := strings.Replace(string(change.After), `"bare": {`, `"new": {"command": "n", "args": ["x"]},`+"\n    "+`"bare": {`, 1)
	now = strings.Replace(now, `"DEBUG": "1"`, `"DEBUG": "2"`, 1)
	want := strings.Replace(f.before, `"bare": {`, `"new": {"command": "n", "args": ["x"]},`+"\n    "+`"bare": {`, 1)
	want = strings.Replace(want, `"DEBUG": "1"`, `"DEBUG": "2"`, 1)
	back, err := wrap.Unplan(f.path, []byte(now), []byte(f.before))
	if err != nil || back.Exact || string(back.After) != want {
		t.Errorf("exact %v, %v\n%s", back.Exact, err, wrap.Diff(f.path, []byte(want), back.After))
	}
}

func TestOptions(t *testing.T) {
	before := `{"mcpServers":{"a":{"type":"sse","url":"https://a.example/sse"},"b":{"command":"x"}}}`
	change, err := wrap.Plan("mcp.json", []byte(before), wrap.Options{Remote: true, SSE: true})
	want := `{"mcpServers":{"a":{"type":"stdio","command": "plimsoll", "args": ["mcp", "--name", "a", "--url", "https://a.example/sse"]},"b":{"command":"plimsoll", "args": ["mcp", "--name", "b", "--", "x"]}}}`
	if err != nil || string(change.After) != want {
		t.Errorf("%s, %v", change.After, err)
	}
	back, err := wrap.Unplan("mcp.json", change.After, []byte(before))
	if err != nil || !back.Exact {
		t.Errorf("not exact: %v", err)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	for _, c := range []struct {
		name, path, data string
		line             int
		words            string
	}{
		{"JSON", "a.json", "{\n\"mcpServers\": {\n oops\n}}", 3, "column"},
		{"TOML", "a.toml", "a = 1\nb = \n", 2, "TOML"},
		{"list", "a.json", "[]", 1, "no JSON object"},
		{"empty", "a.json", " ", 0, "empty"},
		{"other", "package.json", `{"name":"x"}`, 0, "mcpServers"},
		{"YAML", "goose.yaml", "extensions:\n", 0, "by hand"},
		{"deep", "a.json", strings.Repeat("[", 1<<20), 1, "deeper"},
		{"deep TOML", "a.toml", "a = " + strings.Repeat("[", 1<<20), 0, ""},
		{"large", "a.json", strings.Repeat(" ", wrap.MaxFile+1), 0, "16 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := wrap.Plan(c.path, []byte(c.data), options)
			e, ok := errors.AsType[*wrap.Error](err)
			if !ok || c.line != 0 && e.Line != c.line || !strings.Contains(e.Text, c.words) || !strings.HasPrefix(err.Error(), c.path+":") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestApplyAndUndo(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "real.json")
	link := filepath.Join(dir, "mcp.json")
	before := files[0].before
	if err := os.WriteFile(target, []byte(before), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.json", link); err != nil {
		t.Skip(err)
	}
	check := func(want string, mode os.FileMode) {
		t.Helper()
		got, err := os.ReadFile(target)
		if err != nil || string(got) != want {
			t.Fatalf("%v\n%s", err, wrap.Diff("file", []byte(want), got))
		}
		info, err := os.Lstat(link)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is gone: %v", err)
		}
		if info, err = os.Stat(target); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != mode) {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	if _, c, err := wrap.Preview(link, options); err != nil || string(c.After) != files[0].after {
		t.Fatal(err)
	}
	check(before, 0o640)
	for range 2 {
		if _, err := wrap.Apply(link, options); err != nil {
			t.Fatal(err)
		}
		check(files[0].after, 0o640)
	}
	backup := target + wrap.BackupSuffix
	if info, err := os.Stat(backup); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("backup: %v, %v", info, err)
	}
	if _, c, err := wrap.PreviewUndo(link); err != nil || !c.Exact {
		t.Fatalf("%v, exact %v", err, c.Exact)
	}
	if c, err := wrap.Undo(link); err != nil || !c.Exact {
		t.Fatalf("%v, exact %v", err, c.Exact)
	}
	check(before, 0o640)
	if _, err := os.Stat(backup); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the backup is still there: %v", err)
	}
	// What was wrapped before comes apart without a backup.
	c, err := wrap.Undo(link)
	if err != nil || c.Exact {
		t.Error(err)
	}
	check(strings.Replace(before, `"plimsoll", "args": ["mcp", "--name", "done", "--", "x"]`, `"x", "args": []`, 1), 0o640)
}

func TestALaterWrapKeepsTheOriginal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"mcpServers":{"a":{"command":"x" }}}`)
	if _, err := wrap.Apply(path, options); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(strings.Replace(string(now), `}}}`, `},"b":{"command":"y","args":["z"]}}}`, 1))
	if _, err := wrap.Apply(path, options); err != nil {
		t.Fatal(err)
	}
	if _, err := wrap.Undo(path); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if want := `{"mcpServers":{"a":{"command":"x" },"b":{"command":"y","args":["z"]}}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

package wrap_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

// start makes a Start of these files.
func start(tool string, argv, env []string, files map[string]string) wrap.Start {
	agent, ok := profile.Find(tool)
	if !ok {
		panic("nothing is known of " + tool)
	}
	return wrap.Start{
		Agent: agent, Home: "/h", Project: "/p", Folder: "/run/private", Argv: argv, Env: env,
		Options: wrap.Options{Command: "/opt/plimsoll"},
		ReadFile: func(name string) ([]byte, error) {
			if body, ok := files[filepath.ToSlash(name)]; ok {
				return []byte(body), nil
			}
			return nil, fs.ErrNotExist
		},
	}
}

func TestForTool(t *testing.T) {
	claude := map[string]string{
		"/h/.claude.json": `{"mcpServers":{"user":{"command":"u","env":{"A":"${B}"}},"both":{"command":"user"},"off":{"command":"o"},"login":{"type":"http","url":"https://l.example"}},
			"projects":{"/p":{"mcpServers":{"both":{"command":"local"}},"enabledMcpjsonServers":["yes"],"disabledMcpServers":["off"]},"/other":{"mcpServers":{"foreign":{"command":"f"}}}}}`,
		"/p/.mcp.json": `{"mcpServers":{"yes":{"command":"y"},"no":{"command":"n"}}}`,
	}
	for _, c := range []struct {
		name  string
		start wrap.Start
		argv  []string
		env   []string
		files []profile.File
		notes int
		why   string
	}{
		{
			name: "Claude Code", start: start("claude", []string{"claude", "fix it"}, nil, claude),
			argv: []string{"claude", "--mcp-config=/run/private/claude-mcp.json", "fix it"},
			files: []profile.File{{Path: "/run/private/claude-mcp.json", Body: []byte(`{"mcpServers":{` +
				`"user":{"command":"/opt/plimsoll", "args": ["mcp", "--name", "user", "--", "u"],"env":{"A":"${B}"}},` +
				`"yes":{"command":"/opt/plimsoll", "args": ["mcp", "--name", "yes", "--", "y"]},` +
				`"both":{"command":"/opt/plimsoll", "args": ["mcp", "--name", "both", "--", "local"]}}}` + "\n")}},
			notes: 1,
		},
		{
			name: "Claude Code, only its flags", start: start("claude", []string{"claude", "--strict-mcp-config", "--mcp-config", "x"}, nil, claude),
			argv: []string{"claude", "--strict-mcp-config", "--mcp-config", "x"}, why: "--strict-mcp-config",
		},
		{
			name: "Codex", start: start("codex", []string{"npx", "codex", "exec", "x"}, []string{"CODEX_HOME=/c"}, map[string]string{
				"/c/config.toml":        "[mcp_servers.a]\ncommand = \"x\"\nargs = [\"-y\"]\nenv = { K = \"v\" }\n[mcp_servers.\"b c\"]\ncommand = \"x\"\n[mcp_servers.web]\nurl = \"https://w.example\"\nbearer_token_env_var = \"T\"\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n",
				"/p/.codex/config.toml": "mcp_servers.mine.command = 'say \"hi\"'\n",
			}),
			argv: []string{
				"npx", "codex",
				"-c", `mcp_servers.a.command="/opt/plimsoll"`, "-c", `mcp_servers.a.args=["mcp", "--name", "a", "--", "x", "-y"]`,
				"-c", `mcp_servers.mine.command="/opt/plimsoll"`, "-c", `mcp_servers.mine.args=["mcp", "--name", "mine", "--", "say \"hi\""]`,
				"exec", "x",
			},
			notes: 2,
		},
		{
			name: "Gemini CLI", start: start("gemini", []string{"gemini"}, []string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH=/s.json"}, map[string]string{
				"/h/.gemini/settings.json": `{ /* mine */ "mcpServers": { "a": { "command": "x", "trust": true, }, "web": { "httpUrl": "https://w.example", "headers": { "K": "$V" } } } }`,
				"/p/.gemini/settings.json": `{"mcpServers":{"b":{"command":"y"}}}`,
				"/s.json":                  `{"telemetry":{"enabled":false},"mcpServers":{"b":{"command":"z"}}}`,
			}),
			argv: []string{"gemini"}, env: []string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH=/run/private/gemini-settings.json"},
			files: []profile.File{{Path: "/run/private/gemini-settings.json", Body: []byte(`{"telemetry":{"enabled":false},"mcpServers":{` +
				`"b":{"command":"/opt/plimsoll", "args": ["mcp", "--name", "b", "--", "z"]},` +
				`"a":{ "command": "/opt/plimsoll", "args": ["mcp", "--name", "a", "--", "x"], "trust": true  },` +
				`"web":{ "command": "/opt/plimsoll", "args": ["mcp", "--name", "web", "--url", "https://w.example"], "env": { "PLIMSOLL_MCP_HEADER_1": "K: $V" } }}}` + "\n")}},
		},
		{
			name: "opencode", start: start("opencode", []string{"opencode", "run"}, []string{`OPENCODE_CONFIG_CONTENT={"provider":{"x":{}}}`}, map[string]string{
				"/h/.config/opencode/opencode.json": `{"mcp":{"a":{"type":"local","command":["x"],"enabled":true,"timeout":5,"environment":{"SECRET":"s"}},"web":{"type":"remote","url":"https://w.example","headers":{"A":"{env:T}","B":"secret"}},"file":{"type":"remote","url":"https://f.example","headers":{"K":"{file:./k}"}}}}`,
				"/p/opencode.jsonc":                 `{"mcp":{"a":{"enabled":false}}} // not here`,
			}),
			argv:  []string{"opencode", "run"},
			env:   []string{`OPENCODE_CONFIG_CONTENT={"provider":{"x":{}},"mcp":{"a":{"type":"local","command":["/opt/plimsoll", "mcp", "--name", "a", "--", "x"]},"web":{"type":"local","command": ["/opt/plimsoll", "mcp", "--name", "web", "--url", "https://w.example"],"environment":{"PLIMSOLL_MCP_HEADER_1":"A: {env:T}","PLIMSOLL_MCP_HEADER_2":"{file:/run/private/opencode-1}"}}}}`},
			files: []profile.File{{Path: "/run/private/opencode-1", Body: []byte("B: secret")}},
			notes: 1,
		},
		{
			name: "Kilo", start: start("kilo", []string{"kilo"}, nil, map[string]string{"/h/.config/kilo/kilo.json": `{"mcp":{"a":{"type":"local","command":["x"]}}}`}),
			argv: []string{"kilo"}, env: []string{`KILO_CONFIG_CONTENT={"mcp":{"a":{"type":"local","command":["/opt/plimsoll", "mcp", "--name", "a", "--", "x"]}}}`},
		},
		{name: "no servers", start: start("codex", []string{"codex"}, nil, nil), argv: []string{"codex"}, why: "no server"},
		{name: "no way", start: start("aider", []string{"aider"}, nil, nil), argv: []string{"aider"}, why: "mcp wrap FILE"},
		{
			name: "broken", start: start("gemini", []string{"gemini"}, nil, map[string]string{"/h/.gemini/settings.json": `{`}),
			argv: []string{"gemini"}, notes: 1, why: "no server",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "Codex" {
				c.start.Word = 1
			}
			out := wrap.ForTool(c.start)
			for i := range out.Files {
				out.Files[i].Path = filepath.ToSlash(out.Files[i].Path)
			}
			for i := range out.Argv {
				out.Argv[i] = strings.ReplaceAll(out.Argv[i], `private\`, "private/")
			}
			if !slices.Equal(out.Argv, c.argv) {
				t.Errorf("argv %q\nwant %q", out.Argv, c.argv)
			}
			if !slices.Equal(out.Env, c.env) {
				t.Errorf("env %q\nwant %q", out.Env, c.env)
			}
			if len(out.Files) != len(c.files) {
				t.Fatalf("files %q, want %q", out.Files, c.files)
			}
			for i, f := range c.files {
				if out.Files[i].Path != f.Path || string(out.Files[i].Body) != string(f.Body) {
					t.Errorf("file %s\n%s\nwant\n%s", out.Files[i].Path, out.Files[i].Body, f.Body)
				}
			}
			if len(out.Notes) != c.notes || !strings.Contains(out.Why, c.why) || (out.Why == "") != (c.why == "") {
				t.Errorf("notes %q, why %q", out.Notes, out.Why)
			}
		})
	}
}

// TestOffered: each tool gets a server of ours in its own way, beside those of its files and never in their place.
func TestOffered(t *testing.T) {
	t.Parallel()
	offer := []profile.Offered{{Name: "plimsoll-memory", Command: []string{"/opt/plimsoll", "mcp", "memory"}}}
	for tool, want := range map[string]string{
		"claude":   `{"mcpServers":{"plimsoll-memory":{"command":"/opt/plimsoll","args":["mcp","memory"]}}}`,
		"gemini":   `{"mcpServers":{"plimsoll-memory":{"command":"/opt/plimsoll","args":["mcp","memory"]}}}`,
		"codex":    `-c mcp_servers.plimsoll-memory.command="/opt/plimsoll" -c mcp_servers.plimsoll-memory.args=["mcp", "memory"]`,
		"opencode": `OPENCODE_CONFIG_CONTENT={"mcp":{"plimsoll-memory":{"type":"local","enabled":true,"command":["/opt/plimsoll","mcp","memory"]}}}`,
	} {
		s := start(tool, []string{tool, "do it"}, nil, nil)
		s.Offer = offer
		out := wrap.ForTool(s)
		var all strings.Builder
		all.WriteString(strings.Join(out.Argv, " ") + " " + strings.Join(out.Env, " "))
		for _, f := range out.Files {
			all.WriteString(" " + string(f.Body))
		}
		if out.Why != "" || !strings.Contains(all.String(), want) {
			t.Errorf("%s: %s\n%s", tool, out.Why, all.String())
		}
	}
	taken := start("claude", []string{"claude"}, nil, map[string]string{"/h/.claude.json": `{"mcpServers":{"plimsoll-memory":{"command":"mine"}}}`})
	taken.Offer = offer
	out := wrap.ForTool(taken)
	if len(out.Files) != 1 || !strings.Contains(string(out.Files[0].Body), "mine") || !strings.Contains(strings.Join(out.Notes, " "), "plimsoll-memory is not offered") {
		t.Errorf("the user's own server is gone: %+v", out)
	}
	odd := start("claude", []string{"claude"}, nil, nil)
	odd.Offer = []profile.Offered{{Name: "a b", Command: []string{"x"}}, {Name: "none"}}
	if notes := strings.Join(wrap.ForTool(odd).Notes, "\n"); !strings.Contains(notes, "a b is not offered: its name") || !strings.Contains(notes, "none is not offered: it has no command") {
		t.Errorf("said of what cannot be offered: %s", notes)
	}
}

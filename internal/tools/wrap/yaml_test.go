package wrap_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

// yamlFiles has a file of every client that keeps its servers in YAML.
var yamlFiles = []struct{ name, path, before, after string }{
	{
		"Goose", "/h/.config/goose/config.yaml", `# models
GOOSE_MODE: smart_approve
extensions:
  developer: {type: builtin, enabled: true, name: developer}
  files:
    type: stdio
    enabled: true
    cmd: npx   # the server
    args:
    - -y
    # the folder
    - '@modelcontextprotocol/server-filesystem'
    envs: {}
    timeout: 300
  bare:
    cmd: "uvx"
  api:
    type: streamable_http
    uri: "https://api.example/mcp"
    headers: {A: b}
`, `# models
GOOSE_MODE: smart_approve
extensions:
  developer: {type: builtin, enabled: true, name: developer}
  files:
    type: stdio
    enabled: true
    cmd: "/opt/plimsoll"   # the server
    args:
    - "mcp"
    - "--name"
    - "files"
    - "--"
    - "npx"
    - -y
    # the folder
    - '@modelcontextprotocol/server-filesystem'
    envs: {}
    timeout: 300
  bare:
    args: ["mcp", "--name", "bare", "--", "uvx"]
    cmd: "/opt/plimsoll"
  api:
    type: stdio
    args: ["mcp", "--name", "api", "--url", "https://api.example/mcp"]
    cmd: "/opt/plimsoll"
    envs: {PLIMSOLL_MCP_HEADER_1: "A: b"}
`,
	},
	{
		"Continue, with a mark and CRLF", "/h/.continue/config.yaml", "\xef\xbb\xbfname: \"\u00fcber\"\r\nmcpServers:\r\n  - name: a\r\n    command: npx\r\n    args: [ \"-y\", x ]\r\n  - command: it\r\n    name: \u00e4\r\n  - {name: c, command: d}\r\n",
		"\xef\xbb\xbfname: \"\u00fcber\"\r\nmcpServers:\r\n  - name: a\r\n    command: \"/opt/plimsoll\"\r\n    args: [ \"mcp\", \"--name\", \"a\", \"--\", \"npx\", \"-y\", x ]\r\n  - args: [\"mcp\", \"--name\", \"\u00e4\", \"--\", \"it\"]\r\n    command: \"/opt/plimsoll\"\r\n    name: \u00e4\r\n  - {name: c, args: [\"mcp\", \"--name\", \"c\", \"--\", \"d\"], command: \"/opt/plimsoll\"}\r\n",
	},
	{
		"Hermes", "/h/.hermes/config.yaml", `base: &base {model: x}
other: *base
mcp_servers:
  time: {command: uvx, args: [mcp-server-time]}
  site:
    url: "https://mcp.example/mcp"
`, `base: &base {model: x}
other: *base
mcp_servers:
  time: {command: "/opt/plimsoll", args: ["mcp", "--name", "time", "--", "uvx", mcp-server-time]}
  site:
    url: "https://mcp.example/mcp"
`,
	},
}

func TestYAML(t *testing.T) {
	for _, f := range yamlFiles {
		t.Run(f.name, func(t *testing.T) {
			change, err := wrap.Plan(f.path, []byte(f.before), options)
			if err != nil || string(change.After) != f.after {
				t.Fatalf("%v\n%s", err, wrap.Diff(f.path, []byte(f.after), change.After))
			}
			for _, s := range change.Servers {
				if s.Line == 0 || s.Client != strings.Split(f.name, ",")[0] || (s.Action == wrap.Left) != (s.Why != "") {
					t.Errorf("%+v", s)
				}
			}
			back, err := wrap.Unplan(f.path, change.After, []byte(f.before))
			if err != nil || !back.Exact || string(back.After) != f.before {
				t.Errorf("undone: exact %v, %v\n%s", back.Exact, err, wrap.Diff(f.path, []byte(f.before), back.After))
			}
			// Without a backup each server comes back by itself; quotes that a command does not need are not kept.
			lone, err := wrap.Unplan(f.path, change.After, nil)
			if want := strings.Replace(f.before, `"uvx"`, "uvx", 1); err != nil || string(lone.After) != want {
				t.Errorf("%v\n%s", err, wrap.Diff(f.path, []byte(want), lone.After))
			}
		})
	}
}

func TestYAMLThatIsRefusedSaysWhereAndWhy(t *testing.T) {
	for _, c := range []struct {
		data, words string
		line        int
	}{
		{"a: 1\nmcp_servers:\n  x: &x {command: a}\n  y: *x\n", "anchor", 3},
		{"b: &b {command: a}\nmcp_servers:\n  y:\n    <<: *b\n", "<<", 4},
		{"mcp_servers:\n  y:\n    command: !!str a\n", "tag", 3},
		{"mcp_servers:\n  y:\n    command: a\n    command: b\n", "second time", 4},
		{"mcp_servers:\n  y:\n    command: a\n---\nmcp_servers: {}\n", "second document", 4},
		{"mcp_servers:\n\ty:\n", "not valid YAML", 2},
		{"mcp_servers:\n  y:\n    command: \"a\rb\"\n", "U+000D", 3},
		{"mcp_servers:\n  y: \xff\n", "UTF-8", 2},
		{"- a\n", "no YAML mapping", 1},
		{"a: b\n", "no MCP servers", 0},
	} {
		_, err := wrap.Plan("config.yaml", []byte(c.data), options)
		e, ok := errors.AsType[*wrap.Error](err)
		if !ok || e.Line != c.line || !strings.Contains(e.Text, c.words) {
			t.Errorf("%q: %v", c.data, err)
		}
	}
	// A server in a form of its own is left, with the reason, and its neighbour is wrapped.
	data := "mcp_servers:\n  a:\n    command: >-\n      npx\n  b: {command: x}\n"
	change, err := wrap.Plan("config.yaml", []byte(data), options)
	if err != nil || len(change.Servers) != 2 || change.Servers[0].Why == "" || change.Servers[1].Action != wrap.Wrapped ||
		!bytes.HasPrefix(change.After, []byte(data[:strings.Index(data, "{")])) {
		t.Errorf("%v %+v\n%s", err, change.Servers, change.After)
	}
}

func TestReadOfYAML(t *testing.T) {
	for _, data := range []string{yamlFiles[0].before, yamlFiles[0].after} {
		servers, err := wrap.Read("config.yaml", []byte(data), from)
		if err != nil || len(servers) != 3 {
			t.Fatalf("%v %+v", err, servers)
		}
		if got := strings.Join(servers[0].Command, " "); got != "npx -y @modelcontextprotocol/server-filesystem" || servers[0].Why != "" {
			t.Errorf("%q %s", got, servers[0].Why)
		}
		if servers[2].URL != "https://api.example/mcp" || servers[2].Header.Get("A") != "b" {
			t.Errorf("%+v", servers[2])
		}
	}
	servers, err := wrap.Read("config.yaml", []byte("mcpServers:\n- {name: a, url: 'https://a.example/mcp', requestOptions: {headers: {A: b}}}\n"), from)
	if err != nil || len(servers) != 1 || servers[0].Action != wrap.Left || !strings.Contains(servers[0].Why, "requestOptions") {
		t.Errorf("%v %+v", err, servers)
	}
}

func FuzzYAML(f *testing.F) {
	for _, c := range yamlFiles {
		f.Add([]byte(c.before))
		f.Add([]byte(c.after))
	}
	f.Add([]byte("extensions:\n  a:\n    type: streamable_http\n    uri: https://a/?b\n    envs: {}\n    headers:\n      A: b\n      \"B\": 'c'\n"))
	f.Add([]byte("mcp_servers: {a: {url: 'u', headers: {A: b}}, c: {url: \"v?\", env: {}, headers: {'': ''}}}\n"))
	f.Add([]byte("mcpServers:\n- type: streamable-http\n  url: c\n- {name: a, url: d?, type: sse}\n"))
	f.Add([]byte("mcpServers:\n- ? command\n  : 'a''b'\n  args: [ # c\n    \"x\\\"\", 1,\n  ]\n- {\"command\":\"\\x81\",\"args\":[]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 64<<10 {
			fuzz(t, "config.yaml", data)
		}
	})
}

// Remote servers in YAML: their headers become variables, a secret address one too, and it comes back with and without the backup.
func TestRemoteServersInYAML(t *testing.T) {
	for _, c := range []struct{ before, after, lone string }{
		{
			"extensions:\n  a:\n    enabled: true\n    type: streamable_http\n    uri: https://a.example/mcp # here\n    envs: {}\n    env_keys: []\n    headers:\n      Authorization: Bearer x\n      \"X-B\": '1'\n    timeout: 300\n",
			"extensions:\n  a:\n    enabled: true\n    type: stdio\n    args: [\"mcp\", \"--name\", \"a\", \"--url\", \"https://a.example/mcp\"]\n    cmd: \"/opt/plimsoll\" # here\n    env_keys: []\n    envs:\n      PLIMSOLL_MCP_HEADER_1: \"Authorization: Bearer x\"\n      PLIMSOLL_MCP_HEADER_2: \"X-B: 1\"\n    timeout: 300\n",
			"extensions:\n  a:\n    enabled: true\n    type: streamable_http\n    uri: \"https://a.example/mcp\" # here\n    env_keys: []\n    headers:\n      Authorization: \"Bearer x\"\n      X-B: \"1\"\n    timeout: 300\n",
		},
		{
			"mcp_servers:\r\n  h:\r\n    url: \"https://h.example/mcp?key=${K}\"\r\n    headers:\r\n      K: ${TOKEN}\r\n",
			"mcp_servers:\r\n  h:\r\n    args: [\"mcp\", \"--name\", \"h\", \"--url-env\", \"PLIMSOLL_MCP_URL\"]\r\n    command: \"/opt/plimsoll\"\r\n    env:\r\n      PLIMSOLL_MCP_URL: \"https://h.example/mcp?key=${K}\"\r\n      PLIMSOLL_MCP_HEADER_1: \"K: ${TOKEN}\"\r\n",
			"mcp_servers:\r\n  h:\r\n    url: \"https://h.example/mcp?key=${K}\"\r\n    headers:\r\n      K: \"${TOKEN}\"\r\n",
		},
		{
			"mcpServers:\n- name: c\n  type: streamable-http\n  url: https://c.example/mcp?k\n- {name: d, url: 'https://d.example/mcp', type: streamable-http}\n",
			"mcpServers:\n- name: c\n  type: stdio\n  args: [\"mcp\", \"--name\", \"c\", \"--url-env\", \"PLIMSOLL_MCP_URL\"]\n  env: {PLIMSOLL_MCP_URL: \"https://c.example/mcp?k\"}\n  command: \"/opt/plimsoll\"\n- {name: d, args: [\"mcp\", \"--name\", \"d\", \"--url\", \"https://d.example/mcp\"], command: \"/opt/plimsoll\", type: stdio}\n",
			"mcpServers:\n- name: c\n  type: streamable-http\n  url: \"https://c.example/mcp?k\"\n- {name: d, url: \"https://d.example/mcp\", type: streamable-http}\n",
		},
	} {
		remote := wrap.Options{Command: options.Command, Remote: true}
		change, err := wrap.Plan("config.yaml", []byte(c.before), remote)
		if err != nil || string(change.After) != c.after {
			t.Errorf("%v %+v\n%s", err, change.Servers, change.After)
			continue
		}
		if again, err := wrap.Plan("config.yaml", change.After, remote); err != nil || again.Changed(change.After) {
			t.Errorf("a second time: %v\n%s", err, again.After)
		}
		if back, err := wrap.Unplan("config.yaml", change.After, []byte(c.before)); err != nil || !back.Exact {
			t.Errorf("%v\n%s", err, back.After)
		}
		if back, err := wrap.Unplan("config.yaml", change.After, nil); err != nil || string(back.After) != c.lone {
			t.Errorf("alone: %v %+v\n%s", err, back.Servers, back.After)
		}
	}
	for entry, why := range map[string]string{
		"url: https://a.example/mcp":                                        "--remote",
		"{url: 'https://a.example/mcp', type: sse, headers: {A: b}}":        "HTTP+SSE",
		"{url: 'https://a.example/mcp', auth: oauth}":                       "OAuth",
		"{url: 'https://a.example/mcp', requestOptions: {headers: {A: b}}}": "requestOptions",
		"{url: 'https://a.example/mcp', headers: {A: b}, env: {C: d}}":      "form",
		"{url: 'https://a.example/mcp', headers: {A: b}, args: []}":         "form",
		"{url: 'https://a.example/mcp', headers: {A: 1}}":                   "form",
		"{\"url\":'https://a.example/mcp', headers: {A: b}}":                "form",
		"{url: 'https://a.example/mcp', headers: {A: b}, env_keys: [K]}":    "only its client",
	} {
		change, err := wrap.Plan("config.yaml", []byte("mcp_servers:\n  a: "+strings.Replace(entry, "url: https", "\n    url: https", 1)+"\n"), options)
		if err != nil || len(change.Servers) != 1 || change.Servers[0].Action != wrap.Left || !strings.Contains(change.Servers[0].Why, why) {
			t.Errorf("%s: %v %+v", entry, err, change.Servers)
		}
	}
}

package wrap_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

var from = wrap.Environment{
	Getenv:  func(name string) string { return map[string]string{"TOKEN": "t-1", "HOST": "h.example"}[name] },
	Project: "/srv/p", Home: "/home/me",
}

// Every form that clients have for a server, with what they would fill in.
func TestServersOfClientsAreReadAsTheirClientsDo(t *testing.T) {
	for _, c := range []struct{ path, text, want string }{
		{".mcp.json", `{"mcpServers":{"a":{"command":"npx","args":["-y","x","${TOKEN}","${NONE:-d}"],"env":{"N":1,"K":"${HOST}"},"cwd":"${workspaceFolder}/s"}}}`, "a: npx -y x t-1 d [K=h.example N=1] in /srv/p/s"},
		{".mcp.json", `{"mcpServers":{"a":{"type":"http","url":"https://${HOST}/mcp","headers":{"authorization":"Bearer ${TOKEN}"}}}}`, "a: https://h.example/mcp Authorization=Bearer t-1"},
		{".gemini/settings.json", `{"mcpServers":{"g":{"httpUrl":"https://g/mcp"}}}`, "g: https://g/mcp"},
		{".vscode/mcp.json", "{ // comments\n\"servers\":{\"v\":{\"command\":\"${userHome}/bin/s\",\"args\":[\"${env:TOKEN}\",],}}}", "v: /home/me/bin/s t-1"},
		{"opencode.json", `{"mcp":{"o":{"type":"local","command":["uvx","y"],"environment":{"A":"{env:TOKEN}"}}}}`, "o: uvx y [A=t-1]"},
		{"crush.json", `{"mcp":{"o":{"type":"http","url":"https://$HOST/mcp","headers":{"Authorization":"Bearer ${TOKEN}"}}}}`, "o: https://h.example/mcp Authorization=Bearer t-1"},
		{"config.toml", "[[mcp_servers]]\nname='v'\ntransport='stdio'\ncommand='s'\n[mcp_servers.env]\nK='1'", "v: s [K=1]"},
		{"config.toml", "[[mcp_servers]]\nname='v'\ntransport='http'\nurl='https://v/mcp'\napi_key_env='TOKEN'\n", "v: left: only its client can fill in its api_key_env"},
		{"crush.json", `{"mcp":{"o":{"type":"stdio","command":"s","env":{"K":"$(cat key)"}}}}`, "o: left: its env.K: only its client can fill in what a shell would run"},
		{".config/zed/settings.json", `{"context_servers":{"z":{"source":"custom","command":"s","args":["$HOST"]}}}`, "z: s $HOST"},
		{".codex/config.toml", "[mcp_servers.c]\nurl='https://c/mcp'\nbearer_token_env_var='TOKEN'\nhttp_headers={X='1'}\nenv_http_headers={Y='HOST'}\n", "c: https://c/mcp Authorization=Bearer t-1 X=1 Y=h.example"},
		{".codex/config.toml", "[mcp_servers.c]\ncommand='s'\nargs=['--port', '1']\n[mcp_servers.c.env]\nA='b'\n", "c: s --port 1 [A=b]"},
		{".mcp.json", `{"mcpServers":{"w":{"command":"plimsoll","args":["mcp","--name","w","--","npx","-y","x"]}}}`, "w: npx -y x"},
		{".claude.json", `{"projects":{"/srv/p":{"mcpServers":{"mine":{"command":"m"}}},"/srv/q":{"mcpServers":{"others":{"command":"o"}}}}}`, "mine: m"},
		// What is left out, and why.
		{".mcp.json", `{"mcpServers":{"a":{"command":"x","disabled":true}}}`, "a: left: it is switched off in the file"},
		{".codex/config.toml", "[mcp_servers.c]\ncommand='s'\nenabled=false\n", "c: left: it is switched off in the file"},
		{".mcp.json", `{"mcpServers":{"a":{"command":"x","env":{"K":"${SECRET_KEY}"}}}}`, "a: left: its env.K: the variable SECRET_KEY is not set"},
		{".vscode/mcp.json", `{"servers":{"a":{"command":"x","args":["${input:key}"]}}}`, "a: left: its args: only its client can fill in ${input:key}"},
		{".mcp.json", `{"mcpServers":{"a":{"url":"https://h/sse","type":"sse"}}}`, "a: left: it speaks HTTP+SSE, which MCP has given up: name its address for streamable HTTP"},
		{".mcp.json", `{"mcpServers":{"a":{"url":"https://h","headers":{"X":"1\r\nEvil: 2"}}}}`, `a: left: its header "X" is none: it has a line break or no name`},
		{".mcp.json", `{"mcpServers":{"a":{"command":"x","args":[1]}}}`, "a: left: a value of its args is no text"},
		{".mcp.json", `{"mcpServers":{"a":{}}}`, "a: left: it has neither a command nor an address"},
	} {
		got, err := wrap.Read("/h/"+c.path, []byte(c.text), from)
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %+v, %v", c.text, got, err)
			continue
		}
		if shown := show(got[0]); shown != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, shown, c.want)
		}
	}
	if _, err := wrap.Read("/h/.mcp.json", []byte(`{"mcpServers":`), from); err == nil || !strings.Contains(err.Error(), ".mcp.json:1:") {
		t.Errorf("half a file: %v", err)
	}
}

func show(s wrap.Startable) string {
	if s.Action == wrap.Left {
		return s.Name + ": left: " + s.Why
	}
	words := append([]string{s.Name + ":"}, s.Command...)
	if s.URL != "" {
		words = append(words, s.URL)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Header)) {
		words = append(words, name+"="+s.Header.Get(name))
	}
	if s.Env != nil {
		words = append(words, "["+strings.Join(s.Env, " ")+"]")
	}
	if s.Dir != "" {
		words = append(words, "in "+s.Dir)
	}
	return strings.Join(words, " ")
}

package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/limit"
)

const servers = `
[mcp]
max_output = '20K'
timeout = '1m'
[mcp.servers.everything]
command = ["npx", "-y", "-y", "@modelcontextprotocol/server-everything"]
env = ["LOG_LEVEL=a=b"]
max_output = '30K'
deny = ["delete_*"]
[mcp.servers.everything.tools.get_all]
max_output = '40K'
max_items = 7
[mcp.servers.remote]
url = 'https://mcp.example.com/v1/?x=1'
token = 'REMOTE_TOKEN'
headers = ["X-Api-Key=MY_KEY"]
merge = false
[tools.codex.mcp]
max_output = '8K'
`

func TestServersComeWithWhatIsInForceForThem(t *testing.T) {
	l := newWorld(t).user(servers).env("MAX_SEARCH_RESULTS=500").must()
	got, err := l.Servers("")
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	e, r := got[0], got[1]
	if e.Name != "everything" || strings.Join(e.Command, " ") != "npx -y -y @modelcontextprotocol/server-everything" || e.Env[0] != "LOG_LEVEL=a=b" || !e.Merge {
		t.Errorf("%+v", e)
	}
	if e.MCP.MaxOutput != 30*limit.KiB || e.MCP.Timeout != time.Minute || e.MCP.MaxSearch != 500 || e.MCP.Deny[0] != "delete_*" {
		t.Errorf("%+v", e.MCP)
	}
	all := newWorld(t).user("[mcp]\ndeny = ['a_*']\n[mcp.servers.x]\ncommand = ['x']\ndeny = ['b_*', 'a_*']\n").flag("--deny", "mcp.deny", "c").must()
	if got, err := all.Servers(""); err != nil || strings.Join(got[0].MCP.Deny, " ") != "a_* c b_*" && strings.Join(got[0].MCP.Deny, " ") != "a_* b_* c" {
		t.Errorf("denied: %v, %v", got, err)
	}
	if one := e.Tools["get_all"]; one.MaxOutput != 40*limit.KiB || one.MaxItems != 7 || one.Timeout != time.Minute {
		t.Errorf("%+v", one)
	}
	if r.URL != "https://mcp.example.com/v1/?x=1" || r.Token != "REMOTE_TOKEN" || r.Headers[0] != "X-Api-Key=MY_KEY" || r.Merge || r.MCP.MaxOutput != 20*limit.KiB {
		t.Errorf("%+v", r)
	}
	// What is said of a tool comes before what is said of all, and after what is said of the server.
	codex, err := l.Servers("codex")
	if err != nil || codex[0].MCP.MaxOutput != 30*limit.KiB || codex[1].MCP.MaxOutput != 8*limit.KiB {
		t.Errorf("codex: %+v, %v", codex, err)
	}
}

func TestToolOutputSizeIsHeard(t *testing.T) {
	if s := newWorld(t).env("MAX_TOOL_OUTPUT_SIZE=10000").settings(""); s.MCP.MaxOutput != 10000 {
		t.Errorf("max_output %v, want the 10000 of MAX_TOOL_OUTPUT_SIZE", s.MCP.MaxOutput)
	}
}

// A cloned repository must not be able to start programs or to loosen what its user denies.
func TestAProjectNamesNoServers(t *testing.T) {
	l := newWorld(t).repo("[mcp.servers.evil]\ncommand = ['sh', '-c', 'x']\n[mcp.servers.mine]\nread_only = false\n").
		user("[mcp.servers.mine]\ncommand = ['x']\nread_only = true\n").must()
	got, err := l.Servers("")
	if err != nil || len(got) != 1 || got[0].Name != "mine" || !got[0].MCP.ReadOnly {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestServerMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"[mcp.servers.x]\nmerge = true":                          ":2:1: mcp.servers.x: has neither command nor url; write one of them",
		"[mcp.servers.x]\ncommand = ['a']\nurl = 'http://h'":     "mcp.servers.x: has both command and url; remove one of them",
		"[mcp.servers.x]\ncomand = ['a']":                        `did you mean "command"?`,
		"[mcp.servers.x]\ncommand = 'a'":                         "is not a list",
		"[mcp.servers.x]\ncommand = ['a']\nargocd_tools = 'all'": "it concerns all servers: write it below [mcp]",
		"[mcp.servers.'../x']\ncommand = ['a']":                  `"../x" is not the name of a server`,
		"[mcp.servers.x]\nurl = 'ftp://h'":                       "is not a URL",
		"[mcp.servers.x]\nurl = 'http://u:p@h'":                  "a user name or password does not belong into the URL",
		"[mcp.servers.x]\nurl = 'http://h'\ntoken = 'ghp_x-y'":   "is not the name of an environment variable",
		"[mcp.servers.x]\nurl = 'http://h'\nheaders = ['X: y']":  "is not NAME=VALUE",
		"[mcp.servers]\nx = 1":                                   "write [mcp.servers.x] and keys below it",
		"[mcp]\nservers = 1":                                     "write [mcp.servers.NAME]",
		"[mcp.servers.x.tools.t]\nmemory_max = '1G'":             "write it below [mcp.servers.x]",
		"[mcp.servers.x.tools]\nt = 1":                           "write [mcp.servers.x.tools.TOOL]",
		"[mcp]\nmax_output = '10'":                               "out of range",
		"[mcp]\npage_items = 101":                                "101 is out of range, 1 to 100",
		"[tools.codex.mcp]\nmax_processes = 3":                   "concerns all tools, not one",
	} {
		_, err := newWorld(t).user(text).load()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n error %v\n wants %s", text, err, want)
		}
	}
	if _, err := config.Load(config.Options{Environ: []string{"PLIMSOLL_MCP_PAGE_ITEMS=5", "PLIMSOLL_STATE_DIR=/x", "PLIMSOLL_MCP_URL=http://h/?k=1", "PLIMSOLL_MCP_HEADER_1=A: b"}}); err != nil {
		t.Errorf("PLIMSOLL_MCP_PAGE_ITEMS: %v", err)
	}
}

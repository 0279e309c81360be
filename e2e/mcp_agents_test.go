//go:build linux || darwin

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// Real agents with an MCP server of their own: through plimsoll run, through a file that
// plimsoll mcp wrap has rewritten, and over HTTP, the server stands behind the gateway, and
// what the model is shown of 5 MB is a page.

// bigList is a folder with a list of things that is far too large for a model.
func bigList(t *testing.T, w *world) (file, needle string) {
	t.Helper()
	type thing struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	var list []thing
	for i := range 30_000 {
		list = append(list, thing{fmt.Sprintf("thing-%05d", i), strings.Repeat("lorem ipsum ", 12)})
	}
	write(t, quoted(t, list), w.work, "list.json")
	return filepath.Join(w.work, "list.json"), "thing-29999"
}

// servers are how an agent is told of the filesystem server.
var servers = []struct {
	agent string
	// file is below the home or the working directory.
	file func(w *world) string
	text func(t *testing.T, command []string) string
	// remote is the same for a server at a URL.
	remote func(t *testing.T, url string) string
	// call is how the agent's model calls a tool of the server.
	call func(tool, args string) scripted.Call
	args []string
}{
	{
		agent: "claude",
		file:  func(w *world) string { return filepath.Join(w.work, ".mcp.json") },
		text: func(t *testing.T, command []string) string {
			return quoted(t, map[string]any{"mcpServers": map[string]any{"files": map[string]any{"command": command[0], "args": command[1:]}}})
		},
		remote: func(t *testing.T, url string) string {
			return quoted(t, map[string]any{"mcpServers": map[string]any{"files": map[string]any{"type": "http", "url": url}}})
		},
		call: func(tool, args string) scripted.Call {
			return scripted.Call{Tool: "mcp__files__" + tool, Args: json.RawMessage(args)}
		},
		args: []string{"mcp__files__read_text_file", "mcp__files__result_search"},
	},
	{
		agent: "codex",
		file:  func(w *world) string { return filepath.Join(w.home, ".codex", "config.toml") },
		text: func(t *testing.T, command []string) string {
			return fmt.Sprintf("[mcp_servers.files]\ncommand = %q\nargs = %s\n", command[0], quoted(t, command[1:])) + codexWaits
		},
		remote: func(_ *testing.T, url string) string {
			return fmt.Sprintf("[mcp_servers.files]\nurl = %q\n", url) + codexWaits
		},
		// Its model writes scripts that call tools.
		call: func(tool, args string) scripted.Call {
			return scripted.Call{Tool: "exec", Args: fmt.Sprintf("const r = await tools.mcp__files__%s(%s);\ntext(r);\n", tool, args)}
		},
	},
}

// codexWaits makes Codex wait for a server. One that is not required has a second to be ready
// (mcp_optional_startup_grace_ms); after that the first turn has none of its tools, and nothing says so.
var codexWaits = fmt.Sprintf("required = true\nstartup_timeout_sec = %d\n", int(patience.Seconds()))

var handleIn = regexp.MustCompile(`r_[a-z2-7]{26}`)

func TestMCPAgentsThroughTheGateway(t *testing.T) {
	for _, c := range servers {
		for _, how := range []string{"run", "wrap", "http"} {
			t.Run(c.agent+"/"+how, func(t *testing.T) {
				w := newWorld(t)
				var a agent
				for _, known := range agents {
					if known.name == c.agent {
						a = known
					}
				}
				path := installed(t, a.name)
				t.Setenv("PATH", filepath.Dir(pinned(t, "node"))+":"+os.Getenv("PATH"))
				list, needle := bigList(t, w)
				handle := ""
				script := func(turn int, r *scripted.Request) scripted.Reply {
					switch turn {
					case 0:
						return scripted.Reply{Text: "I look.", Calls: []scripted.Call{c.call("read_text_file", quoted(t, map[string]any{"path": list}))}}
					case 1:
						handle = handleIn.FindString(string(r.Body))
						return scripted.Reply{Text: "I search.", Calls: []scripted.Call{c.call("result_search", quoted(t, map[string]any{"handle": handle, "pattern": "thing-2999[89]"}))}}
					}
					return scripted.Reply{Text: "The task is finished."}
				}
				p, url := provide(t, scripted.Options{Window: 200_000, Script: script})
				e := errand{base: url + a.base, prompt: "What does the list say?", report: filepath.Join(w.state, "report.json")}
				a.settle(t, w, e.base)
				file := c.file(w)
				before, _ := os.ReadFile(file) // its own settings
				servers := c.text(t, []string{pinned(t, "mcp-server-filesystem"), w.work})
				if how == "http" {
					servers = c.remote(t, w.gateway("--", pinned(t, "mcp-server-filesystem"), w.work))
				}
				write(t, string(before)+servers, file)
				text := testfile.Read(t, file)
				argv := append([]string{path}, a.argv(e.prompt)...)
				if len(c.args) > 0 {
					argv = append(argv, "--allowedTools")
					argv = append(argv, c.args...)
				}
				switch how {
				case "run":
					e.flags = []string{}
					argv = append([]string{plimsoll, "run", "--force", "--quiet", "--report", e.report, "--"}, argv...)
				case "wrap":
					if got := w.run(nil, plimsoll, "mcp", "wrap", file); got.status != 0 {
						t.Fatalf("wrap: %d %s", got.status, got.stderr)
					}
				}
				got := w.run(a.apart(e), argv...)
				if got.status != 0 || p.Turns("") != 3 || !strings.Contains(got.stdout, "The task is finished.") {
					t.Fatalf("status %d after %d of 3 turns\nstdout: %s\nstderr: %s", got.status, p.Turns(""), clip(got.stdout), clip(got.stderr))
				}
				requests := p.Requests()
				last := "" // what the model was shown at the end
				for _, r := range requests {
					if r.Kind == "model" {
						last = string(r.Body)
					}
				}
				if !strings.Contains(last, needle) || len(last) > 400_000 {
					t.Errorf("the model was shown %d bytes; the needle is in it: %v\n%s", len(last), strings.Contains(last, needle), clip(last))
				}
				if how == "wrap" {
					if got := w.run(nil, plimsoll, "mcp", "wrap", file, "--undo"); got.status != 0 {
						t.Fatalf("undo: %d %s", got.status, got.stderr)
					}
				}
				if after, err := os.ReadFile(file); err != nil || a.name == "claude" && string(after) != string(text) {
					t.Errorf("the file has changed: %s, %v", after, err)
				}
				if how == "run" {
					var report struct {
						MCP struct {
							Calls         int64 `json:"calls"`
							UpstreamBytes int64 `json:"upstream_bytes"`
							Spilled       int64 `json:"spilled"`
						} `json:"mcp"`
					}
					data, err := os.ReadFile(e.report)
					if err != nil || json.Unmarshal(data, &report) != nil || report.MCP.Calls == 0 || report.MCP.Spilled != 1 || report.MCP.UpstreamBytes < 4_000_000 {
						t.Errorf("the report tells %+v, %v", report.MCP, err)
					}
				}
				if how != "http" { // there the gateway runs on
					w.nothingLeft()
				}
			})
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/golden"
)

// ownVersion is what a server of this program says in its greeting.
var ownVersion = regexp.MustCompile(`(serverInfo":\{[^}]*"version":)"[^"]*"`)

// TestMCPServersStay: the greeting and the tools of every MCP server that the program offers by itself, and the tools
// that the gateway adds to any server.
func TestMCPServersStay(t *testing.T) {
	t.Parallel()
	for file, args := range map[string][]string{
		"mcp-argocd.jsonl":  {"mcp", "argocd", "--simulator=3,1,1,1", "--quiet", "--allow-writes", "--tools=all"},
		"mcp-memory.jsonl":  {"mcp", "memory", "--namespace", "user", "--quiet"},
		"mcp-gateway.jsonl": {"mcp", "--name", "notes", "--allow", "echo", "--", filepath.Join(tools, "toolserver")},
	} {
		t.Run(file, func(t *testing.T) {
			s := newSite(t)
			var all strings.Builder
			for _, greeting := range []string{
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + greeting + `}`,
				`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			} {
				cmd := s.command(args...)
				cmd.Stdin = strings.NewReader(greeting + "\n")
				all.WriteString("> " + greeting + "\n" + inLines(t, []byte(s.finish(cmd).stdout)))
			}
			c := stdioClient(t, s, args...)
			for _, request := range []string{
				`{"jsonrpc":"2.0","id":100,"method":"tools/list","params":{}}`,
				`{"jsonrpc":"2.0","id":101,"method":"prompts/list","params":{}}`,
				`{"jsonrpc":"2.0","id":102,"method":"resources/list","params":{}}`,
				`{"jsonrpc":"2.0","id":103,"method":"resources/templates/list","params":{}}`,
				`{"jsonrpc":"2.0","id":104,"method":"no/such/method","params":{}}`,
				`{"jsonrpc":"2.0","id":105,"method":"tools/call","params":{"name":"no_such_tool","arguments":{}}}`,
			} {
				all.WriteString("> " + request + "\n")
				all.WriteString(inLines(t, c.send(request)))
			}
			golden.Check(t, recorded(file), all.String())
		})
	}
}

// TestReadOnlyArgoCDStays: without --allow-writes there are these tools only. What they say is in mcp-argocd.jsonl.
func TestReadOnlyArgoCDStays(t *testing.T) {
	t.Parallel()
	answer := stdioClient(t, newSite(t), "mcp", "argocd", "--simulator=3,1,1,1", "--quiet").request("tools/list", "{}")
	var names strings.Builder
	for _, tool := range answer.Result.Tools {
		names.WriteString(tool.Name + "\n")
	}
	golden.Check(t, recorded("mcp-argocd-reads.txt"), names.String())
}

// inLines writes each tool of an answer on a line of its own, so that a difference shows one tool.
func inLines(t *testing.T, answer []byte) string {
	t.Helper()
	var parsed struct {
		Result struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(answer, &parsed); err != nil {
		t.Fatalf("%v in %.300s", err, answer)
	}
	for _, tool := range parsed.Result.Tools {
		answer = bytes.Replace(answer, tool, append([]byte("\n  "), tool...), 1)
	}
	return "< " + strings.TrimSpace(ownVersion.ReplaceAllString(string(answer), `$1"VERSION"`)) + "\n"
}

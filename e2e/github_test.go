//go:build linux || darwin

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/limit"
)

// The recipe of docs/agents.md for GitHub: an agent finds why a workflow failed in a log of 30 MB, of which it is shown a page and
// what a search found.

// githubVariable names the official server's program (github.com/github/github-mcp-server); without it a stand-in of its tools is
// asked alone.
const githubVariable = "PLIMSOLL_GITHUB_MCP_SERVER"

const (
	jobLogBytes  = 30 << 20
	failingLine  = "##[error]ledger_test.go:217: claim 7 was given to two runs"
	failingRun   = 700
	failingJob   = 900
	githubToken  = "ghp_only-the-server-has-this"
	mostOfAgent  = 48 * limit.MiB // the agent and its gateway are one process
	mostToModel  = 64 << 10       // of one request
	failingShape = `##\[error\][^\\"]*`
)

// jobLog is the log of a job that failed somewhere in its middle.
func jobLog() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < jobLogBytes; i++ {
		switch i {
		case 40_000:
			fmt.Fprintf(&b, "2026-11-28T09:10:11.0000000Z %s\n", failingLine)
		case 80_000: // what follows from it
			b.WriteString("2026-11-28T09:10:11.0000000Z ##[error]Process completed with exit code 1.\n")
		}
		fmt.Fprintf(&b, "2026-11-28T09:10:11.0000000Z compile %d %s\n", i, strings.Repeat("-I/home/runner/work/include ", 11))
	}
	return b.Bytes()
}

// githubAPI is as much of GitHub's REST API as a look at a failed run takes, in the forms of an Enterprise Server.
func githubAPI(t *testing.T, log []byte) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	const base = "GET /api/v3/repos/octo/ledger/actions/"
	answer := func(path string, v any) {
		mux.HandleFunc(base+path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+githubToken {
				http.Error(w, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v)
		})
	}
	run := map[string]any{"id": failingRun, "name": "ci", "status": "completed", "conclusion": "failure", "head_branch": "main"}
	job := map[string]any{"id": failingJob, "run_id": failingRun, "name": "build", "status": "completed", "conclusion": "failure"}
	answer("runs", map[string]any{"total_count": 1, "workflow_runs": []any{run}})
	answer(fmt.Sprintf("runs/%d/jobs", failingRun), map[string]any{"total_count": 1, "jobs": []any{job}})
	mux.HandleFunc(base+fmt.Sprintf("jobs/%d/logs", failingJob), func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, web.URL+"/logs/build.txt", http.StatusFound)
	})
	mux.HandleFunc("GET /logs/build.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(log)
	})
	return web.URL
}

// githubStandIn serves the two tools that are needed of the official server's, with its names, arguments and forms of answers.
func githubStandIn(t *testing.T, log []byte) (settings string) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "github-mcp-server", Version: "standin"}, nil)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	said := func(v any) (*mcp.CallToolResult, any, error) {
		text, err := json.Marshal(v)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil, err
	}
	mcp.AddTool(server, &mcp.Tool{Name: "actions_list", Description: "Lists workflow runs.", Annotations: reads},
		func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
			return said(map[string]any{"total_count": 1, "workflow_runs": []any{map[string]any{"id": failingRun, "conclusion": "failure"}}})
		})
	mcp.AddTool(server, &mcp.Tool{Name: "get_job_logs", Description: "Gets logs of workflow jobs.", Annotations: reads},
		func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
			return said(map[string]any{
				"message": "Retrieved logs for 1 failed jobs", "run_id": failingRun, "total_jobs": 1, "failed_jobs": 1,
				"logs": []any{map[string]any{"job_id": failingJob, "job_name": "build", "logs_content": string(log)}},
			})
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	return "url = " + strconv.Quote(web.URL)
}

func TestGitHubLogIsSearched(t *testing.T) {
	t.Parallel()
	log := jobLog()
	t.Run("stand-in", func(t *testing.T) { searchLog(t, githubStandIn(t, log)) })
	t.Run("official server", func(t *testing.T) {
		program := os.Getenv(githubVariable)
		if program == "" {
			t.Skipf("%s does not name the program of GitHub's MCP server: it is not run", githubVariable)
		}
		searchLog(t, fmt.Sprintf("command = [%q, \"stdio\", \"--toolsets=actions\", \"--content-window-size=100000\", \"--gh-host=%s\"]",
			program, githubAPI(t, log)))
	})
}

// searchLog asks an agent with this server why the run has failed.
func searchLog(t *testing.T, server string) {
	w := newWorld(t)
	call := func(r *scripted.Request, tool string, args map[string]any) scripted.Reply {
		for _, has := range r.Tools {
			if strings.HasSuffix(has.Name, tool) {
				return scripted.Reply{Calls: []scripted.Call{{Tool: has.Name, Args: args}}}
			}
		}
		return scripted.Reply{Text: "There is no tool " + tool + "."}
	}
	repository := map[string]any{"owner": "octo", "repo": "ledger"}
	with := func(more map[string]any) map[string]any {
		maps.Copy(more, repository)
		return more
	}
	early := 0     // requests that showed the line before it was searched for
	first := false // the model was told that the log may have other errors
	p, url := provide(t, scripted.Options{Window: 200_000, Key: "sk-scripted", Script: func(turn int, r *scripted.Request) scripted.Reply {
		found := regexp.MustCompile(failingShape).FindString(string(r.Body))
		if turn < 3 && found != "" {
			early++
		}
		switch turn {
		case 0:
			return call(r, "actions_list", with(map[string]any{"method": "list_workflow_runs"}))
		case 1:
			return call(r, "get_job_logs", with(map[string]any{"run_id": failingRun, "failed_only": true, "return_content": true, "tail_lines": 100_000}))
		case 2:
			return call(r, "result_search", map[string]any{"handle": handleIn.FindString(string(r.Body)), "pattern": `##\[error\]`})
		}
		first = strings.Contains(string(r.Body), "around the first match in")
		return scripted.Reply{Text: "It failed at: " + found}
	}})
	settings := fmt.Sprintf(`[mcp.servers.github]
%s
read_only = true
allow = ["actions_list", "actions_get", "get_job_logs"]

[agents.builds]
intro = "You find out why workflows of octo/ledger fail. Search a log for its errors; do not read it through."
servers = ["github"]
model = "scripted"
provider = "openai"
base_url = %q
key_env = "OPENAI_API_KEY"
`, server, url+"/v1")
	if err := os.MkdirAll(w.state, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, settings, w.state, "config.toml")

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, plimsoll, "ask", "--agent", "builds", "why does the newest run fail?")
	cmd.Dir = w.work
	cmd.Env = w.environment("OPENAI_API_KEY=sk-scripted", "GITHUB_PERSONAL_ACCESS_TOKEN="+githubToken, "PLIMSOLL_CACHE_DIR="+filepath.Join(w.home, "cache"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	most := watchMemory(cmd.Process.Pid)
	err := cmd.Wait()
	memory := most()
	if err != nil || !strings.Contains(stdout.String(), failingLine) || p.Turns("") != 4 || early > 0 {
		t.Fatalf("%v after %d of 4 turns, the line was shown in %d requests before the search\nstdout: %s\nstderr: %s",
			err, p.Turns(""), early, clip(stdout.String()), clip(stderr.String()))
	}
	if !first {
		t.Error("the model was not told that what it sees is the first match of several")
	}
	largest := 0
	for _, r := range p.Requests() {
		largest = max(largest, len(r.Body))
		if bytes.Contains(r.Body, []byte(githubToken)) {
			t.Error("the model was told the token")
		}
	}
	t.Logf("of a log of %d bytes the largest request had %d in all; most anonymous memory %s", jobLogBytes, largest, memory.Human())
	if largest > mostToModel {
		t.Errorf("a request of %d bytes, want at most %d", largest, mostToModel)
	}
	if memory > mostOfAgent || memory == 0 && runtime.GOOS == "linux" {
		t.Errorf("the agent and its gateway took %s of memory, want at most %s", memory.Human(), mostOfAgent.Human())
	}
	w.nothingLeft()
}

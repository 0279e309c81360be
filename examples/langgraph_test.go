package examples_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// langGraphVariable names a Python with the libraries: pip install langgraph langchain langchain-openai langchain-anthropic deepagents.
const langGraphVariable = "PLIMSOLL_LANGGRAPH_PYTHON"

// LangGraph's agents go on behind a call that was broken off, with both makers of models, where the example is in them; without it
// they do what docs/clients.md says of each.
func TestLangGraphGoesOnBehindACallThatWasBrokenOff(t *testing.T) {
	python := os.Getenv(langGraphVariable)
	if python == "" {
		t.Skipf("%s does not name a Python with LangGraph, langchain-openai, langchain-anthropic and deepagents: the example is not tried", langGraphVariable)
	}
	try := func(t *testing.T, agent, maker, mend string) (lines []string, requests int) {
		p := scripted.New(scripted.Options{Script: func(_ int, r *scripted.Request) scripted.Reply {
			if len(r.Tools) > 0 && strings.HasSuffix(r.LastUser, "please use slow") {
				return scripted.Reply{Calls: []scripted.Call{{Tool: "slow", Args: map[string]string{"q": "x"}}}}
			}
			return scripted.Reply{Text: "All good."}
		}})
		s := httptest.NewServer(p)
		defer s.Close()
		args := []string{"langgraph/try.py", agent, maker}
		if mend != "" {
			args = append(args, mend)
		}
		cmd := exec.CommandContext(t.Context(), python, args...)
		cmd.Env = append(os.Environ(), "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+s.URL+"/v1", "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+s.URL, "LANGSMITH_TRACING=false", "PYTHONDONTWRITEBYTECODE=1")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		lines = strings.Split(strings.TrimSpace(string(out)), "\n")
		if err != nil || len(lines) != 3 || !strings.HasPrefix(lines[0], "failed: CancelledError") {
			t.Fatalf("%v: %s%s", err, out, stderr.String())
		}
		return lines, len(p.Requests())
	}
	for _, maker := range []string{"openai", "anthropic"} {
		for agent, bare := range map[string]string{
			"create_agent":       "InvalidRequestError Error code: 400", // the provider's
			"create_react_agent": "ValueError Found AIMessages with tool_calls that do not have a corresponding ToolMessage",
			"deepagents":         "answered: All good.", // it mends by itself
		} {
			t.Run(agent+" "+maker, func(t *testing.T) {
				t.Parallel()
				lines, _ := try(t, agent, maker, "")
				for _, line := range lines[1:] {
					if !strings.Contains(line, bare) {
						t.Errorf("without the example: %s, want %s", line, bare)
					}
				}
				lines, requests := try(t, agent, maker, "mend")
				for _, line := range lines[1:] {
					if line != "answered: All good." {
						t.Errorf("with the example: %s", line)
					}
				}
				if requests != 3 {
					t.Errorf("%d requests, want one for each question", requests)
				}
			})
		}
	}
}

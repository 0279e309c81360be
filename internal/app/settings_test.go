package app_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/daemon"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
)

// toolServer is an MCP server over HTTP, and the configuration that names it.
func toolServer(t *testing.T) (configuration string) {
	t.Helper()
	server := httptest.NewServer(toolserver.New(toolserver.Options{}).Handler())
	t.Cleanup(server.Close)
	return "[mcp.servers.notes]\nurl = \"" + server.URL + "/mcp\"\n"
}

// asked is what the last request of an agent to its model holds.
type asked struct {
	requests int
	last     []byte
	result   agent.Result
	warnings []string
}

// results are the texts of the tools' results in the last request.
func (a asked) results(t *testing.T) (texts []string) {
	t.Helper()
	var body struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.Unmarshal(a.last, &body); err != nil {
		t.Fatal(err)
	}
	for _, m := range body.Messages {
		if m.Role == "tool" {
			texts = append(texts, fmt.Sprint(m.Content))
		}
	}
	return texts
}

// askWith has an agent ask a scripted model, which calls a tool with 9,000 bytes of result so many times. The agent keeps its
// conversations in memory.
func askWith(t *testing.T, calls, size int, o scripted.Options, configuration string, environ ...string) asked {
	t.Helper()
	return askHeard(t, calls, size, o, configuration, nil, environ...)
}

// askHeard is askWith for somebody who hears the events.
func askHeard(t *testing.T, calls, size int, o scripted.Options, configuration string, heard func(agents.Event), environ ...string) asked {
	t.Helper()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".config", "plimsoll"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := toolServer(t) + configuration + "[agents.helper]\nservers = [\"notes\"]\nmax_steps = 60\n"
	testfile.Write(t, filepath.Join(home, ".config", "plimsoll", "config.toml"), text)
	o.Lenient, o.Tokenizer = true, scripted.O200K
	o.Script = func(turn int, _ *scripted.Request) scripted.Reply {
		if turn >= calls {
			return scripted.Reply{Text: "done"}
		}
		return scripted.Reply{Text: fmt.Sprintf("Step %d.", turn), Calls: []scripted.Call{{Tool: "big", Args: map[string]any{"bytes": size, "kind": "text", "needle": fmt.Sprint("call ", turn)}}}}
	}
	model := scripted.New(o)
	provide(t, model)
	t.Setenv("OPENAI_MODEL", "gpt-4o")
	var warnings []string
	a, err := core.New(core.Options{
		Environ: append([]string{"HOME=" + home, "PLIMSOLL_STATE_DIR=" + filepath.Join(home, "state")}, environ...), Dir: home,
		Warn: func(text string) { warnings = append(warnings, text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := agents.Ask(t.Context(), a, agents.AskOptions{Question: "Look at all of it.", Events: heard, AgentOptions: agents.AgentOptions{Name: "helper"}})
	if err != nil {
		t.Fatal(err)
	}
	got := asked{result: report.Result, warnings: warnings}
	for _, r := range model.Requests() {
		if r.Kind == "model" {
			got.last, got.requests = r.Body, got.requests+1
		}
	}
	return got
}

// callWith is a result of 30,000 bytes as the gateway delivers it.
func callWith(t *testing.T, environ ...string) string {
	t.Helper()
	home := t.TempDir()
	testfile.Write(t, filepath.Join(home, ".config", "plimsoll", "config.toml"), toolServer(t))
	url, end := serving(t, "127.0.0.1:0", daemon.Options{}, append(environ, "HOME="+home)...)
	if url == "" {
		t.Fatal(end())
	}
	defer func() { _ = end() }()
	c := mcp.NewClient(&mcp.Implementation{Name: "somebody", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/mcp/notes"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "big", Arguments: map[string]any{"bytes": 30_000, "kind": "text"}})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	return text.String()
}

// Every setting of the original changes bytes on each of the three ways on which it can: what the proxy sends on, what the
// built-in agent sends, and what the gateway delivers. Of the proxy see also TestWindowSettingsChangeWhatHappens.
func TestSettingsOfTheOriginalOnEveryPath(t *testing.T) {
	body := turns(240_000)
	const limited = "MAX_CONTEXT_TOKENS=40000"
	proxy := func(environ ...string) func(*testing.T) string {
		return func(t *testing.T) string { return string(through(t, body, scripted.Options{}, environ...).forwarded) }
	}
	ask := func(environ ...string) func(*testing.T) string {
		return func(t *testing.T) string {
			return string(askWith(t, 16, 9_000, scripted.Options{}, "", environ...).last)
		}
	}
	call := func(environ ...string) func(*testing.T) string {
		return func(t *testing.T) string { return callWith(t, environ...) }
	}
	shorter := func(with, without string) bool { return len(with) < len(without)*9/10 }
	longer := func(with, without string) bool { return shorter(without, with) }
	type path struct {
		name          string
		with, without func(*testing.T) string
		holds         func(with, without string) bool
	}
	const agentLimited = "MAX_CONTEXT_TOKENS=20000"
	const wider = "MAX_CONTEXT_TOKENS=36000" // masking is enough for it
	for setting, paths := range map[string][]path{
		"MAX_CONTEXT_TOKENS": {
			{"proxy", proxy("MAX_CONTEXT_TOKENS=40000"), proxy(), shorter},
			{"agent", ask("MAX_CONTEXT_TOKENS=20000"), ask(), shorter},
			{"agent, beside a provider's 0", ask("MAX_CONTEXT_TOKENS=20000", "OPENAI_MAX_CONTEXT_TOKENS=0"), ask(), shorter},
		},
		"OPENAI_MAX_CONTEXT_TOKENS": {
			{"proxy", proxy("OPENAI_MAX_CONTEXT_TOKENS=40000"), proxy("ANTHROPIC_MAX_CONTEXT_TOKENS=40000"), shorter},
			{"agent", ask("OPENAI_MAX_CONTEXT_TOKENS=20000"), ask("ANTHROPIC_MAX_CONTEXT_TOKENS=20000"), shorter},
		},
		"LLM_PROVIDER": {
			{"proxy", proxy("LLM_PROVIDER=azure-openai", "AZURE_OPENAI_MAX_CONTEXT_TOKENS=40000"), proxy("AZURE_OPENAI_MAX_CONTEXT_TOKENS=40000"), shorter},
			{"agent", ask("LLM_PROVIDER=azure-openai", "AZURE_OPENAI_MAX_CONTEXT_TOKENS=20000"), ask("AZURE_OPENAI_MAX_CONTEXT_TOKENS=20000"), shorter},
		},
		"MIN_MESSAGES_TO_KEEP": {
			{"proxy", proxy(limited, "MIN_MESSAGES_TO_KEEP=60"), proxy(limited), func(with, without string) bool {
				return sameEnd(body, []byte(with)) > 2*sameEnd(body, []byte(without))
			}},
			{"agent", ask(agentLimited, "MIN_MESSAGES_TO_KEEP=12"), ask(agentLimited, "MIN_MESSAGES_TO_KEEP=2"), func(with, without string) bool { return with != without }},
		},
		"ENABLE_AUTO_COMPRESSION": {
			{"proxy", proxy(limited, "ENABLE_AUTO_COMPRESSION=false"), proxy(limited), longer},
			{"agent", ask(agentLimited, "ENABLE_AUTO_COMPRESSION=false"), ask(agentLimited), longer},
		},
		"SUMMARIZE_TOOL_OUTPUTS": {
			{"proxy", proxy(limited, "SUMMARIZE_TOOL_OUTPUTS=false"), proxy(limited), func(with, without string) bool { return with != without }},
			{"agent", ask(wider, "SUMMARIZE_TOOL_OUTPUTS=false"), ask(wider), func(with, without string) bool { return with != without }},
		},
		"MAX_TOOL_OUTPUT_LENGTH": {
			{"proxy", proxy("MAX_TOOL_OUTPUT_LENGTH=1000"), proxy(), shorter},
			{"agent", ask("MAX_TOOL_OUTPUT_LENGTH=1000"), ask(), shorter},
			{"MCP", call("MAX_TOOL_OUTPUT_LENGTH=5000"), call(), shorter},
		},
		"MAX_TOOL_OUTPUT_SIZE": {
			{"proxy", proxy("MAX_TOOL_OUTPUT_SIZE=1000"), proxy(), shorter},
			{"agent", ask("MAX_TOOL_OUTPUT_SIZE=1000"), ask(), shorter},
			{"MCP", call("MAX_TOOL_OUTPUT_SIZE=5000"), call(), shorter},
			{"MCP, larger", call("MAX_TOOL_OUTPUT_SIZE=50000"), call(), longer},
		},
	} {
		for _, p := range paths {
			t.Run(setting+"/"+p.name, func(t *testing.T) {
				with, without := p.with(t), p.without(t)
				if with == "" || without == "" || !p.holds(with, without) {
					t.Errorf("%d bytes with it and %d without", len(with), len(without))
				}
			})
		}
	}
}

// A result that the gateway pages is not cut once more by the agent: its note stays, with the handle that the rest is read by.
func TestAPageStaysWholeInTheAgent(t *testing.T) {
	for _, most := range []string{"1000", "5000", "20000"} {
		got := askWith(t, 1, 60_000, scripted.Options{}, "", "MAX_TOOL_OUTPUT_SIZE="+most)
		texts := got.results(t)
		if len(texts) != 1 || strings.Contains(texts[0], "left out here") || !strings.Contains(texts[0], "result_page") {
			t.Errorf("with %s: %.2000q", most, texts)
		}
	}
}

// The newest result of a tool is bounded too, also where there is room; the whole is kept, and the next turn begins with the same
// bytes.
func TestTheNewestResultIsBounded(t *testing.T) {
	whole := strings.Repeat("All of it is kept. ", 1500)
	call := func(id string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"` + id + `","content":"` + whole + `"}`
	}
	first := `{"model":"gpt-4o","messages":[{"role":"user","content":"hi"},` + call("a") + `]}`
	second := strings.TrimSuffix(first, "]}") + "," + call("b") + `]}`
	state := t.TempDir()
	environ := []string{"MAX_TOOL_OUTPUT_SIZE=2000", "PLIMSOLL_STATE_DIR=" + state}
	var sentFirst []byte
	for i, body := range []string{first, second, second} {
		got := through(t, []byte(body), scripted.Options{}, environ...)
		results := asked{last: got.forwarded}.results(t)
		if len(results) != min(i+1, 2) {
			t.Fatalf("%d results", len(results))
		}
		for _, text := range results {
			if len(text) > 2000 || !strings.HasPrefix(text, "All of it is kept.") || !strings.Contains(text, "[Plimsoll cut ") {
				t.Errorf("request %d: a result of %d bytes: %.100s", i, len(text), text)
			}
		}
		switch made := got.log.events(t, "window.compacted"); {
		case i < 2 && (len(made) != 1 || made[0]["reason"] != "result_size"):
			t.Errorf("request %d: %v", i, made)
		case i == 2 && len(made) != 0:
			t.Errorf("what is kept was made again: %v", made)
		}
		if i == 0 {
			sentFirst = got.forwarded
		} else if prefix := strings.TrimSuffix(string(sentFirst), "]}"); !strings.HasPrefix(string(got.forwarded), prefix) {
			t.Errorf("request %d does not begin with the bytes of the first", i)
		}
	}
	a := newCore(t, state, environ...)
	cuts, err := watch.Cuts(a, "")
	if err != nil || len(cuts) == 0 {
		t.Fatalf("%d are kept, %v", len(cuts), err)
	}
	if text, err := window.ReadCut(a, cuts[0].ID); err != nil || !strings.Contains(string(text.Text), whole) {
		t.Errorf("the whole is not kept: %v", err)
	}
}

// After a death for lack of memory the agent works with half of its window, and says so.
func TestTheAgentsWindowIsHalvedAfterADeath(t *testing.T) {
	whole := askWith(t, 16, 9_000, scripted.Options{}, "", "MAX_CONTEXT_TOKENS=60000")
	t.Setenv("PLIMSOLL_SEARCH_FIRST", "1")
	half := askWith(t, 16, 9_000, scripted.Options{}, "", "MAX_CONTEXT_TOKENS=60000")
	if len(whole.warnings) != 0 || len(half.warnings) != 1 || !strings.Contains(half.warnings[0], "half of the context window") {
		t.Errorf("told: %q, before %q", half.warnings, whole.warnings)
	}
	if len(half.last) >= len(whole.last)*9/10 {
		t.Errorf("%d bytes after it, %d before", len(half.last), len(whole.last))
	}
}

package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/app/daemon"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// memoryClient is the official client of the memory that the daemon serves.
func memoryClient(t *testing.T, url string) func(tool string, arguments any) (string, bool) {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/mcp/memory"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		if strings.HasPrefix(tool.Name, "result_") {
			continue // the gateway's
		}
		names = append(names, tool.Name)
		reads := tool.Name == "search_memory" || tool.Name == "get_memory"
		if a := tool.Annotations; a == nil || a.ReadOnlyHint != reads || !reads && (a.DestructiveHint == nil || !*a.DestructiveHint) || a.OpenWorldHint == nil || *a.OpenWorldHint {
			t.Errorf("%s: %+v", tool.Name, tool.Annotations)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"get_memory", "manage_memory", "memory", "search_memory"}) {
		t.Errorf("the tools are %q", names)
	}
	return func(tool string, arguments any) (string, bool) {
		t.Helper()
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil || len(r.Content) != 1 {
			t.Fatalf("%s: %v, %d blocks", tool, err, len(r.Content))
		}
		return r.Content[0].(*mcp.TextContent).Text, r.IsError
	}
}

type arguments = map[string]any

// TestServeHasTheMemory: the official client finds the four tools at /mcp/memory, and gets the answers that Anthropic and LangMem document.
func TestServeHasTheMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the daemon has it with a token only")
	}
	url, end := serving(t, "127.0.0.1:0", daemon.Options{Quiet: true, Version: "1"})
	defer func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	}()
	call := memoryClient(t, url)
	for _, step := range []struct {
		in   arguments
		want string
		bad  bool
	}{
		{arguments{"command": "view", "path": "/memories"}, "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0B\t/memories", false},
		{arguments{"command": "create", "path": "/memories/notes.txt", "file_text": "Hello World\nThis is line two\n"}, "File created successfully at: /memories/notes.txt", false},
		{arguments{"command": "view", "path": "/memories/notes.txt", "view_range": []int{1, 2}}, "Here's the content of /memories/notes.txt with line numbers:\n     1\tHello World\n     2\tThis is line two", false},
		{arguments{"command": "create", "path": "/memories/notes.txt", "file_text": ""}, "Error: File /memories/notes.txt already exists", true},
		{arguments{"command": "insert", "path": "/memories/notes.txt", "insert_line": 0, "insert_text": "# Heron\n"}, "The file /memories/notes.txt has been edited.", false},
		{arguments{"command": "delete", "path": "/memories/../x"}, "Error: Path /memories/../x would escape /memories directory", true},
	} {
		if got, bad := call("memory", step.in); got != step.want || bad != step.bad {
			t.Errorf("%v: %v\n got %q\nwant %q", step.in, bad, got, step.want)
		}
	}
	if got, _ := call("search_memory", arguments{"query": "heron"}); !strings.Contains(got, "/memories/notes.txt") || !strings.Contains(got, "origin agent") {
		t.Error(got)
	}
	created, bad := call("manage_memory", arguments{"content": "Team prefers to use Python for backend development"})
	id, ok := strings.CutPrefix(created, "created memory ")
	if !ok || bad {
		t.Fatal(created)
	}
	if got, _ := call("get_memory", arguments{"id": id, "around": 2}); !strings.Contains(got, "Team prefers") {
		t.Error(got)
	}
	if got, bad := call("manage_memory", arguments{"action": "delete", "id": id}); got != "Deleted memory "+id || bad {
		t.Error(got)
	}
	// Pages reach the client as they are made, whatever the gateway thinks of their size.
	for i := range 30 {
		if got, bad := call("manage_memory", arguments{"content": fmt.Sprintf("Widget %d: %s", i, strings.Repeat("words of all kinds ", 50))}); bad {
			t.Fatal(got)
		}
	}
	got, _ := call("search_memory", arguments{"query": "widget", "limit": 25})
	if !strings.HasPrefix(got, `30 memories for "widget"; 1 to 25 are shown, the best first. The next: offset=25.`) || strings.Count(got, "\n- ") != 25 {
		t.Errorf("%.200s", got)
	}
}

// TestTheMemoryIsNotForEverybody: where others may connect the daemon has no memory without a token, nor has it one that is switched off; and its
// name is taken.
func TestTheMemoryIsNotForEverybody(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"PLIMSOLL_SERVE_ANY_USER=true", "PLIMSOLL_MEMORY_ON=false"} {
		url, end := serving(t, "127.0.0.1:0", daemon.Options{Quiet: true}, variable)
		if status, body := get(t, url+"/mcp/memory"); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", variable, status, body)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	home := t.TempDir()
	file := filepath.Join(home, "config.toml")
	testfile.Write(t, file, "[mcp.servers.memory]\ncommand = [\"true\"]\n")
	if _, end := serving(t, "127.0.0.1:0", daemon.Options{Quiet: true}, "PLIMSOLL_CONFIG="+file); true {
		if err := end(); err == nil || !strings.Contains(err.Error(), "/mcp/memory") {
			t.Error(err)
		}
	}
}

// TestJSONOfAMemory: what search --json promises.
func TestJSONOfAMemory(t *testing.T) {
	t.Parallel()
	body, err := json.Marshal(memories.Item{})
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(body, &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"id", "kind", "text", "origin", "namespace", "recorded", "score"} {
		if _, has := keys[k]; !has {
			t.Errorf("there is no key %s in %s", k, body)
		}
	}
}

// TestAskAnswersFromTheMemory: an agent finds what was decided earlier, and says where it is from.
func TestAskAnswersFromTheMemory(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"ARGOCD_SERVER", "ARGOCD_OPTS", "ANTHROPIC_API_KEY", "LLM_PROVIDER", "OPENAI_MODEL", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	const question = "What did we decide about the ledger last week?"
	found := regexp.MustCompile(`note, origin user, (\d{4}-\d\d-\d\d) [^)]*, (plimsoll)\): "([^"]*)"`)
	model := scripted.New(scripted.Options{Lenient: true, Tokenizer: scripted.O200K, Script: func(turn int, r *scripted.Request) scripted.Reply {
		if turn == 0 {
			return scripted.Reply{Calls: []scripted.Call{{Tool: "search_memory", Args: map[string]any{"query": question}}}}
		}
		var body struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return scripted.Reply{Text: err.Error()}
		}
		last := body.Messages[len(body.Messages)-1]
		m := found.FindStringSubmatch(last.Content)
		if last.Role != "tool" || m == nil {
			return scripted.Reply{Text: "nothing was found: " + last.Content}
		}
		return scripted.Reply{Text: fmt.Sprintf("On %s, by %s: %s", m[1], m[2], m[3])}
	}})
	provide(t, model)
	a := newCore(t, home)
	m, err := memories.Open(a, memories.Options{Vectors: memories.VectorsOnSearch})
	if err != nil {
		t.Fatal(err)
	}
	if m.Fence().Inside() {
		t.Skip("these tests run inside a run, where nothing is of the user's origin")
	}
	if _, err := m.Add(t.Context(), "", "We decided that the ledger moves to PostgreSQL 17."); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := agents.Ask(t.Context(), a, agents.AskOptions{Question: question, AgentOptions: agents.AgentOptions{Model: "openai/gpt-5.2"}})
	if want := "On " + time.Now().UTC().Format(time.DateOnly) + ", by plimsoll: We decided that the ledger moves to PostgreSQL 17."; err != nil || r.Answer != want {
		t.Errorf("%q, %v; want %q", r.Answer, err, want)
	}
	if len(r.ToolCalls) != 1 || r.ToolCalls[0].Name != "search_memory" || r.ToolCalls[0].Failed {
		t.Errorf("%+v", r.ToolCalls)
	}
	// What an agent is given only reads.
	for _, request := range model.Requests() {
		if strings.Contains(string(request.Body), "manage_memory") {
			t.Error("it was offered to write")
		}
	}
}

// TestLearn: a real request to a model by its protocol, whose proposals are checked, within a budget.
func TestLearn(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"ANTHROPIC_API_KEY", "LLM_PROVIDER", "OPENAI_MODEL", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Setenv(name, "")
	}
	asked := 0
	model := scripted.New(scripted.Options{Lenient: true, Tokenizer: scripted.O200K, Side: func(int, *scripted.Request) scripted.Reply {
		asked++
		return scripted.Reply{Text: `[{"passage":1,"subject":"ledger","attribute":"database","value":"MySQL","quote":"the ledger runs on MySQL","confidence":0.9},
			{"passage":2,"subject":"ledger","attribute":"database","value":"PostgreSQL 17","quote":"the ledger moves to PostgreSQL 17","confidence":0.9},
			{"passage":2,"subject":"ledger","attribute":"owner","value":"Eve","quote":"Eve owns the ledger"}]`}
	}})
	provide(t, model)
	a := newCore(t, home)
	m, err := memories.Open(a, memories.Options{Vectors: memories.VectorsOnSearch})
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	for i, text := range []string{"As of today the ledger runs on MySQL.", "Decided: the ledger moves to PostgreSQL 17."} {
		if _, err := m.Store.Add(t.Context(), memory.Record{
			Kind: memory.KindEpisode, Origin: memory.OriginUser, Namespace: "user", Text: text, Said: day.AddDate(0, 0, i), Source: memory.Source{Conversation: "c", Turn: i + 1},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err := agents.Learn(t.Context(), a, agents.LearnOptions{DryRun: true}); err != nil || l.Episodes != 2 || asked != 0 {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := agents.Learn(t.Context(), a, agents.LearnOptions{TokensPerDay: 100}); err != nil || !l.Spent || l.Waiting != 2 || asked != 0 {
		t.Errorf("with 100 tokens: %+v, %v", l, err)
	}
	l, err := agents.Learn(t.Context(), a, agents.LearnOptions{Model: "openai/gpt-5.2"})
	if err != nil || l.Facts.Kept != 2 || l.Facts.RejectedQuote != 1 || l.Waiting != 0 || asked != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	if l, err := agents.Learn(t.Context(), a, agents.LearnOptions{}); err != nil || l.Episodes != 0 || asked != 1 {
		t.Errorf("once more: %+v, %v", l, err)
	}
	if m, err = memories.Open(a, memories.Options{Vectors: memories.VectorsOnSearch}); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, c := range []struct {
		asOf time.Time
		want string
	}{{time.Time{}, "PostgreSQL 17"}, {day.Add(time.Hour), "MySQL"}} {
		found, err := m.Search(t.Context(), memories.Query{Text: "ledger database", Kind: "fact", AsOf: c.asOf})
		if err != nil || len(found.Items) != 1 || found.Items[0].Fact.Value != c.want || found.Items[0].Origin != memory.OriginAgent {
			t.Errorf("as of %s: %+v, %v", c.asOf, found.Items, err)
		}
	}
	if _, err := agents.Learn(t.Context(), a, agents.LearnOptions{Model: agents.StandinModel}); err == nil {
		t.Error("the stand-in was asked")
	}
}

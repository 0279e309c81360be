//go:build linux || darwin

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// memoryTools are what agents are offered of the memory.
var memoryTools = []string{"search_memory", "get_memory", "manage_memory", "memory"}

// With the memory on each tool is offered the memory for its run, without a change in its files: its model sees all four tools, notes
// something down and finds it, and the memory has it as an agent's afterwards.
func TestMemoryToolsOfAgents(t *testing.T) {
	declared := regexp.MustCompile(`"name":"((?:mcp_+)?plimsoll-memory_+([a-z_]+))"`)
	deferred := regexp.MustCompile(`\\n(mcp__plimsoll-memory__[a-z_]+)`)
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			w := newWorld(t)
			if a.name == "gemini" {
				w.state = closedDir(t)
			}
			seen := map[string]bool{}
			call := func(r *scripted.Request, tool string, args any) scripted.Call {
				if a.name == "codex" { // its model writes scripts that call tools, and finds them by their names
					return scripted.Call{Tool: "exec", Args: fmt.Sprintf("text(Object.keys(tools).join(\" \"));\nconst r = await tools.mcp__plimsoll_memory__%s(%s);\ntext(r);\n", tool, quoted(t, args))}
				}
				for _, name := range declared.FindAllSubmatch(r.Body, -1) {
					if string(name[2]) == tool {
						text, _ := json.Marshal(args)
						return scripted.Call{Tool: string(name[1]), Args: json.RawMessage(text)}
					}
				}
				return scripted.Call{Tool: "not offered: " + tool}
			}
			found, turns := "", 3
			script := func(turn int, r *scripted.Request) scripted.Reply {
				if names := deferred.FindAllSubmatch(r.Body, -1); a.name == "claude" && names != nil {
					// It tells its model the names of the tools, and what they take when the model asks for that.
					if turn == 0 {
						turns = 4
						return scripted.Reply{Text: "I look at the tools.", Calls: []scripted.Call{{Tool: "ToolSearch", Args: map[string]any{"query": "select:" + string(bytes.Join(firsts(names), []byte(",")))}}}}
					}
					turn--
				}
				for _, name := range declared.FindAllSubmatch(r.Body, -1) {
					seen[string(name[2])] = true
				}
				switch turn {
				case 0:
					return scripted.Reply{Text: "I note it down.", Calls: []scripted.Call{call(r, "manage_memory", map[string]any{"action": "create", "content": "The crane of the harbour is called Gustav."})}}
				case 1:
					return scripted.Reply{Text: "I search.", Calls: []scripted.Call{call(r, "search_memory", map[string]any{"query": "what is the crane called?"})}}
				case 2:
					found = string(r.Body)
				}
				return scripted.Reply{Text: "The task is finished."}
			}
			p, url := provide(t, scripted.Options{Window: 200_000, Script: script})
			e := errand{
				base: url + a.base, prompt: "Note down what the crane is called, and look it up.", env: []string{"PLIMSOLL_MEMORY_ON=true"},
				flags: []string{}, report: filepath.Join(w.state, "report.json"),
			}
			if a.name == "claude" {
				e.args = []string{"mcp__plimsoll-memory"} // more of --allowedTools
			}
			got := a.start(t, w, e)
			if got.status != 0 || p.Turns("") != turns || !strings.Contains(got.stdout, "The task is finished.") {
				t.Fatalf("status %d after %d of %d turns\nstdout: %s\nstderr: %s", got.status, p.Turns(""), turns, clip(got.stdout), clip(got.stderr))
			}
			for _, name := range memoryTools {
				if !seen[name] && !(a.name == "codex" && strings.Contains(found, "mcp__plimsoll_memory__"+name)) {
					t.Errorf("%s is not offered; there are %v", name, seen)
				}
			}
			if !regexp.MustCompile(`[1-9] memor(y|ies) for`).MatchString(found) || strings.Count(found, "is called Gustav") < 2 { // the call, and what the search found
				t.Errorf("what was noted down is not found: %s", clip(found))
			}
			// By now the memory has it, and tells who looked for it.
			listed := w.run(nil, plimsoll, "memory", "list", "--json", "--kind", "note")
			var notes []struct{ ID, Origin, Namespace, Text string }
			if err := json.Unmarshal([]byte(listed.stdout), &notes); err != nil || len(notes) != 1 || notes[0].Origin != "agent" || !strings.HasPrefix(notes[0].Namespace, "project/") {
				t.Fatalf("%v: %s%s", err, listed.stdout, listed.stderr)
			}
			if why := w.run(nil, plimsoll, "memory", "why", notes[0].ID); !strings.Contains(why.stdout, "found by a search") || !strings.Contains(why.stdout, "run ") {
				t.Errorf("%s%s", why.stdout, why.stderr)
			}
			w.nothingLeft()
		})
	}
}

// firsts are the first groups of what a pattern found.
func firsts(found [][][]byte) [][]byte {
	var all [][]byte
	for _, f := range found {
		all = append(all, f[1])
	}
	return all
}

// closedDir is a new directory below none that others may write into: Gemini CLI takes no settings from elsewhere.
func closedDir(t *testing.T) string {
	t.Helper()
	var tried []string
	cache, _ := os.UserCacheDir()
	for _, base := range []string{filepath.Join("..", "out"), cache} {
		base, err := filepath.Abs(base)
		if err != nil || os.MkdirAll(base, 0o755) != nil {
			continue
		}
		closed := true
		for dir := base; ; dir = filepath.Dir(dir) {
			if i, err := os.Stat(dir); err != nil || i.Mode().Perm()&0o022 != 0 {
				closed = false
				tried = append(tried, dir)
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
		if !closed {
			continue
		}
		dir, err := os.MkdirTemp(base, "e2e-state-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	t.Skipf("Gemini CLI takes no settings from below %s, which others may write into", strings.Join(tried, ", "))
	return ""
}

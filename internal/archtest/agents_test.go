package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config/profile"
)

// profiles is the folder in which each agent has its file.
const profiles = "internal/config/profile"

// alsoNames are the places outside of it where an agent's name means something else, or is an example.
var alsoNames = []struct {
	place string // a file, or a folder with all below it
	names string
	why   string
}{
	{"agent/gemini", "gemini", "a family of models"},
	{"agent/openai", "qwen opencode", "providers"},
	{"internal/app/agents", "claude gemini", "a family of models and a provider"},
	{"internal/app/run/window.go", "gemini", "a provider"},
	{"internal/app/window", "gemini", "a provider"},
	{"config", "gemini qwen", "providers"},
	{"internal/watch/metrics", "gemini", "a dialect"},
	{"internal/watch/traces", "gemini", "a dialect"},
	{"internal/window/mend", "claude gemini", "families of models and a dialect"},
	{"window/models", "claude codex copilot gemini opencode qwen", "providers and families of models"},
	{"internal/window/overflow", "gemini copilot qwen", "providers"},
	{"internal/window/proxy", "codex gemini qwen", "providers, and the first word of the path of ChatGPT's requests"},
	{"internal/window/reasoning", "claude gemini qwen", "families of models"},
	{"window/tokens", "claude gemini qwen", "families of models"},
	{"window/wire", "gemini", "a dialect"},
	{"internal/tools/wrap/json.go", "opencode", "the form that a server's entry has, whoever reads it"},
	{"cmd/plimsoll/stats.go", "claude", "an example"},
}

// programs are not part of the binary: they start real agents, or play one.
var programs = []string{"bench", "e2e", "examples", "internal/testing"}

// TestAgentsAreNamedInOnePlace: what is known of an agent stands in its file. A table elsewhere that names agents would be one more to
// be kept, and would disagree.
func TestAgentsAreNamedInOnePlace(t *testing.T) {
	names := map[string]string{}
	for _, a := range profile.All() {
		for _, name := range slices.Concat([]string{a.Name}, a.Aliases, a.Packages) {
			names[name] = a.Name
		}
	}
	used := map[int]bool{}
	for _, name := range files(t, ".go") {
		if strings.HasSuffix(name, "_test.go") || below(name, profiles) || below(name, programs...) {
			continue
		}
		at := token.NewFileSet()
		tree, err := parser.ParseFile(at, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			agent, named := names[text]
			if err != nil || !named {
				return true
			}
			for i, other := range alsoNames {
				if below(name, other.place) && slices.Contains(strings.Fields(other.names), text) {
					used[i] = true
					return true
				}
			}
			t.Errorf("%s: %q: what is known of the agent %s belongs into %s/%s.go; where the word means something else, say so in alsoNames",
				at.Position(literal.Pos()), text, agent, profiles, agent)
			return true
		})
	}
	for i, other := range alsoNames {
		if !used[i] {
			t.Errorf("alsoNames: nothing in %s is called %s any more: take it out", other.place, other.names)
		}
	}
}

// TestEveryAgentHasOneFile: NAME.go holds the one call that makes NAME known, NAME_….go what did not fit, and no other file of the folder
// makes an agent known.
func TestEveryAgentHasOneFile(t *testing.T) {
	made := regexp.MustCompile(`(?s)= add\(Agent\{.*?Name: +"([^"]+)"`)
	var found []string
	for _, name := range files(t, ".go") {
		if !below(name, profiles) || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range made.FindAllSubmatch(read(t, name), -1) {
			agent := string(m[1])
			found = append(found, agent)
			if want := profiles + "/" + agent + ".go"; name != want {
				t.Errorf("%s stands in %s: want %s", agent, name, want)
			}
		}
	}
	slices.Sort(found)
	var want []string
	for _, a := range profile.All() {
		want = append(want, a.Name)
	}
	if !slices.Equal(found, want) {
		t.Errorf("files make known %q, and the package knows %q", found, want)
	}
}

// TestDocumentedAgents: each agent has a row in the first table of docs/clients.md, by its title, and each row is of an agent.
func TestDocumentedAgents(t *testing.T) {
	_, text, _ := strings.Cut(string(read(t, "docs/clients.md")), "\n| tool |")
	table, _, _ := strings.Cut(text, "\n\n")
	rows := map[string]bool{}
	for i, line := range strings.Split(table, "\n") {
		if i < 2 {
			continue // the header and its rule
		}
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		if strings.Contains(cell, "--proxy") {
			continue // profile.Generic
		}
		for title := range strings.SplitSeq(cell, ",") {
			rows[strings.TrimSpace(strings.TrimRight(strings.TrimSpace(title), "0123456789."))] = true
		}
	}
	for _, a := range profile.All() {
		if !rows[a.Title] {
			t.Errorf("docs/clients.md has no row of %s (%s)", a.Title, a.Name)
		}
		delete(rows, a.Title)
	}
	for title := range rows {
		t.Errorf("docs/clients.md has a row of %q, of which nothing is known in %s", title, profiles)
	}
}

// TestRecordedAgents: who proves who speaks does so of a session that was recorded.
func TestRecordedAgents(t *testing.T) {
	for _, a := range profile.All() {
		if a.Speaks != nil || a.Typed != nil {
			read(t, "internal/window/client/testdata/sessions/"+a.Name+".json")
		}
		if (a.Speaks != nil || a.Typed != nil) && a.UserAgent == "" {
			t.Errorf("%s: nothing tells its requests from others'", a.Name)
		}
	}
}

package stores

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/conversation"
	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
)

// TestElsewhere: what is forgotten leaves no byte in kept cuts, in what was added to prompts, in what jobs wrote and in the conversations of
// agents, whose other words stay.
func TestElsewhere(t *testing.T) {
	state := t.TempDir()
	const words = "The harbour of Halcyon opens at six."
	ck, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(state, "window", "conversations")})
	if err != nil {
		t.Fatal(err)
	}
	c := &checkpoint.Checkpoint{Chain: checkpoint.Digest{1}, Covers: 1, Patches: []checkpoint.Patch{{From: 0, To: 0, With: [][]byte{[]byte("- [user]: " + words)}}}}
	if _, err := ck.Freeze(ck.Scope([]byte("x")), c, nil); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(state, "agents", "helper", "conversations")
	store, err := conversation.Open(conversation.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), "one", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(
		agent.Message{Role: agent.RoleUser, Text: "Hear: " + words + " Remember it."},
		agent.Message{Role: agent.RoleAssistant, Text: "I write it down.", Calls: []agent.Call{{ID: "1", Name: "write", Arguments: `{"text":"` + words + `"}`}}},
		agent.Message{Role: agent.RoleTool, CallID: "1", Name: "write", Text: "done"},
	); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	queue := jobs.NewStore(state)
	if err := queue.Create(jobs.Record{Ref: jobs.Ref{ID: "job-1"}, Command: []string{"echo", words}, Status: jobs.Status{Phase: jobs.Ended}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(queue.Folder("job-1"), jobs.OutName), []byte("It wrote: "+words+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range Elsewhere(state, "") {
		match := memory.Match{Texts: []string{words}}
		would, err := e.Forget(t.Context(), match, true)
		if err != nil {
			t.Fatal(err)
		}
		did, err := e.Forget(t.Context(), match, false)
		if err != nil {
			t.Fatal(err)
		}
		if len(did) != len(would) {
			t.Errorf("%s: %v were to go, and %v went", e.Name, would, did)
		}
		n += len(did)
	}
	if n != 3 {
		t.Errorf("%d places", n)
	}
	kept := ""
	_ = filepath.WalkDir(state, func(path string, e fs.DirEntry, _ error) error {
		if !e.IsDir() {
			text, _ := os.ReadFile(path)
			kept += string(text)
			if strings.Contains(string(text), "Halcyon") {
				t.Errorf("%s still has it", path)
			}
		}
		return nil
	})
	if !strings.Contains(kept, "Remember it.") || !strings.Contains(kept, "I write it down.") || !strings.Contains(kept, "It wrote: ***") {
		t.Error("the rest of the conversation is gone too")
	}
}

// TestSizes: every file counts once, by the store it is in; a row is left out where there is nothing.
func TestSizes(t *testing.T) {
	state, cache := t.TempDir(), t.TempDir()
	for name, n := range map[string]int{
		filepath.Join(state, "runs", "index.jsonl"): 10, filepath.Join(state, "runs", "2026-11-30", "a.jsonl"): 20,
		filepath.Join(state, "agents", "a", "conversations", "x"): 3, filepath.Join(state, "agents", "b", "conversations", "y"): 4,
		filepath.Join(state, "agents", "b", "unheard-of"): 5, filepath.Join(cache, ResultsDir, "r1", "body"): 6, filepath.Join(state, "host"): 7,
		filepath.Join(state, ResultsDir, "not-the-cache"): 8,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string][2]int{}
	for _, s := range Sizes(t.Context(), state, cache) {
		got[s.Name] = [2]int{int(s.Bytes), s.Files}
	}
	want := map[string][2]int{"runs": {30, 2}, "sessions of agents": {7, 2}, "results of tools": {6, 1}, Other: {20, 3}}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if sizes := Sizes(t.Context(), filepath.Join(state, "none"), ""); len(sizes) > 0 {
		t.Errorf("of nothing: %v", sizes)
	}
}

// TestAStoreThatCannotBeLookedAtForgetsNothing: it is an error, since what is in it is not known.
func TestAStoreThatCannotBeLookedAtForgetsNothing(t *testing.T) {
	state := t.TempDir()
	if err := os.Symlink("runs", filepath.Join(state, "runs")); err != nil { // leads to itself
		t.Skip("no links here: ", err)
	}
	failed := 0
	for _, e := range Elsewhere(state, "") {
		if _, err := e.Forget(t.Context(), memory.Match{Texts: []string{"words"}}, false); err != nil {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d of the stores say that they could not be looked at, want one", failed)
	}
}

// TestTheGuideHasEveryStore: the table of what Plimsoll takes of a disk has a row for each store and tells its bound.
func TestTheGuideHasEveryStore(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			rows[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[2])
		}
	}
	for _, s := range All {
		if said, ok := rows[s.Name]; !ok || !strings.HasPrefix(said, s.Bound) {
			t.Errorf("docs/security.md says %q of %q, whose bound is %q", said, s.Name, s.Bound)
		}
	}
}

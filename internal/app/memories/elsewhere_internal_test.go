package memories

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/conversation"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
)

// TestElsewhere: what is forgotten leaves no byte in kept cuts, in what was added to prompts and in the conversations of agents, whose
// other words stay.
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
	n := 0
	for _, e := range otherStores(state, "") {
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
			t.Errorf("%s: %v were to go, and %v went", e.Name(), would, did)
		}
		n += len(did)
	}
	if n != 2 {
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
	if !strings.Contains(kept, "Remember it.") || !strings.Contains(kept, "I write it down.") {
		t.Error("the rest of the conversation is gone too")
	}
}

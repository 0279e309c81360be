//go:build linux || darwin

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// TestMemoryGivenAndTakenBack: what a person at a terminal once asked for in general is given in the next run; `memory given` says to whom, and
// from `memory not` on no new conversation of the run that goes on gets it, while the one that has it keeps it.
func TestMemoryGivenAndTakenBack(t *testing.T) {
	t.Parallel()
	const instruction = "Always answer in German."
	w := newWorld(t)
	p, url := provide(t, scripted.Options{})
	tool := filepath.Join(t.TempDir(), "talker")
	if err := os.Symlink(testtool, tool); err != nil {
		t.Fatal(err)
	}
	start := func() *console {
		t.Helper()
		c := w.open([]string{"PLIMSOLL_MEMORY_ON=true", "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=key-of-the-user"}, plimsoll, "run", "--force", "--proxy", "--", tool, "say")
		c.expect("say>")
		return c
	}
	// ask types a prompt, and returns how often the instruction stands in what the provider gets.
	ask := func(c *console, prompt string) int {
		t.Helper()
		c.press(prompt + enter)
		c.expect(": 200 OK")
		all := p.Requests()
		return strings.Count(string(all[len(all)-1].Body), instruction)
	}
	another := func(c *console) {
		t.Helper()
		c.press("/new" + enter)
		c.expect("another conversation")
	}
	c := start()
	ask(c, "Fix the login of the shop. "+instruction)
	ask(c, "Thanks.")
	c.press("/quit" + enter)
	<-c.ended

	c = start()
	ask(c, "Hello there.") // until the memory is read, nothing is added
	another(c)
	if n := ask(c, "Add a health endpoint to the crane."); n != 1 {
		t.Fatalf("the next run has it %d times", n)
	}
	got := w.run(nil, plimsoll, "memory", "given", "--json")
	var given []struct{ ID, Text, Why, Run, Conversation string }
	if err := json.Unmarshal([]byte(got.stdout), &given); err != nil || len(given) == 0 || given[0].Text != instruction || given[0].Run == "" || given[0].Conversation == "" || given[0].Why != "a standing instruction" {
		t.Fatalf("%v: %+v", err, got)
	}
	if got := w.run(nil, plimsoll, "memory", "not", given[0].ID); got.status != 0 {
		t.Fatalf("%+v", got)
	}
	if n := ask(c, "And now its readme."); n != 1 {
		t.Errorf("the conversation that has it got it %d times", n)
	}
	another(c)
	if n := ask(c, "Paint the lighthouse."); n != 0 {
		t.Errorf("it is given %d times after it was taken back", n)
	}
	if got := w.run(nil, plimsoll, "memory", "not", given[0].ID, "--undo"); got.status != 0 {
		t.Fatalf("%+v", got)
	}
	another(c)
	if n := ask(c, "Sweep the slipway."); n != 1 {
		t.Errorf("given again, it is given %d times", n)
	}
}

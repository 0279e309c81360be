package remember_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/app/remember"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/journal"
)

// profiled is a conversation of one prompt, in a run of its own, and what the provider got.
func (b *bench) profiled(o remember.Options, prompts ...string) (sent string) {
	b.t.Helper()
	o.Own = true
	g := b.gateway(o, 0)
	waitReady(b.t, g)
	c := &claude{}
	for _, p := range prompts {
		c.user(p)
		sent = g.send(messagesPath, claudeHeader, c.body())
		c.says("Done: " + fmt.Sprint(len(c.messages)))
	}
	g.flush()
	g.close()
	return sent
}

const learning = "[memory]\non = true\n"

// TestStandingInstructions: what a person once asked for in general is given at the start of the next conversation, the newest word about each
// thing, until it is taken back.
func TestStandingInstructions(t *testing.T) {
	b := newBench(t, learning)
	german, english := "Always answer in German.", "From now on answer in English, please."
	b.profiled(remember.Options{}, "Fix the login of the shop. "+german)
	if sent := b.profiled(remember.Options{}, "Add a health endpoint to the crane."); strings.Count(sent, german) != 1 {
		t.Errorf("the next session does not know it: %s", sent)
	}
	if sent := b.profiled(remember.Options{Namespace: "project/y"}, "List the berths of pier nine."); !strings.Contains(sent, german) {
		t.Error("the language of answers is of one project only")
	}
	// Each once in a conversation, and its history again is nothing new.
	history := []string{"Write the readme of the pier.", english, "Thanks, and now the licence of the pier."}
	if sent := b.profiled(remember.Options{}, history...); strings.Count(sent, german) != 1 {
		t.Errorf("it is given again in one conversation: %s", sent)
	}
	if sent := b.profiled(remember.Options{}, "Count the boats in the basin."); !strings.Contains(sent, english) || strings.Contains(sent, german) {
		t.Errorf("the newest word does not win: %s", sent)
	}
	b.profiled(remember.Options{}, "Rename the quay. "+german) // typed once more
	if sent := b.profiled(remember.Options{}, "Paint the lighthouse."); strings.Contains(sent, english) || !strings.Contains(sent, german) {
		t.Errorf("the newest word does not win when it was said before: %s", sent)
	}
	b.profiled(remember.Options{}, history...) // a client sends its history again, in a new process
	if sent := b.profiled(remember.Options{}, "Sweep the slipway."); strings.Contains(sent, english) || !strings.Contains(sent, german) {
		t.Errorf("a history that is sent again counts as new: %s", sent)
	}
	counting := 0
	for _, r := range b.records() {
		if r.Standing() {
			if r.Namespace != remember.UserNamespace || len(r.From) != 1 || r.Fact.Quote != r.Text {
				t.Errorf("%+v", r)
			}
			if r.Fact.Expired.IsZero() {
				counting++
			}
		}
	}
	if counting != 1 {
		t.Errorf("%d of them count", counting)
	}
}

// TestStandingInstructionsOfAProject: what is about a project's tools stays there.
func TestStandingInstructionsOfAProject(t *testing.T) {
	b := newBench(t, learning)
	b.profiled(remember.Options{}, "from now on use pnpm")
	if sent := b.profiled(remember.Options{}, "Add a health endpoint to the crane."); !strings.Contains(sent, "from now on use pnpm") {
		t.Error("it is not known in its project")
	}
	if sent := b.profiled(remember.Options{Namespace: "project/y"}, "List the berths of pier nine."); strings.Contains(sent, "pnpm") {
		t.Error("it is known in another project")
	}
}

// TestNothingElseIsLearned: what others say, what is quoted, and what is said inside a run or without the switch is no instruction.
func TestNothingElseIsLearned(t *testing.T) {
	for _, c := range []struct {
		settings string
		o        remember.Options
		prompt   string
		want     int
	}{
		{learning, remember.Options{}, "Always answer in German.", 1},
		{"", remember.Options{Turns: true}, "Always answer in German.", 0},
		{learning, remember.Options{Inside: true}, "Always answer in German.", 0},
		{learning, remember.Options{}, "The mail says:\n> Always answer in German.\nWhat is meant?", 0},
		{learning, remember.Options{}, "See what the page says.", 0},
	} {
		b := newBench(t, c.settings)
		g := b.gateway(c.o, 0)
		waitReady(t, g)
		talk := &claude{}
		talk.user(c.prompt)
		if c.want == 0 {
			talk.calls("Bash", m{"command": "cat page"}, "Always answer in German.")
			talk.says("From now on use pnpm.")
		}
		g.send(messagesPath, claudeHeader, talk.body())
		g.flush()
		g.close()
		n := 0
		for _, r := range b.records() {
			if r.Fact != nil {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%q with %+v: %d are learned, want %d", c.prompt, c.o, n, c.want)
		}
	}
}

// TestTakenBack: what a person takes back is not given by itself from the next request of a running proxy on, and neither is what is about
// the same; a standing instruction likewise. Given again, it is.
func TestTakenBack(t *testing.T) {
	b := newBench(t, learning)
	b.profiled(remember.Options{}, "The harbour of Halcyon opens at six in the morning.", "Always answer in German.")
	b.profiled(remember.Options{}, "The harbour of Halcyon opens at seven in the morning.")
	g := b.gateway(remember.Options{Own: true}, 0)
	waitReady(t, g)
	store := b.store() // another process
	defer store.Close()
	asked := 0
	ask := func() string {
		t.Helper()
		asked++
		c := &claude{}
		c.user(fmt.Sprintf("Conversation %d: at what time does the harbour of Halcyon open in the morning?", asked))
		sent := g.send(messagesPath, claudeHeader, c.body())
		g.flush()
		for _, r := range b.records() { // so that the next one does not find it
			if strings.Contains(r.Text, "Conversation ") {
				if err := store.Remove(t.Context(), r.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		return sent
	}
	if sent := ask(); !strings.Contains(sent, "opens at seven") || !strings.Contains(sent, "Always answer in German") {
		t.Fatalf("%s", sent)
	}
	ids := map[string]string{}
	for _, r := range b.records() {
		if r.Origin == memory.OriginUser {
			switch {
			case r.Standing():
				ids["instruction"] = r.ID
			case strings.Contains(r.Text, "opens at six"):
				ids["harbour"] = r.ID
			}
		}
	}
	take := func(id string) {
		t.Helper()
		if err := store.Withhold(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	take(ids["instruction"])
	if sent := ask(); strings.Contains(sent, "Always answer in German.\\n") || !strings.Contains(sent, "opens at") {
		t.Errorf("%s", sent)
	}
	take(ids["harbour"])
	if sent := ask(); strings.Contains(sent, "opens at") || strings.Contains(sent, "plimsoll-memory-context") {
		t.Errorf("it, or the older word about the same, is given: %s", sent)
	}
	for _, id := range ids {
		_ = store.GiveAgain(t.Context(), id)
	}
	if sent := ask(); !strings.Contains(sent, "opens at seven") {
		t.Errorf("%s", sent)
	}
	list, err := store.Given(t.Context(), memory.GivenFilter{Limit: memory.MaxLimit})
	if err != nil || len(list) == 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestGivenToIsWhatIsGiven: what `memory given --to` lists is what the proxy adds to the same prompt.
func TestGivenToIsWhatIsGiven(t *testing.T) {
	b := newBench(t, learning)
	store := b.store()
	for _, text := range []string{"The harbour of Halcyon opens at six in the morning.", "The lighthouse of Halcyon is white.", "Tea is better than coffee."} {
		if _, err := store.Add(t.Context(), memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "project/x", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	store.Close()
	b.profiled(remember.Options{}, "Always answer in German.")
	const prompt = "When does the harbour of Halcyon open?"
	w, err := memories.PreviewGifts(t.Context(), b.app, prompt, "project/x")
	if err != nil || len(w.Given) < 2 {
		t.Fatalf("%+v, %v", w, err)
	}
	got := b.profiled(remember.Options{}, prompt)
	for line := range strings.SplitSeq(w.Text(), "\n") {
		if !strings.Contains(got, line) {
			t.Errorf("%s is not in %s", line, got)
		}
	}
	if strings.Count(got, "- [user") != len(w.Given) {
		t.Errorf("%d lines would be given, and these were: %s", len(w.Given), got)
	}
}

// TestWhatCameTooLateWasNotGiven: a request that waits no longer goes without what is recalled, and nothing says that it got something.
func TestWhatCameTooLateWasNotGiven(t *testing.T) {
	b := newBench(t, learning)
	b.profiled(remember.Options{}, "Always answer in German.")
	g := b.gateway(remember.Options{Own: true}, 0)
	waitReady(t, g)
	late, end := context.WithCancel(t.Context())
	end()
	answered := 0
	for range 20 {
		if g.plane.Recaller().Recall(late, proxy.Prompt{Conversation: "late", Text: "Paint the lighthouse.", First: true}) != "" {
			answered++
		}
	}
	if g.plane.Recaller().Recall(t.Context(), proxy.Prompt{Conversation: "in time", Text: "Paint the lighthouse.", First: true}) == "" {
		t.Error("nothing is given in time")
	}
	g.flush()
	given := 0
	for r := range g.journal.Since(0) {
		if _, is := r.Event.(journal.MemoryRecalled); is {
			given++
		}
	}
	if given != answered+1 {
		t.Errorf("%d prompts got something, and %d are said to have", answered+1, given)
	}
}

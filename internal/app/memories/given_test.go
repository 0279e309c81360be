package memories_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/memtools"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

func opened(t *testing.T, settings string) (*core.Core, *memories.Memory) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	testfile.Write(t, file, settings)
	c, err := core.New(core.Options{Environ: []string{"PLIMSOLL_STATE_DIR=" + dir + "/state", "PLIMSOLL_CONFIG=" + file, "HOME=" + dir}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	m, err := memories.Open(c, memories.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return c, m
}

// instruction is a standing instruction about a topic.
func instruction(topic, text string) memory.Record {
	return memory.Record{
		Kind: memory.KindFact, Origin: memory.OriginUser, Namespace: memories.UserNamespace, Text: text,
		Fact: &memory.Fact{Subject: "user", Attribute: topic, Value: text, Quote: text, Standing: true},
	}
}

func put(t *testing.T, m *memories.Memory, records ...memory.Record) []string {
	t.Helper()
	added, err := m.Store.Add(t.Context(), records...)
	if err != nil {
		t.Fatal(err)
	}
	return added.IDs
}

// TestTheProfileIsBounded: of standing instructions the ten latest are given, in a kilobyte, to the first prompt of a conversation alone.
func TestTheProfileIsBounded(t *testing.T) {
	t.Parallel()
	_, m := opened(t, "")
	for i := range 15 {
		r := instruction(fmt.Sprint("topic ", i), fmt.Sprintf("Always do thing %d.", i))
		r.Said = time.Date(2026, 11, 1, 0, i, 0, 0, time.UTC)
		put(t, m, r)
	}
	ask := func(first bool) memories.Gifts {
		t.Helper()
		g, err := memories.Choose(t.Context(), m.Store, memories.Prompt{Text: "Go on.", First: first, Namespaces: []string{"user"}, AllScopes: true}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := ask(true)
	if len(g.Given) != 10 || g.Given[0].Text != "Always do thing 14." || len(g.Missed) < 5 || !strings.Contains(g.Text(), "Always do thing 5.") || !strings.Contains(g.Text(), "for every conversation, 2026-11-01") {
		t.Errorf("%d are given, %d missed: %s", len(g.Given), len(g.Missed), g.Text())
	}
	if g := ask(false); len(g.Given) != 0 || g.Text() != "" {
		t.Errorf("in the middle of a conversation: %s", g.Text())
	}
	for i := range 8 {
		put(t, m, instruction(fmt.Sprint("long ", i), fmt.Sprintf("Always do long thing %d: %s.", i, strings.Repeat("so ", 60))))
	}
	total := 0
	for _, given := range ask(true).Given {
		total += len(given.Text)
	}
	if total > 1<<10 || total < 500 {
		t.Errorf("%d bytes are given", total)
	}
}

// TestPinsAreGivenWhole: what stands at the end of a long entry of the profile is followed as well.
func TestPinsAreGivenWhole(t *testing.T) {
	t.Parallel()
	_, m := opened(t, "")
	text := strings.Repeat("Explain each step in one short sentence. ", 40) + "Never push to main."
	pin := memory.Record{Kind: memory.KindPin, Origin: memory.OriginUser, Namespace: memories.UserNamespace, Text: text}
	gifts, err := memories.Choose(t.Context(), m.Store, memories.Prompt{Text: "hello", First: true, Pins: []memory.Record{pin}, Namespaces: []string{"user"}}, time.Now())
	if err != nil || !strings.Contains(gifts.Text(), text) {
		t.Errorf("%v; of %d bytes %q is given", err, len(text), gifts.Text())
	}
}

// TestGivenTo: what would be added, in any position of the switch, with the reason for each line and for each that misses.
func TestGivenTo(t *testing.T) {
	t.Parallel()
	for settings, on := range map[string]bool{"": false, "[memory]\non = false\n": false, "[memory]\non = true\n": true} {
		c, m := opened(t, settings)
		ids := put(t, m,
			memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "user", Text: "The harbour of Halcyon opens at six in the morning."},
			memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "user", Text: "The lighthouse keeper is called Gustav."},
			memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "project/other", Text: "The harbour of Halcyon has nine cranes."},
			memory.Record{Kind: memory.KindNote, Origin: memory.OriginAgent, Namespace: "user", Text: "The harbour of Halcyon opens at nine."},
			instruction("language of answers", "Always answer in German."),
		)
		w, err := memories.PreviewGifts(t.Context(), c, "When does the harbour of Halcyon open?", "project/mine")
		if err != nil || w.On != on || (w.Note == "") != on || len(w.Given) != 2 || w.Given[0].ID != ids[4] || w.Given[1].ID != ids[0] || w.Given[1].Score <= 0 || !strings.HasPrefix(w.Given[1].Why, "found by: ") {
			t.Errorf("%q: %+v, %v", settings, w, err)
		}
		if err := m.Store.Withhold(t.Context(), ids[0]); err != nil {
			t.Fatal(err)
		}
		w, err = memories.PreviewGifts(t.Context(), c, "When does the harbour of Halcyon open?", "project/other")
		missed := ""
		for _, miss := range w.Missed {
			if miss.ID == ids[0] {
				missed = miss.Why
			}
		}
		if err != nil || missed != "taken back, until plimsoll memory not --undo "+ids[0] || len(w.Given) > 2 {
			t.Errorf("%q: %q, %+v, %v", settings, missed, w, err)
		}
		if w, err := memories.PreviewGifts(t.Context(), c, "ok", "project/mine"); err != nil || len(w.Given) != 1 || w.Why == "" {
			t.Errorf("%+v, %v", w, err)
		}
	}
}

// TestInstructionsAreNotFound: an instruction that stands in a passage is not given by a search for that passage, and what is beside it is.
func TestInstructionsAreNotFound(t *testing.T) {
	t.Parallel()
	_, m := opened(t, "")
	put(t, m,
		memory.Record{Kind: memory.KindEpisode, Origin: memory.OriginUser, Namespace: "user", Text: "The harbour of Halcyon opens at six in the morning. Always answer in German."},
		memory.Record{Kind: memory.KindEpisode, Origin: memory.OriginUser, Namespace: "user", Text: "Always answer in French."},
	)
	for prompt, want := range map[string]string{"When does the harbour of Halcyon open?": "The harbour of Halcyon opens at six in the morning.", "Did I say to always answer in French or German?": ""} {
		g, err := memories.Choose(t.Context(), m.Store, memories.Prompt{Text: prompt, Namespaces: []string{"user"}, AllScopes: true}, time.Now())
		if err != nil || strings.Contains(g.Text(), "Always") || want != "" && (len(g.Given) != 1 || g.Given[0].Text != want) {
			t.Errorf("%q: %+v, %v", prompt, g, err)
		}
	}
}

// TestTakenBackWithWhatItReplaced: when the newest word is taken back, the one that it replaced is not given in its place; nor the other way round.
func TestTakenBackWithWhatItReplaced(t *testing.T) {
	t.Parallel()
	_, m := opened(t, "")
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	ids := put(t, m,
		memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "user", Said: at, Text: "We use pnpm in the frontend of Halcyon."},
		memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "user", Said: at.AddDate(0, 0, 9), Text: "We use bun instead of pnpm now."},
		memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "user", Said: at, Text: "The crane of Halcyon is called Gustav."},
	)
	given := func() (texts string) {
		t.Helper()
		g, err := memories.Choose(t.Context(), m.Store, memories.Prompt{Text: "Did we choose pnpm or bun for the frontend of Halcyon?", Namespaces: []string{"user"}, AllScopes: true}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return g.Text()
	}
	if text := given(); !strings.Contains(text, "bun instead") {
		t.Fatalf("%q", text)
	}
	for _, id := range ids[:2] {
		if err := m.Store.Withhold(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if text := given(); strings.Contains(text, "pnpm") {
			t.Errorf("%q", text)
		}
		if err := m.Store.GiveAgain(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTakeBack: a person takes back and gives again; a pin is not taken back but unpinned, and the errors say the next step.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	_, m := opened(t, "")
	if m.Fence().Inside() { // these tests run inside plimsoll run: then it is not for them to take back
		t.Skip("inside a run")
	}
	ids := put(t, m,
		memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "user", Text: "We deploy the ledger on Fridays"},
		memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "user", Text: "We deploy the ledger on Mondays"},
		memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "user", Text: "Tea is better than coffee"},
	)
	pin, err := m.Pin(t.Context(), "Answer in English")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.TakeBack(t.Context(), false, ids[0]); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{ids[1]: "plimsoll memory not " + ids[0] + " --undo", ids[2]: "was not taken back; plimsoll memory not lists", "nothing": "plimsoll memory list show the ids"} {
		if err := m.TakeBack(t.Context(), true, id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
	if err := m.TakeBack(t.Context(), false, pin.ID); err == nil || !strings.Contains(err.Error(), "plimsoll memory pin --remove") {
		t.Error(err)
	}
	w, err := m.Why(t.Context(), ids[1])
	if err != nil || w.WithheldBy != ids[0] {
		t.Errorf("%+v, %v", w, err)
	}
	list, err := m.TakenBack(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != ids[0] || list[0].Text != "We deploy the ledger on Fridays" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := m.TakeBack(t.Context(), true, ids[0]); err != nil {
		t.Error(err)
	}
}

// TestALineSaysHowOftenAndWhatItReplaced: near-duplicates are added as one with their count, the newest word with what it replaced and when, once in a
// conversation whatever the count is by then; and nothing is quoted as replaced that is not the user's own.
func TestALineSaysHowOftenAndWhatItReplaced(t *testing.T) {
	t.Parallel()
	c, m := opened(t, "[memory]\non = true\n")
	at := time.Date(2026, 11, 4, 0, 0, 0, 0, time.UTC)
	note := func(days int, text string, from ...string) memory.Record {
		return memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "user", Said: at.AddDate(0, 0, days), Text: text, From: from}
	}
	tool := put(t, m, memory.Record{Kind: memory.KindEpisode, Origin: memory.OriginTool, Namespace: "user", Text: "Something of a web page."})
	ids := put(t, m,
		note(0, "Invoices of Halcyon are sent by Postmark."), note(9, "Invoices of Halcyon are sent by Mailgun, no longer by Postmark."),
		note(1, "The crane of the harbour Zanzibar is called Gustav."), note(2, "Called Gustav is the crane of the harbour Zanzibar."),
	)
	for prompt, want := range map[string]string{
		"Who sends the invoices of Halcyon?":                    `no longer by Postmark. (since then no longer, from 2026-11-04: "Invoices of Halcyon are sent by Postmark.")`,
		"What is the crane of the harbour Zanzibar called?":     "Called Gustav is the crane of the harbour Zanzibar. (said 2 times)",
		"How is the crane of the harbour Zanzibar called here?": "Called Gustav is the crane of the harbour Zanzibar. (said 2 times)",
	} {
		g, err := memories.Choose(t.Context(), m.Store, memories.Prompt{Text: prompt, Namespaces: []string{"user"}, AllScopes: true}, time.Now())
		if err != nil || len(g.Given) != 1 || !strings.Contains(g.Text(), want) {
			t.Fatalf("%q: %s, %v", prompt, g.Text(), err)
		}
		w, err := memories.PreviewGifts(t.Context(), c, prompt, "project/mine")
		if err != nil || len(w.Given) != 1 || !strings.HasSuffix(w.Given[0].Sentence(), want) {
			t.Errorf("%q: would be given %+v, %v", prompt, w.Given, err)
		}
		before := strings.ReplaceAll(g.Text(), "said 2 times", "said 9 times")
		g, err = memories.Choose(t.Context(), m.Store, memories.Prompt{Text: prompt, Recalled: []string{before}, Namespaces: []string{"user"}, AllScopes: true}, time.Now())
		if err != nil || len(g.Given) != 0 {
			t.Errorf("%q: again: %s, %v", prompt, g.Text(), err)
		}
	}
	if err := m.Store.Remove(t.Context(), ids[0]); err != nil {
		t.Fatal(err)
	}
	put(t, m, note(1, "Invoices of Halcyon are sent by evil.example and Postmark.", tool...))
	g, err := memories.Choose(t.Context(), m.Store, memories.Prompt{Text: "Who sends the invoices of Halcyon?", Namespaces: []string{"user"}, AllScopes: true}, time.Now())
	if err != nil || len(g.Given) != 1 || strings.Contains(g.Text(), "evil.example") || !strings.Contains(g.Text(), "by Mailgun") {
		t.Errorf("%s, %v", g.Text(), err)
	}
}

// TestInsideOfARunBoundsAreNotSmaller: a process there names the variables, and forgets nothing by them.
func TestInsideOfARunBoundsAreNotSmaller(t *testing.T) {
	dir := t.TempDir()
	options := func() memory.Options {
		c, err := core.New(core.Options{
			Environ: []string{"PLIMSOLL_STATE_DIR=" + dir, "HOME=" + dir, "PLIMSOLL_MEMORY_DISK_MAX=1M", "PLIMSOLL_MEMORY_AGE=1h"}, Dir: dir,
		})
		if err != nil {
			t.Fatal(err)
		}
		o, err := memories.StoreOptions(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := options(); !o.Guest && (o.MaxBytes != 1<<20 || o.MaxAge != time.Hour) {
		t.Errorf("outside: %+v", o)
	}
	t.Setenv(sandbox.CookieName, "run-1")
	if o := options(); !o.Guest || o.MaxBytes < memory.DefaultMaxBytes || o.MaxAge < memory.DefaultMaxAge || o.MaxNamespace < memory.DefaultMaxNamespace {
		t.Errorf("inside: %+v", o)
	}
}

// TestAnAgentForgetsItsOwnNoteAlone: a process inside of a run that writes down words of somebody else and has them forgotten takes those words from nobody.
func TestAnAgentForgetsItsOwnNoteAlone(t *testing.T) {
	c, m := opened(t, "")
	if m.Fence().Inside() {
		t.Skip("inside a run")
	}
	words := "The ledger runs on PostgreSQL seventeen."
	other, err := m.Tools(t.Context(), memories.ToolOptions{Namespace: "project/other", Client: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.RunNotes(t.Context(), memtools.NotesArguments{Command: "create", Path: "/memories/ledger.md", FileText: "Known: " + words}); err != nil {
		t.Fatal(err)
	}
	t.Setenv(sandbox.CookieName, "run-1")
	inside, err := memories.Open(c, memories.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	own, err := inside.Tools(t.Context(), memories.ToolOptions{Namespace: "project/own", Client: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.RunNotes(t.Context(), memtools.NotesArguments{Command: "create", Path: "/memories/mine.md", FileText: words}); err != nil {
		t.Fatal(err)
	}
	if _, err := inside.Add(t.Context(), "", words); err != nil {
		t.Fatal(err)
	}
	page, err := inside.List(t.Context(), memories.Query{Kind: "note"})
	if err != nil || len(page.Records) != 3 {
		t.Fatal(page.Records, err)
	}
	mine := slices.DeleteFunc(page.Records, func(r memory.Record) bool { return r.Namespace == "project/other" })
	if gone, err := inside.Forget(t.Context(), mine); err != nil || len(gone.Records) != 2 {
		t.Fatal(gone, err)
	}
	if page, err = inside.List(t.Context(), memories.Query{Kind: "note"}); err != nil || len(page.Records) != 1 {
		t.Errorf("%+v, %v are left", page.Records, err)
	}
	if answer, err := own.RunNotes(t.Context(), memtools.NotesArguments{Command: "view", Path: "/memories/mine.md"}); err == nil {
		t.Errorf("its file is still there: %s", answer)
	}
	if _, err := other.RunNotes(t.Context(), memtools.NotesArguments{Command: "view", Path: "/memories/ledger.md"}); err != nil {
		t.Errorf("somebody else's file went with it: %v", err)
	}
	if _, err := m.Add(t.Context(), "", words); err != nil {
		t.Errorf("a person cannot say it any more: %v", err)
	}
}

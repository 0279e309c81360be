package memories

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/memtools"
	"github.com/plimsoll/plimsoll/limit"
)

func TestImports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, format, want string }{
		{
			"the official server's file", `{"type":"entity","name":"Ada","entityType":"person","observations":["likes Go","lives in Kiel"]}
{"type":"relation","from":"Ada","to":"Acme","relationType":"works_at"}`, "server-memory", "Ada (person): likes Go|Ada (person): lives in Kiel|Ada works at Acme",
		},
		{"an answer of mem0", `{"results":[{"id":"1","memory":"Likes tea","created_at":"2026-05-01T10:00:00Z","user_id":"ada"},{"memory":""}]}`, "mem0", "Likes tea"},
		{"a list of mem0", `[{"text":"Likes coffee"}]`, "mem0", "Likes coffee"},
		{"Markdown", "# Team\n\n- uses tabs\n  always\n- deploys on Fridays\n\nA paragraph.\n\n```\n- no item\n```\n", "markdown", "Team: uses tabs\n  always|Team: deploys on Fridays|Team: A paragraph.|Team: ```\n- no item\n```"},
		{"one mark of a line", "- * keeps the second mark\n- - a list in a list\n* - so too", "markdown", "* keeps the second mark|- a list in a list|- so too"},
		{"our own", `{"kind":"episode","origin":"user","namespace":"project/x","text":"said"}` + "\n" + `{"kind":"pin","origin":"user","namespace":"user","text":"pinned"}`, "jsonl", "said|pinned"},
	} {
		records, out, err := parseImport([]byte(c.text), ImportOptions{Name: "f", Namespace: "user"})
		var texts []string
		for _, r := range records {
			texts = append(texts, r.Text)
			if r.Origin != memory.OriginAgent || r.Kind == memory.KindPin {
				t.Errorf("%s: %s of %s", c.name, r.Kind, r.Origin)
			}
		}
		if err != nil || out.Format != c.format || strings.Join(texts, "|") != c.want {
			t.Errorf("%s: %s, %v: %q", c.name, out.Format, err, texts)
		}
	}
	for text, want := range map[string]string{
		"{\"type\":\"entity\",\"name\":\"a\"}\n{\"type\":\"oddity\"}": `line 2: "{\"type\":\"oddity\"}": its type is "oddity"`,
		"\xff\xfe": "no text in UTF-8",
		"":         "nothing in it is markdown",
		"{}":       "nothing in it is mem0",
	} {
		if _, _, err := parseImport([]byte(text), ImportOptions{Name: "f", Namespace: "user"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestImportedTimes: mem0 exports days as well as moments.
func TestImportedTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-03-01": "2026-03-01T00:00:00Z", "2026-03-01T10:20:30+02:00": "2026-03-01T08:20:30Z", "2026-03-01T10:20:30.5": "2026-03-01T10:20:30Z",
		"2026-03-01 10:20:30": "2026-03-01T10:20:30Z", "yesterday": "", "": "",
	} {
		records, _, err := parseImport([]byte(`[{"memory":"Likes tea","created_at":"`+text+`"}]`), ImportOptions{Name: "f", Namespace: "user"})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if !records[0].Said.IsZero() {
			got = records[0].Said.UTC().Truncate(time.Second).Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

// newMemory opens the memory of a user without settings; it is closed at the end.
func newMemory(t *testing.T) (m *Memory, state string) {
	t.Helper()
	state = t.TempDir()
	c, err := core.New(core.Options{Environ: []string{"PLIMSOLL_STATE_DIR=" + state, "PLIMSOLL_CONFIG=" + filepath.Join(state, "none.toml"), "HOME=" + state}, Dir: state})
	if err != nil {
		t.Fatal(err)
	}
	m, err = Open(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m, state
}

// TestImportsKeepWithinTheBounds: of an import that is more than the bounds the newest stay, what the user vouched for stays whole, and the
// dry run says the same numbers before.
func TestImportsKeepWithinTheBounds(t *testing.T) {
	t.Parallel()
	m, state := newMemory(t)
	store, err := memory.Open(memory.Options{Dir: filepath.Join(state, Dir), MaxNamespace: limit.MiB, MaxRecords: 1000})
	if err != nil {
		t.Fatal(err)
	}
	_ = m.Store.Close()
	m.Store = store
	var own []memory.Record
	for i := range 100 {
		own = append(own, memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: UserNamespace, Text: fmt.Sprint("my own words ", i)})
	}
	mine, err := store.Add(t.Context(), own...)
	if err != nil {
		t.Fatal(err)
	}
	var file strings.Builder
	for i := range 3000 { // the newest first, as exports have it
		fmt.Fprintf(&file, `{"kind":"note","text":"imported %d","said":"%s"}`+"\n", i, time.Date(2026, 3, 1, 0, 0, -i, 0, time.UTC).Format(time.RFC3339))
	}
	var first Imported
	for i, dry := range []bool{true, false} {
		got, err := m.Import(t.Context(), strings.NewReader(file.String()), ImportOptions{Name: "f", DryRun: dry})
		if err != nil || got.Read != 3000 || got.New+got.LeftOut != 3000 || got.Stay != got.New || got.New < 700 || got.New > 900 {
			t.Errorf("%+v, %v", got, err)
		}
		if got.DryRun = false; i == 0 {
			first = got
		} else if got != first {
			t.Errorf("it came to %+v, and %+v was foreseen", got, first)
		}
	}
	again, err := m.Import(t.Context(), strings.NewReader(file.String()), ImportOptions{Name: "f"})
	if err != nil || again.New != 0 || again.Merged != first.New || again.Stay != first.Stay || again.LeftOut != first.LeftOut {
		t.Errorf("imported again it came to %+v, %v", again, err)
	}
	for _, id := range mine.IDs {
		if _, err := store.Get(t.Context(), id, 0); err != nil {
			t.Fatalf("what the user said was driven out: %v", err)
		}
	}
	for text, want := range map[string]int{"imported 0": 1, "imported 2999": 0} {
		n := 0
		if err := store.Each(t.Context(), memory.Filter{}, func(r memory.Record) error {
			if r.Text == text {
				n++
			}
			return nil
		}); err != nil || n != want {
			t.Errorf("%s is there %d times, want %d; %v", text, n, want, err)
		}
	}
}

// FuzzImport: whatever a file holds, what is read of it can be added, and is never the user's.
func FuzzImport(f *testing.F) {
	for _, text := range []string{
		`{"type":"entity","name":"Ada","observations":["x"]}`, `[{"memory":"x","created_at":"9999-99-99"}]`, "# a\n- b\n```\nc", "{", "\xff",
		`{"kind":"fact","origin":"user","text":"x","fact":{}}`, `{"kind":"episode","text":"` + strings.Repeat("long ", 1000) + `"}`, strings.Repeat("[", 100_000),
	} {
		f.Add(text, "auto")
	}
	f.Fuzz(func(t *testing.T, text, format string) {
		records, _, err := parseImport([]byte(text), ImportOptions{Name: "f", Namespace: UserNamespace, Format: format})
		if err != nil {
			return
		}
		for _, r := range records {
			if r.Origin == memory.OriginUser || r.Kind == memory.KindPin || strings.TrimSpace(r.Text) == "" || len(r.Text) > memory.MaxNote {
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestAnImportHasNotTooManyTexts: a file within its bound of bytes is refused where its texts would take much more.
func TestAnImportHasNotTooManyTexts(t *testing.T) {
	t.Parallel()
	records, _, err := parseImport([]byte(strings.Repeat("- a\n", maxImported+1000)), ImportOptions{})
	if err == nil || !strings.Contains(err.Error(), "split it") || len(records) > maxImported+1 {
		t.Errorf("%d texts, %v", len(records), err)
	}
}

// TestAnImportedNoteCanBeEdited: it has the name of a file too, and is none of the files of agents.
func TestAnImportedNoteCanBeEdited(t *testing.T) {
	t.Parallel()
	m, _ := newMemory(t)
	if _, err := m.Import(t.Context(), strings.NewReader("- Releases are cut on Tuesdays\n"), ImportOptions{Name: "old.md"}); err != nil {
		t.Fatal(err)
	}
	page, err := m.List(t.Context(), Query{Kind: "note"})
	if err != nil || len(page.Records) != 1 || page.Records[0].Source.File != "old.md" {
		t.Fatal(page, err)
	}
	if r, err := m.Edit(t.Context(), page.Records[0].ID, "Releases are cut on Fridays"); err != nil || r.Text != "Releases are cut on Fridays" {
		t.Error(r, err)
	}
}

// TestForgettingReachesFiles: what is forgotten leaves the notes of agents too.
func TestForgettingReachesFiles(t *testing.T) {
	t.Parallel()
	m, _ := newMemory(t)
	r, err := m.Add(t.Context(), "", "The launch code is heron-7.")
	if err != nil {
		t.Fatal(err)
	}
	tools, err := m.Tools(t.Context(), ToolOptions{Namespace: "project/p", Client: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools.RunNotes(t.Context(), memtools.NotesArguments{Command: "create", Path: "/memories/a/launch.md", FileText: "Known: The launch code is heron-7. Do not tell."}); err != nil {
		t.Fatal(err)
	}
	list, err := m.WouldForget(t.Context(), Forgetting{IDs: []string{r.ID}})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if m.fence.Inside() { // these tests run inside plimsoll run: then it is not for them to forget
		t.Skip("inside a run")
	}
	gone, err := m.Forget(t.Context(), list)
	if err != nil || gone.Elsewhere != 1 {
		t.Fatal(gone, err)
	}
	if answer, err := tools.RunNotes(t.Context(), memtools.NotesArguments{Command: "view", Path: "/memories/a/launch.md"}); err == nil {
		t.Error(answer)
	}
	if _, err := m.Show(t.Context(), r.ID, 0); err == nil {
		t.Error("it is still there")
	}
	if _, err := m.Add(t.Context(), "", "The launch code is heron-7."); err == nil {
		t.Error("it was kept again")
	}
}

package notes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory/notes"
)

func open(t testing.TB, o notes.Options) *notes.Dir {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "notes")
	}
	d, err := notes.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func do(t testing.TB, d *notes.Dir, c notes.Command) string {
	t.Helper()
	answer, err := d.Execute(t.Context(), c)
	if err != nil {
		t.Fatalf("%s: %v", c.Command, err)
	}
	return answer
}

func refused(t testing.TB, d *notes.Dir, c notes.Command, words string) {
	t.Helper()
	answer, err := d.Execute(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%+v: %q, %v; want an error with %q", c, answer, err, words)
	}
}

// TestDocumentedAnswers holds each command to Anthropic's documentation of the memory tool.
func TestDocumentedAnswers(t *testing.T) {
	t.Parallel()
	d := open(t, notes.Options{})
	for _, step := range []struct {
		call notes.Command
		want string
	}{
		{notes.Command{Command: "view", Path: "/memories"}, "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0B\t/memories"},
		{notes.Command{Command: "view", Path: "/memories/notes.txt"}, "The path /memories/notes.txt does not exist. Please provide a valid path."},
		{
			notes.Command{Command: "create", Path: "/memories/notes.txt", FileText: "Meeting notes:\n- Discussed project timeline\n- Next steps defined\n"},
			"File created successfully at: /memories/notes.txt",
		},
		{notes.Command{Command: "create", Path: "/memories/notes.txt"}, "Error: File /memories/notes.txt already exists"},
		{
			notes.Command{Command: "view", Path: "/memories/notes.txt", ViewRange: []int{1, 2}},
			"Here's the content of /memories/notes.txt with line numbers:\n     1\tMeeting notes:\n     2\t- Discussed project timeline",
		},
		{
			notes.Command{Command: "str_replace", Path: "/memories/preferences.txt", OldStr: "a", NewStr: "b"},
			"Error: The path /memories/preferences.txt does not exist. Please provide a valid path.",
		},
		{
			notes.Command{Command: "str_replace", Path: "/memories/notes.txt", OldStr: "blue", NewStr: "green"},
			"No replacement was performed, old_str `blue` did not appear verbatim in /memories/notes.txt.",
		},
		{
			notes.Command{Command: "str_replace", Path: "/memories/notes.txt", OldStr: "- ", NewStr: "* "},
			"No replacement was performed. Multiple occurrences of old_str `- ` in lines: 2, 3. Please ensure it is unique",
		},
		{notes.Command{Command: "insert", Path: "/memories/todo.txt", InsertText: "x"}, "Error: The path /memories/todo.txt does not exist"},
		{
			notes.Command{Command: "insert", Path: "/memories/notes.txt", InsertLine: 9, InsertText: "x"},
			"Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 4]",
		},
		{notes.Command{Command: "insert", Path: "/memories/notes.txt", InsertLine: 2, InsertText: "- Review\n"}, "The file /memories/notes.txt has been edited."},
		{notes.Command{Command: "rename", OldPath: "/memories/draft.txt", NewPath: "/memories/final.txt"}, "Error: The path /memories/draft.txt does not exist"},
		{
			notes.Command{Command: "rename", OldPath: "/memories/notes.txt", NewPath: "/memories/a/final.txt"},
			"Successfully renamed /memories/notes.txt to /memories/a/final.txt",
		},
		{notes.Command{Command: "create", Path: "/memories/b.txt"}, "File created successfully at: /memories/b.txt"},
		{notes.Command{Command: "rename", OldPath: "/memories/b.txt", NewPath: "/memories/a/final.txt"}, "Error: The destination /memories/a/final.txt already exists"},
		{notes.Command{Command: "str_replace", Path: "/memories/a", OldStr: "x"}, "Error: The path /memories/a does not exist. Please provide a valid path."},
		{notes.Command{Command: "insert", Path: "/memories/a"}, "Error: The path /memories/a does not exist"},
		{notes.Command{Command: "delete", Path: "/memories/a"}, "Successfully deleted /memories/a"},
		{notes.Command{Command: "delete", Path: "/memories/a"}, "Error: The path /memories/a does not exist"},
	} {
		got, err := d.Execute(t.Context(), step.call)
		if err != nil {
			got = err.Error()
		}
		if got != step.want {
			t.Errorf("%+v\n got %q\nwant %q", step.call, got, step.want)
		}
	}
}

// TestLikeTheSDK makes the calls of testdata/sdk.json, which holds what BetaLocalFilesystemMemoryTool of Anthropic's
// TypeScript SDK 1.14.0 answered, in this order on an empty directory.
func TestLikeTheSDK(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("testdata/sdk.json")
	if err != nil {
		t.Fatal(err)
	}
	var steps []struct {
		Call struct {
			Command, Path string
			FileText      string `json:"file_text"`
			ViewRange     []int  `json:"view_range"`
			OldStr        string `json:"old_str"`
			NewStr        string `json:"new_str"`
			InsertLine    int    `json:"insert_line"`
			InsertText    string `json:"insert_text"`
			OldPath       string `json:"old_path"`
			NewPath       string `json:"new_path"`
		}
		Answer, Error string
	}
	if err := json.Unmarshal(body, &steps); err != nil || len(steps) < 40 {
		t.Fatal(len(steps), err)
	}
	// Where the SDK is not what Anthropic documents, the documentation counts.
	differs := map[string]string{
		"insert /memories/nothing.txt":   "documented without the second sentence",
		"str_replace /memories/archive":  "a directory is documented as a file that does not exist",
		"insert /memories/archive":       "a directory is documented as a file that does not exist",
		"view /memoriesX/a":              "the SDK looks for X/a below the root",
		"view /memories/":                "the SDK repeats the slash in each path",
		"create /memories/../out.txt":    "",
		"view /memories/../../etc/paswd": "",
	}
	// The SDK gives the directory's own size, which differs between file systems; ours is that of the files in it.
	dirs := regexp.MustCompile(`(?m)^\S+\t(/memories\S*/|/memories|/memories/projects)$`)
	d := open(t, notes.Options{})
	same, other := 0, 0
	for _, s := range steps {
		c := notes.Command{
			Command: s.Call.Command, Path: s.Call.Path, FileText: s.Call.FileText, ViewRange: s.Call.ViewRange, OldStr: s.Call.OldStr, NewStr: s.Call.NewStr,
			InsertLine: s.Call.InsertLine, InsertText: s.Call.InsertText, OldPath: s.Call.OldPath, NewPath: s.Call.NewPath,
		}
		got, err := d.Execute(t.Context(), c)
		want := s.Answer + s.Error
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "Error: ")
		}
		if (err != nil) != (s.Error != "") {
			t.Errorf("%+v: error %v, the SDK's %q", c, err, s.Error)
		}
		if dirs.ReplaceAllString(got, "SIZE\t$1") == dirs.ReplaceAllString(want, "SIZE\t$1") {
			same++
			continue
		}
		other++
		if differs[c.Command+" "+c.Path] == "" {
			t.Errorf("%+v\n   got %q\nSDK's %q", c, got, want)
		}
	}
	if same < 40 || other != 5 {
		t.Errorf("%d answers are the SDK's, %d are not and should not be", same, other)
	}
}

func TestOfferedBeyondTheSDK(t *testing.T) {
	t.Parallel()
	d := open(t, notes.Options{})
	do(t, d, notes.Command{Command: "create", Path: "/memories/a.md", FileText: "one\ntwo\nthree"})
	do(t, d, notes.Command{Command: "str_replace", Path: "/memories/a.md", OldStr: "one\ntwo", NewStr: "1\n2"})
	refused(t, d, notes.Command{Command: "str_replace", Path: "/memories/a.md"}, "old_str is empty")
	refused(t, d, notes.Command{Command: "view", Path: "/memories/a.md", ViewRange: []int{9, 10}}, "[1, 3]")
	refused(t, d, notes.Command{Command: "view", Path: "/memories/a.md", ViewRange: []int{1}}, "[1, 10]")
	refused(t, d, notes.Command{Command: "veiw", Path: "/memories/a.md"}, "did you mean view?")
	refused(t, d, notes.Command{Command: "rename", OldPath: "/memories/a.md", NewPath: "/memories/a.md/b"}, "")
	do(t, d, notes.Command{Command: "create", Path: "/memories/dir/x.md", FileText: "x"})
	refused(t, d, notes.Command{Command: "rename", OldPath: "/memories/dir", NewPath: "/memories/dir/in"}, "into itself")
	if got, err := d.Read("/memories/a.md"); got != "1\n2\nthree" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestPrecondition(t *testing.T) {
	t.Parallel()
	d := open(t, notes.Options{})
	const at = "/memories/plan.md"
	do(t, d, notes.Command{Command: "create", Path: at, FileText: "first"})
	_, sum, ok := strings.Cut(do(t, d, notes.Command{Command: "view", Path: at, WithSHA256: true}), "\ncontent_sha256: ")
	if !ok || sum != notes.Digest("first") {
		t.Fatalf("the view tells %q", sum)
	}
	answer := do(t, d, notes.Command{Command: "str_replace", Path: at, OldStr: "first", NewStr: "second", ContentSHA256: sum})
	_, next, _ := strings.Cut(answer, "\ncontent_sha256: ")
	if next != notes.Digest("second") {
		t.Errorf("the edit tells %q", next)
	}
	for _, c := range []notes.Command{
		{Command: "str_replace", Path: at, OldStr: "second", NewStr: "lost"},
		{Command: "insert", Path: at, InsertText: "lost"},
		{Command: "create", Path: at, FileText: "lost"},
		{Command: "delete", Path: at},
		{Command: "rename", OldPath: at, NewPath: "/memories/other.md"},
	} {
		c.ContentSHA256 = sum // of the text before
		refused(t, d, c, "has changed since")
	}
	refused(t, d, notes.Command{Command: "delete", Path: at, ContentSHA256: "abc"}, "64 lowercase")
	do(t, d, notes.Command{Command: "create", Path: at, FileText: "third", ContentSHA256: next})
	// As in Anthropic's stores: what is already so is no conflict.
	do(t, d, notes.Command{Command: "create", Path: at, FileText: "third", ContentSHA256: next})
	do(t, d, notes.Command{Command: "delete", Path: at, ContentSHA256: notes.Digest("third")})
	if n := d.Stats().Refused; n != 5 {
		t.Errorf("%d changes were refused", n)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	var evicted, changed []string
	dir, made := filepath.Join(t.TempDir(), "notes"), 0
	older := func(name string) { // by the files' times, in the order of the calls: the clock of a file system is coarse
		t.Helper()
		made++
		at := time.Now().Add(time.Duration(made)*time.Second - time.Hour)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, notes.Options{
		Dir: dir, MaxFiles: 3, MaxTotal: 250_000,
		Evicted: func(path string, _ int64, why string) { evicted = append(evicted, path+" "+why) },
		Changed: func(path, text string, removed bool) {
			changed = append(changed, fmt.Sprint(path, " ", len(text), " ", removed))
		},
	})
	refused(t, d, notes.Command{Command: "create", Path: "/memories/a", FileText: strings.Repeat("x", notes.MaxNote+1)}, "100001 bytes; a note has at most 100000")
	for _, name := range []string{"a", "b", "c", "d"} {
		do(t, d, notes.Command{Command: "create", Path: "/memories/" + name, FileText: "small"})
		older(name)
	}
	if !slices.Equal(evicted, []string{"/memories/a count"}) {
		t.Errorf("evicted: %q", evicted)
	}
	big := strings.Repeat("y", notes.MaxNote)
	do(t, d, notes.Command{Command: "delete", Path: "/memories/b"})
	for _, name := range []string{"e", "f"} {
		do(t, d, notes.Command{Command: "create", Path: "/memories/" + name, FileText: big})
		older(name)
	}
	do(t, d, notes.Command{Command: "create", Path: "/memories/g", FileText: big})
	if !slices.Equal(evicted, []string{"/memories/a count", "/memories/c count", "/memories/d count", "/memories/e bytes"}) {
		t.Errorf("evicted: %q", evicted)
	}
	refused(t, d, notes.Command{Command: "insert", Path: "/memories/g", InsertText: "z"}, "Split it")
	if all, err := d.List(); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	if s := d.Stats(); s.Evicted != 4 || s.EvictedBytes != 15+notes.MaxNote || s.Refused != 2 || s.Removed != 1 {
		t.Errorf("%+v", s)
	}
	if len(changed) != 7+1+4 {
		t.Errorf("changes told: %q", changed)
	}
}

func TestLineLimit(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "n")
	d := open(t, notes.Options{Dir: dir})
	do(t, d, notes.Command{Command: "create", Path: "/memories/a"})
	if err := os.WriteFile(filepath.Join(dir, "lines"), []byte(strings.Repeat("\n", 999_999)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "huge"), make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, d, notes.Command{Command: "view", Path: "/memories/lines"}, "File /memories/lines exceeds maximum line limit of 999,999 lines.")
	refused(t, d, notes.Command{Command: "view", Path: "/memories/huge"}, "larger than")
}

// TestNothingOutside tries the ways out of the root.
func TestNothingOutside(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "root")
	secret := filepath.Join(base, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := open(t, notes.Options{Dir: dir})
	do(t, d, notes.Command{Command: "create", Path: "/memories/a", FileText: "a"})
	for link, to := range map[string]string{"out": base, "file": secret, "up": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	for _, p := range []string{
		"/memories/../secret", "/memories/out/secret", "/memories/file", "/memories/up/secret", "/memories/a/../../secret", `/memories/..\secret`,
		"/memories//../secret", "/memories/./../secret", "/secret", "secret", "", "/memories/../memories/../secret", "/memories/\x00", "/memories/a\nb",
		"/memories/" + strings.Repeat("d/", 20) + "x", "/memories/" + strings.Repeat("n", 300), "/memories/x.tmp-1",
	} {
		for _, c := range []notes.Command{
			{Command: "view", Path: p},
			{Command: "create", Path: p, FileText: "evil"},
			{Command: "str_replace", Path: p, OldStr: "secret", NewStr: "evil"},
			{Command: "insert", Path: p, InsertText: "evil"},
			{Command: "rename", OldPath: p, NewPath: "/memories/mine"},
			{Command: "rename", OldPath: "/memories/a", NewPath: p},
		} {
			if answer, err := d.Execute(t.Context(), c); err == nil && (strings.Contains(answer, "secret\n") || c.Writes() && !strings.HasPrefix(p, "/memories/file")) {
				t.Errorf("%+v: %s", c, answer)
			}
		}
	}
	// A link may be deleted: what it leads to stays.
	for _, link := range []string{"out", "up"} {
		do(t, d, notes.Command{Command: "delete", Path: "/memories/" + link})
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "secret" {
		t.Errorf("%q, %v", text, err)
	}
	if entries, _ := os.ReadDir(base); len(entries) != 3 { // root, root.lock, secret
		t.Errorf("%v", entries)
	}
}

// TestProcessesWriteBeside has processes insert into one note at once.
func TestProcessesWriteBeside(t *testing.T) {
	if dir := os.Getenv("NOTES_TEST_DIR"); dir != "" {
		d := open(t, notes.Options{Dir: dir})
		for i := range 20 {
			do(t, d, notes.Command{Command: "insert", Path: "/memories/log", InsertText: fmt.Sprintf("%d-%d", os.Getpid(), i)})
		}
		return
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "n")
	d := open(t, notes.Options{Dir: dir})
	do(t, d, notes.Command{Command: "create", Path: "/memories/log"})
	var all []*exec.Cmd
	for range 3 {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestProcessesWriteBeside$")
		c.Env = append(os.Environ(), "NOTES_TEST_DIR="+dir)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	text, err := d.Read("/memories/log")
	if lines := strings.Fields(text); err != nil || len(lines) != 60 {
		t.Errorf("%d lines are there, %v", len(lines), err)
	}
}

func TestAContextEndsTheWait(t *testing.T) {
	t.Parallel()
	d := open(t, notes.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Execute(ctx, notes.Command{Command: "create", Path: "/memories/a"}); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzDo: no command changes or shows anything outside the root, and none panics.
func FuzzDo(f *testing.F) {
	for _, p := range []string{"/memories/a", "/memories/../x", "/memories/d/e/f", `/memories/..\x`, "/memories/%2e%2e/x", "/memories/\xff", "/memories", "x", "/memories/link/x"} {
		for _, c := range notes.Commands {
			f.Add(c, p, "/memories/b", "text\n", 1)
		}
	}
	f.Fuzz(func(t *testing.T, command, path, other, text string, n int) {
		base := t.TempDir()
		outside := filepath.Join(base, "x")
		if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
			t.Fatal(err)
		}
		d := open(t, notes.Options{Dir: filepath.Join(base, "root"), MaxFiles: 3, MaxTotal: 1000})
		do(t, d, notes.Command{Command: "create", Path: "/memories/a", FileText: "one\ntwo"})
		_ = os.Symlink(base, filepath.Join(base, "root", "link"))
		for range 2 {
			answer, err := d.Execute(t.Context(), notes.Command{
				Command: command, Path: path, FileText: text, OldStr: text, NewStr: other, InsertLine: n, InsertText: text,
				OldPath: path, NewPath: other, ViewRange: []int{n, -1},
			})
			if err == nil && command == "view" && strings.Contains(answer, "\toutside") {
				t.Errorf("%q shows what lies outside", path)
			}
		}
		if body, err := os.ReadFile(outside); err != nil || string(body) != "outside" {
			t.Errorf("%s %q %q: %q, %v", command, path, other, body, err)
		}
		if entries, _ := os.ReadDir(base); len(entries) != 3 {
			t.Errorf("%s %q %q: %v", command, path, other, entries)
		}
	})
}

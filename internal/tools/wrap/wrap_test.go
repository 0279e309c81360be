package wrap_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

var options = wrap.Options{Command: "/opt/plimsoll"}

func TestPlan(t *testing.T) {
	for _, f := range files {
		t.Run(f.name, func(t *testing.T) {
			change, err := wrap.Plan(f.path, []byte(f.before), options)
			if err != nil {
				t.Fatal(err)
			}
			if string(change.After) != f.after {
				t.Fatalf("unexpected:\n%s", wrap.Diff(f.path, []byte(f.after), change.After))
			}
			for _, s := range change.Servers {
				if s.Name == "" || s.Client == "" || s.Line == 0 || (s.Action == wrap.Left) != (s.Why != "") {
					t.Errorf("%+v", s)
				}
			}
			again, err := wrap.Plan(f.path, change.After, options)
			if err != nil || again.Changed(change.After) {
				t.Errorf("a second time changes it: %v\n%s", err, wrap.Diff(f.path, change.After, again.After))
			}
			back, err := wrap.Unplan(f.path, change.After, []byte(f.before))
			if err != nil || !back.Exact || string(back.After) != f.before {
				t.Errorf("undone: exact %v, %v\n%s", back.Exact, err, wrap.Diff(f.path, []byte(f.before), back.After))
			}
			// Without a backup nothing is lost: wrapping what comes back gives the same.
			lone, err := wrap.Unplan(f.path, change.After, nil)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(lone.After), "/opt/plimsoll") || strings.Contains(string(lone.After), "PLIMSOLL_MCP") {
				t.Errorf("still wrapped:\n%s", lone.After)
			}
			for _, s := range lone.Servers {
				if s.Action == wrap.Already {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

func TestStartedServersComeBackWithoutABackup(t *testing.T) {
	for _, f := range files {
		if strings.Contains(f.before, "url") || strings.Contains(f.before, "Url") {
			continue // an address comes back in its client's usual form
		}
		change, err := wrap.Plan(f.path, []byte(f.before), options)
		if err != nil {
			t.Fatal(err)
		}
		back, err := wrap.Unplan(f.path, change.After, nil)
		if err != nil {
			t.Fatal(err)
		}
		// An array of arguments that was not there is empty then.
		if got := strings.ReplaceAll(string(back.After), `, "args": []`, ""); got != f.before {
			t.Errorf("%s: %s", f.name, wrap.Diff(f.path, []byte(f.before), []byte(got)))
		}
	}
}

func TestUndoOfAFileThatWentOn(t *testing.T) {
	f := files[0]
	change, err := wrap.Plan(f.path, []byte(f.before), options)
	if err != nil {
		t.Fatal(err)
	}
	now := strings.Replace(string(change.After), `"bare": {`, `"new": {"command": "n", "args": ["x"]},`+"\n    "+`"bare": {`, 1)
	now = strings.Replace(now, `"DEBUG": "1"`, `"DEBUG": "2"`, 1)
	want := strings.Replace(f.before, `"bare": {`, `"new": {"command": "n", "args": ["x"]},`+"\n    "+`"bare": {`, 1)
	want = strings.Replace(want, `"DEBUG": "1"`, `"DEBUG": "2"`, 1)
	back, err := wrap.Unplan(f.path, []byte(now), []byte(f.before))
	if err != nil || back.Exact || string(back.After) != want {
		t.Errorf("exact %v, %v\n%s", back.Exact, err, wrap.Diff(f.path, []byte(want), back.After))
	}
}

func TestOptions(t *testing.T) {
	before := `{"mcpServers":{"a":{"type":"sse","url":"https://a.example/sse"},"b":{"command":"x"}}}`
	change, err := wrap.Plan("mcp.json", []byte(before), wrap.Options{Remote: true})
	want := `{"mcpServers":{"a":{"type":"stdio","command": "plimsoll", "args": ["mcp", "--name", "a", "--url", "https://a.example/sse"]},"b":{"command":"plimsoll", "args": ["mcp", "--name", "b", "--", "x"]}}}`
	if err != nil || string(change.After) != want {
		t.Errorf("%s, %v", change.After, err)
	}
	back, err := wrap.Unplan("mcp.json", change.After, []byte(before))
	if err != nil || !back.Exact {
		t.Errorf("not exact: %v", err)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	for _, c := range []struct {
		name, path, data string
		line             int
		words            string
	}{
		{"JSON", "a.json", "{\n\"mcpServers\": {\n oops\n}}", 3, "column"},
		{"TOML", "a.toml", "a = 1\nb = \n", 2, "TOML"},
		{"list", "a.json", "[]", 1, "no JSON object"},
		{"empty", "a.json", " ", 0, "empty"},
		{"other", "package.json", `{"name":"x"}`, 0, "mcpServers"},
		{"a script", "/h/.config/crush/crushrc", "mcp add a --command b\n", 0, "--args mcp --args --name"},
		{"YAML", "goose.yaml", "extensions: [\n", 1, "not valid YAML"},
		{"deep", "a.json", strings.Repeat("[", 1<<20), 1, "deeper"},
		{"deep TOML", "a.toml", "a = " + strings.Repeat("[", 1<<20), 0, ""},
		{"large", "a.json", strings.Repeat(" ", wrap.MaxFile+1), 0, "16 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := wrap.Plan(c.path, []byte(c.data), options)
			e, ok := errors.AsType[*wrap.Error](err)
			if !ok || c.line != 0 && e.Line != c.line || !strings.Contains(e.Text, c.words) || !strings.HasPrefix(err.Error(), c.path+":") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestApplyAndUndo(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "real.json")
	link := filepath.Join(dir, "mcp.json")
	before := files[0].before
	if err := os.WriteFile(target, []byte(before), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.json", link); err != nil {
		t.Skip(err)
	}
	check := func(want string, mode os.FileMode) {
		t.Helper()
		got, err := os.ReadFile(target)
		if err != nil || string(got) != want {
			t.Fatalf("%v\n%s", err, wrap.Diff("file", []byte(want), got))
		}
		info, err := os.Lstat(link)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is gone: %v", err)
		}
		if info, err = os.Stat(target); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != mode) {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	if _, c, err := wrap.Preview(link, options); err != nil || string(c.After) != files[0].after {
		t.Fatal(err)
	}
	check(before, 0o640)
	for range 2 {
		if _, err := wrap.Apply(link, options); err != nil {
			t.Fatal(err)
		}
		check(files[0].after, 0o640)
	}
	backup := wrap.Backup(link, false)
	if info, err := os.Stat(backup); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("backup: %v, %v", info, err)
	}
	if _, c, err := wrap.PreviewUndo(link, false); err != nil || !c.Exact {
		t.Fatalf("%v, exact %v", err, c.Exact)
	}
	if c, err := wrap.Undo(link, false); err != nil || !c.Exact {
		t.Fatalf("%v, exact %v", err, c.Exact)
	}
	check(before, 0o640)
	if _, err := os.Stat(backup); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the backup is still there: %v", err)
	}
	// What was wrapped before comes apart without a backup.
	c, err := wrap.Undo(link, false)
	if err != nil || c.Exact {
		t.Error(err)
	}
	check(strings.Replace(before, `"plimsoll", "args": ["mcp", "--name", "done", "--", "x"]`, `"x", "args": []`, 1), 0o640)
}

// Servers and agents of one file have a backup each, and a person is told of the right one.
func TestTheBackupOfAgentsHasItsOwnName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acp.json")
	if err := os.WriteFile(path, []byte(`{"agent_servers":{"claude":{"command":"claude-code-acp"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := wrap.Apply(path, wrap.Options{Command: "/opt/plimsoll", Agents: true}); err != nil {
		t.Fatal(err)
	}
	for backup, there := range map[string]bool{wrap.Backup(path, true): true, wrap.Backup(path, false): false} {
		if _, err := os.Stat(backup); (err == nil) != there {
			t.Errorf("%s: %v", backup, err)
		}
	}
}

func TestALaterWrapKeepsTheOriginal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"mcpServers":{"a":{"command":"x" }}}`)
	if _, err := wrap.Apply(path, options); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(strings.Replace(string(now), `}}}`, `},"b":{"command":"y","args":["z"]}}}`, 1))
	if _, err := wrap.Apply(path, options); err != nil {
		t.Fatal(err)
	}
	if _, err := wrap.Undo(path, false); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if want := `{"mcpServers":{"a":{"command":"x" },"b":{"command":"y","args":["z"]}}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

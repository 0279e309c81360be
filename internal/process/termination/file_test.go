package termination

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPath(t *testing.T) {
	for set, want := range map[string]string{"off": "", "/some/file": "/some/file"} {
		if got, err := Path(func(string) string { return set }); got != want || err != nil {
			t.Errorf("%s=%s is %q, %v", Variable, set, got, err)
		}
	}
	if _, err := Path(func(string) string { return "relative" }); err == nil || !strings.Contains(err.Error(), "absolute path") {
		t.Errorf("a relative path is taken: %v", err)
	}
}

// A new text takes the old one's place, in the same file: a container runtime's cannot be replaced.
func TestWriteInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := openMessage(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before, _ := f.Stat()
	m := message{f}
	for _, text := range []string{own + strings.Repeat("long ", 2000), own + "short", own + "longer again"} {
		if err := m.replace(text); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || len(got) > MaxMessage || !strings.HasPrefix(string(got), text[:min(len(text), 2000)]) || !strings.HasSuffix(string(got), "\n") {
			t.Errorf("%q stands there (%v) after %q", got, err, text)
		}
	}
	if now, _ := os.Stat(path); !os.SameFile(before, now) {
		t.Error("it is another file")
	}
	if err := m.clearOwn(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); len(got) != 0 {
		t.Errorf("%q is left", got)
	}
}

// The message of the container's own program stays, whenever it was written.
func TestWriteLeavesTheProgramsOwnMessage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const theirs = "database is gone"
	if err := os.WriteFile(path, []byte(theirs), 0o600); err != nil {
		t.Fatal(err)
	}
	var warned []string
	w, err := Start(Options{Path: path, Warn: func(s string) { warned = append(warned, s) }})
	if err != nil {
		t.Fatal(err)
	}
	w.End("it is over")
	w.End("it is over again")
	if got, _ := os.ReadFile(path); string(got) != theirs {
		t.Errorf("%q stands there", got)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "message of its own") {
		t.Errorf("warned %q", warned)
	}
}

func TestEndSaysWhy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	w, err := Start(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	w.End("claude was refused: it needs 4G")
	if got, _ := os.ReadFile(path); !strings.HasPrefix(string(got), "plimsoll: claude was refused: it needs 4G") {
		t.Errorf("%q stands there", got)
	}
	var none *Watch
	none.End("nothing")
	if w, err := Start(Options{}); w != nil || err != nil {
		t.Errorf("without a path: %v, %v", w, err)
	}
}

// What cannot be such a file is refused with the next step, and nothing is made.
func TestStartRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{dir, link, filepath.Join(dir, "none", "log")} {
		if w, err := Start(Options{Path: path}); err == nil || !strings.Contains(err.Error(), Variable) {
			t.Errorf("%s is taken: %v, %v", path, w, err)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("made %v", list)
	}
}

package tasklog_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/journal"
)

// taskFiles are the names of the tasks in a folder.
func taskFiles(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.task"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestFileIsDamagedAtEveryByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, tasklog.StoreOptions{Dir: dir})
	create(t, s, tasklog.Task{ID: "other", Body: []byte("{}")})
	other := taskFiles(t, dir)[0]
	create(t, s, tasklog.Task{ID: "t", Context: "c", State: "working", Body: []byte(`{"id":"t"}`)})
	var file string
	for _, name := range taskFiles(t, dir) {
		if name != other {
			file = name
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := map[string][]byte{"longer": append(bytes.Clone(whole), 'x')}
	for i := range whole {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1 << (i % 8)
		damaged[fmt.Sprint("cut at ", i)], damaged[fmt.Sprint("flipped at ", i)] = whole[:i], flipped
	}
	for what, body := range damaged {
		if err := os.WriteFile(file, body, 0o600); err != nil {
			t.Fatal(err)
		}
		j := journal.New(journal.Options{})
		s := openStore(t, tasklog.StoreOptions{Dir: dir, Journal: j})
		if _, err := s.Get(t.Context(), "t"); !errors.Is(err, tasklog.ErrNotFound) {
			t.Fatalf("%s: %v", what, err)
		}
		if got := all(t, s, tasklog.Query{}); got != "other" || s.Stats().Damaged != 1 || j.Counts()["agent.tasks_evicted"] != 1 {
			t.Fatalf("%s: %q is left, %+v", what, got, s.Stats())
		}
		create(t, s, tasklog.Task{ID: "t"}) // its place is free
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	aside, err := filepath.Glob(filepath.Join(dir, "*.damaged-*"))
	if err != nil || len(aside) != 16 {
		t.Errorf("%d damaged files are kept, %v", len(aside), err)
	}
}

// A writer that dies at any byte of a new version leaves the old one, and no rest.
func TestWriterDiesAtEveryByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, tasklog.StoreOptions{Dir: dir})
	create(t, s, tasklog.Task{ID: "t", Body: []byte("old")})
	file := taskFiles(t, dir)[0]
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), tasklog.Task{ID: "t", Body: []byte("new one")}); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	for i := range len(fresh) + 1 {
		if err := os.WriteFile(file, old, 0o600); err != nil {
			t.Fatal(err)
		}
		rest := strings.TrimSuffix(file, ".task") + ".tmp-DEAD"
		if err := os.WriteFile(rest, fresh[:i], 0o600); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, tasklog.StoreOptions{Dir: dir})
		if got, err := s.Get(t.Context(), "t"); err != nil || string(got.Body) != "old" || s.Stats().Damaged != 0 {
			t.Fatalf("dead at %d: %+v, %v", i, got, err)
		}
		if _, err := os.Stat(rest); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("dead at %d: the rest is there: %v", i, err)
		}
		_ = s.Close()
	}
}

const killed = "PLIMSOLL_TEST_TASKLOG_DIR"

// TestKilledWriter is also the writer, in a process of its own.
func TestKilledWriter(t *testing.T) {
	if dir := os.Getenv(killed); dir != "" {
		s, err := tasklog.OpenStore(tasklog.StoreOptions{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 1_000_000 {
			task := tasklog.Task{ID: fmt.Sprint("t", i%3), Ended: i%4 == 0, Body: bytes.Repeat([]byte("body"), i*997%4000)}
			version, err := s.Update(t.Context(), task)
			if errors.Is(err, tasklog.ErrNotFound) {
				version, err = s.Create(t.Context(), task)
			}
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println("wrote", task.ID, version, len(task.Body))
		}
		return
	}
	t.Parallel()
	dir := t.TempDir()
	type state struct {
		version int64
		size    int
	}
	for round := range 8 {
		writer := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWriter$", "-test.v")
		writer.Env = append(os.Environ(), killed+"="+dir)
		out, err := writer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		wrote := map[string]state{}
		lines, after := 0, 1+rand.IntN(200)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			var id string
			var is state
			if n, _ := fmt.Sscanf(scanner.Text(), "wrote %s %d %d", &id, &is.version, &is.size); n == 3 {
				wrote[id] = is
				if lines++; lines == after {
					if err := writer.Process.Kill(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		_ = writer.Wait()
		if lines < after {
			t.Fatalf("the writer wrote %d times only", lines)
		}
		s := openStore(t, tasklog.StoreOptions{Dir: dir})
		for id, is := range wrote {
			got, err := s.Get(t.Context(), id)
			// What it was about to say may be there too.
			if err != nil || got.Version != is.version && got.Version != is.version+1 || got.Version == is.version && len(got.Body) != is.size {
				t.Errorf("round %d: of %q, %+v is there as version %d with %d bytes, %v", round, id, is, got.Version, len(got.Body), err)
			}
		}
		if n := s.Stats(); n.Damaged != 0 || n.Tasks > 3 {
			t.Errorf("round %d: counts %+v", round, n)
		}
		if rest, _ := filepath.Glob(filepath.Join(dir, "*.tmp-*")); len(rest) != 0 {
			t.Errorf("round %d: left behind %v", round, rest)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that takes nothing costs the persistence, not the task.
func TestDiskTakesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text bytes.Buffer
	s := openStore(t, tasklog.StoreOptions{Dir: dir, Logger: slog.New(slog.NewTextHandler(&text, nil))})
	create(t, s, tasklog.Task{ID: "t"})
	file := taskFiles(t, dir)[0]
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(file, "full"), 0o700); err != nil { // nothing can be renamed onto it
		t.Fatal(err)
	}
	for i := range 5 {
		if v, err := s.Update(t.Context(), tasklog.Task{ID: "t", Ended: true, Body: fmt.Append(nil, i)}); err != nil || v != int64(i)+2 {
			t.Fatalf("update %d: version %d, %v", i, v, err)
		}
		if got, err := s.Get(t.Context(), "t"); err != nil || string(got.Body) != fmt.Sprint(i) {
			t.Fatalf("after update %d there is %+v, %v", i, got, err)
		}
	}
	if n := s.Stats(); n.Unsaved != 1 || n.WriteErrors != 5 || n.Damaged != 0 {
		t.Errorf("counts %+v", n)
	}
	if n := strings.Count(text.String(), "\n"); n != 1 {
		t.Errorf("%d lines:\n%s", n, &text)
	}
	// The disk is back: the next write of any task takes along what waits.
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	create(t, s, tasklog.Task{ID: "u"})
	if n := s.Stats(); n.Unsaved != 0 {
		t.Errorf("counts %+v", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, tasklog.StoreOptions{Dir: dir})
	if got, err := s.Get(t.Context(), "t"); err != nil || string(got.Body) != "4" || got.Version != 6 {
		t.Errorf("after a restart %+v, %v", got, err)
	}
}

func TestCloseTellsWhatIsLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, tasklog.StoreOptions{Dir: dir})
	create(t, s, tasklog.Task{ID: "t"})
	file := taskFiles(t, dir)[0]
	if err := errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "full"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), tasklog.Task{ID: "t"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "1 tasks could not be written to "+dir) {
		t.Errorf("close: %v", err)
	}
	// A folder in a task's place is set aside like any damaged file.
	s = openStore(t, tasklog.StoreOptions{Dir: dir})
	if n := s.Stats(); n.Damaged != 1 || n.Tasks != 0 {
		t.Errorf("counts %+v", n)
	}
	create(t, s, tasklog.Task{ID: "t"})
}

// A file that goes bad or away under an open store is a task that is not there.
func TestFileGoesBadWhileOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, tasklog.StoreOptions{Dir: dir})
	create(t, s, tasklog.Task{ID: "a"})
	if err := os.WriteFile(taskFiles(t, dir)[0], []byte("plimsoll-task 1 "), 0o600); err != nil {
		t.Fatal(err)
	}
	create(t, s, tasklog.Task{ID: "b"})
	if got := all(t, s, tasklog.Query{}); got != "b" {
		t.Errorf("listed %q", got)
	}
	create(t, s, tasklog.Task{ID: "a"})
	if err := os.Remove(taskFiles(t, dir)[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(taskFiles(t, dir)[0]); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if _, err := s.Get(t.Context(), id); !errors.Is(err, tasklog.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if n := s.Stats(); n.Damaged != 3 || n.Tasks != 0 || n.Bytes != 0 {
		t.Errorf("counts %+v", n)
	}
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := strings.Repeat("a", 32)
	for _, name := range []string{"notes.task", key, key + ".bak", "x.tmp-1", "note.damaged", strings.Repeat("G", 32) + ".task"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := openStore(t, tasklog.StoreOptions{Dir: dir})
	create(t, s, tasklog.Task{ID: "t"})
	_ = s.Close()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 6+2 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
	if n := s.Stats(); n.Damaged != 0 {
		t.Errorf("counts %+v", n)
	}
	if _, err := tasklog.OpenStore(tasklog.StoreOptions{Dir: filepath.Join(dir, "notes.task")}); err == nil {
		t.Error("a file was taken for a folder")
	}
}

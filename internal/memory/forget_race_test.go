package memory_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
)

// filesWith are the files below a directory that hold some words.
func filesWith(t *testing.T, dir, words string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil // a segment that was just written anew
			}
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), words) {
			names = append(names, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestAddsOfAnotherProcess is no test: it is the process that TestForgetWhileAnotherProcessAdds starts. For each line it gets, an id and a text, it adds
// records: it has looked at the tombstones by the time it says "looked", and writes when it gets another line.
func TestAddsOfAnotherProcess(t *testing.T) {
	dir := os.Getenv("PLIMSOLL_TEST_ADDS_TO")
	if dir == "" {
		t.Skip("it is started by another test")
	}
	lines := bufio.NewScanner(os.Stdin)
	waits := false
	s, err := memory.Open(memory.Options{Dir: dir, Clock: func() time.Time {
		if waits {
			waits = false
			fmt.Println("looked")
			lines.Scan()
		}
		return time.Now()
	}})
	if err != nil {
		t.Fatal(err)
	}
	for round := 0; lines.Scan(); round++ {
		id, text, _ := strings.Cut(lines.Text(), " ")
		r := memory.Record{Text: text, Namespace: fmt.Sprintf("agent/n%d", round)}
		if round%2 == 1 {
			r = memory.Record{Text: "it was said: " + text, Namespace: "user", Kind: memory.KindNote, From: []string{id}}
		}
		waits = true
		got, err := s.Add(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("added %d, refused %d\n", got.New, got.Refused)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// What another process is adding while it is forgotten, having looked at the tombstones before they were written, is on the disk in no moment after Forget
// has returned: the same words, and what is drawn from them. What it adds later is refused.
func TestForgetWhileAnotherProcessAdds(t *testing.T) {
	dir := t.TempDir()
	s, err := memory.Open(memory.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	child := exec.Command(os.Args[0], "-test.run=^TestAddsOfAnotherProcess$")
	child.Env = append(os.Environ(), "PLIMSOLL_TEST_ADDS_TO="+dir)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	lines := bufio.NewScanner(out)
	say := func(line string) {
		t.Helper()
		if _, err := fmt.Fprintln(in, line); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("%q, not %q, %v", lines.Text(), want, lines.Err())
		}
	}
	for round := range 4 {
		text := fmt.Sprintf("the winter harbour number %d is closed to deep ships", round)
		id := add(t, s, memory.Record{Text: text, Namespace: "user"}).IDs[0]
		say(id + " " + text)
		hear("looked")
		forgotten := make(chan error)
		go func() {
			_, err := s.Forget(t.Context(), memory.Filter{IDs: []string{id}})
			forgotten <- err
		}()
		select {
		case err := <-forgotten:
			t.Errorf("it does not wait for who has looked and not written: %v", err)
			say("write")
		case <-time.After(300 * time.Millisecond):
			say("write")
			if err := <-forgotten; err != nil {
				t.Fatal(err)
			}
		}
		hear("added 1, refused 0")
		if left := filesWith(t, dir, text); len(left) > 0 {
			t.Errorf("round %d: %v have the words", round, left)
		}
		for range 2 {
			say(id + " " + text)
			hear("looked")
			say("write")
			hear("added 0, refused 1")
		}
		if left := filesWith(t, dir, text); len(left) > 0 {
			t.Errorf("round %d, later: %v have the words", round, left)
		}
	}
}

// A Forget that could not reach another store, or that was killed before it did, is finished by GC: until then no search finds the words.
func TestForgetIsFinishedByGC(t *testing.T) {
	dir := t.TempDir()
	other := &stubborn{err: errors.New("a run is writing it")}
	s, err := memory.Open(memory.Options{Dir: dir, Elsewhere: []memory.Elsewhere{{Name: "stubborn", Forget: other.Forget}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const text = "the ferry leaves at nine from pier three"
	id := add(t, s, memory.Record{Text: text, Namespace: "user"}).IDs[0]
	if _, err := s.Forget(t.Context(), memory.Filter{IDs: []string{id}}); err == nil || !strings.Contains(err.Error(), "plimsoll memory gc") {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), id, 0); !errors.Is(err, memory.ErrForgotten) {
		t.Error(err)
	}
	if found, err := s.Search(t.Context(), memory.Query{Text: "ferry pier", AllScopes: true}); err != nil || found.Total != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if got := add(t, s, memory.Record{Text: text, Namespace: "agent/x"}); got.Refused != 1 {
		t.Errorf("%+v", got)
	}
	would, err := s.WouldGC(t.Context())
	if err != nil || would.Records != 1 || would.Elsewhere != 1 || would.Bytes == 0 {
		t.Errorf("%+v, %v", would, err)
	}
	if len(filesWith(t, dir, "ferry")) == 0 {
		t.Error("what is to be found elsewhere is known by nothing any more")
	}
	other.err = nil
	done, err := s.GC(t.Context())
	if err != nil || done.Records != 1 || done.Elsewhere != 1 || done.Bytes != would.Bytes {
		t.Errorf("%+v, %v; it was to be %+v", done, err, would)
	}
	if left := filesWith(t, dir, "ferry"); len(left) > 0 {
		t.Errorf("%v", left)
	}
	if again, err := s.GC(t.Context()); err != nil || again != (memory.Collected{}) {
		t.Errorf("%+v, %v", again, err)
	}
}

// stubborn is another store that cannot forget for now.
type stubborn struct{ err error }

// Forget fails with err unless dry.
func (e *stubborn) Forget(_ context.Context, m memory.Match, dry bool) ([]memory.Place, error) {
	if !m.In([]byte("… the ferry leaves at nine from pier three …")) {
		return nil, errors.New("it is not told what was forgotten")
	}
	if e.err != nil && !dry {
		return nil, e.err
	}
	return []memory.Place{{Name: "a", Action: memory.Removed}}, nil
}

// WouldGC tells what GC does, and changes nothing.
func TestWouldGC(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := add(t, s, memory.Record{Kind: memory.KindNote, Text: strings.Repeat("first wording ", 50)}).IDs[0]
	if err := s.Update(t.Context(), memory.Record{ID: id, Kind: memory.KindNote, Origin: memory.OriginTool, Namespace: "project/x", Text: "second"}); err != nil {
		t.Fatal(err)
	}
	gone := add(t, s, memory.Record{Kind: memory.KindNote, Text: "third, which is removed"}).IDs[0]
	if err := s.Remove(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	would, err := s.WouldGC(t.Context())
	if err != nil || would.Records != 1 || would.Bytes < 600 {
		t.Errorf("%+v, %v", would, err)
	}
	if len(filesWith(t, dir, "first wording")) == 0 {
		t.Error("it has changed something")
	}
	if did, err := s.GC(t.Context()); err != nil || did != would {
		t.Errorf("%+v, %v; it was to be %+v", did, err, would)
	}
}

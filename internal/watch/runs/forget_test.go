package runs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
)

// word is one that is to be forgotten.
type word string

// In implements [Words].
func (w word) In(text []byte) bool { return bytes.Contains(text, []byte(w)) }

// Blot implements [Words].
func (w word) Blot(text []byte) int {
	n := bytes.Count(text, []byte(w))
	copy(text, bytes.ReplaceAll(text, []byte(w), bytes.Repeat([]byte("*"), len(w))))
	return n
}

// Words go from runs that have ended, from one that lives and its end, from the index; the files keep their lengths, the runs stay in the list, and who
// reads along reads on.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	const secret = word("amber lantern")
	run := func(id string, command ...string) *Writer {
		return Begin(Options{Dir: dir}, Header{ID: id, Kind: KindRun, Report: journal.Report{Tool: "x", Command: command}})
	}
	whole := run("one", "say", "the amber lantern, \"quoted\"")
	whole.Observe(journal.Record{Seq: 1, Time: time.Now(), Event: journal.Refused{Reason: "no amber lantern here"}})
	if err := whole.End(journal.Report{Tool: "x", Command: []string{"say", "the amber lantern, \"quoted\""}}); err != nil {
		t.Fatal(err)
	}
	split := run("two", "say", "the", "amber", "lantern")
	if err := split.End(journal.Report{Tool: "x", Command: []string{"say", "the", "amber", "lantern"}}); err != nil {
		t.Fatal(err)
	}
	other := run("three", "say", "nothing")
	if err := other.End(journal.Report{Tool: "x", Command: []string{"say", "nothing"}}); err != nil {
		t.Fatal(err)
	}
	living := run("four", "say", "amber lantern")
	store := open(t, dir)
	wait.Until(t, "the run that lives is seen", func() bool {
		if err := store.Poll(); err != nil {
			t.Fatal(err)
		}
		return len(store.Entries()) == 4
	})
	sizes := func() map[string]int64 {
		out := map[string]int64{}
		files, _ := filepath.Glob(filepath.Join(dir, "runs", "*", "*.jsonl"))
		for _, f := range append(files, filepath.Join(dir, "runs", "index.jsonl")) {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			out[f] = info.Size()
		}
		return out
	}
	left := func() (names []string) {
		for f := range sizes() {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "lantern") {
				names = append(names, f)
			}
			for line := range strings.Lines(string(text)) {
				if !json.Valid([]byte(line)) {
					t.Errorf("%s: %s", f, line)
				}
			}
		}
		return names
	}
	before := sizes()
	would, err := Forget(dir, secret, true)
	if err != nil || len(would) < 3 || len(left()) < 3 {
		t.Fatalf("%v, %v; left %v", would, err, left())
	}
	did, err := Forget(dir, secret, false)
	if err != nil || len(did) != len(would) {
		t.Errorf("%v, %v; it was to be %v", did, err, would)
	}
	after := sizes()
	for f, size := range before {
		if after[f] != size {
			t.Errorf("%s had %d bytes, and has %d", f, size, after[f])
		}
	}
	if names := left(); len(names) > 0 {
		t.Errorf("left in %v", names)
	}
	if err := living.End(journal.Report{Tool: "x", Command: []string{"say", "amber lantern"}}); err != nil {
		t.Fatal(err)
	}
	if names := left(); len(names) > 0 {
		t.Errorf("after its end, left in %v", names)
	}
	if err := store.Poll(); err != nil {
		t.Fatal(err)
	}
	if list := store.Entries(); len(list) != 4 {
		t.Errorf("%d runs are listed", len(list))
	}
	if r, err := store.Run("two"); err != nil || strings.Join(r.Report.Command, " ") != "say the ***** *******" || r.Damaged != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// FuzzBlotLine holds that a line that is JSON stays JSON of its length, with the same keys, and has the word in no value any more.
func FuzzBlotLine(f *testing.F) {
	f.Add([]byte(`{"header":{"report":{"command":["a","amber","lantern"],"lantern":"amber \"lantern\""}}}`), "amber lantern")
	f.Add([]byte(`{"a":"\\nfoo","b":["\u006efoo",1,null],"nfoo":{}}`), "nfoo")
	f.Add([]byte(`{"a":"x\\"}`), `\`)
	f.Add([]byte(`torn {"a":"b`), "b")
	f.Fuzz(func(t *testing.T, line []byte, secret string) {
		if secret == "" || strings.Contains(secret, "*") || bytes.ContainsAny(line, "\n") {
			return
		}
		was := bytes.Clone(line)
		blotLine(line, word(secret))
		if len(line) != len(was) {
			t.Fatal("its length has changed")
		}
		if json.Valid(was) && !json.Valid(line) {
			t.Fatalf("%s became %s", was, line)
		}
		eachString(line, func(start, end int) {
			if json.Valid(was) && bytes.Contains(line[start:end], []byte(secret)) {
				t.Fatalf("%q is left in %s", secret, line)
			}
		})
	})
}

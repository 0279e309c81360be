package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/journal"
)

func record(id string) Record {
	return Record{
		Ref: Ref{ID: id}, Engine: "slurm", Tool: "make", Project: "web", Command: []string{"make", "test"}, Submitted: time.Unix(1_800_000_000, 0).UTC(),
		Status: Status{Phase: Queued, Reason: "Licenses"},
	}
}

func create(t *testing.T, s *Store, id string) {
	t.Helper()
	if err := s.Create(record(id)); err != nil {
		t.Fatal(err)
	}
}

func TestARecordComesBack(t *testing.T) {
	s := NewStore(t.TempDir())
	if list, err := s.List(); len(list) > 0 || err != nil {
		t.Fatalf("of a store that is not there: %v, %v", list, err)
	}
	want := record("make-1")
	if err := s.Create(want); err != nil {
		t.Fatal(err)
	}
	want.Schema, want.Folder = schema, s.Folder("make-1")
	got, err := s.Get("make-1")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	for name, mode := range map[string]os.FileMode{".": 0o700, RecordName: 0o600} {
		if info, err := os.Stat(filepath.Join(s.Folder("make-1"), name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if _, err := s.Get("make-2"); err == nil || !strings.Contains(err.Error(), "plimsoll runs lists them") {
		t.Errorf("an unknown one: %v", err)
	}
	if _, err := s.Get("../make-1"); err == nil {
		t.Error("a name leads out of the store")
	}
}

func TestOfManyThatSubmitOneNameOneDoes(t *testing.T) {
	s := NewStore(t.TempDir())
	var taken, made atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			switch err := s.Create(record("nightly")); {
			case err == nil:
				made.Add(1)
			case errors.Is(err, ErrTaken):
				taken.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 || taken.Load() != 19 {
		t.Errorf("%d made, %d refused", made.Load(), taken.Load())
	}
}

func TestWhatHasEndedStays(t *testing.T) {
	s := NewStore(t.TempDir())
	create(t, s, "a")
	start := filepath.Join(s.Folder("a"), StartName)
	testfile.Write(t, start, "export KEY=secret")
	set := func(status Status) {
		t.Helper()
		if err := s.Update("a", func(r *Record) { r.Status = status }); err != nil {
			t.Fatal(err)
		}
	}
	set(Status{Phase: Running, Node: "n1"})
	if _, err := os.Stat(start); err != nil {
		t.Error("a job that runs has lost the file by which it is started again")
	}
	set(Status{Phase: Ended, ExitCode: 3, Report: &journal.Report{ExitCode: 3, Tool: "make"}})
	set(Status{Phase: Running})
	r, err := s.Get("a")
	if err != nil || r.Status.Phase != Ended || r.Status.ExitCode != 3 {
		t.Errorf("%+v, %v", r.Status, err)
	}
	if ids, err := s.IDs(); err != nil || len(ids) != 1 {
		t.Errorf("what else is in the store is taken for a job: %v, %v", ids, err)
	}
	if report := s.Report("a"); report == nil || report.Tool != "make" {
		t.Errorf("the report is %+v", report)
	}
	if _, err := os.Stat(start); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the variables of a job that has ended are still there: %v", err)
	}
}

func TestTheOldestThatHaveEndedMakeRoom(t *testing.T) {
	s := NewStore(t.TempDir())
	for i := range MaxKept {
		r := record(fmt.Sprintf("j%d", i))
		if r.Submitted = time.Now().Add(time.Duration(i) * time.Second); i < MaxKept/2 {
			r.Status = Status{Phase: Ended, Ended: r.Submitted}
		}
		folder := s.Folder(r.ID)
		body, err := json.Marshal(r)
		if err := errors.Join(err, os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, RecordName), body, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	create(t, s, "newest")
	_, gone := s.Get(fmt.Sprintf("j%d", MaxKept/10-1))
	if _, err := s.Get(fmt.Sprintf("j%d", MaxKept/10)); err != nil || gone == nil {
		t.Errorf("the oldest tenth: %v, %v", gone, err)
	}
	list, err := s.List()
	if err != nil || len(list) != MaxKept-MaxKept/10+1 {
		t.Fatalf("%d are kept, %v", len(list), err)
	}
	for i, r := range list { // none that has ended is left, and there are as many
		if r.Status.Phase == Ended {
			if err := errors.Join(s.Remove(r.ID), os.Mkdir(s.Folder(fmt.Sprintf("k%d", i)), 0o700)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range MaxKept / 10 {
		if err := os.Mkdir(s.Folder(fmt.Sprintf("l%d", i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Create(record("too-many")); err == nil || !strings.Contains(err.Error(), "wait until some have ended") {
		t.Errorf("%v", err)
	}
}

func TestTextsOfOthersAreBounded(t *testing.T) {
	s := NewStore(t.TempDir())
	r := record("a")
	r.Command = strings.Fields(strings.Repeat(strings.Repeat("x", 1000)+" ", 200))
	r.Status.Detail = strings.Repeat("d", 1<<20)
	if err := s.Create(r); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(s.Folder("a"), RecordName))
	if err != nil || info.Size() > maxRecord {
		t.Errorf("the record has %d bytes, %v", info.Size(), err)
	}
	if _, err := s.Get("a"); err != nil {
		t.Error(err)
	}
}

// A clean-up removes what ended long ago, the oldest where the output of all is too large, and what was never finished; nothing that goes on.
func TestPrune(t *testing.T) {
	s, now := NewStore(t.TempDir()), time.Now().UTC()
	for id, ended := range map[string]time.Duration{"old": 31 * 24 * time.Hour, "large": 3 * time.Hour, "larger": 2 * time.Hour, "new": time.Hour, "waits": 0} {
		r := record(id)
		if r.Submitted = now.Add(-40 * 24 * time.Hour); ended > 0 {
			r.Status = Status{Phase: Ended, Ended: now.Add(-ended)}
		}
		if err := s.Create(r); err != nil {
			t.Fatal(err)
		}
	}
	for id, made := range map[string]time.Time{"half": now.Add(-2 * time.Hour), "making": now} {
		if err := errors.Join(os.Mkdir(s.Folder(id), 0o700), os.Chtimes(s.Folder(id), made, made)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"large", "larger", "waits"} {
		name := filepath.Join(s.Folder(id), OutName)
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, int64(keptBytes)*2/5)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dry := range []bool{true, false} {
		removed, err := s.Prune(now, dry)
		var said []string
		for _, r := range removed {
			said = append(said, r.ID+" "+r.Why)
		}
		left, _ := s.IDs()
		want := "half without a record, old over the bound of age, large over the bound of bytes"
		if got := strings.Join(said, ", "); err != nil || got != want || len(left) != map[bool]int{true: 7, false: 4}[dry] {
			t.Errorf("dry: %v: %s, %v; %v are left", dry, got, err, left)
		}
	}
	if removed, err := s.Prune(now, false); len(removed) > 0 || err != nil {
		t.Errorf("again: %v, %v", removed, err)
	}
}

func FuzzRecord(f *testing.F) {
	body, _ := json.Marshal(record("a"))
	for _, text := range []string{string(body), "", "{}", `{"status":{"started":1}}`, `{"command":[`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := NewStore(t.TempDir())
		create(t, s, "a")
		testfile.Write(t, filepath.Join(s.Folder("a"), RecordName), text)
		r, err := s.Get("a")
		if err != nil || s.writeRecord(r) != nil { // or a year that JSON cannot write
			return
		}
		if _, err := s.Get("a"); err != nil {
			t.Errorf("what was written cannot be read: %v", err)
		}
	})
}

// TestForget: words go from all that is kept of a job. What starts one that waits stays as it is, and is an error.
func TestForget(t *testing.T) {
	s := NewStore(t.TempDir())
	overwrite := func(path string, dry bool) (bool, error) {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "secret") {
			return false, err
		}
		if dry {
			return true, nil
		}
		return true, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "secret", "******")), 0o600)
	}
	if ids, err := s.Forget(t.Context(), overwrite, false); len(ids) > 0 || err != nil {
		t.Fatalf("of a store that is not there: %v, %v", ids, err)
	}
	create(t, s, "ended")
	create(t, s, "plain")
	create(t, s, "waits")
	write := func(id, name string) string {
		path := filepath.Join(s.Folder(id), name)
		if err := os.WriteFile(path, []byte(`{"a":"secret"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	files := []string{write("ended", OutName), write("ended", ErrName), write("ended", ReportName), write("waits", OutName)}
	start := write("waits", StartName)
	want := []string{"ended", "waits"}
	ids, err := s.Forget(t.Context(), overwrite, true)
	if err != nil || !reflect.DeepEqual(ids, want) {
		t.Errorf("dry: %v, %v", ids, err)
	}
	ids, err = s.Forget(t.Context(), overwrite, false)
	if err == nil || !strings.Contains(err.Error(), "plimsoll cancel waits") || !reflect.DeepEqual(ids, want) {
		t.Errorf("%v, %v", ids, err)
	}
	for _, path := range files {
		if text, err := os.ReadFile(path); err != nil || string(text) != `{"a":"******"}` {
			t.Errorf("%s: %s, %v", path, text, err)
		}
	}
	if text, err := os.ReadFile(start); err != nil || string(text) != `{"a":"secret"}` {
		t.Errorf("the command of a job that waits: %s, %v", text, err)
	}
}

package runs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// A file of a newer version is shown as far as it is understood, and nothing in it counts as damage.
func TestANewerSchemaIsReadAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	day := time.Now().UTC().Format(dayForm)
	if err := os.MkdirAll(filepath.Join(dir, Dir, day), 0o700); err != nil {
		t.Fatal(err)
	}
	lines := []string{
		`{"header":{"schema":9,"id":"newer","kind":"squadron","started":"2026-11-24T10:00:00Z","crew":["a"],"report":{"tool":"claude","project":"shop","limit_bytes":1024,"berth":{"x":1}}}}`,
		`{"seq":1,"time":"2026-11-24T10:00:01Z","kind":"hull.breached","event":{"depth":[1,2,{"y":null}]}}`,
		`{"seq":2,"time":"2026-11-24T10:00:02Z","kind":"process.child_killed","event":{"pid":7,"name":"node","bytes":100,"by":"kernel","since":"noon"}}`,
		`{"sample":{"at_ms":3000,"working_bytes":77,"tide":3}}`,
		`{"weather":{"wind":7}}`,
		`{"end":{"time":"2026-11-24T10:00:05Z","report":{"schema":3,"tool":"claude","outcome":"becalmed","exit_code":0,"knots":12}}}`,
	}
	if err := os.WriteFile(filepath.Join(dir, Dir, day, "newer"+fileEnd), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	r, err := s.Run("newer")
	if err != nil {
		t.Fatal(err)
	}
	if !r.Newer || r.Damaged > 1 || len(r.Kills) != 1 || len(r.Samples) != 1 || r.Outcome != "becalmed" || r.Project != "shop" && r.Tool != "claude" {
		t.Errorf("newer %v, %d damaged, %d kills, %d samples, %q", r.Newer, r.Damaged, len(r.Kills), len(r.Samples), r.Outcome)
	}
	if err := Adopt(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	if all := open(t, dir).Totals(); all["claude"].Outcomes["becalmed"] != 1 {
		t.Errorf("%+v", all["claude"])
	}
}

// A clock that was set back, or forward, changes no duration and removes nothing.
func TestAClockThatJumps(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		dir := t.TempDir()
		start := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
		clock := start
		report := journal.Report{Tool: "claude"}
		w := Begin(Options{Dir: dir, now: func() time.Time { return clock }}, Header{ID: "jumps", Kind: KindRun, Report: report})
		w.flush()
		w.Observe(journal.Record{Time: start, Event: journal.Waiting{}})
		w.Sample(Sample{Working: 5})
		clock = start.Add(jump)
		w.Observe(journal.Record{Time: clock, Event: journal.Admitted{}})
		w.flush()
		if live := open(t, dir).Live(); len(live) != 1 || live[0].DurationMS < 0 {
			t.Errorf("%s, while it lives: %+v", jump, live)
		}
		report.DurationMS, report.Outcome = 1500, journal.OutcomeOK
		if err := w.End(report); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		r, err := s.Run("jumps")
		if err != nil || r.DurationMS != 1500 || r.WaitedMS < 0 || len(r.Samples) != 1 || r.Samples[0].AtMS < 0 || r.Samples[0].AtMS > 60_000 {
			t.Errorf("%s: %+v, %v", jump, r, err)
		}
		for _, at := range []time.Time{start, clock, start.Add(-time.Hour)} {
			if removed, err := Prune(dir, Keep{}, at, false); err != nil || len(removed) != 0 {
				t.Errorf("%s: %+v, %v", jump, removed, err)
			}
		}
	}
}

// What is deleted while somebody looks at it is gone for them too, and what comes after it shows.
func TestWhatIsDeletedWhileSomebodyLooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begin := func(id string) *Writer {
		w := Begin(Options{Dir: dir}, Header{ID: id, Kind: KindRun, Report: journal.Report{Tool: "claude"}})
		w.flush()
		return w
	}
	shown := func(s *Store) string {
		if err := s.Poll(); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, e := range s.Entries() {
			ids = append(ids, e.ID+" "+e.Outcome)
		}
		return fmt.Sprint(ids)
	}
	first := begin("first")
	s := open(t, dir)
	if got := shown(s); got != "[first running]" {
		t.Fatal(got)
	}
	// The file alone: the run lives, and its line comes.
	if err := os.Remove(filepath.Join(dir, Dir, first.day, "first"+fileEnd)); err != nil {
		t.Fatal(err)
	}
	if got := shown(s); got != "[first running]" {
		t.Error(got)
	}
	if err := first.End(journal.Report{Tool: "claude", Outcome: journal.OutcomeOK}); err != nil {
		t.Fatal(err)
	}
	if got := shown(s); got != "[first ok]" {
		t.Error(got)
	}
	if r, err := s.Run("first"); err == nil || r.Outcome != "ok" {
		t.Errorf("%+v, %v", r, err)
	}
	// The whole store, while a run writes.
	second := begin("second")
	if got := shown(s); !strings.Contains(got, "second running") {
		t.Error(got)
	}
	if err := os.RemoveAll(filepath.Join(dir, Dir)); err != nil {
		t.Fatal(err)
	}
	if err := second.End(journal.Report{Tool: "claude", Outcome: journal.OutcomeOK}); err == nil {
		t.Error("nobody says that the store is gone")
	}
	third := begin("third")
	if got := shown(s); got != "[third running]" {
		t.Error(got)
	}
	if err := third.End(journal.Report{Tool: "claude", Outcome: journal.OutcomeOK}); err != nil {
		t.Error(err)
	}
	if got := shown(s); got != "[third ok]" {
		t.Error(got)
	}
}

// A file that is larger than any of ours, in one line: its run has died, is read in a moment, and takes no more than its room.
func TestAGiantLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, j, reporter := begin(dir, "giant")
	play(j, 3)
	if err := w.End(reporter.Report()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, Dir, w.day, "giant"+fileEnd)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.LastIndex(text, endStart)
	if err := errors.Join(os.WriteFile(name, text[:end], 0o600), os.Truncate(name, 1<<30), os.Remove(filepath.Join(dir, Dir, indexName))); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time from the index
		if err := Adopt(dir, time.Now()); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		e := s.Entries()
		if len(e) != 1 || e[0].Outcome != Died || e[0].Ended == nil || e[0].Window.Requests != 3 || e[0].Bytes > MaxFile+reservedEnd {
			t.Fatalf("%+v", e)
		}
		if r, err := s.Run("giant"); err != nil || r.Outcome != Died || r.Damaged != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if info, err := os.Stat(name); err != nil || info.Size() > MaxFile+reservedEnd {
		t.Errorf("%d bytes are left, %v", info.Size(), err)
	}
}

// A run is found by the name of its file, whatever its first line says.
func TestAFileWithAnotherName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, j, reporter := begin(dir, "one")
	play(j, 1)
	if err := w.End(reporter.Report()); err != nil {
		t.Fatal(err)
	}
	day := filepath.Join(dir, Dir, w.day)
	if err := errors.Join(os.Rename(filepath.Join(day, "one"+fileEnd), filepath.Join(day, "two"+fileEnd)), os.Remove(filepath.Join(dir, Dir, indexName))); err != nil {
		t.Fatal(err)
	}
	if err := Adopt(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if e := s.Entries(); len(e) != 1 || e[0].ID != "two" {
		t.Fatalf("%+v", e)
	}
	if r, err := s.Run("two"); err != nil || r.ID != "two" {
		t.Errorf("%+v, %v", r, err)
	}
}

// Every command that takes a run takes these names.
func TestNamesOfRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	began := time.Now().Add(-time.Hour)
	for i, h := range []Header{
		{ID: "aaaa1", Kind: KindRun, Report: journal.Report{Tool: "claude"}},
		{ID: "aabb2", Kind: KindRun, Report: journal.Report{Tool: "claude"}},
		{ID: "cccc3", Kind: KindRun, Report: journal.Report{Tool: "make"}},
		{ID: "dddd4", Kind: KindGateway, Parent: "cccc3", Report: journal.Report{Tool: "files"}},
	} {
		w := Begin(Options{Dir: dir, now: func() time.Time { return began.Add(time.Duration(i) * time.Minute) }}, h)
		if err := w.End(h.Report); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	for name, want := range map[string]string{"last": "cccc3", "claude": "aabb2", "aaaa1": "aaaa1", "c": "cccc3", "dddd4": "dddd4", "make": "cccc3", "aa": "", "files": "", "": "", "x": ""} {
		if e, err := s.Find(name); e.ID != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", name, e.ID, err, want)
		}
	}
}

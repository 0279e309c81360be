package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/limit"
)

// imported runs plimsoll stats import in f.
func imported(t *testing.T, f *fixture, args ...string) []app.HistoryImported {
	t.Helper()
	var all []app.HistoryImported
	text := output(t, newStatsCommand(f.open), append([]string{"import", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return all
}

// What fifty hosts have exported counts once, however often it is imported, and a first run is estimated from it.
func TestAHistoryMovesByFile(t *testing.T) {
	var files []string
	for i := range 50 {
		f := newFixture(t)
		f.record(t, "", "claude", limit.Bytes(700+i)*limit.MiB)
		file := filepath.Join(f.state, "history.jsonl")
		for range 2 { // the second one replaces the first
			if got := output(t, newStatsCommand(f.open), "export", file); got != "written to "+file+": 1 run\n" {
				t.Fatal(got)
			}
		}
		if text, err := os.ReadFile(file); err != nil || bytes.Contains(text, []byte(f.state)) || bytes.Contains(text, []byte(f.project)) || bytes.Contains(text, []byte(`"web"`)) {
			t.Errorf("%s %v", text, err)
		}
		files = append(files, file)
	}
	fresh := newFixture(t)
	for _, i := range imported(t, fresh, append(files, "--dry-run")...) {
		if i.New != 1 || i.Runs != 1 || !i.DryRun {
			t.Errorf("%+v", i)
		}
	}
	if rows := stats(t, fresh); len(rows) != 0 {
		t.Errorf("a dry run has left %v", rows)
	}
	for n, want := range []int{1, 0} {
		for _, i := range imported(t, fresh, files...) {
			if i.New != want || i.NoRoom != 0 {
				t.Errorf("import %d: %+v", n, i)
			}
		}
	}
	rows := stats(t, fresh, "claude")
	if len(rows) != 2 || rows[0]["from"] != "import" || rows[0]["samples"] != 50.0 || rows[0]["project"] != "web" || rows[0]["max_bytes"] != float64(749*limit.MiB) {
		t.Fatalf("%v", rows)
	}
	if next := rows[1]; next["source"] != "history:import" || next["estimate_bytes"].(float64) <= float64(749*limit.MiB) {
		t.Errorf("%v", next)
	}
	if got := output(t, newStatsCommand(fresh.open), "claude"); !strings.Contains(got, "from 50 runs on other hosts, imported") || !strings.Contains(got, "FROM") {
		t.Error(got)
	}
	// What was imported goes on to the next: a cache is read, added to and written.
	fresh.record(t, "", "claude", 5*limit.GiB)
	all := filepath.Join(fresh.state, "all.jsonl")
	if got := output(t, newStatsCommand(fresh.open), "export", all, "--json"); !strings.Contains(got, `"runs": 51`) {
		t.Error(got)
	}
	last := newFixture(t)
	if i := imported(t, last, all); i[0].New != 51 {
		t.Errorf("%+v", i)
	}
	// This host's own come back, and are no other host's.
	if i := imported(t, fresh, all); i[0].Runs != 51 || i[0].New != 0 {
		t.Errorf("%+v", i)
	}
	if got := output(t, newStatsCommand(last.open), "--forget", "claude", "--yes"); !strings.Contains(got, "51 runs") {
		t.Error(got)
	}
	if rows := stats(t, last, "--all"); len(rows) != 0 {
		t.Errorf("%v", rows)
	}
}

func TestABadHistoryIsRefusedWhole(t *testing.T) {
	from := newFixture(t)
	from.record(t, "", "claude", limit.GiB, 2*limit.GiB)
	good := output(t, newStatsCommand(from.open), "export")
	lines := strings.SplitAfter(good, "\n")
	f := newFixture(t)
	for name, c := range map[string]struct{ text, want string }{
		"empty":      {"", ":1: it is empty"},
		"other":      {"{}\n" + good, ":1: this is no history"},
		"cut":        {good[:len(good)-20], ":3: not recordable"},
		"impossible": {strings.Replace(good, `"peak":2`, `"peak":-2`, 1), ":3: not recordable: peak is -"},
		"long":       {good + strings.Repeat("x", usage.MaxObservation+2), ":4: the line is longer than"},
		"many":       {lines[0] + strings.Repeat(lines[1], 30_001), ":30002: there are more than 30000 runs"},
		"large":      {lines[0] + strings.Repeat(strings.Repeat(" ", 2000)+"\n", 34_000), "it is larger than 64 MiB"},
	} {
		file := filepath.Join(f.state, name)
		testfile.Write(t, file, c.text)
		cmd := newStatsCommand(f.open)
		cmd.SetArgs([]string{"import", file})
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		err := cmd.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), file+":") || !strings.HasSuffix(err.Error(), "nothing of it was imported") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if rows := stats(t, f, "--all"); len(rows) != 0 {
		t.Errorf("%v", rows)
	}
	// What is no exported history is not replaced.
	notes := filepath.Join(f.state, "notes")
	testfile.Write(t, notes, "precious")
	cmd := newStatsCommand(from.open)
	cmd.SetArgs([]string{"export", notes})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "is no exported history") {
		t.Error(err)
	}
	if text, _ := os.ReadFile(notes); string(text) != "precious" {
		t.Errorf("%s", text)
	}
}

// A file has room for so many runs, and the newest of each use of a tool are in it.
func TestAnExportIsBounded(t *testing.T) {
	f := newFixture(t)
	h := usage.Open(f.state, usage.Options{})
	var doc bytes.Buffer
	for i := range 4 {
		doc.Reset()
		fmt.Fprintf(&doc, `{"schema":1,"project":"p%d","shared":"d%d","appends":12800,"tools":[`, i, i)
		for tool := range usage.MaxTools {
			if tool > 0 {
				doc.WriteByte(',')
			}
			fmt.Fprintf(&doc, `{"tool":"t%d","recorded":200,"last":1,"runs":[`, tool)
			for run := range usage.KeptRuns {
				if run > 0 {
					doc.WriteByte(',')
				}
				fmt.Fprintf(&doc, `{"time":"2026-11-01T00:00:00Z","peak":%d,"outcome":"ok","ms":60000,"id":"h%d-%d/%d"}`, run+1, i, tool, run)
			}
			doc.WriteString("]}")
		}
		doc.WriteString("]}")
		if err := os.MkdirAll(h.Directory(), 0o700); err != nil {
			t.Fatal(err)
		}
		testfile.Write(t, filepath.Join(h.Directory(), fmt.Sprintf("p%d.json", i)), doc.Bytes())
	}
	file := filepath.Join(f.state, "all.jsonl")
	if got := output(t, newStatsCommand(f.open), "export", file); !strings.Contains(got, "25600 runs, without 25600 older ones") {
		t.Error(got)
	}
	text, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(text, []byte(`"h3-63/199"`)) || !bytes.Contains(text, []byte(`"h3-63/100"`)) || bytes.Contains(text, []byte(`"h3-63/99"`)) {
		t.Error("not the newest ones, ", err)
	}
	if i := imported(t, newFixture(t), file); i[0].New != 25600 || i[0].NoRoom != 0 {
		t.Errorf("%+v", i)
	}
}

package runs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// What ended since a time is read from the end of the index, in pieces, and only where something was added.
func TestAskedSince(t *testing.T) {
	state := t.TempDir()
	if size, err := runs.AskedSince(state, -1, time.Time{}, nil); size != 0 || err != nil {
		t.Fatal(size, err)
	}
	const many = 60
	var middle time.Time
	for i := range many {
		if i == many/2 {
			middle = time.Now()
		}
		w := runs.Begin(runs.Options{Dir: state}, runs.Header{ID: fmt.Sprintf("aaaaaaaaaa%02d", i), Kind: runs.KindRun, Report: journal.Report{Tool: "claude"}})
		if i%3 > 0 { // the others asked nothing
			for m := range 12 {
				w.Observe(journal.Record{Time: time.Now(), Event: journal.WindowResponse{Status: 200, Model: fmt.Sprintf("a-model-with-a-long-name-%d", m), TokensIn: 10}})
			}
		}
		if err := w.End(journal.Report{Tool: "claude", Outcome: journal.OutcomeOK}); err != nil {
			t.Fatal(err)
		}
	}
	index := filepath.Join(state, "runs", "index.jsonl")
	f, err := os.OpenFile(index, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{\"id\":\"damaged\",\"ended\":\"\n{}\n{\"torn"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	read := func(known int64, since time.Time) (ids []string, size int64) {
		size, err := runs.AskedSince(state, known, since, func(e *runs.Entry) { ids = append(ids, e.ID) })
		if err != nil {
			t.Fatal(err)
		}
		return ids, size
	}
	all, size := read(-1, time.Time{})
	if info, err := os.Stat(index); err != nil || size != info.Size() || size < 2*32<<10 {
		t.Errorf("%d bytes, %v", size, err)
	}
	if len(all) != many*2/3 || all[0] != "aaaaaaaaaa59" || all[len(all)-1] != "aaaaaaaaaa01" {
		t.Errorf("%d: %v", len(all), all)
	}
	if half, _ := read(-1, middle); len(half) != many/3 {
		t.Errorf("%d since the middle", len(half))
	}
	if none, same := read(size, time.Time{}); len(none) > 0 || same != size {
		t.Errorf("%d although nothing ended", len(none))
	}
}

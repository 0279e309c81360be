package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

// A follower gives each line once, in pieces of any size, while the run goes on and afterwards.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	w, j, reporter := begin(dir, "followed")
	w.flush()
	s := open(t, dir)
	var f *Follower
	for _, r := range s.Live() {
		f = s.Follow(&r.Entry)
	}
	if f == nil {
		t.Fatal("the run does not show")
	}
	headers, ends, seqs := 0, 0, []uint64(nil)
	take := func(l Line) {
		switch {
		case l.Header != nil:
			headers++
		case l.End != nil:
			ends++
		case l.Record != nil:
			seqs = append(seqs, l.Record.Seq)
		default:
			t.Error("a line of nothing")
		}
	}
	read := func() {
		t.Helper()
		for rest := true; rest; {
			var err error
			if rest, err = f.Next(64<<10, take); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 40 {
		for range 25 {
			j.Append(journal.ToolCalled{Server: "s", Tool: "t", Method: "tools/call", UpstreamBytes: 5})
		}
		w.Sample(Sample{Working: 1})
		w.flush()
		read()
	}
	if err := w.End(reporter.Report()); err != nil {
		t.Fatal(err)
	}
	read()
	if headers != 1 || ends != 1 || len(seqs) != 1000 {
		t.Fatalf("%d headers, %d ends, %d records", headers, ends, len(seqs))
	}
	for i, seq := range seqs {
		if seq != uint64(i+1) {
			t.Fatalf("record %d is the one of place %d", seq, i+1)
		}
	}
	// From the beginning, in one go and in pieces.
	if err := s.Poll(); err != nil {
		t.Fatal(err)
	}
	e, err := s.Find("followed")
	if err != nil {
		t.Fatal(err)
	}
	f, seqs = s.Follow(&e), nil
	rest, err := f.Next(1, take) // a piece of at least one block
	if err != nil || !rest || len(seqs) == 0 || len(seqs) == 1000 {
		t.Fatalf("%d records in the first piece, %v, %v", len(seqs), rest, err)
	}
	if read(); len(seqs) != 1000 {
		t.Fatalf("%d records", len(seqs))
	}
	if err := os.Remove(filepath.Join(dir, Dir, e.Day, e.ID+fileEnd)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Next(1, take); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a file that is gone: %v", err)
	}
}

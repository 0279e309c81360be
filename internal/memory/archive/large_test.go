package archive

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// A segment that somebody made 20 GB long is read in a moment as far as one can be, is named, takes no new line, and is mended by a rewrite.
func TestASegmentWithAHole(t *testing.T) {
	dir := t.TempDir()
	a := openArchive(t, dir, Options{})
	must(t, a.Append(t.Context(), ns, true, line(1), line(2)))
	name := file(t, dir)
	must(t, a.Close())
	if err := os.Truncate(name, 20<<30); err != nil {
		t.Skipf("no file with a hole can be made here: %v", err)
	}
	var told []string
	a = openArchive(t, dir, Options{TooLarge: func(file string, size, read limit.Bytes) {
		told = append(told, file+" "+size.Human()+" "+read.Human())
	}})
	began := time.Now()
	for range 2 {
		if got, _ := bodies(t, a); len(got) != 2 {
			t.Errorf("%q are there", got)
		}
	}
	if n, err := a.Lines(ns); err != nil || n != 3 {
		t.Errorf("%d lines, %v", n, err)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], name+" 20 GiB ") {
		t.Errorf("told: %q", told)
	}
	must(t, a.Append(t.Context(), ns, true, line(3)))
	done, err := a.Rewrite(t.Context(), ns, true, func(l Line) ([]byte, bool) { return l.Body, false })
	must(t, err)
	if done.Kept != 2 || done.Bytes < 19<<30 {
		t.Errorf("rewritten: %+v", done)
	}
	if got, _ := bodies(t, a); len(got) != 3 {
		t.Errorf("%q are there after the rewrite", got)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

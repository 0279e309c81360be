package app_test

import (
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/tools/spool"
)

func TestResultsAreRemovedButThoseInUse(t *testing.T) {
	dir := t.TempDir()
	a := newCore(t, dir, "PLIMSOLL_STATE_DIR="+dir, "PLIMSOLL_CACHE_DIR="+dir, "PLIMSOLL_CONFIG="+filepath.Join(dir, "none"))
	s, err := spool.Open(spool.Options{Dir: filepath.Join(dir, "results")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var handles []string
	for range 3 {
		w, err := s.Create(spool.Source{Principal: "p", Tool: "t"})
		if err == nil {
			err = w.Begin(spool.Text, "")
		}
		if err == nil {
			_, err = w.Write([]byte("a\nb\n"))
		}
		if err == nil {
			err = w.Complete(spool.Final{})
		}
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, w.Handle())
	}
	read, err := s.Read("p", handles[0])
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	for _, dry := range []bool{true, false} {
		c, err := app.GC(t.Context(), a, app.GCOptions{Results: true, DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool][2]int{true: {3, 0}, false: {2, 1}}[dry]; len(c.Removed) != want[0] || len(c.Kept) != want[1] {
			t.Errorf("dry run %v: removed %v, kept %v", dry, c.Removed, c.Kept)
		}
	}
	if _, err := s.Read("p", handles[1]); err == nil {
		t.Error("a removed result can be read")
	}
}

package spool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/diskspace"
	"github.com/plimsoll/plimsoll/internal/testing/smalldisk"
	"github.com/plimsoll/plimsoll/limit"
)

// TestAFileThatMustNotGrow does nearly the same with a limit of the process, where nothing can be mounted.
func TestAFullDisk(t *testing.T) {
	s, err := Open(Options{Dir: smalldisk.New(t, "size=3m"), FreeMin: -1})
	must(t, err)
	defer s.Close()
	must(t, fillDisk(s))
}

// The spool evicts its own before less than FreeMin is free, and keeps nothing more when what fills the
// disk is not its own.
func TestTheDiskIsNotFilled(t *testing.T) {
	const least = 8 * limit.MiB
	disk := smalldisk.New(t, "size=24m")
	s, err := Open(Options{Dir: filepath.Join(disk, "results"), FreeMin: least})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) }) // before the file system goes
	free := func() limit.Bytes {
		_, free, ok := diskspace.Of(disk)
		if !ok {
			t.Fatal("no word about the disk")
		}
		return limit.Bytes(free)
	}
	text := strings.Repeat("a line of text\n", 100_000) // 1.5 MB
	for i := range 20 {
		handle := keep(t, s, Source{}, text, 64<<10)
		if free() < least {
			t.Fatalf("after %d results %s are free", i+1, free())
		}
		must(t, read(t, s, handle).Close())
	}
	filler := filepath.Join(disk, "of somebody else")
	must(t, os.WriteFile(filler, make([]byte, free()-limit.MiB), 0o600))
	w, err := s.Create(Source{Principal: me}) // evicts what there is
	must(t, err)
	if full := fill(t, w, text); full.Why != "disk" || !strings.Contains(full.Error(), "stay free") || free() < least {
		t.Errorf("%v, with %s free", full, free())
	}
	must(t, w.Discard())
	must(t, os.Remove(filler))
	must(t, os.WriteFile(filler, make([]byte, free()-limit.MiB), 0o600))
	if _, err := s.Create(Source{Principal: me}); err == nil || entries(t, s.Dir()) != 0 {
		t.Errorf("%v, and %d results are kept on a disk that somebody else has filled", err, entries(t, s.Dir()))
	}
	must(t, os.Remove(filler))
	keep(t, s, Source{}, text, 64<<10)
}

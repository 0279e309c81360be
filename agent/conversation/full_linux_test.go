package conversation

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small tmpfs takes root; TestAFileThatMustNotGrow does the same with a limit of the process")
	}
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a tmpfs cannot be mounted here: %v", err)
	}
	defer func() { must(t, unix.Unmount(dir, 0)) }()
	s, err := Open(Options{Dir: dir})
	must(t, err)
	must(t, fill(s))
	must(t, s.Close())
}

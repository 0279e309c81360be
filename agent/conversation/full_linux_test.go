package conversation

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/smalldisk"
)

// TestAFileThatMustNotGrow does the same with a limit of the process, where nothing can be mounted.
func TestAFullDisk(t *testing.T) {
	dir := smalldisk.New(t, "size=256k")
	s, err := Open(Options{Dir: dir})
	must(t, err)
	must(t, fill(s))
	must(t, s.Close())
}

package disk

import (
	"os"
	"testing"
)

// A look at a run that writes nothing makes no garbage but the name of each file system.
func TestLookMakesNoGarbage(t *testing.T) {
	s := newSampler([]string{os.TempDir()})
	processes := []Process{{PID: os.Getpid()}}
	s.look(processes, false)
	most := float64(len(s.spaces))
	if n := testing.AllocsPerRun(100, func() { s.look(processes, false) }); n > most {
		t.Errorf("%v allocations a look, at most %v", n, most)
	}
}

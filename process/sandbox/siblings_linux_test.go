package sandbox_test

import (
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Supervisors that start and end at once divide one directory between them: none may take
// another for a stranger, nor take the controllers away from one that is just starting.
func TestSupervisorsAtOnceDoNotLoseTheirLayer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eachLayer(t, true, func(t *testing.T, layer sandbox.Layer) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 4 {
					c := exec.Command(self, string(layer))
					c.Env = append(os.Environ(), toolVar+"=supervise-once")
					if said, err := c.CombinedOutput(); err != nil {
						t.Errorf("%v: %s", err, said)
					}
				}
			})
		}
		wg.Wait()
	})
}

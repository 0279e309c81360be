package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// A process that dies closes its files one after the other. Who cleans up behind it begins when it is gone: before, the lock of its claim
// may still be held, and it would be taken for alive.
func TestTheGuardWaitsUntilTheSupervisorIsGone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "said")
	supervisor := exec.Command(os.Args[0], file, "300")
	supervisor.Env = append(os.Environ(), toolVar+"=dying")
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	_ = supervisor.Wait()
	var said []byte
	wait.Until(t, "the guard has done its work", func() bool {
		said, _ = os.ReadFile(file)
		return strings.HasSuffix(string(said), "\n")
	})
	if string(said) != "gone\n" {
		t.Errorf("it began while the supervisor was %s", said)
	}
}

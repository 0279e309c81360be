package footprint

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A process with too little address space ends with one line that says so, instead of a crash trace.
func TestTooLittleAddressSpace(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kib := range []string{"1000000", "1500000"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -v "$1" && exec "$2" -test.run XXX`, "sh", kib, self).CombinedOutput()
		e, ok := err.(*exec.ExitError)
		if strings.Contains(string(out), "ThreadSanitizer") {
			t.Skip("the race detector needs more address space than that before this package is there")
		}
		if text := string(out); !ok || e.ExitCode() != tooLittle || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "plimsoll: the address space of this process is limited to ") {
			t.Errorf("with %s KiB: %v\n%s", kib, err, text)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -v 3145728 && exec "$1" -test.run XXX`, "sh", self).CombinedOutput(); err != nil {
		t.Errorf("with enough: %v\n%s", err, out)
	}
}

//go:build linux || darwin

package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// clockOff is the variable with the number of seconds by which the clock of [plimsollWithClock] is off.
const clockOff = "PLIMSOLL_TEST_CLOCK_OFF"

// plimsollWithClock begins to build plimsoll with a [time.Now] that is off by clockOff, and returns a function that waits for the program and returns its path.
// No namespace of Linux has the time of day, and a program without a C library reads it where nothing can come in between: so the library's function is
// another one, and the rest is what users have.
func plimsollWithClock(t *testing.T) (built func() string) {
	t.Helper()
	dir := t.TempDir()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source := testfile.Read(t, library)
	text := string(source)
	for _, edit := range [][2]string{
		{"import (\n", "import (\n\t\"syscall\"\n"},
		{"func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n", "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n\tsec += clockOff\n"},
	} {
		if strings.Count(text, edit[0]) != 1 {
			t.Fatalf("%s has another form: %q is not in it once", library, edit[0])
		}
		text = strings.Replace(text, edit[0], edit[1], 1)
	}
	text += "\nvar clockOff = func() int64 {\n\ttext, _ := syscall.Getenv(\"" + clockOff + "\")\n\tseconds, _ := atoi(text)\n\treturn int64(seconds)\n}()\n"
	write(t, text, dir, "time.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{library: filepath.Join(dir, "time.go")}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, string(overlay), dir, "overlay.json")
	program := filepath.Join(dir, "plimsoll")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./cmd/plimsoll")
	cmd.Dir = ".."
	var out []byte
	var failed error
	var building sync.WaitGroup
	building.Go(func() { out, failed = cmd.CombinedOutput() })
	t.Cleanup(building.Wait)
	return func() string {
		t.Helper()
		building.Wait()
		if failed != nil {
			t.Fatalf("%v: %s", failed, out)
		}
		return program
	}
}

// hourOff returns an hour forward, or back where an hour later is another day.
func hourOff() time.Duration {
	now := time.Now()
	if now.Add(time.Hour).Day() != now.Day() {
		return -time.Hour
	}
	return time.Hour
}

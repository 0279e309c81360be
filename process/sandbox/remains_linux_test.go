package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/process/sandbox"
)

// wantGone fails for groups of a run, and the scope around one, that are there now: what
// [sandbox.Remove] has removed must not need a moment more.
func wantGone(t *testing.T, remains sandbox.Remains) {
	t.Helper()
	for _, dir := range remains.Groups {
		gone := []string{dir}
		if scope := filepath.Dir(dir); strings.HasPrefix(filepath.Base(scope), "plimsoll-") && strings.HasSuffix(scope, ".scope") {
			gone = append(gone, scope)
		}
		for _, dir := range gone {
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is still there: %v", dir, err)
			}
		}
	}
}

func TestRemoveEndsWhatADeadSupervisorLeft(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		remains, tool := killedSupervisor(t, layer, 1)
		if !processExists(tool) {
			t.Fatal("the tool should have outlived its supervisor")
		}
		if err := sandbox.Remove(remains, 200*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if processExists(tool) {
			t.Error("the tool is still there")
		}
		wantGone(t, remains)
		if err := sandbox.Remove(remains, 0); err != nil {
			t.Errorf("removing again: %v", err)
		}
	})
}

// The scope that a program's runs share is called after its first one, whose claim is gone
// when that one has ended: it goes with the last run.
func TestRemoveOfASecondRunLeavesNoScope(t *testing.T) {
	eachLayer(t, true, func(t *testing.T, layer sandbox.Layer) {
		remains, tool := killedSupervisor(t, layer, 2)
		if err := sandbox.Remove(remains, 200*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if processExists(tool) {
			t.Error("the tool is still there")
		}
		wantGone(t, remains)
	})
}

// systemd removes the groups of a scope once; what is there after that has no unit.
func TestRemoveTakesAScopeThatSystemdLeft(t *testing.T) {
	eachLayer(t, true, func(t *testing.T, layer sandbox.Layer) {
		if layer != sandbox.Systemd {
			t.Skip("no unit in this layer")
		}
		remains, _ := killedSupervisor(t, layer, 1)
		if err := sandbox.Remove(remains, 200*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		for _, leave := range []bool{false, true} {
			for _, leaf := range []string{"sup", "run/agent"} {
				if err := os.MkdirAll(filepath.Join(remains.Groups[0], leaf), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			remains.Leave = leave
			if err := sandbox.Remove(remains, 0); err != nil {
				t.Error(err)
			}
			wantGone(t, remains)
		}
	})
}

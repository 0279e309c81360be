package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// TestWhoLeavesTheGroup is listed with what is left over and not ended, and the peak is no longer exact: what was used elsewhere is not in it.
func TestWhoLeavesTheGroup(t *testing.T) {
	own, err := cgroupfs.Own()
	if err != nil {
		t.Fatal(err)
	}
	parent := own.V1["memory"]
	if parent == "" || unix.Access(parent, unix.W_OK) != nil {
		t.Skip("no cgroup v1 that is ours to write to")
	}
	elsewhere := filepath.Join(parent, fmt.Sprintf("elsewhere-%d", os.Getpid()))
	if err := os.Mkdir(elsewhere, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Rmdir(elsewhere) })
	places := []string{elsewhere, own.Unified}
	for _, name := range []string{"pids", "cpu", "freezer"} {
		places = append(places, own.V1[name])
	}
	places = slices.DeleteFunc(places, func(dir string) bool { return dir == "" })
	const move = `move() { for g; do echo $who >"$g"/cgroup.procs; done; }; `
	for name, script := range map[string]string{
		"a child":          `sleep 60 & who=$!; move "$@"; sleep 0.2`,
		"after it was met": `sleep 60 & who=$!; sleep 1.2; move "$@"; sleep 1.5`,
		"nobody":           `sleep 0.5`,
		"the command":      `who=$$; move "$@"; for i in 1 2 3 4 5 6; do sleep 1; done`, // a tree that only waits is looked at every two seconds
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(t, sandbox.Cgroup1, "exit")
			s.Path, s.Args = "/bin/sh", append([]string{"sh", "-c", move + script, "sh"}, places...)
			r, err := sandbox.Start(t.Context(), s)
			if err != nil {
				t.Skip(err)
			}
			res, err := r.Wait()
			if err != nil {
				t.Error(err)
			}
			for _, l := range res.Leftovers {
				if p, err := os.FindProcess(l.PID); err == nil {
					_ = p.Kill()
				}
				wait.Until(t, "what was left over ends", func() bool { return !processExists(l.PID) })
			}
			switch {
			case name == "nobody":
				if len(res.Moved) > 0 || !res.Peak.Exact {
					t.Errorf("moved %q, exact %t", res.Moved, res.Peak.Exact)
				}
			case name == "the command":
				if !res.CommandMoved || res.Peak.Exact || len(res.Leftovers) > 0 {
					t.Errorf("%t %+v, exact %t", res.CommandMoved, res.Leftovers, res.Peak.Exact)
				}
			case len(res.Moved) != 1 || res.CommandMoved || res.Peak.Exact || len(res.Leftovers) != 1 || res.Leftovers[0].Fate != sandbox.FateMoved:
				t.Errorf("moved %q, left over %+v, exact %t", res.Moved, res.Leftovers, res.Peak.Exact)
			}
		})
	}
}

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// seen counts what was tried.
type seen map[string]int

func (s seen) Seen(layer Layer, what string) bool { return s[string(layer)+" "+what] > 0 }
func (s seen) Saw(layer Layer, what string)       { s[string(layer)+" "+what]++ }

// A limit is tried by a child before a run trusts it, once; what did not hold is not remembered, and a run is not started on it.
func TestALimitIsTriedOnce(t *testing.T) {
	known := seen{}
	triedHere.Lock()
	triedHere.held = nil
	triedHere.Unlock()
	spec := Spec{Trials: known}
	says := Strength{Memory: ByProcess, Pids: ByNobody}
	for range 3 {
		if _, err := spec.tryLimits(t.Context(), Rlimit, says); err != nil {
			t.Fatal(err)
		}
		triedHere.Lock()
		triedHere.held = nil // as another process
		triedHere.Unlock()
	}
	if len(known) != 1 || known["rlimit memory"] != 1 {
		t.Errorf("tried: %v", known)
	}
	// A layer that does not exist here stands for one whose trial fails.
	lying := seen{}
	broken := Spec{Trials: lying}
	if _, err := broken.tryLimits(t.Context(), Job, Strength{Memory: ByKernel}); err == nil || len(lying) != 0 {
		t.Errorf("a limit that does not hold is trusted: %v, %v", err, lying)
	}
	if pids, err := broken.tryLimits(t.Context(), Job, Strength{Memory: ByNobody, Pids: ByKernel}); err != nil || !pids || len(lying) != 0 {
		t.Errorf("a limit of processes that does not hold is trusted: %v, %v, %v", pids, err, lying)
	}
	for _, s := range []Spec{{isTrial: true}, {}} {
		if _, err := s.tryLimits(t.Context(), map[bool]Layer{true: Job, false: Monitor}[s.isTrial], Strength{Memory: ByKernel}); err != nil {
			t.Errorf("%+v is tried: %v", s, err)
		}
	}
}

// A file that takes a limit and does not hold it, as in a group that only looks like one, is an error that names it.
func TestALimitIsReadBack(t *testing.T) {
	dir := t.TempDir()
	page := int64(os.Getpagesize())
	if err := os.WriteFile(filepath.Join(dir, "memory.max"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeLimit(dir, "memory.max", 10*page); err != nil {
		t.Errorf("a file that keeps it: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "memory.max")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", filepath.Join(dir, "memory.max")); err != nil {
		t.Fatal(err)
	}
	if err := writeLimit(dir, "memory.max", 10*page); err == nil || !strings.Contains(err.Error(), "memory.max says") || !strings.Contains(err.Error(), strconv.FormatInt(10*page, 10)) {
		t.Errorf("a file that forgets it: %v", err)
	}
	if err := writeLimit(dir, "none", page); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

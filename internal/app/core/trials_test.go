package core_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// A trial that was seen is known to the next process. Where its file cannot be written each start tries again, which takes time, and so the
// user hears of it.
func TestATrialThatCannotBeWrittenDownIsNamed(t *testing.T) {
	state := t.TempDir()
	c := &core.Core{Dirs: config.NewDirs(func(name string) string {
		return map[string]string{"PLIMSOLL_STATE_DIR": state}[name]
	})}
	var said []string
	trials := c.Trials(func(text string) { said = append(said, text) })
	if trials == nil {
		t.Fatal("there is no place for trials")
	}
	trials.Saw(sandbox.Rlimit, "memory")
	if !trials.Seen(sandbox.Rlimit, "memory") || trials.Seen(sandbox.Rlimit, "pids") || len(said) != 0 {
		t.Errorf("seen: %v, %v; said %q", trials.Seen(sandbox.Rlimit, "memory"), trials.Seen(sandbox.Rlimit, "pids"), said)
	}
	dir, err := c.Dirs.Runtime()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "held-rlimit-memory")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	trials.Saw(sandbox.Rlimit, "memory")
	if trials.Seen(sandbox.Rlimit, "memory") || len(said) != 1 || !strings.Contains(said[0], file) || !strings.Contains(said[0], "layer rlimit") {
		t.Errorf("a directory in its place: %q", said)
	}
}

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Nobody takes what is not all of the output for all of it: every command that prints ends with an error when it cannot.
func TestAStandardOutputThatTakesNothingIsAnError(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, line := range []string{
		"help", "run --help", "config", "memory", "window", "agent", "version", "version --json", "man", "completion bash", "shellenv --shell bash",
		"doctor", "stats", "slots", "runs", "runs --json", "status", "models", "gc", "config show", "memory list", "agent list", "window show",
		"run --dry-run -- true", "run --dry-run --json -- true", "mcp -- toolserver",
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		cmd := exec.Command(s.program(), strings.Fields(line)...)
		cmd.Env, cmd.Dir, cmd.Stdout = s.env, s.dir, full
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
		var said strings.Builder
		cmd.Stderr = &said
		err = cmd.Run()
		_ = full.Close()
		if err == nil || strings.Count(said.String(), "no space left on device") != 1 {
			t.Errorf("%s: %v\n%s", line, err, said.String())
		}
	}
}

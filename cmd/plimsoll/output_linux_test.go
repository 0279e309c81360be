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
		"help", "run --help", "config", "memory", "agent", "version", "version --json", "man", "completion bash", "shellenv --shell bash",
		"doctor", "stats", "top --once", "runs", "runs --json", "status", "models", "gc", "config show", "memory list", "agent list", "runs --cuts",
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

// A standard stream that the caller has closed is /dev/null, in Plimsoll and in what it runs: Go's runtime opens it before any code of ours, so
// that no file that is opened later takes its number. It cannot be told from one that the caller put there.
func TestAClosedStandardOutputIsNull(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cmd := exec.Command("sh", "-c", `"$0" run --quiet -- readlink /proc/self/fd/2 2>&- && exec "$0" run --quiet -- sh -c 'said=$(readlink /proc/$$/fd/1); echo "$said" >&2' >&-`, s.program())
	cmd.Env, cmd.Dir = s.env, s.dir
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stdout.String() != "/dev/null\n" || stderr.String() != "/dev/null\n" {
		t.Errorf("%v: %q, %q", err, stdout.String(), stderr.String())
	}
}

//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/golden"
)

// TestExitStatusesStay: what each command line ends with, and the first two lines that it says on standard error. The statuses
// of `plimsoll run` that come from the command itself are in TestExitStatusIsTheCommands.
func TestExitStatusesStay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var all strings.Builder
	try := func(args ...string) {
		o := s.plimsoll(args...)
		fmt.Fprintf(&all, "%-3d plimsoll %s\n", o.code, strings.Join(args, " "))
		said := 0
		for line := range strings.Lines(strings.NewReplacer(s.state, "STATE", s.dir, "PROJECT").Replace(o.stderr)) {
			if said++; said <= 2 {
				all.WriteString("      " + line)
			}
		}
	}
	for _, line := range []string{
		"", "--help", "--version", "version", "version --json", "version extra", "upgrade", "upgrade --check --from nonsense", "nonsense", "--nonsense", "ru",
		"completion bash", "completion nonsense", "man",
		"config", "config nonsense", "config init", "config init", "config init --force", "config show", "config show --json", "config show --tool codex",
		"config explain memory_max", "config explain no_such_key", "config explain", "config explain one two",
		"config check", "config check no-such-file",
		"doctor", "doctor --json", "doctor extra",
		"stats", "stats --json", "stats --mcp", "stats --forget", "stats --forget nobody --yes", "stats --nonsense",
		"stats claude", "stats claude --format k8s", "stats claude --format nonsense", "stats --format nomad", "stats claude --format slurm --all",
		"top --once", "top --once --json", "top --once --tree", "top extra", "gc", "gc --dry-run", "gc --json", "gc --nonsense",
		"models", "models gpt-4o", "models --provider nobody", "models one two", "runs --cuts", "runs --cuts --json", "runs --cuts nothing", "runs --cuts --tool claude", "slots", "predict claude", "window show",
		"run", "run --nonsense -- true", "run --memory-max nonsense -- true", "run --enforcement nonsense -- true", "run --layer nonsense -- true",
		"run --json -- true", "run --dry-run --tool codex -- true", "run --proxy --no-proxy -- true", "run --pids-max 0 -- true",
		"run --quiet -- true", "run --quiet -- false", "run -- no-such-command", "run --enforcement required --layer monitor -- true",
		"mcp", "mcp -- no-such-server", "mcp --server nonsense", "mcp --events -- cat", "mcp --url nonsense", "mcp --output-schema nonsense -- cat",
		"mcp wrap", "mcp wrap no-such-file", "mcp argocd --json", "mcp argocd --list-tools", "mcp argocd --list-tools --json", "mcp argocd --faults silent",
		"agent", "agent list", "agent list --json", "agent init", "agent init no/name", "agent init reviewer --dry-run", "agent sessions", "agent sessions nobody",
		"agent serve nobody", "agent nonsense",
		"ask", "ask --model standin hello", "ask --model nonsense hello", "ask --agent nobody hello", "ask --max-steps 0 hello",
		"ask --continue hello", "ask --json --events hello", "ask --quiet --model standin --json hello", "ask --simulator hello",
		"serve --listen nonsense", "serve --mode nonsense", "serve extra", "serve --listen 0.0.0.0:0",
		"health --url nonsense", "health --url http://127.0.0.1:1", "copy-to", "copy-to no-such-directory",
		"demo extra",
	} {
		try(strings.Fields(line)...)
	}
	s.configure("[resources]\nmemory_max = \"nonsense\"\n")
	all.WriteString("\n# With a mistake in the configuration:\n")
	for _, line := range []string{"version", "config check", "config show", "doctor", "top --once", "gc", "runs --cuts", "stats", "stats claude", "run -- true", "ask hello", "mcp -- cat", "serve", "agent list"} {
		try(strings.Fields(line)...)
	}
	golden.Check(t, recorded("exit-statuses.txt"), all.String())
}

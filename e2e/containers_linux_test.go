package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The image as it is published, in a real Docker engine, with nothing but what Docker gives it.
func TestContainerImage(t *testing.T) {
	e := newEngine(t)
	hardened := []string{"run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--memory", "256m"}
	t.Run("runs with a root that is read-only", func(t *testing.T) {
		if out := e.docker(append(hardened, e.image, "version")...); !strings.HasPrefix(out, "plimsoll ") {
			t.Errorf("version: %q", out)
		}
		out, said, code := e.tries(append(hardened, e.image, "stats")...)
		if code != 0 || said != "" {
			t.Errorf("stats: %d\n%s%s", code, out, said)
		}
		if got := e.inspectImage(); got.User != "65532:65532" || got.Labels["org.opencontainers.image.licenses"] != "Apache-2.0" || got.Labels["org.opencontainers.image.version"] != "0.1.0" {
			t.Errorf("the image has %+v", got)
		}
	})
	t.Run("without a place to write it says so, and goes on", func(t *testing.T) {
		out, said, code := e.tries(append(hardened, "-v", t.TempDir()+":/var/lib/plimsoll:ro", e.image, "run", "--", "/plimsoll", "version")...)
		if code != 0 || !strings.HasPrefix(out, "plimsoll ") || !strings.Contains(said, "/var/lib/plimsoll") || !strings.Contains(said, "read-only file system") {
			t.Errorf("%d\n%s%s", code, out, said)
		}
	})

	t.Run("without certificates it says what to do", func(t *testing.T) {
		const says = "no roots of certificate authorities here"
		if out := e.docker(append(hardened, e.image, "doctor")...); strings.Contains(out, says) || !strings.Contains(out, "rlimit   yes, used") {
			t.Errorf("with them:\n%s", out)
		}
		if out := e.docker(append(hardened, "-e", "SSL_CERT_FILE=/none", "-e", "SSL_CERT_DIR=/none", e.image, "doctor")...); !strings.Contains(out, says) {
			t.Errorf("without them:\n%s", out)
		}
	})

	e.imports("python", "/usr/bin/python3", "/usr/lib/"+pythonFolder(t))
	e.imports("node", "/usr/bin/node")
	for base, greedy := range map[string]string{"python": `python3 -c 'b=bytearray(b"x")*(600<<20)'`, "node": "node -e 'Buffer.alloc(600<<20, 1)'"} {
		t.Run("in front of an agent on "+base, func(t *testing.T) {
			image, name := "agent-"+base, "greedy-"+base
			e.docker("build", "-q", "--network", "none", "--build-arg", "PLIMSOLL="+e.image, "--build-arg", "BASE="+base, "-t", image, "../examples/container/"+base)
			small := []string{"--network", "none", "--read-only", "--memory", "256m", "--memory-swap", "256m", "-e", "PLIMSOLL_RESOURCES_INITIAL_ESTIMATE=64M"}
			run := func(name string, args ...string) (string, string, int) {
				return e.tries(slices.Concat([]string{"run", "--name", name}, small, args)...)
			}
			// A child takes more than the container has: it dies, and the agent and the container live.
			out, said, code := run(name, image, greedy, "(sleep 0.2 &) ; (sleep 0.3 &) ; exit 0", "sleep 2; cat /proc/[0-9]*/stat", "echo fine")
			if code != 0 || !regexp.MustCompile(`"status": ?137}`).MatchString(out) || !regexp.MustCompile(`\{"done": ?4\}`).MatchString(out) || !strings.Contains(out, "fine\n") {
				t.Errorf("the agent did not outlive its child: %d\n%s\n%s", code, out, said)
			}
			// Whoever was first, the kernel or plimsoll: the kill is told.
			if !strings.Contains(said, "killed 1 process for memory: ") {
				t.Errorf("OOMKilled is %v, and the report says:\n%s", e.inspect(name).State.OOMKilled, said)
			}
			// As process 1 it reaps whoever lost its parent.
			if strings.Contains(out, "1 (plimsoll) S 0 ") == regexp.MustCompile(`(?m)^\d+ \(sleep\) Z`).MatchString(out) {
				t.Errorf("it is not process 1, or orphans are not reaped:\n%s", out)
			}
			// The engine's SIGTERM reaches the agent, whose end is the container's.
			e.docker(slices.Concat([]string{"run", "-d", "--name", "stopped-" + base}, small, []string{image, "sleep 600"})...)
			e.wait("the agent starts", func() bool { return strings.Contains(e.docker("logs", "stopped-"+base), "sleep 600") })
			e.docker("stop", "-t", "30", "stopped-"+base)
			if log := e.docker("logs", "stopped-"+base); !strings.Contains(log, "SIGTERM") || e.inspect("stopped-"+base).State.ExitCode != 0 {
				t.Errorf("docker stop: %+v\n%s", e.inspect("stopped-"+base).State, log)
			}
			// An agent that takes it all itself dies, and that is told too.
			words := []string{"-e", "PLIMSOLL_STATE_DIR=/var/lib/plimsoll", "--entrypoint", "plimsoll", image, "run", "--", "sh", "-c", "exec " + greedy}
			if out, said, code := run("dead-"+base, words...); code != 137 || !strings.Contains(said, "plimsoll: out of memory") {
				t.Errorf("an agent that takes all memory: %d\n%s%s", code, out, said)
			}
		})
	}
}

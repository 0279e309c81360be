package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The image by podman without root, on cgroup v2: what a laptop with Fedora or Debian has.
func TestPodmanWithoutRoot(t *testing.T) {
	s := newBootedSystem(t)
	s.does("tar -xf " + packageFile(t, "podman.tar") + " -C / --keep-directory-symlink && ldconfig")
	s.does("echo tester:100000:65536 | tee /etc/subuid >/etc/subgid && mkdir -p /etc/containers && " +
		`echo '{"default":[{"type":"insecureAcceptAnything"}]}' >/etc/containers/policy.json`)
	podman := func(args ...string) (string, error) {
		var words []string
		for _, arg := range append([]string{"podman", "--storage-driver", "vfs"}, args...) {
			words = append(words, "'"+arg+"'")
		}
		out, err := exec.Command("runuser", "-l", "tester", "-c",
			"cd /tmp && XDG_RUNTIME_DIR=/run/user/1000 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus "+strings.Join(words, " ")).CombinedOutput()
		return string(out), err
	}
	if out, err := podman("load", "-i", packageFile(t, "plimsoll-0.1.0-image.tar")); err != nil || !strings.Contains(out, "plimsoll:0.1.0") {
		t.Fatalf("podman load: %v\n%s", err, out)
	}
	const loaded = "docker.io/library/plimsoll:0.1.0"
	run := func(name string, more ...string) []string {
		return append([]string{
			"run", "--name", name, "--network", "none", "--read-only", "--memory", "256m", "--memory-swap", "256m", "-v", filepath.Dir(testtool) + ":/tests:ro",
			"-e", "PLIMSOLL_RESOURCES_MIN_FREE=16M", "-e", "PLIMSOLL_RESOURCES_INITIAL_ESTIMATE=32M",
		}, more...)
	}
	agent := []string{"--", "/tests/testtool", "outlive", "600"}
	for name, c := range map[string]struct {
		options []string
		flags   []string
		layer   string
	}{
		"plain": {nil, nil, "rlimit"},
		// The control group is the container's to divide, and its owner is the container's root, who is the user outside.
		"delegated": {[]string{"--security-opt", "unmask=/sys/fs/cgroup", "--user", "0"}, []string{"--enforcement", "required"}, "cgroup2"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := podman(run("doctor-"+name, append(c.options, loaded, "doctor")...)...)
			if err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), c.layer+" yes, used") {
				t.Errorf("doctor: %v\n%s", err, out)
			}
			words := append(append(append(c.options, loaded, "run"), c.flags...), agent...)
			out, err = podman(run("greedy-"+name, words...)...)
			if err != nil || !strings.Contains(out, "the child: signal: killed") || !strings.Contains(out, "killed 1 process for memory") {
				t.Errorf("a child that takes too much: %v\n%s", err, out)
			}
			state, err := podman("inspect", "-f", "{{.State.ExitCode}} {{.State.OOMKilled}}", "greedy-"+name)
			if err != nil || strings.TrimSpace(state) != "0 false" {
				t.Errorf("podman inspect: %v %s", err, state)
			}
		})
	}
}

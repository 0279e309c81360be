package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// An engine is a Docker engine of the test's own: its images, its socket, no network. It ends with the test.
type engine struct {
	t      *testing.T
	client string
	socket string
	image  string // of this plimsoll
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	archive := packageFile(t, "plimsoll-0.1.0-image.tar")
	if os.Getuid() != 0 {
		t.Skip("only root can start a Docker engine")
	}
	daemon := packageTool(t, "dockerd")
	e := &engine{t: t, client: "/usr/bin/docker"} // other clients may be in PATH
	if !fileExists(t, e.client) {
		t.Fatalf("%s is not there: apt-get install docker.io", e.client)
	}
	dir, err := os.MkdirTemp("", "plimsoll-dockerd-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	e.socket = "unix://" + filepath.Join(dir, "d.sock")
	ctx, stop := context.WithCancel(context.Background())
	said := new(bytes.Buffer)
	cmd := exec.CommandContext(ctx, daemon, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"-H", e.socket, "--pidfile", filepath.Join(dir, "pid"), "--iptables=false", "--bridge=none")
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends its containers and containerd
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		if ids, err := e.command("ps", "-aq").Output(); err == nil && len(ids) > 0 {
			_ = e.command(append([]string{"rm", "-f"}, strings.Fields(string(ids))...)...).Run()
		}
		stop()
		<-ended
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	wait.Within(t, patience, "dockerd answers", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("dockerd: %v\n%.3000s", err, said)
		default:
		}
		return e.command("version").Run() == nil
	}, func() string { return fmt.Sprintf("%.3000s", said) })
	loaded := e.docker("load", "-i", archive)
	_, e.image, _ = strings.Cut(strings.TrimSpace(loaded), "Loaded image: ")
	if e.image != "plimsoll:0.1.0-amd64" {
		t.Fatalf("docker load says %q", loaded)
	}
	return e
}

func (e *engine) command(args ...string) *exec.Cmd {
	cmd := exec.Command(e.client, args...)
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+e.socket, "DOCKER_BUILDKIT=0")
	return cmd
}

// docker is a call that must succeed, and what it prints on standard output.
func (e *engine) docker(args ...string) string {
	e.t.Helper()
	out, said, code := e.tries(args...)
	if code != 0 {
		e.t.Fatalf("docker %v: status %d\n%s%s", args, code, out, said)
	}
	return out
}

// tries is a call that may fail.
func (e *engine) tries(args ...string) (out, said string, code int) {
	e.t.Helper()
	cmd := e.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		e.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// A containerState is what the engine knows of a container.
type containerState struct {
	State struct {
		Running, OOMKilled bool
		ExitCode, Pid      int
		Health             *struct{ Status string }
	}
	RestartCount int
	HostConfig   struct{ Memory, MemoryReservation int64 }
	Config       struct {
		User   string
		Labels map[string]string
	}
}

func (e *engine) inspect(name string) containerState {
	e.t.Helper()
	var list []containerState
	if err := json.Unmarshal([]byte(e.docker("inspect", name)), &list); err != nil || len(list) != 1 {
		e.t.Fatalf("docker inspect %s: %v", name, err)
	}
	return list[0]
}

// imports makes an image of this machine's own programs and what they need, for no registry of images may be there: each a path with
// its libraries, or a folder.
func (e *engine) imports(name string, paths ...string) {
	e.t.Helper()
	top := e.t.TempDir()
	for dir, mode := range map[string]os.FileMode{"tmp": 0o777 | os.ModeSticky, "etc": 0o755, "proc": 0o755, "dev": 0o755, "prometheus": 0o777} {
		if err := errors.Join(os.Mkdir(filepath.Join(top, dir), 0o755), os.Chmod(filepath.Join(top, dir), mode)); err != nil {
			e.t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	// Folders that the archive does not name are closed to other users.
	for _, dir := range []string{"usr/local/bin", "usr/bin", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64", "bin", "var/lib"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			e.t.Fatal(err)
		}
	}
	args := []string{"-chf", filepath.Join(top, "image.tar"), "--exclude=*/test", "--exclude=*/__pycache__", "-C", top, "tmp", "etc", "proc", "dev", "prometheus", "usr", "lib", "lib64", "bin", "var", "-C", "/"}
	for _, path := range append(paths, "/bin/sh", "/bin/sleep", "/bin/cat") {
		if !fileExists(e.t, path) {
			e.t.Skipf("%s is not on this machine: no image of it can be made", path)
		}
		needs := []string{path}
		if !strings.HasPrefix(path, "/usr/") && !strings.HasPrefix(path, "/bin/") { // one that was unpacked somewhere: no container would find it there
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(filepath.Join(top, "usr/bin", filepath.Base(path)), text, 0o755)
			}
			if err != nil {
				e.t.Fatal(err)
			}
			needs = nil
		}
		libraries, _ := exec.Command("ldd", path).Output() // a folder has none
		for word := range strings.FieldsSeq(string(libraries)) {
			if strings.HasPrefix(word, "/") {
				needs = append(needs, word)
			}
		}
		for _, need := range needs {
			if !seen[need] {
				seen[need] = true
				args = append(args, strings.TrimPrefix(need, "/"))
			}
		}
	}
	if out, err := exec.Command("tar", args...).CombinedOutput(); err != nil {
		e.t.Fatalf("tar: %v\n%s", err, out)
	}
	e.docker("import", filepath.Join(top, "image.tar"), name)
}

// wait asks again until a container is as it should be.
func (e *engine) wait(what string, done func() bool) {
	e.t.Helper()
	wait.Within(e.t, patience, what, done, e.logs)
}

// logs are those of all containers.
func (e *engine) logs() string {
	var all strings.Builder
	names, _ := e.command("ps", "-a", "--format", "{{.Names}}").Output()
	for name := range strings.FieldsSeq(string(names)) {
		out, _ := e.command("logs", "--tail", "40", name).CombinedOutput()
		fmt.Fprintf(&all, "%s:\n%s\n", name, out)
	}
	return all.String()
}

// An imageConfig is what an image says of itself.
type imageConfig struct {
	User   string
	Labels map[string]string
}

func (e *engine) inspectImage() imageConfig {
	e.t.Helper()
	var list []struct{ Config imageConfig }
	if err := json.Unmarshal([]byte(e.docker("image", "inspect", e.image)), &list); err != nil || len(list) != 1 {
		e.t.Fatalf("docker image inspect: %v", err)
	}
	return list[0].Config
}

// pythonFolder is the library of Debian's own Python.
func pythonFolder(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/python3.*/os.py")
	if err != nil || len(found) == 0 {
		t.Skip("Python is not on this machine")
	}
	return filepath.Base(filepath.Dir(found[len(found)-1]))
}

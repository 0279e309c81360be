//go:build linux || darwin

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// The official conformance suite, against the official server and client, both with and
// without the gateway between. Transparent means: every scenario ends the same.

// pinned is the path of a program from e2e/mcp/node_modules.
func pinned(t *testing.T, name string) string {
	t.Helper()
	long(t, "it starts "+name)
	path, err := filepath.Abs(filepath.Join("mcp", "node_modules", ".bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is not installed (npm ci --prefix e2e/mcp): %v", name, err)
	default:
		t.Skipf("%s is not installed: run .ci/run e2e, or npm ci --prefix e2e/mcp", name)
	}
	return ""
}

// official builds a conformance program of the official Go library, at the version that
// go.mod pins.
func official(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", path, "github.com/modelcontextprotocol/go-sdk/conformance/"+name)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	return path
}

// freePort is a port that nobody listens on, for a program that takes no listener.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// background starts a program of the world and ends it with the test.
func (w *world) background(argv ...string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.work, w.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	log := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-ended
			w.t.Errorf("%q did not end after SIGTERM", short(argv))
		}
		if w.t.Failed() {
			w.t.Logf("%q said: %s", short(argv), clip(log.String()))
		}
	})
	return cmd
}

// gateway starts plimsoll mcp with an HTTP endpoint and returns the endpoint's URL.
func (w *world) gateway(flags ...string) string {
	w.t.Helper()
	ready := filepath.Join(w.t.TempDir(), "ready")
	argv := []string{plimsoll, "mcp", "--listen", "127.0.0.1:0", "--ready-file", ready}
	cmd := w.background(append(argv, flags...)...)
	url := ""
	w.until("the gateway is ready", func() bool {
		data, err := os.ReadFile(ready)
		url = strings.TrimSpace(string(data))
		return err == nil && url != "" || cmd.ProcessState != nil
	})
	return url
}

// until waits for something that must happen.
func (w *world) until(what string, happened func() bool) {
	w.t.Helper()
	wait.Within(w.t, patience, what, happened)
}

// everythingServer starts the official server over HTTP and returns its URL.
func (w *world) everythingServer(path string, flags ...string) string {
	w.t.Helper()
	addr := freePort(w.t)
	w.background(slices.Concat([]string{path, "-http", addr}, flags)...)
	w.until("the server listens", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return "http://" + addr + "/"
}

// A verdict is what a scenario came to: its checks by what they came to. How often a check
// was made is left out: it is made for every request of its kind, and one more of them,
// such as the gateway's question for a server's protocol version, breaks nothing.
type verdict struct{ passed, failed []string }

var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// scenarios runs the suite and returns what each scenario came to.
func (w *world) scenarios(env []string, args ...string) map[string]verdict {
	w.t.Helper()
	suite := pinned(w.t, "conformance")
	dir := w.t.TempDir()
	got := w.run(func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(suite)+":"+os.Getenv("PATH")) // its own Node.js
		cmd.Env = append(cmd.Env, env...)
	}, slices.Concat([]string{suite}, args, []string{"--output-dir", dir})...)
	results := map[string]verdict{}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "checks.json" {
			return err
		}
		var checks []struct{ ID, Status string }
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &checks)
		}
		name, _ := filepath.Rel(dir, filepath.Dir(path))
		name = stamp.ReplaceAllString(strings.TrimPrefix(name, "server-"), "")
		v := verdict{}
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				v.passed = append(v.passed, c.ID)
			case "FAILURE":
				v.failed = append(v.failed, c.ID)
			}
		}
		slices.Sort(v.passed)
		slices.Sort(v.failed)
		results[name] = verdict{slices.Compact(v.passed), slices.Compact(v.failed)}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(results) < 10 {
		w.t.Fatalf("only %d scenarios were told of:\n%s\n%s", len(results), clip(got.stdout), clip(got.stderr))
	}
	return results
}

// passed counts the checks that passed.
func passed(results map[string]verdict) int {
	sum := 0
	for _, v := range results {
		sum += len(v.passed)
	}
	return sum
}

// alike demands that every check came to the same. except are checks that cannot.
func alike(t *testing.T, want, got map[string]verdict, except ...string) {
	t.Helper()
	without := func(checks []string) []string {
		return slices.DeleteFunc(append([]string{}, checks...), func(id string) bool { return slices.Contains(except, id) })
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if diff := cmp.Diff(without(want[name].failed), without(got[name].failed)); diff != "" {
			t.Errorf("%s: checks that fail (-without the gateway +through it):\n%s", name, diff)
		}
		if diff := cmp.Diff(without(want[name].passed), without(got[name].passed)); diff != "" {
			t.Errorf("%s: checks that pass (-without the gateway +through it):\n%s", name, diff)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s ran through the gateway only", name)
		}
	}
}

func TestMCPConformanceOfServers(t *testing.T) {
	pinned(t, "conformance")
	path := official(t, "everything-server")
	for _, c := range []struct {
		requirements string
		flags        []string // of the server: sessions are of the older revision
		least        int      // checks that pass without the gateway
	}{
		{"2025-11-25", []string{"-stateless=false"}, 55},
		{"2026-07-28", nil, 100},
	} {
		t.Run(c.requirements, func(t *testing.T) {
			w := newWorld(t)
			server := w.everythingServer(path, c.flags...)
			want := w.scenarios(nil, "server", "--url", server, "--requirements", c.requirements)
			if n := passed(want); n < c.least {
				t.Fatalf("only %d checks pass without the gateway: %v", n, want)
			}
			got := w.scenarios(nil, "server", "--url", w.gateway("--url", server), "--requirements", c.requirements)
			alike(t, want, got)
			t.Logf("%d scenarios, %d checks passed with and %d without the gateway", len(want), passed(got), passed(want))
		})
	}
}

// The same server over its standard streams: the gateway makes the sessions.
func TestMCPConformanceOfServersOnStreams(t *testing.T) {
	pinned(t, "conformance")
	path := official(t, "everything-server")
	for _, requirements := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(requirements, func(t *testing.T) {
			w := newWorld(t)
			got := w.scenarios(nil, "server", "--url", w.gateway("--", path), "--requirements", requirements)
			for _, name := range slices.Sorted(maps.Keys(got)) {
				if len(got[name].failed) > 0 && !notScored(name) {
					t.Errorf("%s fails %v", name, got[name].failed)
				}
			}
			t.Logf("%d scenarios, %d checks passed", len(got), passed(got))
		})
	}
}

// notScored are scenarios that the suite runs and that no revision requires.
func notScored(name string) bool {
	return strings.HasPrefix(name, "tasks-") || name == "server-session-lifecycle" || strings.HasPrefix(name, "json-schema-2020-12") || name == "server-sse-polling" ||
		strings.HasPrefix(name, "http-")
}

// A client asks for access to the URL that it knows, which is the gateway's, and the suite
// compares that with the server's own: the check resource-parameter-matches-prm cannot
// pass behind any gateway with an address of its own.
func TestMCPConformanceOfClients(t *testing.T) {
	pinned(t, "conformance")
	path := official(t, "everything-client")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, requirements := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(requirements, func(t *testing.T) {
			w := newWorld(t)
			want := w.scenarios(nil, "client", "--command", path, "--requirements", requirements)
			if n := passed(want); n < 150 {
				t.Fatalf("only %d checks pass without the gateway: %v", n, want)
			}
			got := w.scenarios([]string{clientVariable + "=" + path, "PLIMSOLL_E2E_BIN=" + bin}, "client", "--command", self, "--requirements", requirements)
			alike(t, want, got, "resource-parameter-matches-prm")
			t.Logf("%d scenarios, %d checks passed with and %d without the gateway", len(want), passed(got), passed(want))
		})
	}
}

// clientVariable makes this test program the client that the suite starts: it starts the
// gateway in front of the suite's server, and the official client in front of that.
const clientVariable = "PLIMSOLL_E2E_CLIENT"

func clientThroughGateway(client string, args []string) int {
	dir, err := os.MkdirTemp("", "plimsoll-client-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ready := filepath.Join(dir, "ready")
	gateway := exec.Command(filepath.Join(os.Getenv("PLIMSOLL_E2E_BIN"), "plimsoll"), "mcp", "--url", args[len(args)-1], "--listen", "127.0.0.1:0", "--ready-file", ready)
	gateway.Stderr = os.Stderr
	if err := gateway.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		_ = gateway.Process.Signal(syscall.SIGTERM)
		_ = gateway.Wait()
	}()
	var url []byte
	wait.Reached(patience, func() bool { url, _ = os.ReadFile(ready); return len(url) > 0 })
	args[len(args)-1] = strings.TrimSpace(string(url))
	cmd := exec.CommandContext(context.Background(), client, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode()
		}
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

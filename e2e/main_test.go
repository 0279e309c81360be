//go:build linux || darwin

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for something that must happen. It is long because
// some of these machines are emulated; nothing is concluded from how long it took.
const patience = 4 * time.Minute

var (
	bin      string // holds plimsoll and testtool
	plimsoll string
	testtool string
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

// atOnce is how many parallel tests run at once: most of each is waiting for processes and timers.
const atOnce = 3

func testMain(m *testing.M) int {
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil { // -parallel is read later
		panic(err)
	}
	if client := os.Getenv(clientVariable); client != "" {
		return clientThroughGateway(client, os.Args[1:])
	}
	// Under nohup these would be ignored by all that the tests start, and some tests are of them.
	// A signal that is caught here has its default there.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	// Agents that are Node programs need a newer one than some systems have; this is the one that is pinned beside the MCP servers.
	if node, err := filepath.Abs(filepath.Join("mcp", "node_modules", "node", "bin")); err == nil {
		if _, err := os.Stat(filepath.Join(node, "node")); err == nil {
			_ = os.Setenv("PATH", node+":"+os.Getenv("PATH"))
		}
	}
	bin = os.Getenv("PLIMSOLL_E2E_BIN")
	if bin == "" {
		dir, err := os.MkdirTemp("", "plimsoll-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bin = dir
		build := exec.Command("go", "build", "-o", bin+"/", "../cmd/plimsoll", "./testtool", "../internal/testing/toolserver/standalone", "../internal/argocd/simulator/argocdsim")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v: %v\n%s", build.Args, err, out)
			return 1
		}
	}
	plimsoll, testtool = filepath.Join(bin, "plimsoll"), filepath.Join(bin, "testtool")
	return m.Run()
}

// A world is a state directory, a home and a working directory of one test.
type world struct {
	t      *testing.T
	home   string
	work   string
	state  string
	cookie string
	// variables are in the environment of everything the test starts.
	variables []string
}

var worlds atomic.Int64

// cookieName marks everything a test starts.
const cookieName = "PLIMSOLL_E2E_COOKIE"

// simulated lets the built-in agent work on a simulated Argo CD.
const simulated = "PLIMSOLL_MCP_ARGOCD_SIMULATOR=on"

// newWorld makes an empty one. When the test ends nothing may be left that started in
// it; what is left is ended.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		t: t, home: filepath.Join(dir, "home"), work: filepath.Join(dir, "home", "work"), state: filepath.Join(dir, "state"),
		cookie: fmt.Sprintf("%d-%d-%d", os.Getpid(), worlds.Add(1), time.Now().UnixNano()),
	}
	w.renew()
	t.Cleanup(func() {
		for _, p := range w.processes() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	})
	return w
}

// renew empties the home, at the same path: what a tool prints may name it.
func (w *world) renew() {
	w.t.Helper()
	if err := os.RemoveAll(w.home); err != nil {
		w.t.Fatal(err)
	}
	if err := os.MkdirAll(w.work, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// environment is ours without what would change the outcome, and more.
func (w *world) environment(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "PLIMSOLL_") || strings.HasPrefix(kv, "ARGOCD_") || strings.HasPrefix(kv, "OPENAI_") || strings.HasPrefix(kv, "ANTHROPIC_API_KEY=") || strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "TERM=") || strings.HasPrefix(kv, "PWD=")
	})
	env = append(env, "HOME="+w.home, "PWD="+w.work, "TERM=xterm-256color", cookieName+"="+w.cookie,
		"PLIMSOLL_STATE_DIR="+w.state, "PLIMSOLL_CONFIG="+filepath.Join(w.state, "config.toml"))
	return append(append(env, w.variables...), more...)
}

type process struct {
	pid  int
	args string
}

// processes lists what runs with the world's cookie. Only /proc tells; elsewhere the
// list is empty.
func (w *world) processes() []process {
	var found []process
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		env, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(env, []byte(cookieName+"="+w.cookie)) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		found = append(found, process{pid, string(bytes.ReplaceAll(args, []byte{0}, []byte{' '}))})
	}
	return found
}

// nothingLeft fails the test when something of the world still runs.
func (w *world) nothingLeft() {
	w.t.Helper()
	for _, p := range w.processes() {
		w.t.Errorf("still running: %d %s", p.pid, p.args)
	}
}

// A mode is a way to start a command: bare, or in one layer.
type mode struct {
	name  string
	layer string // "" when bare
}

// bare is the command without Plimsoll: what all other modes are measured against.
var bare = mode{name: "bare"}

// argv is the command line that starts command in this mode. Flags are for plimsoll.
func (m mode) argv(flags []string, command ...string) []string {
	if m.layer == "" {
		return command
	}
	return slices.Concat([]string{plimsoll, "run", "--layer", m.layer, "--quiet"}, flags, []string{"--"}, command)
}

var doctor = sync.OnceValues(func() ([]mode, error) {
	dir, err := os.MkdirTemp("", "plimsoll-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, plimsoll, "doctor", "--json")
	cmd.Env = append(os.Environ(), "PLIMSOLL_STATE_DIR="+dir)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	var said struct {
		Layers []struct {
			Name, Why string
			Available bool
		}
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return nil, fmt.Errorf("%v: %w in %s", cmd.Args, err, out)
	}
	// Where each start is slow, only the layers that are tested nowhere else.
	only := strings.Fields(os.Getenv("PLIMSOLL_E2E_LAYERS"))
	var modes []mode
	for _, l := range said.Layers {
		if l.Available && (len(only) == 0 || slices.Contains(only, l.Name)) {
			modes = append(modes, mode{l.Name, l.Name})
		}
	}
	if len(modes) == 0 {
		return nil, fmt.Errorf("%v finds no layer to test (of %q, if that names any): %s", cmd.Args, only, out)
	}
	return modes, nil
})

// layers are the modes that this machine offers besides bare.
func layers(t *testing.T) []mode {
	t.Helper()
	modes, err := doctor()
	if err != nil {
		t.Fatal(err)
	}
	return modes
}

// everyMode runs the test bare and in each layer.
func everyMode(t *testing.T, test func(t *testing.T, m mode)) {
	t.Helper()
	for _, m := range append([]mode{bare}, layers(t)...) {
		t.Run(m.name, func(t *testing.T) { test(t, m) })
	}
}

// everyLayer runs the test in each layer, not bare.
func everyLayer(t *testing.T, test func(t *testing.T, m mode)) {
	t.Helper()
	for _, m := range layers(t) {
		t.Run(m.name, func(t *testing.T) { test(t, m) })
	}
}

// A result is what a command without a terminal left behind.
type result struct {
	status         int // as a shell sees it: 128+N for signal N
	stdout, stderr string
}

// status is the exit status as a shell would tell it.
func status(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

// run starts argv without a terminal and waits for it. prepare may change the command.
func (w *world) run(prepare func(*exec.Cmd), argv ...string) result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.work, w.environment()
	// A session without a terminal, also when the test itself was started in one.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	if prepare != nil {
		prepare(cmd)
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		w.t.Fatalf("%q did not end within %v\nstdout: %s\nstderr: %s", short(argv), patience, clip(stdout.String()), clip(stderr.String()))
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		w.t.Fatalf("%q: %v\nstderr: %s", short(argv), err, clip(stderr.String()))
	}
	return result{status(cmd.ProcessState), stdout.String(), stderr.String()}
}

// short and clip keep a failure readable.
func short(argv []string) []string { return argv[:min(len(argv), 12)] }

func clip(s string) string {
	if len(s) > 2000 {
		return s[:1000] + " [...] " + s[len(s)-1000:]
	}
	return s
}

// long skips a test that takes a quarter of a minute or more, where nobody asked for it: README's `go test ./...` has ten minutes for all.
func long(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "" && !isNamed() {
		t.Skip(why + ": CI=true runs it, and so does -run with its name")
	}
}

// isNamed reports whether -run says which tests are to run.
func isNamed() bool {
	f := flag.Lookup("test.run")
	return f != nil && f.Value.String() != ""
}

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

const units = "../deploy/systemd"

// unitsName is the variable that lets a test install units into the machine that it runs on.
const unitsName = "PLIMSOLL_E2E_UNITS"

// unitFiles are those of the folder and of its folder for users, as paths below it.
func unitFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.service", "*.socket", "*.timer", "user/*.service", "user/*.socket", "user/*.timer"} {
		found, err := filepath.Glob(filepath.Join(units, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s in %s: %v", pattern, units, err)
		}
		files = append(files, found...)
	}
	return files
}

// installUnit copies a unit to where the program at path is run in place of the packaged one.
func installUnit(t *testing.T, from, to, path string) {
	t.Helper()
	text := testfile.Read(t, from)
	changed := strings.ReplaceAll(string(text), "=/usr/bin/plimsoll ", "="+path+" ")
	if strings.HasSuffix(from, ".service") && changed == string(text) {
		t.Fatalf("%s does not start /usr/bin/plimsoll", from)
	}
	if err := os.WriteFile(filepath.Join(to, filepath.Base(from)), []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
}

// systemd finds no mistake in the units, and no more exposure than the guide says.
func TestUnitsAreSoundAndClosed(t *testing.T) {
	if os.Getenv(unitsName) == "" {
		inTheRepository(t)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed: it comes with systemd")
	}
	system, user := t.TempDir(), t.TempDir()
	for _, f := range unitFiles(t) {
		to := system
		if filepath.Base(filepath.Dir(f)) == "user" {
			to = user
		}
		installUnit(t, f, to, plimsoll)
	}
	for dir, flag := range map[string]string{system: "--system", user: "--user"} {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		verify := exec.Command(analyze, append([]string{flag, "--man=no", "--recursive-errors=no", "verify"}, files...)...)
		verify.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		out, err := verify.CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze %s verify: %v\n%s", flag, err, out)
		}
	}
	for _, name := range []string{"plimsoll-serve.service", "plimsoll-gc.service"} {
		out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=15", filepath.Join(system, name)).CombinedOutput()
		if err != nil {
			t.Errorf("%s is more open than 1.5: %v\n%s", name, err, out)
		}
	}
}

// nodeServer is an MCP server without packages: one tool, which tells what it was started with.
const nodeServer = `
const lines = require('readline').createInterface({ input: process.stdin })
lines.on('line', line => {
  const m = JSON.parse(line)
  const answer = result => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: m.id, result }) + '\n')
  if (m.method === 'initialize')
    answer({ protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'node', version: '1' } })
  else if (m.method === 'tools/list')
    answer({ tools: [{ name: 'self', inputSchema: { type: 'object' } }] })
  else if (m.method === 'tools/call') {
    let x = 0 // enough for V8 to compile it
    for (let i = 0; i < 1e6; i++) x = (x * 31 + i) | 0
    answer({ content: [{ type: 'text', text: JSON.stringify({ pid: process.pid, env: Object.keys(process.env), x }) }] })
  } else if (m.id !== undefined) answer({})
})
`

const serviceUnit = "plimsoll-serve.service"

// The unit as it is shipped, under a real systemd: it is root's machine that this test installs into.
func TestSystemdUnit(t *testing.T) {
	if os.Getenv(unitsName) == "" {
		t.Skip("it installs units and a program into the system: .ci/steps/vm runs it in a throw-away machine (" + unitsName + "=1)")
	}
	if os.Getuid() != 0 {
		t.Fatal("only root can install a unit")
	}
	const installed, token = "/usr/local/bin/plimsoll", "0123456789abcdef0123456789abcdef"
	copyFile(t, plimsoll, installed, 0o755)
	const system = "/etc/systemd/system"
	for _, f := range unitFiles(t) {
		if filepath.Base(filepath.Dir(f)) != "user" {
			installUnit(t, f, system, installed)
		}
	}
	slow := make(chan struct{}, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.Contains(string(body), "house-model") && len(body) > 20_000:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","code":"context_length_exceeded"}}`)
			return
		case strings.Contains(string(body), "take your time"):
			slow <- struct{}{}
			wait.Reached(wait.Bound, func() bool { return property(t, "ActiveState") == "deactivating" }) // it answers when the service has been stopped
		}
		_, _ = io.WriteString(w, `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"done"}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	defer upstream.Close()
	settings := fmt.Sprintf("[upstream]\nopenai = %q\n", upstream.URL)
	node := filepath.Join(filepath.Dir(plimsoll), "node")
	hasNode := fileExists(t, node)
	if hasNode {
		copyFile(t, node, "/usr/local/bin/node", 0o755)
		writeAs(t, "/usr/local/lib/plimsoll-test/server.js", nodeServer, 0o644)
		settings += "[mcp.servers.node]\ncommand = [\"/usr/local/bin/node\", \"/usr/local/lib/plimsoll-test/server.js\"]\nmemory_max = \"200M\"\n"
	} else {
		t.Errorf("%s is not there: that Node works in the unit is not tested", node)
	}
	writeAs(t, "/etc/plimsoll/config.toml", settings, 0o644)
	writeAs(t, "/etc/plimsoll/credentials/token", token+"\n", 0o600)
	// A stopped process is to be noticed soon; the machine is emulated and not fast.
	writeAs(t, filepath.Join(system, serviceUnit+".d/test.conf"), "[Service]\nWatchdogSec=10\nTimeoutAbortSec=2\n", 0o644)
	manage(t, "daemon-reload")
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := exec.Command("journalctl", "--no-pager", "-n", "60", "-u", serviceUnit, "-u", "plimsoll-gc.service").CombinedOutput()
			t.Logf("the journal:\n%s", out)
		}
		_ = exec.Command("systemctl", "stop", "plimsoll-serve.socket", serviceUnit).Run()
	})

	// The socket is there, and the first request starts the service.
	manage(t, "start", "plimsoll-serve.socket")
	if got := property(t, "ActiveState"); got != "inactive" {
		t.Fatalf("before the first request the service is %s", got)
	}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	healthy := func() {
		t.Helper()
		r, err := client.Get("http://127.0.0.1:4620/healthz")
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Fatalf("/healthz: %s", r.Status)
		}
	}
	healthy()
	wait.Within(t, 30*time.Second, "ready", func() bool { return property(t, "ActiveState") == "active" })
	if got := property(t, "StatusText"); got != "serving on http://127.0.0.1:4620" {
		t.Errorf("the status is %q", got)
	}
	if text, err := os.ReadFile("/run/plimsoll-serve/url"); err != nil || strings.TrimSpace(string(text)) != "http://127.0.0.1:4620" {
		t.Errorf("the ready file: %q, %v", text, err)
	}
	base := "http://127.0.0.1:4620/" + token
	ask := func(model, text string) (int, string, error) {
		body, err := json.Marshal(map[string]any{"model": model, "messages": []map[string]string{{"role": "user", "content": text}}})
		if err != nil {
			return 0, "", err
		}
		r, err := client.Post(base+"/openai/v1/chat/completions", "application/json", strings.NewReader(string(body)))
		if err != nil {
			return 0, "", err
		}
		defer r.Body.Close()
		answer, err := io.ReadAll(r.Body)
		return r.StatusCode, string(answer), err
	}
	// The credential is the token: without it nothing is to be had.
	if r, err := client.Get("http://127.0.0.1:4620/metrics"); err != nil || r.StatusCode != http.StatusUnauthorized && r.StatusCode != http.StatusForbidden {
		t.Errorf("without the token: %v, %v", r, err)
	} else {
		_ = r.Body.Close()
	}
	if code, answer, err := ask("house-model", strings.Repeat("one two three ", 4000)); err != nil {
		t.Error(err)
	} else {
		t.Logf("too long: %d %.300s", code, answer)
	}
	if got := learned(t, installed); got != "8192 learned" {
		t.Errorf("after the refusal the limit is %q", got)
	}
	if hasNode {
		// The unit as it is shipped has no control groups to give; resource limits hold.
		group, limits := nodeInTheUnit(t, base)
		if group != "/system.slice/"+serviceUnit || !regexp.MustCompile(`(?m)^Max data size +\d`).MatchString(limits) {
			t.Errorf("the server is in %s with\n%s", group, limits)
		}
	}

	// SIGTERM: what is under way is answered, what comes then waits for the next start.
	answered := make(chan error, 1)
	go func() {
		code, answer, err := ask("other", "take your time")
		if err == nil && (code != http.StatusOK || !strings.Contains(answer, "done")) {
			err = fmt.Errorf("%d %s", code, answer)
		}
		answered <- err
	}()
	select {
	case <-slow:
	case err := <-answered:
		t.Fatalf("the slow request ended at once: %v", err)
	}
	stopped := make(chan []byte, 1)
	go func() {
		out, _ := exec.Command("systemctl", "stop", serviceUnit).CombinedOutput()
		stopped <- out
	}()
	if err := <-answered; err != nil {
		t.Errorf("the request under way at SIGTERM: %v", err)
	}
	t.Logf("systemctl stop: %s", <-stopped)
	if got := property(t, "Result"); got != "success" {
		t.Errorf("after SIGTERM the result is %s", got)
	}
	healthy()
	if got := learned(t, installed); got != "8192 learned" {
		t.Errorf("after a restart the limit is %q", got)
	}

	// A process that does not run any more is noticed and replaced.
	wait.Within(t, 30*time.Second, "ready", func() bool { return property(t, "ActiveState") == "active" })
	pid := property(t, "MainPID")
	n, err := strconv.Atoi(pid)
	if err != nil || n < 2 {
		t.Fatalf("the main process is %q", pid)
	}
	time.Sleep(12 * time.Second) // longer than the watchdog waits: it gets its signs of life
	if got := property(t, "MainPID"); got != pid {
		t.Fatalf("a service that answers was restarted: %s in place of %s", got, pid)
	}
	if err := syscall.Kill(n, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wait.Within(t, 60*time.Second, "restart by the watchdog", func() bool {
		now := property(t, "MainPID")
		return now != pid && now != "0" && property(t, "ActiveState") == "active"
	})
	if got := property(t, "NRestarts"); got != "1" {
		t.Errorf("restarted %s times", got)
	}
	healthy()
	manage(t, "start", "plimsoll-gc.service")

	// With the drop-in the kernel holds each server.
	copyFile(t, filepath.Join(units, "kernel-limits.conf"), filepath.Join(system, serviceUnit+".d/kernel-limits.conf"), 0o644)
	manage(t, "daemon-reload")
	manage(t, "restart", serviceUnit)
	if hasNode {
		group, _ := nodeInTheUnit(t, base)
		held := ""
		for dir := group; strings.HasPrefix(dir, "/system.slice/"+serviceUnit+"/") && (held == "" || held == "max"); dir = filepath.Dir(dir) {
			text, _ := os.ReadFile("/sys/fs/cgroup" + dir + "/memory.max")
			held = strings.TrimSpace(string(text))
		}
		if held != "209715200" {
			t.Errorf("the server is in %s, held at %q bytes", group, held)
		}
	}
}

// nodeInTheUnit calls an MCP server that runs on Node inside the hardened unit, looks at what it
// got, and says in which control group it is and what its resource limits are.
func nodeInTheUnit(t *testing.T, base string) (group, limits string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(ctx, &mcp.StreamableClientTransport{Endpoint: base + "/mcp/node"}, nil)
	if err != nil {
		t.Errorf("MCP: %v", err)
		return "", ""
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "self"})
	if err != nil || result.IsError || len(result.Content) == 0 {
		t.Errorf("the tool of the Node server: %+v, %v", result, err)
		return "", ""
	}
	var self struct {
		PID int
		Env []string
	}
	if err := json.Unmarshal([]byte(result.Content[0].(*mcp.TextContent).Text), &self); err != nil {
		t.Errorf("%v in %v", err, result.Content[0])
		return "", ""
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "CREDENTIALS_DIRECTORY", "PLIMSOLL_TOKEN"} {
		if slices.Contains(self.Env, name) {
			t.Errorf("the server inherited %s", name)
		}
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", self.PID))
	if err != nil {
		t.Error(err)
		return "", ""
	}
	bounds, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", self.PID))
	if err != nil {
		t.Error(err)
	}
	_, path, _ := strings.Cut(strings.TrimSpace(string(text)), "::")
	return path, string(bounds)
}

// learned is the limit of house-model and where it is from, as a program of the service's user sees it.
func learned(t *testing.T, program string) string {
	t.Helper()
	cmd := exec.Command("systemd-run", "--quiet", "--wait", "--pipe", "-p", "DynamicUser=yes", "-p", "User=plimsoll",
		"-p", "StateDirectory=plimsoll", "-p", "StateDirectoryMode=0700", "-p", "CacheDirectory=plimsoll", "-p", "CacheDirectoryMode=0700",
		"-E", "PLIMSOLL_CONFIG=/etc/plimsoll/config.toml", "-E", "PLIMSOLL_STATE_DIR=/var/lib/plimsoll", "-E", "PLIMSOLL_CACHE_DIR=/var/cache/plimsoll",
		program, "models", "house-model", "--json")
	out, err := cmd.Output()
	var list struct {
		Models []struct {
			Context int
			Source  string
		}
	}
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil {
		return fmt.Sprintf("%v %s", err, out)
	}
	for _, m := range list.Models {
		if m.Source == "learned" {
			return strconv.Itoa(m.Context) + " learned"
		}
	}
	return fmt.Sprintf("none of %+v", list.Models)
}

func manage(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("systemctl", args...).CombinedOutput(); err != nil {
		t.Fatalf("systemctl %v: %v\n%s", args, err, out)
	}
}

func property(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("systemctl", "show", "--value", "-p", name, serviceUnit).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func fileExists(t *testing.T, name string) bool {
	t.Helper()
	_, err := os.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func copyFile(t *testing.T, from, to string, mode fs.FileMode) {
	t.Helper()
	text := testfile.Read(t, from)
	writeAs(t, to, string(text), mode)
}

func writeAs(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

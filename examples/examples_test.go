package examples_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// The example program builds, runs a command, and knows more the second time.
func TestGuardRunsACommand(t *testing.T) {
	program := filepath.Join(t.TempDir(), "guard")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, "./guard").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	state := t.TempDir()
	run := func(args ...string) (string, int) {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "PLIMSOLL_STATE_DIR="+state, "PLIMSOLL_RUN_ID=")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out) + stderr.String(), cmd.ProcessState.ExitCode()
	}
	for _, want := range []string{"go will need about 500 MiB (default)", "(history:project)"} {
		text, status := run("go", "version")
		if status != 0 || !strings.Contains(text, want) || !strings.Contains(text, runtime.Version()) || !strings.Contains(text, "guard: exit 0, peak ") {
			t.Errorf("status %d, want 0 and %q in\n%s", status, want, text)
		}
	}
	if text, status := run("go", "no-such-command"); status != 2 {
		t.Errorf("status %d, want the command's own 2:\n%s", status, text)
	}
	if text, status := run("no-such-command"); status != 127 {
		t.Errorf("status %d, want 127:\n%s", status, text)
	}
	left, err := filepath.Glob(filepath.Join(state, "run", "ledger", "*", "claims", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("claims are left: %q, %v", left, err)
	}
}

// The example program counts a request of a real agent, and mends one that would be refused.
func TestWindowCountsARequest(t *testing.T) {
	for _, c := range []struct{ dialect, model, body, want string }{
		{"messages", "claude-sonnet-4-5", recorded(t, "claude-first.json"), "tools\ntokens   "},
		{"chat", "gpt-4o", `{"model":"gpt-4o","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"and?"}]}`, "repair   message "},
	} {
		cmd := exec.Command("go", "run", "./window", c.dialect, c.model)
		cmd.Stdin = strings.NewReader(c.body)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) || !strings.Contains(string(out), "\nwindow   ") {
			t.Errorf("%s: %v, want %q in\n%s", c.dialect, err, c.want, out)
		}
	}
	cmd := exec.Command("go", "run", "./window", "chat", "gpt-4o")
	cmd.Stdin = strings.NewReader(`{"messages":`)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "read the request") {
		t.Errorf("half a request: %v\n%s", err, out)
	}
}

// The example program shows a whole page of a long list, and finds what is at its end.
func TestSpoolShowsAPage(t *testing.T) {
	program := filepath.Join(t.TempDir(), "spool")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, "./spool").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var list strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&list, `{"id":%d,"state":"ok"},`, i)
	}
	kept := t.TempDir()
	for _, c := range []struct {
		in      string
		args    []string
		want    []string
		refused bool
	}{
		{`{"total":1001,"items":[` + list.String() + `{"id":1000,"state":"failed"}]}`, []string{"fail(ed|ure)"}, []string{
			`{"total":1001,"items":[{"id":0,"state":"ok"},{"id":1,"state":"ok"},{"id":2,"state":"ok"},{"id":3,"state":"ok"},{"id":4,"state":"ok"}]}` + "\n",
			"page 1 of 201: items 1-5 of 1001, ", `1001: {"id":1000,"state":"failed"}`, "1 of 1001 match\n",
		}, false},
		{strings.Repeat("a line\n", 300), nil, []string{"page 1 of 3: lines 1-100 of 300, 2100 bytes in all\n"}, false},
		{"", nil, []string{"of 0, 0 bytes in all\n"}, false},
		{"a\n", []string{"("}, []string{"not a regular expression"}, true},
		{"a\n", []string{"a", "b"}, []string{"one pattern or none"}, true},
	} {
		cmd := exec.Command(program, c.args...)
		cmd.Stdin = strings.NewReader(c.in)
		cmd.Env = append(os.Environ(), "TMPDIR="+kept, "TMP="+kept)
		out, err := cmd.CombinedOutput()
		if (err != nil) != c.refused {
			t.Errorf("%q: %v\n%s", c.args, err, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%q: want %q in\n%s", c.args, want, out)
			}
		}
	}
	if left, err := os.ReadDir(kept); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

// recorded is a request of a real agent.
func recorded(t *testing.T, name string) string {
	t.Helper()
	body := testfile.Read(t, filepath.Join("..", "window", "wire", "testdata", "recorded", name))
	return string(body)
}

func TestConfigs(t *testing.T) {
	files, err := filepath.Glob("configs/*.toml")
	if err != nil || len(files) < 3 {
		t.Fatalf("the configurations are %q, %v", files, err)
	}
	for _, file := range files {
		if err := config.Check(file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		text := testfile.Read(t, file)
		if !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s does not say what it is for in its first line", file)
		}
	}
}

// Three hosts on this machine see each other's runs: one that lost a process, one that was submitted, one inside another, and one that waits.
func TestFleetShowsThreeHosts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its runs are of sh")
	}
	natsserver.Program(t)
	var stderr strings.Builder
	cmd := exec.Command("go", "run", "./fleet", "-once")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for _, want := range []string{"fleet 2 hosts more", "beta:shop", "gamma:shop", "└tests", " wait  deploy", "submitted", "killed", "HOST"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s%s", want, out, stderr.String())
		}
	}
}

package examples_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// The example program, built once, in an environment without any key.
func TestAgent(t *testing.T) {
	program := build(t, "./agent")
	environ := slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "OPENAI_") || strings.HasPrefix(e, "ANTHROPIC_") || strings.HasPrefix(e, "ARGOCD_")
	})
	for name, test := range map[string]func(*testing.T, string, []string){
		"answers without a key":  answersWithoutAKey,
		"reads only its folder":  readsOnlyItsFolder,
		"uses an MCP server too": usesAnMCPServer,
		"serves over A2A":        servesOverA2A,
	} {
		t.Run(name, func(t *testing.T) { test(t, program, slices.Clone(environ)) })
	}
}

func build(t *testing.T, pkg string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(pkg))
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, pkg).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// The example program answers without a key, keeps its conversation, and says what is wrong.
func answersWithoutAKey(t *testing.T, program string, environ []string) {
	folder, keep := t.TempDir(), t.TempDir()
	for i := range 120 {
		testfile.Write(t, filepath.Join(folder, fmt.Sprintf("rope-%03d.txt", i)), "a rope\n")
	}
	testfile.Write(t, filepath.Join(folder, "anchor.txt"), "an anchor\n")
	for _, c := range []struct {
		args   []string
		want   []string
		status int
	}{
		{[]string{"list all files"}, []string{"PAGE 1 of 7", "121", "→ list_files {}", "completed: 2 steps, 1 calls"}, 0},
		{[]string{"-keep", keep, "-session", "monday", "search for anchor"}, []string{"| anchor.txt | 10 |", "→ search_files", "no model"}, 0},
		{[]string{"-keep", keep, "-session", "monday", "search for rope-01"}, []string{"| rope-019.txt |"}, 0},
		{nil, []string{"not a question"}, 1},
		{[]string{"-mcp", "no-such-server", "search for anchor"}, []string{"no-such-server"}, 1},
		{[]string{"-mcp", os.Args[0] + " -test.run=^$", "search for anchor"}, []string{"without the tools of more", "| anchor.txt | 10 |"}, 0},
	} {
		cmd := exec.CommandContext(t.Context(), program, append([]string{"-folder", folder}, c.args...)...)
		cmd.Env = environ
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != c.status {
			t.Errorf("%q: %v, want status %d\n%s", c.args, cmd.ProcessState, c.status, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%q: want %q in\n%s", c.args, want, out)
			}
		}
	}
	var kept strings.Builder
	files, _ := os.ReadDir(keep)
	for _, f := range files {
		text, _ := os.ReadFile(filepath.Join(keep, f.Name()))
		kept.Write(text)
	}
	if !strings.Contains(kept.String(), "search for anchor") || !strings.Contains(kept.String(), "search for rope-01") {
		t.Errorf("the conversation was not kept: %q", kept.String())
	}
}

// With a key it asks a real service; what its functions give stays in their folder.
func readsOnlyItsFolder(t *testing.T, program string, environ []string) {
	top := t.TempDir()
	folder := filepath.Join(top, "files")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{filepath.Join(folder, "a.txt"): "nineteen ropes", filepath.Join(top, "secret.txt"): "the combination"} {
		testfile.Write(t, name, text)
	}
	var asked atomic.Int32
	var results atomic.Value
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer sk-example" {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		message := `{"role":"assistant","content":"There are nineteen."},"finish_reason":"stop"`
		if asked.Add(1) == 1 {
			call := func(id, name string) string {
				return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"read_file","arguments":"{\"name\":\"%s\"}"}}`, id, name)
			}
			message = `{"role":"assistant","content":null,"tool_calls":[` + call("c1", "a.txt") + "," + call("c2", "../secret.txt") + `]},"finish_reason":"tool_calls"`
		} else {
			results.Store(string(body))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","object":"chat.completion","model":"gpt-5.2","choices":[{"index":0,"message":%s}]}`, message)
	}))
	defer service.Close()
	cmd := exec.CommandContext(t.Context(), program, "-folder", folder, "how many ropes?")
	cmd.Env = append(environ, "OPENAI_API_KEY=sk-example", "OPENAI_BASE_URL="+service.URL+"/v1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "There are nineteen.") {
		t.Errorf("%v\n%s", err, out)
	}
	sent, _ := results.Load().(string)
	if !strings.Contains(sent, "nineteen ropes") || !strings.Contains(sent, "escapes") || strings.Contains(sent, "the combination") {
		t.Errorf("the model was told %s", sent)
	}
}

// With an MCP server its tools are there too, beside the functions.
func usesAnMCPServer(t *testing.T, program string, environ []string) {
	plimsoll := build(t, "../cmd/plimsoll")
	if strings.ContainsAny(plimsoll, " ") {
		t.Skip("the example takes its command apart at blanks, and the temporary folder has one")
	}
	cmd := exec.CommandContext(t.Context(), program, "-folder", t.TempDir(), "-mcp", plimsoll+" mcp argocd --simulator", "how many applications are there?")
	cmd.Env = environ
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "819 applications.") || !strings.Contains(string(out), "→ list_applications") {
		t.Errorf("%v\n%s", err, out)
	}
}

// It serves the same over A2A, and ends in order.
func servesOverA2A(t *testing.T, program string, environ []string) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no interrupt for one process")
	}
	folder := t.TempDir()
	testfile.Write(t, filepath.Join(folder, "anchor.txt"), "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-folder", folder, "-serve", "127.0.0.1:0")
	cmd.Env = environ
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	card := ""
	for lines := bufio.NewScanner(said); card == "" && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "http://") {
			card = lines.Text()
		}
	}
	get := func(r *http.Request) string {
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v\n%s", r.URL, answer.Status, err, text)
		}
		return string(text)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, card, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := get(r); !json.Valid([]byte(text)) || !strings.Contains(text, "about the files of a folder") {
		t.Errorf("the card is %s", text)
	}
	body := `{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"list all files"}]}}`
	r, err = http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(card, ".well-known/agent-card.json")+"message:send", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	if text := get(r); !strings.Contains(text, "anchor.txt") || !strings.Contains(text, "TASK_STATE_COMPLETED") {
		t.Errorf("the task is %s", text)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it did not end in order: %v", err)
	}
}

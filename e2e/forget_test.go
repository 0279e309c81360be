//go:build linux || darwin

package e2e

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// A sentence that is nowhere else, and a part of it that no file may have afterwards.
const (
	secretSentence = `The vault of Halcyon opens with the words amber lantern seven.`
	secretPart     = "amber lantern seven"
)

// holding lists the files of the state directory that have a text, byte for byte, as base64 has it (the calls of kept results), or compressed.
func (w *world) holding(text string) (names []string) {
	w.t.Helper()
	forms := []string{text}
	for shift := range 3 { // wherever it begins in a group of three bytes
		code := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", shift) + text))
		forms = append(forms, code[4:len(code)-4])
	}
	err := filepath.WalkDir(w.state, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		body = append(body, unpacked(body)...)
		for _, form := range forms {
			if strings.Contains(string(body), form) {
				name, _ := filepath.Rel(w.state, path)
				names = append(names, name)
				break
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return names
}

// unpacked returns the text that is compressed in a file: kept cuts and checkpoints have, behind a mark and a checksum, one in the form of
// RFC 1951.
func unpacked(file []byte) (text []byte) {
	for _, sealed := range bytes.Split(file, []byte("plimsoll-ck1\n"))[1:] {
		if len(sealed) < sha256.Size {
			continue
		}
		if part, err := io.ReadAll(flate.NewReader(bytes.NewReader(sealed[sha256.Size:]))); err == nil {
			text = append(text, part...)
		}
	}
	return text
}

// TestForgetLeavesNoByte: a sentence comes into every store by real runs: notes, files of agents, a session, what a compaction cut, a kept result of a tool and
// its call, arguments of commands, the log of a server; a run with it lives on. It is forgotten, and no file has it: at once, and when what lived has ended.
func TestForgetLeavesNoByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.variables = append(w.variables, "PLIMSOLL_CACHE_DIR="+filepath.Join(w.state, "cache"), "OPENAI_API_KEY=k")
	plim := func(args ...string) result {
		t.Helper()
		got := w.run(nil, append([]string{plimsoll}, args...)...)
		if got.status != 0 {
			t.Fatalf("%q: status %d\n%s\n%s", args, got.status, clip(got.stdout), clip(got.stderr))
		}
		return got
	}
	_, url := provide(t, scripted.Options{Lenient: true, Side: func(int, *scripted.Request) scripted.Reply { return scripted.Reply{Text: "So be it."} }})
	write(t, fmt.Sprintf("[upstream]\nopenai = %q\n[window]\nmax_tokens = 4096\n[mcp.servers.noisy]\ncommand = [\"sh\", \"-c\", \"echo '%s' >&2; exec %s\"]\n",
		url+"/v1", secretSentence, misbehaving(t)), w.state, "config.toml")

	// Notes: a person's, and a file of an agent.
	plim("memory", "add", secretSentence)
	agentNote := fmt.Sprintf(`{"command":"create","path":"/memories/vault.md","file_text":%q}`, "- "+secretSentence+"\n")
	notes := w.dial(plimsoll, "mcp", "memory").begin()
	if r := notes.call("memory", agentNote); r.Error != nil {
		t.Fatalf("%+v", r)
	}
	notes.end()
	// A kept result, and its call.
	tools := w.dial(plimsoll, "mcp", "--", misbehaving(t)).begin()
	if r := tools.call("big", fmt.Sprintf(`{"bytes":200000,"kind":"lines","needle":%q}`, secretSentence)); r.Error != nil {
		t.Fatalf("%+v", r)
	}
	tools.end()
	// A session of an agent, whose questions are kept whole.
	plim("ask", "--model", "standin", "--session", "monday", secretSentence)
	// What a compaction cut, through the daemon; and the log of a server of its.
	ready := filepath.Join(w.state, "ready")
	daemon := w.background(plimsoll, "serve", "--listen", "127.0.0.1:0", "--ready-file", ready)
	base := ""
	w.until("the daemon is ready", func() bool {
		text, err := os.ReadFile(ready)
		base = strings.TrimSpace(string(text))
		return err == nil && base != ""
	})
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var talk []message
	for turn := range 14 {
		text := fmt.Sprintf("Question %d. %s", turn, strings.Repeat(fmt.Sprintf("Words of turn %d that fill the window. ", turn), 40))
		if turn == 2 {
			text = secretSentence
		}
		talk = append(talk, message{"user", text})
		body, err := json.Marshal(map[string]any{"model": "gpt-5.2", "messages": talk})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/openai/v1/chat/completions", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer k")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("turn %d: %s", turn, answer.Status)
		}
		talk = append(talk, message{"assistant", fmt.Sprintf("Answer %d.", turn)})
	}
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/mcp/noisy", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	// Arguments of commands: one as a whole, one in words, one of a run that lives on.
	plim("run", "--quiet", "--", "true", secretSentence)
	plim(append([]string{"run", "--quiet", "--", "true"}, strings.Fields(secretSentence)...)...)
	stop := filepath.Join(w.work, "stop")
	living := w.background(plimsoll, "run", "--quiet", "--", "sh", "-c", "while [ ! -e "+stop+" ]; do sleep 0.1; done", "sh", secretSentence)

	stores := map[string]string{
		"memory/": "the memory", "notes/": "notes", "agents/": "a session", "window/": "kept cuts", "cache/results/": "results", "runs/": "runs", "servers/": "the log of a server",
	}
	var missing []string
	var have []string
	wait.Until(t, "it is in all stores", func() bool {
		have = w.holding(secretPart)
		missing = nil
		for prefix, what := range stores {
			if !slices.ContainsFunc(have, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
				missing = append(missing, what)
			}
		}
		return len(missing) == 0
	}, func() string { return fmt.Sprintf("it is not in %v, only in %v", missing, have) })

	would := plim("memory", "forget", "--query", secretPart, "--dry-run")
	for _, want := range []string{"kept compactions", "notes of agents", "sessions of agents", "results of tools", "runs", "logs of MCP servers", "would be removed for good"} {
		if !strings.Contains(would.stdout, want) {
			t.Errorf("--dry-run does not tell of %s:\n%s", want, would.stdout)
		}
	}
	before := len(w.holding(secretPart))
	if before < len(stores) {
		t.Errorf("--dry-run has changed something")
	}
	did := plim("memory", "forget", "--query", secretPart, "--yes")
	// The configuration is the user's own file, and is left out here only because the server's command stands in it.
	left := func() (names []string) {
		for _, name := range w.holding(secretPart) {
			if name != "config.toml" {
				names = append(names, name)
			}
		}
		return names
	}
	if names := left(); len(names) > 0 {
		t.Errorf("after the forget, %v have it\n%s", names, did.stdout)
	}
	write(t, "", stop)
	if err := living.Wait(); err != nil {
		t.Errorf("the run that lived: %v", err)
	}
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = daemon.Wait()
	if names := left(); len(names) > 0 {
		t.Errorf("when what lived has ended, %v have it", names)
	}
	// What is left is whole: the runs are listed, the session goes on.
	if got := plim("runs", "--json"); strings.Contains(got.stdout, secretPart) || !strings.Contains(got.stdout, `"outcome": "ok"`) {
		t.Errorf("%s", clip(got.stdout))
	}
	plim("ask", "--model", "standin", "--session", "monday", "what is the time?")
	if got := plim("memory", "gc", "--json"); !strings.Contains(got.stdout, `"records"`) {
		t.Errorf("%s", got.stdout)
	}
}

package main

import (
	"bytes"
	"context"
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
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/night"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// endless is how long a command may take before it is held to be waiting for ever.
const endless = 30 * time.Second

// usedSite is a site whose state and cache hold a file of every kind that Plimsoll keeps: it
// was used for a run, a daemon with a conversation that did not fit, questions and a large result.
// others are the files of conversations that were had over A2A.
func usedSite(t *testing.T) (s *site, others map[string]bool) {
	t.Helper()
	s = newSite(t)
	provider := httptest.NewServer(scripted.New(scripted.Options{Window: 3000, Lenient: true}))
	t.Cleanup(provider.Close)
	s.env = append(s.env, "PLIMSOLL_CACHE_DIR="+filepath.Join(s.state, "cache"))
	s.configure(`[serve]
listen = "127.0.0.1:0"
[upstream]
anthropic = "` + provider.URL + `"
[window]
max_tokens = 9000
[mcp.servers.notes]
command = ["toolserver"]
[agents.helper]
model = "standin"
servers = ["notes"]
`)
	for _, args := range [][]string{
		{"run", "--quiet", "--", "true"},
		{"ask", "--quiet", "--agent", "helper", "--model", "standin", "--session", "one", "hello"},
	} {
		if o := s.plimsoll(args...); o.code != 0 && args[0] != "ask" {
			t.Fatalf("%v: %+v", args, o)
		}
	}
	conversations := func() (names []string) {
		names, _ = filepath.Glob(filepath.Join(s.state, "agents", "helper", "conversations", "*"))
		return names
	}
	own := conversations()
	root, end := listening(t, s, "serve")
	for path, body := range requests {
		if r, answer := post(t, root+path, nil, "", body); r.StatusCode != 200 {
			t.Fatalf("%s: %d %.300s", path, r.StatusCode, answer)
		}
	}
	client := httpClient(t, root+"/mcp/notes", nil)
	client.call("big", `{"bytes":300000,"kind":"json"}`)
	client.end()
	end()
	others = map[string]bool{}
	for _, name := range conversations() {
		if !slices.Contains(own, name) {
			name, _ = filepath.Rel(s.state, name)
			others[name] = true
		}
	}
	return s, others
}

// overlong is a conversation with tool results that do not fit into the window of usedSite.
var overlong = func() string {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"look"}`)
	for i := range 12 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"read","input":{}}]}`, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]}`, i, strings.Repeat(fmt.Sprintf("word%d other ", i), 400))
	}
	b.WriteString(`],"tools":[{"name":"read","input_schema":{"type":"object"}}]}`)
	return b.String()
}()

// patiently runs a command and fails the test when it seems to wait for ever.
func (s *site) patiently(stdin string, args ...string) outcome {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.(interface{ Context() context.Context }).Context(), endless)
	defer cancel()
	plain := s.command(args...)
	cmd := exec.CommandContext(ctx, plain.Path, plain.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = plain.Dir, plain.Env, time.Second
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		s.t.Errorf("%v hangs; until then it said %s", args, stderr.String())
	} else if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		s.t.Errorf("%v: %v", args, err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), cmd.ProcessState.String()}
}

// daemon starts plimsoll serve, sends it a request of each kind when it is ready, and ends it.
func (s *site) daemon(task string) outcome {
	s.t.Helper()
	ready := filepath.Join(s.t.(interface{ TempDir() string }).TempDir(), "ready")
	cmd := s.command("serve", "--ready-file", ready)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	hangs := time.After(endless)
	for url := ""; url == ""; {
		text, _ := os.ReadFile(ready)
		url = strings.TrimSpace(string(text))
		select {
		case <-ended:
			return outcome{stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
		case <-hangs:
			_ = cmd.Process.Kill()
			<-ended
			s.t.Errorf("serve is never ready: %s", stderr.String())
			return outcome{stderr: stderr.String(), code: -1}
		case <-time.After(10 * time.Millisecond):
		}
		if url != "" {
			for path, body := range requests {
				client := http.Client{Timeout: endless}
				r, err := client.Post(url+path, "application/json", strings.NewReader(strings.Replace(body, `"look"`, `"`+task+`"`, 1)))
				if err != nil {
					s.t.Errorf("%s: %v; the daemon says %s", path, err, stderr.String())
					continue
				}
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					s.t.Errorf("%s: %v", path, err)
				}
				r.Body.Close()
			}
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-hangs:
		_ = cmd.Process.Kill()
		<-ended
		s.t.Errorf("serve does not end: %s", stderr.String())
	}
	return outcome{stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
}

// requests are what a daemon of usedSite is asked, by path.
var requests = map[string]string{
	"/anthropic/v1/messages": overlong,
	"/a2a/helper":            `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"1","role":"user","parts":[{"kind":"text","text":"hello"}]}}}`,
}

// anew behind serve asks it about a conversation that it has not seen: there is something to keep.
const anew = "anew"

// patience runs one of the commands that read the state, or the daemon.
func (s *site) patience(args []string) outcome {
	s.t.Helper()
	if args[0] == "serve" {
		if len(args) > 1 {
			return s.daemon(fmt.Sprint("look again, ", time.Now().UnixNano()))
		}
		return s.daemon("look")
	}
	return s.patiently(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+greeting+`}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"big","arguments":{"bytes":300000,"kind":"json"}}}
`, args...)
}

// passedOver are files of which nobody needs to hear what is in their place: a key that is made
// anew, a kept result that can be had again, a segment of the memory beside which a new one is written, a run of which the list still tells, and what only
// matters to a conversation that comes back.
var passedOver = regexp.MustCompile(`^runs/[-0-9]+/.*$|^cache/results(\.key|/[0-9a-f]{32}.*)$|^memory/[0-9a-f]{32}/.*$|^window/(limits.*|rate/.*|conversations/[0-9a-f]{32}.*)$`)

// madeAnew are files that replace a pipe or a link in their place, so that nobody needs to hear of it; a directory is named.
var madeAnew = regexp.MustCompile(`^run/held-[a-z0-9]+-[a-z]+$`)

// TestNothingInPlaceOfAFileHoldsACommandUp puts a pipe in the place of everything that Plimsoll
// keeps, file by file, and what else may stand there in the place of every file, by day one of both. No command waits
// for it, and one of them says in one line what is in the way.
func TestNothingInPlaceOfAFileHoldsACommandUp(t *testing.T) {
	t.Parallel()
	s, others := usedSite(t)
	kept := t.TempDir()
	if err := os.CopyFS(filepath.Join(kept, "all"), os.DirFS(s.state)); err != nil {
		t.Fatal(err)
	}
	ask := []string{"ask", "--quiet", "--agent", "helper", "--model", "standin", "--session", "one", "hello"}
	readers := map[string][][]string{
		"agents":      {ask, {"serve"}, {"gc", "--conversations", "--dry-run"}},
		"cache":       {ask, {"mcp", "--", "toolserver"}, {"gc", "--results", "--dry-run"}},
		"mcp-sizes":   {{"mcp", "--", "toolserver"}, {"stats", "--mcp"}},
		"history":     {{"run", "--quiet", "--", "true"}, {"stats"}, {"stats", "true", "--format", "k8s"}, {"stats", "--forget", "true", "--dry-run"}},
		"runs":        {{"run", "--", "true"}, {"runs"}, {"gc"}},
		"run":         {{"run", "--quiet", "--", "true"}, {"top", "--once"}, {"gc"}, {"doctor"}, {"watch", "--url"}},
		"window":      {{"serve"}, {"runs", "--cuts"}, {"gc", "--conversations", "--dry-run"}},
		"memory":      {{"serve", anew}},
		"config.toml": {{"run", "--quiet", "--", "true"}, {"serve"}, {"config", "check"}, {"top", "--once"}},
	}
	pipe := func(name string) error { return syscall.Mkfifo(name, 0o600) }
	other := []func(name string) error{ // one of them for each file, in turn
		func(name string) error { return os.Mkdir(name, 0o700) },
		func(name string) error { return os.Symlink("/dev/zero", name) },
		func(name string) error { return os.Symlink("/nowhere/at/all", name) },
	}
	seen, n := map[string]int{}, 0
	err := filepath.WalkDir(filepath.Join(kept, "all"), func(original string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(filepath.Join(kept, "all"), original)
		if err != nil || name == "." {
			return err
		}
		top, _, _ := strings.Cut(name, string(filepath.Separator))
		seen[top]++
		if readers[top] == nil {
			t.Errorf("nobody is said to read %s", name)
		}
		n++
		both := []func(string) error{pipe, other[n%len(other)]}
		for _, put := range night.Else(both, both[n/len(other)%2:][:1]) { // every second group of three has a pipe, the others what else there is
			if e.IsDir() {
				put = pipe
			}
			path := filepath.Join(s.state, name)
			if err := errors.Join(os.RemoveAll(path), put(path)); err != nil {
				return err
			}
			info, err := os.Lstat(path)
			if err != nil {
				return err
			}
			kind, said := info.Mode().String(), ""
			for _, args := range readers[top] {
				o := s.patience(args)
				said += o.stderr
				if strings.Contains(o.stderr, "panic") || strings.Contains(o.stderr, "goroutine ") || len(o.stderr) > 4096 {
					t.Errorf("%s for %s: %v says %.2000s", kind, name, args, o.stderr)
				}
				if o.code != 0 && !strings.Contains(o.stderr, "plimsoll: ") {
					t.Errorf("%s for %s: %v fails without a word: %+v", kind, name, args, o)
				}
			}
			stem, _, _ := strings.Cut(filepath.Base(name), ".")
			if stem == "" { // the lock of mcp-sizes
				stem = filepath.Base(name)
			}
			named := strings.Contains(said, filepath.Dir(path)) && strings.Contains(said, stem)
			if passedOver.MatchString(name) || others[name] {
				named = true
			}
			if now, err := os.Lstat(path); madeAnew.MatchString(name) && err == nil && now.Mode().IsRegular() {
				named = true
			}
			if !named {
				t.Errorf("%s for %s: nobody says what is in the way:\n%s", kind, name, said)
			}
			entries, err := os.ReadDir(s.state)
			for _, e := range entries {
				err = errors.Join(err, os.RemoveAll(filepath.Join(s.state, e.Name())))
			}
			if err := errors.Join(err, os.CopyFS(s.state, os.DirFS(filepath.Join(kept, "all")))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for top := range readers {
		if seen[top] == 0 {
			t.Errorf("the site was not used so that there is anything in %s", top)
		}
	}
	t.Logf("entries by folder: %v", seen)
}

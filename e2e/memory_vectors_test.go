//go:build linux || darwin

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/embedserver"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// Search by meaning, through the program: the command line and the daemon find what was said in other words, a run sends nothing even where it
// adds to prompts, and without the service all is found by words. The vectors come from a stand-in that hashes words.
func TestMemoryByMeaning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	service := embedserver.New(t)
	if err := os.MkdirAll(w.state, 0o700); err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf("[memory]\nembed_url = %q\nembed_model = %q\n", service.URL, embedserver.Model)
	testfile.Write(t, filepath.Join(w.state, "config.toml"), settings)
	memory := func(args ...string) result {
		t.Helper()
		got := w.run(nil, append([]string{plimsoll, "memory"}, args...)...)
		if got.status != 0 {
			t.Fatalf("plimsoll memory %q: %d %s%s", args, got.status, got.stdout, got.stderr)
		}
		return got
	}
	memory("add", "My automobile is in the garage.")
	if n := len(service.Texts()); n != 0 {
		t.Errorf("%d texts were sent by adding", n)
	}
	if got := memory("search", "which car"); !strings.Contains(got.stdout, "automobile") || got.stderr != "" {
		t.Errorf("found %s%s", got.stdout, got.stderr)
	}
	if got := memory("stats"); !strings.Contains(got.stdout, "vectors  1, ") || !strings.Contains(got.stdout, embedserver.Model) {
		t.Errorf("stats: %s", got.stdout)
	}

	sent := len(service.Texts())
	if got := w.run(nil, "env", "PLIMSOLL_MEMORY_ON=true", plimsoll, "run", "--quiet", "--", "sleep", "1"); got.status != 0 {
		t.Errorf("plimsoll run: %d %s", got.status, got.stderr)
	}
	if n := len(service.Texts()); n != sent {
		t.Errorf("a run sent %q", service.Texts()[sent:])
	}

	memory("add", "The physician comes at noon.")
	_, provider := provide(t, scripted.Options{})
	url := serve(t, w, provider) + "/mcp/memory"
	session := ""
	ask := func(body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode >= 300 {
			t.Fatalf("%d %s, %v", res.StatusCode, text, err)
		}
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		return string(text)
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	found := ""
	wait.Until(t, "the daemon finds it by meaning", func() bool {
		found = ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_memory","arguments":{"query":"doctor"}}}`) // the first one has its vector made
		return strings.Contains(found, "physician")
	}, func() string { return found })

	service.Fail(http.StatusServiceUnavailable)
	if got := ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search_memory","arguments":{"query":"noon"}}}`); !strings.Contains(got, "physician") || !strings.Contains(got, "by words only") {
		t.Errorf("without the service the daemon found %s", got)
	}
	if got := memory("search", "noon"); !strings.Contains(got.stdout, "physician") || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, "found by words only") {
		t.Errorf("without the service: %s%s", got.stdout, got.stderr)
	}
}

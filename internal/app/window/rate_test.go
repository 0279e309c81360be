package window

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/journal"
)

// Two runs share the queue of the state directory, and the key of one tool switches it off.
func TestRateQueueOfTheHost(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		want  int
		asked int32
	}{
		"on":              {"", http.StatusOK, 2},
		"off for a tool":  {"[tools.claude.window]\nrate_queue = false\n", http.StatusTooManyRequests, 1},
		"off for another": {"[tools.codex.window]\nrate_queue = false\n", http.StatusOK, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/messages" { // it is asked for its models' windows
					http.NotFound(w, r)
					return
				}
				if asked.Add(1) == 1 {
					w.Header().Set("Retry-After-Ms", "20")
					w.WriteHeader(http.StatusTooManyRequests)
				}
				fmt.Fprint(w, "{}")
			}))
			defer provider.Close()
			dir := t.TempDir()
			file := filepath.Join(dir, "user.toml")
			testfile.Write(t, file, c.text)
			app, err := core.New(core.Options{Environ: []string{"HOME=" + dir, "PLIMSOLL_CONFIG=" + file, "PLIMSOLL_STATE_DIR=" + filepath.Join(dir, "state")}, Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			s, err := app.Config.For("claude")
			if err != nil {
				t.Fatal(err)
			}
			plane, err := Open(app, s, Options{
				Journal: journal.New(journal.Options{}), Run: "r1", Warn: func(text string) { t.Error(text) },
				Upstreams: []proxy.Upstream{{Name: "anthropic", URL: provider.URL}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer plane.Close()
			server, err := plane.Proxy.Listen(proxy.ListenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Shutdown(t.Context()) }()
			res, err := http.Post(server.URL()+"/anthropic/v1/messages", "application/json", strings.NewReader(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode != c.want || asked.Load() != c.asked {
				t.Errorf("status %d after %d requests", res.StatusCode, asked.Load())
			}
			tables, _ := filepath.Glob(filepath.Join(dir, "state", "window", "rate", "*"))
			if shared := len(tables) == 3; shared != (c.want == http.StatusOK) { // a table, the key of the digests, the marks of processes
				t.Errorf("the state directory has %q", tables)
			}
		})
	}
}

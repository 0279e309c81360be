//go:build linux || darwin

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// An exchange is one request and its answer, as bytes.
type exchange struct {
	line    string // method and URL below the provider's address
	headers string // sorted, without what belongs to one connection
	body    []byte
	status  int
	answer  []byte
}

// A recorder keeps what passes before and behind a handler.
type recorder struct {
	mu    sync.Mutex
	below string // prefix of paths that is left out
	list  []*exchange
}

func (rec *recorder) around(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		x := &exchange{line: r.Method + " " + strings.TrimPrefix(r.URL.RequestURI(), rec.below), headers: ownHeaders(r.Header), body: body}
		tee := &teeWriter{ResponseWriter: w, status: http.StatusOK}
		// Also when the client goes away behind the last event: then a proxy panics.
		defer func() {
			x.status, x.answer = tee.status, tee.bytes.Bytes()
			rec.mu.Lock()
			defer rec.mu.Unlock()
			rec.list = append(rec.list, x)
		}()
		h.ServeHTTP(tee, r)
	})
}

// ownHeaders are those of the request itself.
func ownHeaders(h http.Header) string {
	var lines []string
	for name, values := range h {
		if name != "Connection" {
			lines = append(lines, fmt.Sprintf("%s: %q", name, values))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

type teeWriter struct {
	http.ResponseWriter
	status int
	bytes  bytes.Buffer
}

func (w *teeWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *teeWriter) Write(p []byte) (int, error) {
	w.bytes.Write(p)
	return w.ResponseWriter.Write(p)
}

func (w *teeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// serve starts plimsoll serve in front of a provider and returns its address.
func serve(t *testing.T, w *world, provider string) string {
	t.Helper()
	ready := filepath.Join(w.state, "ready")
	cmd := exec.Command(plimsoll, "serve", "--listen", "127.0.0.1:0", "--ready-file", ready)
	var said bytes.Buffer
	cmd.Stderr, cmd.Stdout = &said, &said
	cmd.Env = w.environment("PLIMSOLL_UPSTREAM_OPENAI="+provider+"/v1", "PLIMSOLL_UPSTREAM_ANTHROPIC="+provider, "PLIMSOLL_UPSTREAM_GEMINI="+provider)
	if err := os.MkdirAll(w.state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("plimsoll serve: %v\n%s", err, said.String())
			}
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Errorf("plimsoll serve did not end")
		}
	})
	url := ""
	wait.Within(t, patience, "plimsoll serve is ready", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("plimsoll serve ended: %v\n%s", err, said.String())
		default:
		}
		text, err := os.ReadFile(ready)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		url = strings.TrimSpace(string(text))
		return bytes.HasSuffix(text, []byte("\n"))
	})
	return url
}

// chatGPT is the login file of somebody who logged in with ChatGPT: with it Codex
// compresses its requests. The token is signed by nobody.
const chatGPT = `{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"last_refresh":"2100-01-01T00:00:00Z","tokens":{"account_id":"nobody","refresh_token":"none",` +
	`"access_token":"eyJhbGciOiJub25lIn0.eyJleHAiOjQxMDI0NDQ4MDAsImh0dHBzOi8vYXBpLm9wZW5haS5jb20vYXV0aCI6eyJjaGF0Z3B0X2FjY291bnRfaWQiOiJub2JvZHkiLCJjaGF0Z3B0X3BsYW5fdHlwZSI6InBsdXMifX0.bm9uZQ",` +
	`"id_token":"eyJhbGciOiJub25lIn0.eyJleHAiOjQxMDI0NDQ4MDAsImh0dHBzOi8vYXBpLm9wZW5haS5jb20vYXV0aCI6eyJjaGF0Z3B0X2FjY291bnRfaWQiOiJub2JvZHkiLCJjaGF0Z3B0X3BsYW5fdHlwZSI6InBsdXMifX0.bm9uZQ"}}`

// Under the limit nothing changes: what the tool sends is what the provider gets, and what
// the provider answers is what the tool gets, byte for byte. One recorder is before
// Plimsoll, one behind it.
func TestWindowBytes(t *testing.T) {
	variants := slices.Clone(agents)
	for _, a := range agents {
		if a.name == "codex" {
			a.label = "codex-chatgpt"
			settle := a.settle
			a.settle = func(t *testing.T, w *world, base string) {
				settle(t, w, base)
				write(t, chatGPT, w.home, ".codex", "auth.json")
			}
			variants = append(variants, a)
		}
	}
	routes := map[string]string{"claude": "/anthropic", "codex": "/openai", "gemini": "/gemini", "opencode": "/openai"}
	var table strings.Builder
	fmt.Fprintf(&table, "%-13s %8s %10s %10s %s\n", "tool", "requests", "bytes up", "down", "")
	for _, a := range variants {
		label := a.name
		if a.label != "" {
			label = a.label
		}
		t.Run(label, func(t *testing.T) {
			w := newWorld(t)
			p := scripted.New(scripted.Options{Script: scripted.Shells("The task is finished.", logs(t, w, 3)...)})
			behind := &recorder{}
			provider := httptest.NewServer(behind.around(p))
			t.Cleanup(provider.Close)
			base, err := url.Parse(serve(t, w, provider.URL))
			if err != nil {
				t.Fatal(err)
			}
			base.Path = strings.TrimSuffix(base.Path, "/") + routes[a.name]
			before := &recorder{}
			front := httptest.NewServer(before.around(&httputil.ReverseProxy{
				FlushInterval: -1,
				Transport:     &http.Transport{DisableCompression: true}, // asks for nothing by itself
				Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(base) },
			}))
			t.Cleanup(front.Close)
			got := a.start(t, w, errand{base: front.URL + a.base, prompt: "Show every part of the log."})
			front.Close() // both wait until all is recorded
			provider.Close()
			if got.status != 0 || !strings.Contains(got.stdout, "The task is finished.") {
				t.Fatalf("status %d\nstdout: %s\nstderr: %s", got.status, clip(got.stdout), clip(got.stderr))
			}
			up, down, packed := 0, 0, 0
			for _, x := range before.list {
				if strings.Contains(x.headers, "Upgrade:") {
					continue // Plimsoll answers that itself
				}
				same := func(y *exchange) bool { return x.line == y.line && bytes.Equal(x.body, y.body) }
				// Of two at once (Codex asks for models before and after it has named itself) either may come first.
				i := slices.IndexFunc(behind.list, func(y *exchange) bool { return same(y) && x.headers == y.headers })
				if i < 0 {
					i = slices.IndexFunc(behind.list, same)
				}
				if i < 0 {
					t.Errorf("%s with %d bytes arrived as nothing that was sent", x.line, len(x.body))
					continue
				}
				y := behind.list[i]
				behind.list = slices.Delete(behind.list, i, i+1)
				if x.headers != y.headers {
					t.Errorf("%s: headers\n%s\narrived as\n%s", x.line, x.headers, y.headers)
				}
				if x.status != y.status || !bytes.Equal(x.answer, y.answer) {
					t.Errorf("%s: the answer, %d with %d bytes, came back as %d with %d", x.line, y.status, len(y.answer), x.status, len(x.answer))
				}
				if strings.Contains(x.headers, `Content-Encoding: ["zstd"]`) {
					packed++
				}
				up, down = up+len(x.body), down+len(x.answer)
			}
			for _, y := range behind.list {
				t.Errorf("%s was sent by nobody", y.line)
			}
			if up < 100_000 && packed == 0 || p.Turns("") != 4 {
				t.Errorf("%d bytes in %d turns: the test compared little", up, p.Turns(""))
			}
			if label == "codex-chatgpt" && packed == 0 {
				t.Error("no compressed request")
			}
			fmt.Fprintf(&table, "%-13s %8d %10d %10d %d compressed\n", label, len(before.list), up, down, packed)
		})
	}
	t.Logf("identical before and behind Plimsoll\n%s", table.String())
}

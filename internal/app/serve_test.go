package app_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/daemon"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// newCore returns the core of a user whose home is dir, with dir/state as its state unless environ names another.
func newCore(t *testing.T, dir string, environ ...string) *core.Core {
	t.Helper()
	c, err := core.New(core.Options{Environ: append([]string{"HOME=" + dir, "PLIMSOLL_STATE_DIR=" + filepath.Join(dir, "state")}, environ...), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// provide makes a provider the one that the environment names, and returns its address.
func provide(t *testing.T, model *scripted.Provider) (url string) {
	t.Helper()
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	t.Setenv("OPENAI_API_KEY", "k")
	t.Setenv("OPENAI_BASE_URL", server.URL+"/v1")
	return server.URL
}

// serving starts the daemon with a configuration and returns its base URL and what it has
// written when it ends.
func serving(t *testing.T, listen string, o daemon.Options, environ ...string) (url string, end func() error) {
	t.Helper()
	home := t.TempDir()
	a, err := core.New(core.Options{
		Environ: append([]string{"HOME=" + home, "PLIMSOLL_STATE_DIR=" + filepath.Join(home, "state")}, environ...),
		Dir:     home, Flags: []config.Flag{{Name: "--listen", Key: "serve.listen", Value: listen}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	o.Ready = func(url string) { ready <- url }
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	go func() { done <- daemon.Run(ctx, a, o) }()
	end = func() error { cancel(); return <-done }
	select {
	case url = <-ready:
		return url, end
	case err := <-done:
		return "", func() error { return err }
	}
}

func get(t *testing.T, url string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestServeAnswersHealthMetricsAndModels(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "asked "+r.URL.Path+" with "+r.Header.Get("Authorization"))
	}))
	defer provider.Close()
	var log, said bytes.Buffer
	file := filepath.Join(t.TempDir(), "url")
	url, end := serving(t, "127.0.0.1:0", daemon.Options{ReadyFile: file, Log: &log, Stderr: &said}, "PLIMSOLL_UPSTREAM_OPENAI="+provider.URL+"/v1")
	var text []byte // the file comes when the address has been told
	wait.Until(t, "the ready file is there", func() bool {
		text, _ = os.ReadFile(file)
		return len(text) > 0
	})
	if string(text) != url+"\n" {
		t.Errorf("ready file: %q, want %s", text, url)
	}
	for path, want := range map[string]string{
		"/healthz": "ok\n", "/readyz": "ready\n", "/openai/v1/models": "asked /v1/models with Bearer k",
	} {
		if status, body := get(t, url+path, "Authorization", "Bearer k"); status != 200 || body != want {
			t.Errorf("%s: %d %q, want %q", path, status, body, want)
		}
	}
	if status, body := get(t, url+"/metrics"); status != 200 || !strings.Contains(body, `plimsoll_window_passed_total{gen_ai_provider_name="openai",reason="path"} 1`) {
		t.Errorf("metrics: %d\n%s", status, body)
	}
	if status, body := get(t, url+"/"); status != 401 || !strings.Contains(body, "plimsoll watch --url") {
		t.Errorf("the dashboard without its token: %d %q", status, body)
	}
	// A page that rebinds its name to this address learns nothing.
	if status, _ := get(t, url+"/metrics", "Host", "evil.example"); status != 421 {
		t.Errorf("metrics for a foreign host: %d", status)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the ready file stays: %v", err)
	}
	if !strings.Contains(said.String(), "OPENAI_BASE_URL="+url+"/openai/v1") || !strings.Contains(log.String(), `"kind":"window.passed"`) || strings.Contains(log.String(), "Bearer") {
		t.Errorf("said %q, logged %q", said.String(), log.String())
	}
}

// A key that the daemon adds must not be everyone's: a token is demanded then, and accepted
// from the path, from a header, and from a scraper's Authorization.
func TestServeWithAKeyDemandsAToken(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}))
	defer provider.Close()
	t.Setenv("TEST_SERVE_KEY", "secret-key")
	t.Setenv("TEST_SERVE_TOKEN", "0123456789abcdef")
	environ := []string{"PLIMSOLL_UPSTREAM_OPENAI=" + provider.URL + "/v1", "PLIMSOLL_UPSTREAM_OPENAI_KEY=TEST_SERVE_KEY"}
	if _, end := serving(t, "127.0.0.1:0", daemon.Options{}, environ...); true {
		if err := end(); err == nil || !strings.Contains(err.Error(), "needs a token") {
			t.Errorf("without a token: %v", err)
		}
	}
	var said bytes.Buffer
	url, end := serving(t, "127.0.0.1:0", daemon.Options{Stderr: &said}, append(environ, "PLIMSOLL_SERVE_TOKEN=TEST_SERVE_TOKEN")...)
	for _, c := range []struct {
		path   string
		header []string
		status int
	}{
		{"/openai/v1/models", nil, 401},
		{"/0123456789abcdef/openai/v1/models", nil, 200},
		{"/0123456789abcdeF/openai/v1/models", nil, 401},
		{"/openai/v1/models", []string{"Authorization", "Bearer 0123456789abcdef"}, 200},
		{"/metrics", nil, 401},
		{"/metrics", []string{"Authorization", "Bearer 0123456789abcdef"}, 200},
		{"/healthz", nil, 200},
	} {
		status, body := get(t, url+c.path, c.header...)
		if status != c.status {
			t.Errorf("%s %v: %d %s", c.path, c.header, status, body)
		}
		if status == 200 && strings.HasSuffix(c.path, "models") && body != "Bearer secret-key" {
			t.Errorf("%s: the provider saw %q", c.path, body)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if strings.Contains(said.String(), "0123456789abcdef") || strings.Contains(said.String(), "secret-key") {
		t.Errorf("a secret is printed: %s", said.String())
	}
}

func TestServeSaysWhatIsMissing(t *testing.T) {
	t.Setenv("TEST_SERVE_EMPTY", "")
	t.Setenv("TEST_SERVE_SHORT", "0123456789abcde")
	for _, c := range []struct{ env, want string }{
		{"EVERYWHERE=1", "needs a token; set token, tls_cert and tls_key in [serve], or listen on 127.0.0.1"},
		{"PLIMSOLL_SERVE_TOKEN=TEST_SERVE_EMPTY", "names the variable TEST_SERVE_EMPTY, which is empty"},
		{"PLIMSOLL_SERVE_TLS_CERT=/nowhere/cert.pem", "tls_cert and tls_key go together"},
		{"PLIMSOLL_WINDOW_TARGET=0.9", "target is 0.9; it must be above 0 and below trigger"},
		{"PLIMSOLL_SERVE_TOKEN=TEST_SERVE_SHORT", "what is in the variable TEST_SERVE_SHORT is shorter than 16 characters"},
	} {
		listen := "127.0.0.1:0"
		if c.env == "EVERYWHERE=1" {
			listen = "0.0.0.0:0"
		}
		_, end := serving(t, listen, daemon.Options{}, c.env)
		if err := end(); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "0123456789abcde") {
			t.Errorf("%s: %v\nwant %s", c.env, err, c.want)
		}
	}
}

// What is no file and is named as the ready file is neither replaced nor removed.
func TestTheReadyFileReplacesFilesOnly(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s") // as good as a device
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skipf("this system makes no socket in a directory: %v", err)
	}
	defer l.Close()
	_, end := serving(t, "127.0.0.1:0", daemon.Options{ReadyFile: socket, Stderr: io.Discard})
	if err := end(); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("the error is %v", err)
	}
	if fi, err := os.Lstat(socket); err != nil || fi.Mode().IsRegular() {
		t.Fatalf("%s: %v %v", socket, fi, err)
	}
}

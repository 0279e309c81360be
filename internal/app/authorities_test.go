package app_test

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/daemon"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// A tool that trusts a company's authority by its own variable reaches the same provider
// through the proxy; a file that is no certificate costs a warning, not the daemon.
func TestAuthoritiesOfTheToolsCount(t *testing.T) {
	provider := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "models") }))
	defer provider.Close()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "bad.pem")
	testfile.Write(t, good, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: provider.Certificate().Raw}))
	testfile.Write(t, bad, "nothing")
	for _, c := range []struct {
		name, file string
		status     int
	}{
		{"NODE_EXTRA_CA_CERTS", "", 502},
		{"NODE_EXTRA_CA_CERTS", good, 200},
		{"CODEX_CA_CERTIFICATE", good, 200},
		{"NODE_EXTRA_CA_CERTS", bad, 502},
		{"NODE_EXTRA_CA_CERTS", filepath.Join(dir, "none"), 502},
	} {
		t.Setenv("NODE_EXTRA_CA_CERTS", "")
		t.Setenv("CODEX_CA_CERTIFICATE", "")
		t.Setenv(c.name, c.file)
		var said bytes.Buffer
		url, end := serving(t, "127.0.0.1:0", daemon.Options{Stderr: &said}, "PLIMSOLL_UPSTREAM_OPENAI="+provider.URL+"/v1")
		status, body := get(t, url+"/openai/v1/models")
		if err := end(); err != nil {
			t.Error(err)
		}
		if status != c.status || status == 502 && !strings.Contains(body, "unknown authority") {
			t.Errorf("%s=%s: %d %s", c.name, c.file, status, body)
		}
	}
}

package container_test

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/container"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

func opened(t *testing.T, environ ...string) *core.Core {
	t.Helper()
	c, err := core.New(core.Options{Environ: append([]string{"PLIMSOLL_CONFIG=" + os.DevNull}, environ...), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The daemon of the configuration is asked, over TLS where it has a certificate; which one it is does not matter.
func TestHealthAsksTheDaemonOfTheConfiguration(t *testing.T) {
	var asked []string
	answer := http.StatusOK
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.WriteHeader(answer)
	})
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	defer plain.Close()
	defer secure.Close()
	for _, one := range []struct {
		name    string
		environ []string
		o       container.HealthOptions
		path    string
	}{
		{"ready", []string{"PLIMSOLL_SERVE_LISTEN=" + plain.Listener.Addr().String()}, container.HealthOptions{}, "/readyz"},
		{"live", []string{"PLIMSOLL_SERVE_LISTEN=" + plain.Listener.Addr().String()}, container.HealthOptions{Live: true}, "/healthz"},
		{"tls", []string{"PLIMSOLL_SERVE_LISTEN=" + secure.Listener.Addr().String(), "PLIMSOLL_SERVE_TLS_CERT=/c", "PLIMSOLL_SERVE_TLS_KEY=/k"}, container.HealthOptions{}, "/readyz"},
		{"url", nil, container.HealthOptions{URL: secure.URL}, "/readyz"},
	} {
		t.Run(one.name, func(t *testing.T) {
			asked = nil
			answer = http.StatusOK
			if err := container.Health(t.Context(), opened(t, one.environ...), one.o); err != nil {
				t.Fatal(err)
			}
			if len(asked) != 1 || asked[0] != one.path {
				t.Errorf("asked for %q, want %q", asked, one.path)
			}
			answer = http.StatusServiceUnavailable
			if err := container.Health(t.Context(), opened(t, one.environ...), one.o); err == nil || !strings.Contains(err.Error(), "503") {
				t.Errorf("an answer of 503 gives %v", err)
			}
		})
	}
}

func TestHealthOfADaemonThatIsNotThere(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	err = container.Health(t.Context(), opened(t), container.HealthOptions{URL: "http://" + silent.Addr().String(), Timeout: 20 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "no answer within 20ms") {
		t.Errorf("a silent daemon gives %v", err)
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	err = container.Health(t.Context(), opened(t, "PLIMSOLL_SERVE_LISTEN="+gone.Addr().String()), container.HealthOptions{})
	if err == nil || !strings.Contains(err.Error(), "nothing listens there; is plimsoll serve running there?") {
		t.Errorf("no daemon gives %v", err)
	}
	err = container.Health(t.Context(), opened(t), container.HealthOptions{URL: "http://no-such-host.invalid:4620"})
	if err == nil || !strings.Contains(err.Error(), "the name no-such-host.invalid is not known here") || strings.Contains(err.Error(), "dial") {
		t.Errorf("no such host gives %v", err)
	}
	for _, wrong := range []string{"127.0.0.1:4620", "ftp://host", "http://", "::"} {
		if err := container.Health(t.Context(), opened(t), container.HealthOptions{URL: wrong}); err == nil || !strings.Contains(err.Error(), "write it as in") {
			t.Errorf("--url %s gives %v", wrong, err)
		}
	}
	if err := container.Health(t.Context(), opened(t, "PLIMSOLL_SERVE_LISTEN=127.0.0.1:0"), container.HealthOptions{}); err == nil || !strings.Contains(err.Error(), "--url") {
		t.Errorf("port 0 gives %v", err)
	}
}

// The copy is the program, for everybody to run, over what an earlier start of the pod left there.
func TestCopyTo(t *testing.T) {
	dir := t.TempDir()
	testfile.Write(t, filepath.Join(dir, "plimsoll"), "half of it")
	path, err := container.CopyTo(dir)
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := testfile.Read(t, own)
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes (%v), the program %d", path, len(got), err, len(want))
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
		t.Errorf("its mode is %v", info.Mode())
	}
	if left, _ := os.ReadDir(dir); len(left) > 2 {
		t.Errorf("there is more than the program: %v", left)
	}
	if _, err := container.CopyTo(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "mount the volume there") {
		t.Errorf("no directory gives %v", err)
	}
	if _, err := container.CopyTo(path); err == nil {
		t.Error("a file is no directory")
	}
}

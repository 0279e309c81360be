package forwardproxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/forwardproxy"
)

func clear(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "REQUEST_METHOD"} {
		t.Setenv(name, "")
	}
}

func ask(t *testing.T, url string) error {
	t.Helper()
	transport := &http.Transport{}
	forwardproxy.Use(transport)
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := transport.RoundTrip(req)
	if err == nil {
		_ = res.Body.Close()
	}
	return err
}

func TestAVariableThatIsNoAddressIsAnError(t *testing.T) {
	for _, value := range []string{"http://user:hunter2@[::1", "ftp://proxy:1", "http://", "://x", "http://a b:1", "htp://user:hunter2@proxy:3128", "proxy:port"} {
		clear(t)
		t.Setenv("HTTPS_PROXY", value)
		t.Setenv("NO_PROXY", "direct.invalid")
		for _, err := range []error{forwardproxy.Check(), ask(t, "https://api.invalid/")} {
			if err == nil || !strings.Contains(err.Error(), "HTTPS_PROXY is ") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("HTTPS_PROXY=%s: %v", value, err)
			}
		}
		for _, url := range []string{"https://direct.invalid/", "http://api.invalid/", "https://127.0.0.1:1/"} {
			if err := ask(t, url); err == nil || strings.Contains(err.Error(), "HTTPS_PROXY") {
				t.Errorf("%s, which does not take that proxy: %v", url, err)
			}
		}
	}
	for _, value := range []string{"http://proxy:3128", "proxy:3128", "proxy", "socks5://proxy:1080", "https://u:p@proxy", "10.0.0.1:3128"} {
		clear(t)
		t.Setenv("https_proxy", value)
		if err := forwardproxy.Check(); err != nil {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestAPasswordThatAProxyRefusesIsSaid(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.WriteHeader(http.StatusProxyAuthRequired)
		_, _ = io.WriteString(w, "no")
	}))
	defer proxy.Close()
	host := strings.TrimPrefix(proxy.URL, "http://")
	for user, want := range map[string]string{"": "wants a user and a password (407)", "u:hunter2@": "refuses the user or the password (407)"} {
		clear(t)
		t.Setenv("HTTPS_PROXY", "http://"+user+host)
		if err := ask(t, "https://api.invalid/"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), host) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
	clear(t)
	t.Setenv("HTTP_PROXY", "http://u:hunter2@"+host)
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://api.invalid/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := forwardproxy.Refused(req, &http.Response{StatusCode: 407}); err == nil || !strings.Contains(err.Error(), host) {
		t.Errorf("by plain HTTP: %v", err)
	}
	if err := forwardproxy.Refused(req, &http.Response{StatusCode: 401}); err != nil {
		t.Error(err)
	}
}

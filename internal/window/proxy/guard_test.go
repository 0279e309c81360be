package proxy

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

const testToken = "a-token-of-this-test-0123456789"

func TestWhoMayAsk(t *testing.T) {
	asked := 0
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if strings.Contains(r.URL.String(), testToken) || r.Header.Get(TokenHeader) != "" {
			t.Errorf("the upstream was told the token: %s %v", r.URL, r.Header)
		}
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), testToken) {
				t.Errorf("the upstream was told the token in %s", name)
			}
		}
	}))
	defer upstream.Close()
	t.Setenv("PROXY_TEST_KEY", "sk-configured")
	_, root, j := start(t, upstream.URL, Options{
		Token: testToken, Hosts: []string{"models.example.com", "other.example.com:8443"}, Origins: []string{"https://tool.example.com"},
		Upstreams: []Upstream{{Name: "openai", URL: upstream.URL + "/v1"}, {Name: "keyed", Provider: Anthropic, URL: upstream.URL, KeyEnv: "PROXY_TEST_KEY"}},
	})
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(root, "http://"))
	for _, c := range []struct {
		name, path, host, origin string
		header                   [2]string
		want                     int
		reason                   string
	}{
		{name: "token in the path", path: "/" + testToken + "/openai/v1/models", want: 200},
		{name: "token in the header", path: "/openai/v1/models", header: [2]string{TokenHeader, testToken}, want: 200},
		{name: "token in place of the key", path: "/keyed/v1/models", header: [2]string{"X-Api-Key", testToken}, want: 200},
		{name: "token as a bearer", path: "/keyed/v1/models", header: [2]string{"Authorization", "Bearer " + testToken}, want: 200},
		{name: "a key of one's own is no token", path: "/openai/v1/models", header: [2]string{"Authorization", "Bearer " + testToken}, want: 401, reason: "token"},
		{name: "token as a key too", path: "/" + testToken + "/openai/v1/models", header: [2]string{"Authorization", "Bearer " + testToken}, want: 200},
		{name: "token as a key of Azure too", path: "/" + testToken + "/openai/v1/models", header: [2]string{"Api-Key", testToken}, want: 200},
		{name: "token in the query too", path: "/" + testToken + "/openai/v1/models?key=" + testToken + "&a=b", want: 200},
		{name: "dot segments", path: "/" + testToken + "/keyed/../other", want: 400, reason: "path"},
		{name: "escaped dot segments", path: "/" + testToken + "/keyed/%2e%2E/other", want: 400, reason: "path"},
		{name: "dot segments escaped twice", path: "/" + testToken + "/keyed/%252e%252e%252fother", want: 400, reason: "path"},
		{name: "dot segments with a parameter", path: "/" + testToken + "/keyed/..;x=y/other", want: 400, reason: "path"},
		{name: "dot segments behind a backslash", path: "/" + testToken + "/keyed/a%5c..%5cother", want: 400, reason: "path"},
		{name: "dot segments escaped three times", path: "/" + testToken + "/keyed/%25252e%25252e/other", want: 400, reason: "path"},
		{name: "dot segments escaped for ever", path: "/" + testToken + "/keyed/%2525252525252e%2525252525252e/other", want: 400, reason: "path"},
		{name: "dot segments before a broken escape", path: "/" + testToken + "/keyed/%252e%252e/%25zz", want: 400, reason: "path"},
		{name: "dots in a name", path: "/" + testToken + "/openai/v1/models/gpt-4.1..x", want: 200},
		{name: "no token", path: "/openai/v1/models", want: 401, reason: "token"},
		{name: "a forged token", path: "/" + testToken[:len(testToken)-1] + "8/openai/v1/models", want: 401, reason: "token"},
		{name: "half a token", path: "/" + testToken[:8] + "/openai/v1/models", want: 401, reason: "token"},
		{name: "localhost", path: "/" + testToken + "/openai/x", host: "LocalHost:" + port, want: 200},
		{name: "IPv6 loopback", path: "/" + testToken + "/openai/x", host: "[::1]:" + port, want: 200},
		{name: "another loopback address", path: "/" + testToken + "/openai/x", host: "127.8.8.8:" + port, want: 200},
		{name: "a configured host", path: "/" + testToken + "/openai/x", host: "models.example.com:99", want: 200},
		{name: "a configured host with its port", path: "/" + testToken + "/openai/x", host: "other.example.com:8443", want: 200},
		{name: "a configured host, another port", path: "/" + testToken + "/openai/x", host: "other.example.com", want: 421, reason: "host"},
		{name: "rebinding", path: "/" + testToken + "/openai/x", host: "evil.example:" + port, want: 421, reason: "host"},
		{name: "a name that begins like ours", path: "/" + testToken + "/openai/x", host: "127.0.0.1.evil.example:" + port, want: 421, reason: "host"},
		{name: "another port", path: "/" + testToken + "/openai/x", host: "127.0.0.1:1", want: 421, reason: "host"},
		{name: "no port", path: "/" + testToken + "/openai/x", host: "localhost", want: 421, reason: "host"},
		{name: "our origin", path: "/" + testToken + "/openai/x", origin: root, want: 200},
		{name: "a configured origin", path: "/" + testToken + "/openai/x", origin: "https://tool.example.com", want: 200},
		{name: "a foreign origin", path: "/" + testToken + "/openai/x", origin: "https://evil.example", want: 403, reason: "origin"},
		{name: "no origin at all", path: "/" + testToken + "/openai/x", origin: "null", want: 403, reason: "origin"},
		{name: "a foreign page's image", path: "/" + testToken + "/openai/x", header: [2]string{"Sec-Fetch-Site", "cross-site"}, want: 403, reason: "origin"},
		{name: "no upstream", path: "/" + testToken + "/nobody/x", want: 404, reason: "upstream"},
		{name: "the root", path: "/" + testToken + "/", want: 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				if method == http.MethodPost && strings.HasSuffix(c.path, "/") {
					continue
				}
				before, refused := asked, len(events[journal.WindowRefused](j))
				r, err := http.NewRequest(method, root+c.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Host = c.host
				if c.origin != "" {
					r.Header.Set("Origin", c.origin)
				}
				if c.header[0] != "" {
					r.Header.Set(c.header[0], c.header[1])
				}
				res, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != c.want {
					t.Fatalf("%s: %s, want %d", method, res.Status, c.want)
				}
				if how := res.Header.Get("WWW-Authenticate"); (how != "") != (res.StatusCode == http.StatusUnauthorized) {
					t.Errorf("%s: %s with WWW-Authenticate %q", method, res.Status, how)
				}
				found := events[journal.WindowRefused](j)
				if c.reason == "" {
					continue
				}
				if asked != before {
					t.Errorf("%s was refused and forwarded", method)
				}
				if len(found) != refused+1 || found[refused].Reason != c.reason || found[refused].Status != c.want {
					t.Errorf("%s: events %+v, want one more with reason %q", method, found[refused:], c.reason)
				}
			}
		})
	}
	for rec := range j.Since(0) {
		text, err := rec.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), testToken[:10]) || strings.Contains(string(text), "sk-configured") {
			t.Errorf("an event holds a secret: %s", text)
		}
	}
}

func TestInjectedKeyReplacesTheClients(t *testing.T) {
	t.Setenv("PROXY_TEST_KEY", "sk-configured")
	var got *http.Request
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r }))
	defer upstream.Close()
	for _, c := range []struct {
		provider Provider
		header   string
		want     string
	}{
		{OpenAI, "Authorization", "Bearer sk-configured"},
		{Anthropic, "X-Api-Key", "sk-configured"},
		{Gemini, "X-Goog-Api-Key", "sk-configured"},
		{Azure, "Api-Key", "sk-configured"},
	} {
		_, root, _ := start(t, upstream.URL, Options{Token: testToken, Upstreams: []Upstream{{Name: "up", Provider: c.provider, URL: upstream.URL, KeyEnv: "PROXY_TEST_KEY"}}})
		r, _ := http.NewRequest(http.MethodGet, root+"/"+testToken+"/up/x?key=theirs&a=b", nil)
		for _, h := range credentialHeaders {
			r.Header.Set(h, "theirs")
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		for _, h := range credentialHeaders {
			want := ""
			if h == c.header {
				want = c.want
			}
			if v := got.Header.Get(h); v != want {
				t.Errorf("%s: %s is %q, want %q", c.provider, h, v, want)
			}
		}
		if got.URL.RawQuery != "a=b" {
			t.Errorf("%s: the query is %q, want a=b", c.provider, got.URL.RawQuery)
		}
	}
}

func TestOptionsThatWouldBeUnsafe(t *testing.T) {
	t.Setenv("PROXY_TEST_KEY", "sk-1")
	t.Setenv("PROXY_TEST_EMPTY", "")
	t.Setenv("PROXY_TEST_BREAK", "sk-1\n")
	for name, o := range map[string]Options{
		"a key without a token": {Upstreams: []Upstream{{Name: "a", URL: "http://x", KeyEnv: "PROXY_TEST_KEY"}}},
		"an empty key":          {Token: testToken, Upstreams: []Upstream{{Name: "a", URL: "http://x", KeyEnv: "PROXY_TEST_EMPTY"}}},
		"a key with a break":    {Token: testToken, Upstreams: []Upstream{{Name: "a", URL: "http://x", KeyEnv: "PROXY_TEST_BREAK"}}},
		"a short token":         {Token: "abc"},
		"a password in the URL": {Upstreams: []Upstream{{Name: "a", URL: "http://u:hunter2@x"}}},
		"a query in the URL":    {Upstreams: []Upstream{{Name: "a", URL: "http://x?key=hunter2"}}},
		"no host":               {Upstreams: []Upstream{{Name: "a", URL: "https:///v1"}}},
		"another scheme":        {Upstreams: []Upstream{{Name: "a", URL: "ftp://x"}}},
		"a name with a slash":   {Upstreams: []Upstream{{Name: "a/b", URL: "http://x"}}},
		"a name twice":          {Upstreams: []Upstream{{Name: "a", URL: "http://x"}, {Name: "a", URL: "http://y"}}},
		"a provider unknown":    {Upstreams: []Upstream{{Name: "a", Provider: "b", URL: "http://x"}}},
		"a mode unknown":        {Mode: "maybe"},
		"target over trigger":   {Trigger: 0.5, Target: 0.6},
		"AWS without region":    {Token: testToken, Upstreams: []Upstream{{Name: "a", URL: "http://x", AWS: &AWS{}}}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s is accepted", name)
		} else if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "sk-1") {
			t.Errorf("%s: the error holds the secret: %v", name, err)
		}
	}
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := p.Listen(ListenOptions{Addr: "0.0.0.0:0"}); err == nil {
		_ = s.Shutdown(t.Context())
		t.Error("listening beyond loopback without a token is accepted")
	}
	// With both it serves, and the address it was reached at is a host of its own.
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	if p, err = New(Options{Token: testToken}); err != nil {
		t.Fatal(err)
	}
	s, err := p.Listen(ListenOptions{Addr: "0.0.0.0:0", TLS: &tls.Config{Certificates: certified.TLS.Certificates}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.URL(), "https://localhost:") {
		t.Errorf("its URL is %s", s.URL())
	}
	client := certified.Client()
	client.Transport.(*http.Transport).TLSClientConfig.ServerName = "example.com"
	for url, want := range map[string]int{s.URL() + "/" + testToken + "/": 200, s.URL() + "/": 401} {
		res, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("over TLS: %s, want %d", res.Status, want)
		}
	}
	client.CloseIdleConnections()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if !ownHost("192.0.2.7:99", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 99}) || ownHost("192.0.2.8:99", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 99}) {
		t.Error("the address a request came to is not told from another")
	}
	p, err = New(Options{Token: testToken})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := p.Listen(ListenOptions{Addr: "0.0.0.0:0"}); err == nil {
		_ = s.Shutdown(t.Context())
		t.Error("listening beyond loopback without TLS is accepted")
	}
}

func FuzzSplitPort(f *testing.F) {
	for _, s := range []string{"localhost:80", "[::1]:9", "::1", "[::1]", ":", "a:b:c", "[", "]:", "127.0.0.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		host, port := splitPort(header)
		if len(host)+len(port) > len(header) {
			t.Errorf("%q splits into more than it has: %q %q", header, host, port)
		}
		if ownHost(header, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}) {
			ip := net.ParseIP(host)
			if port != "80" || !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
				t.Errorf("%q is taken for ours", header)
			}
		}
	})
}

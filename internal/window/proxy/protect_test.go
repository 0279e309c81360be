package proxy

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// What stands behind the checks (MCP servers, agents, metrics) never sees the token, wherever else it came: an MCP server
// over HTTP would be sent it.
func TestProtectTakesTheTokenOut(t *testing.T) {
	t.Parallel()
	p, err := New(Options{Token: testToken, AnyPeer: true, Hosts: []string{"example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	var seen *http.Request
	h := p.Protect(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))
	for name, value := range map[string]string{
		"Authorization": "bearer " + testToken, "X-Api-Key": testToken, "X-Goog-Api-Key": testToken, "Api-Key": testToken,
		"Proxy-Authorization": "Bearer " + testToken, TokenHeader: testToken,
	} {
		seen = nil
		r := httptest.NewRequest(http.MethodPost, "http://example.com/"+testToken+"/mcp/x?key="+testToken+"&a=b", strings.NewReader("{}"))
		r.Header.Set(name, value)
		r.Header.Set("X-Other", "kept")
		h.ServeHTTP(httptest.NewRecorder(), r)
		if seen == nil {
			t.Fatalf("%s: the request was refused", name)
		}
		for key, values := range seen.Header {
			if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, testToken) }) {
				t.Errorf("the token stands in %s", key)
			}
		}
		if strings.Contains(seen.URL.String(), testToken) || seen.URL.RawQuery != "a=b" || seen.Header.Get("X-Other") != "kept" {
			t.Errorf("%s: %s %v", name, seen.URL, seen.Header)
		}
	}
	// Somebody's own credential stays.
	r := httptest.NewRequest(http.MethodPost, "http://example.com/"+testToken+"/mcp/x", nil)
	r.Header.Set("Authorization", "Bearer of-a-user")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if seen.Header.Get("Authorization") != "Bearer of-a-user" {
		t.Errorf("the user's credential became %q", seen.Header.Get("Authorization"))
	}
}

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A script can tell by the exit status whether there is a newer release, also with a broken configuration.
func TestUpgradeCheck(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configure("[resources]\nmemory_max = \"nonsense\"\n")
	for latest, want := range map[string]int{"v999.0.0": exitNewer, "nonsense": exitFailed} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"tag_name":"` + latest + `","html_url":"https://example.org/"}`))
		}))
		o := s.plimsoll("upgrade", "--check", "--json", "--from", server.URL)
		server.Close()
		if o.code != want || strings.Contains(o.stdout, `"newer": true`) != (want == exitNewer) {
			t.Errorf("%s: status %d, want %d: %s%s", latest, o.code, want, o.stdout, o.stderr)
		}
	}
}

package upgrade

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"
)

// answering starts a server with this answer; what it was asked is looked at by the test's own handler.
func answering(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Method != http.MethodGet {
			t.Errorf("it was asked by %s with %q", r.Method, r.Header.Get("Authorization"))
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestWhatIsNewer(t *testing.T) {
	t.Parallel()
	from := answering(t, 200, `{"tag_name":"v0.10.0","html_url":"https://example.org/v0.10.0","body":"notes"}`)
	for version, newer := range map[string]bool{
		"v0.9.9": true, "v0.10.0": false, "v0.10.1": false, "v0.10.0-rc.1": true, "v1.0.0": false, "0.9.0": true,
		"v0.10.0+dirty": false, "devel-0123456789ab": true, "unknown": true, "": true,
		"v0.0.0-20261124110128-0b4f87faea90": true, "v0.10.1-0.20261124110128-0b4f87faea90": false,
	} {
		f, err := Check(t.Context(), Options{Version: version, From: from})
		if err != nil || f.Newer != newer || f.Latest != "v0.10.0" || f.Version != version || f.Page != "https://example.org/v0.10.0" {
			t.Errorf("%q: %+v, %v; want newer: %v", version, f, err, newer)
		}
	}
}

func TestWhatCannotBeFoundOut(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	away := httptest.NewServer(http.RedirectHandler("http://192.0.2.1/latest", http.StatusFound))
	t.Cleanup(away.Close)
	oddTag := answering(t, 200, `{"tag_name":"nightly\u001b"}`)
	large := answering(t, 200, `{"tag_name":"v1.0.0","body":"`+strings.Repeat("x", MaxBody)+`"}`)
	for from, want := range map[string]string{
		gone.URL:                        "connection refused",
		away.URL:                        "only https:// is",
		answering(t, 403, "rate limit"): "403",
		answering(t, 404, ""):           "404",
		answering(t, 200, "<html>"):     "no JSON",
		oddTag:                          `tag_name is "nightly\x1b"`,
		large:                           "larger than 1 MiB",
		"http://192.0.2.1/latest":       "only https:// is",
		"nonsense":                      "no address",
	} {
		f, err := Check(t.Context(), Options{Version: "v0.1.0", From: from})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || f != (Found{}) {
			t.Errorf("%s: %+v, %v; want one line with %q", from, f, err, want)
		}
	}
}

// Who never answers is waited for no longer than the caller allows.
func TestASilentServer(t *testing.T) {
	t.Parallel()
	from := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(from.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Check(ctx, Options{Version: "v0.1.0", From: from.URL}); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"tag_name":"v0.10.0","html_url":"https://example.org/a"}`))
	f.Add([]byte(`{"tag_name":"0.1","html_url":"https://example.org/\u001b]0;x"}`))
	f.Add([]byte(`{"tag_name":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := parseRelease(text)
		if err != nil {
			return
		}
		if canonical(found.Latest) != found.Latest || found.Latest == "" {
			t.Errorf("%q is no version", found.Latest)
		}
		if strings.ContainsFunc(found.Latest+found.Page, unicode.IsControl) {
			t.Errorf("%q, %q would reach a terminal", found.Latest, found.Page)
		}
	})
}

package argocd

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAURLAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"argocd.example.com":                          "https://argocd.example.com",
		" https://argocd.example.com/ ":               "https://argocd.example.com",
		"argocd.example.com:8443/root/":               "https://argocd.example.com:8443/root",
		"http://localhost:8080":                       "http://localhost:8080",
		"https://argocd.example.com/api/v1":           "https://argocd.example.com",
		"https://argocd.example.com/cd/applications/": "https://argocd.example.com/cd",
		"[::1]:8080":                                  "https://[::1]:8080",
	} {
		c, err := New(Options{URL: in})
		if err != nil || c.URL() != want {
			t.Errorf("%q: %v, %v; want %s", in, c, err, want)
		}
	}
	for _, in := range []string{"", "ftp://x", "https://", "https://me:SECRET@x", "https://x/?token=SECRET", "https://x y/", "https://:80", "://", "https://x/%zz"} {
		if c, err := New(Options{URL: in}); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v, %v", in, c, err)
		}
	}
}

func TestATokenFileIsReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	token := FileToken(path)
	if _, err := token(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: %v", err)
	}
	old := time.Now().Add(-time.Hour)
	for i, content := range []string{"one\n", "Bearer two", "six"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := token(t.Context()); err != nil || got != []string{"one", "two", "six"}[i] {
				t.Errorf("%q: %q, %v", content, got, err)
			}
		}
	}
	for _, content := range []string{"", " \n", "a b", strings.Repeat("x", maxToken+1)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := token(t.Context()); err == nil {
			t.Errorf("%.20q: %.20q", content, got)
		}
	}
	c := serve(t, Options{Token: FileToken(path)}, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent without its token") })
	if _, err := c.Get(t.Context(), []string{"clusters"}, nil); asError(t, err).Kind != Unauthenticated || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := token(t.Context()); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Error(err)
	}
}

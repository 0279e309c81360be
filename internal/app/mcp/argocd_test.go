package mcp

import (
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// What the argocd command knows of one server, its token above all, goes to no other one.
func TestTheTokenOfAContextStaysWithItsServer(t *testing.T) {
	dir := t.TempDir()
	const file = `current-context: admin
contexts:
- {name: admin, server: argocd.example.com, user: admin}
- {name: reader, server: argocd.example.com, user: reader}
servers:
- {server: argocd.example.com, insecure: true}
users:
- {name: admin, auth-token: token-of-admin}
- {name: reader, auth-token: token-of-reader}
`
	testfile.Write(t, filepath.Join(dir, "config"), file)
	t.Setenv("ARGOCD_CONFIG_DIR", dir)
	t.Setenv("HOME", dir)
	t.Setenv("ARGOCD_AUTH_TOKEN", "token-of-the-shell")
	a := &core.Core{}
	for _, c := range []struct {
		in         config.ArgoCDInstance
		url, token string
		insecure   bool
	}{
		{config.ArgoCDInstance{Name: "a", Context: "reader"}, "https://argocd.example.com", "token-of-reader", true},
		{config.ArgoCDInstance{Name: "a", Context: "reader", URL: "https://argocd.example.com:443/cd"}, "https://argocd.example.com:443/cd", "token-of-reader", true},
		{config.ArgoCDInstance{Name: "a", Context: "reader", URL: "https://other.example.com"}, "https://other.example.com", "", false},
		{config.ArgoCDInstance{Name: "a", URL: "https://other.example.com"}, "https://other.example.com", "", false},
	} {
		o, err := argocdOptions(a, c.in)
		if err != nil {
			t.Errorf("%+v: %v", c.in, err)
			continue
		}
		token := ""
		if o.Token != nil {
			token, err = o.Token(t.Context())
		}
		if err != nil || o.Name != "a" || o.URL != c.url || token != c.token || o.Insecure != c.insecure {
			t.Errorf("%+v: %s with %q, insecure %t, %v", c.in, o.URL, token, o.Insecure, err)
		}
	}
}

// Whoever sends another token to one of the instances is somebody else, whose results
// nobody else may read.
func TestATokenForOneInstanceIsACredential(t *testing.T) {
	p := &Plane{key: make([]byte, 32)}
	seen := map[string]string{}
	for _, header := range [][2]string{
		{"X-Other", "a"},
		{"X-Argocd-Api-Token", "a"},
		{"X-Argocd-Api-Token", "b"},
		{"X-Argocd-Api-Token-Prod", "a"},
		{"X-Argocd-Api-Token-Prod", "b"},
		{"X-Argocd-Api-Token-Lab", "a"},
	} {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.Header.Set(header[0], header[1])
		got, err := p.principal(r)
		if err != nil || seen[got] != "" {
			t.Errorf("%s: %s is taken for %s, %v", header[0], header[1], seen[got], err)
		}
		seen[got] = header[0] + ": " + header[1]
	}
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header.Set("X-Argocd-Api-Token-Prod", "a")
	r.Header.Set("X-Argocd-Api-Token-Lab", "b")
	first, _ := p.principal(r)
	for range 20 {
		if again, _ := p.principal(r); again != first {
			t.Fatal("the same request is of another one")
		}
	}
}

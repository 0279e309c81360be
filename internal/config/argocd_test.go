package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
)

func TestArgoCDInstances(t *testing.T) {
	l := newWorld(t).user(`
[mcp]
argocd_snapshot = '45s'
argocd_tokens = 'allow'
[mcp.argocd.staging]
context = 'staging'
[mcp.argocd.production]
url = 'https://argocd.example.com/root'
token = 'ARGOCD_PROD'
ca = '/etc/ca.pem'
default = true
headers = ["X-Edge=EDGE"]
`).env("PLIMSOLL_MCP_ARGOCD_WRITES=true").must()
	got, err := l.ArgoCD()
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if p := got[0]; p.Name != "production" || !p.Default || p.URL != "https://argocd.example.com/root" || p.Token != "ARGOCD_PROD" || p.CA != "/etc/ca.pem" || p.Headers[0] != "X-Edge=EDGE" || p.Insecure {
		t.Errorf("%+v", p)
	}
	if s := got[1]; s.Name != "staging" || s.Context != "staging" || s.Default {
		t.Errorf("%+v", s)
	}
	if m := func() config.MCPSettings { s, _ := l.For(""); return s.MCP }(); m.ArgoCDSnapshot != 45*time.Second || m.ArgoCDTokens != "allow" || !m.ArgoCDWrites {
		t.Errorf("%+v", m)
	}
}

func TestArgoCDInstancesOfAProjectAreNone(t *testing.T) {
	l := newWorld(t).repo("[mcp]\nargocd_writes = true\nargocd_tokens = 'require'\n[mcp.argocd.evil]\nurl = 'https://evil.example.com'\n").must()
	if got, err := l.ArgoCD(); err != nil || len(got) != 0 {
		t.Errorf("a project's file made an instance: %+v, %v", got, err)
	}
	if s, _ := l.For(""); s.MCP.ArgoCDWrites || s.MCP.ArgoCDTokens != "off" {
		t.Errorf("a project's file set %+v", s.MCP)
	}
}

func TestBadArgoCDInstances(t *testing.T) {
	for text, want := range map[string][]string{
		"[mcp.argocd.a]\ninsecure = true\n":                                                              {"mcp.argocd.a", "neither url nor context"},
		"[mcp.argocd.a]\nurl = 'https://a'\ntoken = 'A'\ntoken_file = '/a'\n":                            {"both token and token_file"},
		"[mcp.argocd.a]\nurl = 'https://a'\ncert = '/a'\n":                                               {"only one of cert and key"},
		"[mcp.argocd.a]\nurl = 'https://a'\ndefault = true\n[mcp.argocd.b]\nurl = 'b'\ndefault = true\n": {"mcp.argocd.b"},
		"[mcp.argocd.a]\nurl = 'https://a'\ndefault = true\n[mcp.argocd.b]\nurl = 'https://b'\ndefault = true\n": {
			"second default beside a",
		},
		"[mcp.argocd.a]\nurll = 'https://a'\n":     {`did you mean "url"?`, ":2:"},
		"[mcp.argocd]\nurl = 'https://a'\n":        {"[mcp.argocd.NAME]"},
		"[mcp.argocd]\nwrites = true\n":            {"argocd_writes, below [mcp]"},
		"[mcp]\nargocd = 3\n":                      {"write [mcp.argocd.NAME]"},
		"[mcp.argocd.'a b']\nurl = 'https://a'\n":  {"not the name of an instance"},
		"[mcp.argocd.a]\nmax_output = '1M'\n":      {"below [mcp]"},
		"[mcp.argocd.a]\nurl = { x = 1 }\n":        {"mcp.argocd.a.url"},
		"[mcp]\nargocd_tokens = 'yes'\n":           {"argocd_tokens", "off"},
		"[mcp.argocd.a]\nurl = 1\n":                {"mcp.argocd.a.url"},
		"[mcp.argocd.a]\nurl = 'https://a'\nx=1\n": {"unknown key"},
	} {
		_, err := newWorld(t).user(text).load()
		for _, words := range want {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%q: %v, want %q", text, err, words)
			}
		}
	}
}

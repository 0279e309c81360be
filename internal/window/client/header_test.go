package client_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/client"
)

func TestSubscription(t *testing.T) {
	for _, c := range []struct {
		h    http.Header
		want bool
	}{
		{http.Header{}, false},
		{http.Header{"X-Api-Key": {"sk-ant-api03-x"}}, false},
		{http.Header{"Authorization": {"Bearer sk-proj-x"}}, false},
		{http.Header{"Authorization": {"Bearer a-gateway's"}}, false},
		{http.Header{"Authorization": {"Bearer sk-ant-oat01-x"}}, true},
		{http.Header{"X-Api-Key": {"x"}, "Anthropic-Beta": {"a,oauth-2025-04-20"}}, true},
		{http.Header{"Authorization": {"Bearer eyJhbGciOi.x.y"}}, true},
		{http.Header{"Authorization": {"Bearer x"}, "Chatgpt-Account-Id": {"1"}}, true},
		{http.Header{"Authorization": {"AWS4-HMAC-SHA256 Credential=x"}}, false},
	} {
		if got := client.Subscription(c.h); got != c.want {
			t.Errorf("%v: %v", c.h, got)
		}
	}
}

func TestPatience(t *testing.T) {
	for _, c := range []struct {
		agent, timeout string
		want           time.Duration
	}{
		{"claude-cli/2.1.0 (external, sdk-cli)", "600", time.Minute},
		{"claude-cli/2.1.0 (external, cli)", "10", 5 * time.Second},
		{"GeminiCLI/0.61.0/gemini (linux; x64)", "", 30 * time.Second},
		{"python-requests/2", "", client.DefaultPatience},
		{"python-requests/2", "600", client.DefaultPatience},
		{"", "0", 0},
		{"", "-7", client.DefaultPatience},
		{"", "99999999999999999999", client.DefaultPatience},
		{"", "soon", client.DefaultPatience},
	} {
		h := http.Header{"User-Agent": {c.agent}}
		if c.timeout != "" {
			h.Set("X-Stainless-Timeout", c.timeout)
		}
		if got := client.Patience(h); got != c.want {
			t.Errorf("%q, %q: %v, want %v", c.agent, c.timeout, got, c.want)
		}
	}
}

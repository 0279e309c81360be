package client_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/client"
)

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

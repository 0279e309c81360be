package mcp

import "testing"

func TestAddressOf(t *testing.T) {
	for address, want := range map[string]string{
		"https://mcp.example.com/mcp":      "mcp.example.com",
		"https://mcp.example.com:8443/mcp": "mcp.example.com:8443",
		"http://mcp.example.com/mcp":       "mcp.example.com:80",
		"http://user:secret@[::1]:9/mcp":   "[::1]:9",
		"http://[":                         "",
	} {
		if got := addressOf(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

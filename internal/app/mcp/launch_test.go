package mcp

import (
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
)

func TestServersDoNotGetTheDaemonsSecrets(t *testing.T) {
	t.Setenv("MY_DAEMON_TOKEN", "secret")
	t.Setenv("GITHUB_TOKEN", "for the server")
	l := &launcher{server: config.MCPServer{Env: []string{"A=b"}}, hidden: []string{"MY_DAEMON_TOKEN"}}
	env := l.environ()
	if slices.Contains(env, "MY_DAEMON_TOKEN=secret") || !slices.Contains(env, "GITHUB_TOKEN=for the server") || !slices.Contains(env, "A=b") {
		t.Errorf("%v", env)
	}
}

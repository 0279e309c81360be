package mcp

import (
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// Of gateways that begin at once every one has the key that stays: else what one keeps
// could not be read through another.
func TestGatewaysThatBeginAtOnceHaveOneKey(t *testing.T) {
	for range 200 {
		file := filepath.Join(t.TempDir(), "key")
		keys := make([][]byte, 8)
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for i := range keys {
			wg.Go(func() {
				<-begin
				key, err := keyOf(file)
				if err != nil {
					t.Error(err)
				}
				keys[i] = key
			})
		}
		close(begin)
		wg.Wait()
		stays := testfile.Read(t, file)
		for _, key := range keys {
			if string(key) != string(stays) {
				t.Fatal("keys differ")
			}
		}
	}
}

// Where other users of the machine are let in, those without a credential are not taken for
// this user.
func TestAnyUserIsNotThisUser(t *testing.T) {
	p := &Plane{key: make([]byte, 32)}
	r := httptest.NewRequest("POST", "/mcp", nil)
	if got, err := p.principal(r); err != nil || got != p.Local() {
		t.Errorf("behind the check of users: %q, %v", got, err)
	}
	p.Settings = config.Settings{Serve: config.ServeSettings{AnyUser: true}}
	if got, err := p.principal(r); err != nil || got == p.Local() {
		t.Errorf("with any_user: %q, %v", got, err)
	}
}

func TestNamesAreMadeOfNoSecrets(t *testing.T) {
	for want, argv := range map[string][]string{
		"pkg":     {"npx", "--registry", "https://user:secret@host", "pkg"},
		"node":    {"node", "--env-file", ".env"},
		"server":  {"/usr/bin/server", "--token", "secret"},
		"script":  {"python3", "/home/me/script.py", "secret"},
		"fetcher": {"uvx", "fetcher@1.2.3", "https://user:secret@host"},
	} {
		if got := defaultName(MCPOptions{Command: argv}); got != want {
			t.Errorf("%q is named %q, not %q", argv, got, want)
		}
	}
}

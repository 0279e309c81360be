package core

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/spend"
)

// OpenBook returns the book of the budgets for a project; nil where [budget] bounds nothing.
func (c *Core) OpenBook(s config.Settings, project string) (*spend.Book, error) {
	if !spend.Budget(s.Budget).Any() {
		return nil, nil
	}
	state, err := c.Dirs.State()
	if err != nil {
		return nil, err
	}
	return spend.OpenBook(filepath.Join(state, "spend"), project, spend.Budget(s.Budget)), nil
}

// ProxyName is the environment variable by which a run inside a run finds the proxy of the outer one: its address with the token.
const ProxyName = "PLIMSOLL_PROXY"

// ThroughProxy reports whether a base URL is that of the proxy of the run around this process.
func ThroughProxy(url string) bool {
	outer := os.Getenv(ProxyName)
	token := outer[strings.LastIndexByte(outer, '/')+1:] // the proxy may have two addresses
	return token != "" && strings.Contains(url, "/"+token+"/")
}

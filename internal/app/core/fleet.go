package core

import (
	"path/filepath"
	"sync"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet"
)

// shared is the connection of a process, which everybody who has a [Core] of it uses.
type shared struct {
	mu    sync.Mutex
	fleet *fleet.Fleet
}

// OpenFleet returns what hosts share; nil where [fleet] names no server. Nothing is opened before its first use. All callers get the same one, which
// ends with the process.
func (c *Core) OpenFleet(s config.Settings) (*fleet.Fleet, error) {
	if s.Fleet.URL == "" {
		return nil, nil
	}
	state, err := c.Dirs.State()
	if err != nil {
		return nil, err
	}
	c.fleet.mu.Lock()
	defer c.fleet.mu.Unlock()
	if c.fleet.fleet == nil {
		c.fleet.fleet = fleet.New(fleet.Options{URL: s.Fleet.URL, Credentials: s.Fleet.Credentials, Dir: filepath.Join(state, "fleet")})
	}
	return c.fleet.fleet, nil
}

package core

import (
	"path/filepath"
	"sync"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet"
)

// OpenFleet returns what hosts share, one for the whole process; nil where [fleet] names no server. Nothing is opened before its first use, and
// what was closed is opened again by the next.
func (c *Core) OpenFleet(s config.Settings) (*fleet.Fleet, error) {
	if s.Fleet.URL == "" {
		return nil, nil
	}
	state, err := c.Dirs.State()
	if err != nil {
		return nil, err
	}
	o := fleet.Options{URL: s.Fleet.URL, Credentials: s.Fleet.Credentials, Dir: filepath.Join(state, "fleet")}
	c.fleets.Lock()
	defer c.fleets.Unlock()
	if c.fleets.opened == nil || c.fleets.at != o {
		c.fleets.opened, c.fleets.at = fleet.New(o), o
	}
	return c.fleets.opened, nil
}

// fleets holds what was opened for all that share a [Core].
type fleets struct {
	sync.Mutex
	opened *fleet.Fleet
	at     fleet.Options
}

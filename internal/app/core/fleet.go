package core

import (
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet"
)

// OpenFleet returns what hosts share; nil where [fleet] names no server. Nothing is opened before its first use, and its owner closes it.
func (c *Core) OpenFleet(s config.Settings) (*fleet.Fleet, error) {
	if s.Fleet.URL == "" {
		return nil, nil
	}
	state, err := c.Dirs.State()
	if err != nil {
		return nil, err
	}
	return fleet.New(fleet.Options{URL: s.Fleet.URL, Credentials: s.Fleet.Credentials, Dir: filepath.Join(state, "fleet")}), nil
}

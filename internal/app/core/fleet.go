package core

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// OpenFleet returns what hosts share; nil where [fleet] names no server. Nothing is opened before its first use. All callers get the same one, which
// ends with the process.
func (c *Core) OpenFleet(s config.Settings) *fleet.Fleet {
	if f := c.fleet.Load(); f != nil || s.Fleet.URL == "" {
		return f
	}
	o := fleet.Options{URL: s.Fleet.URL, Credentials: s.Fleet.Credentials}
	if state, err := c.Dirs.State(); err == nil {
		o.Dir = filepath.Join(state, "fleet")
	}
	c.fleet.CompareAndSwap(nil, fleet.New(o))
	return c.fleet.Load()
}

// JoinFleet returns the fleet of [Core.OpenFleet], and the key by which this host is known in it: a name for people, and a random ID that is kept
// in the state directory. Nodes of a cluster may share that directory; their names tell them apart. Without a fleet all results are zero.
func (c *Core) JoinFleet(s config.Settings) (f *fleet.Fleet, k hosts.Key, err error) {
	if f = c.OpenFleet(s); f == nil {
		return nil, k, nil
	}
	state, err := c.Dirs.EnsureState()
	if err != nil {
		return nil, k, err
	}
	if k.Name = s.Fleet.Host; k.Name == "" {
		if k.Name, err = os.Hostname(); err != nil {
			return nil, k, err
		}
	}
	k.ID, err = hostID(filepath.Join(state, "fleet"))
	return f, k, err
}

// hostID returns the ID in a directory's file, and makes both the first time. If two processes make the file at once, both return the ID of
// the first. A damaged file is replaced.
func hostID(dir string) (string, error) {
	file := atomicfile.Replacement{Name: filepath.Join(dir, "host"), Perm: 0o600}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for try := 0; ; try++ {
		text, err := statefile.Read(file.Name, 64)
		if id := strings.TrimSpace(string(text)); err == nil && hosts.ValidID(id) {
			return id, nil
		}
		if err == nil {
			err = os.Remove(file.Name) // what is in it is no ID
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) || try > 2 {
			return "", err
		}
		if _, err := file.Create([]byte(strings.ToLower(rand.Text()[:10]) + "\n")); err != nil {
			return "", err
		}
	}
}

// AnnounceHost tells the other hosts of this one and of the run of this process, nil for a daemon, until end is called. Without a fleet it does
// nothing.
func (c *Core) AnnounceHost(s config.Settings, own *hosts.Own) (end func()) {
	f, key, err := c.JoinFleet(s)
	if f == nil && err == nil {
		return func() {}
	}
	state, stateErr := c.Dirs.State()
	runtime, runtimeErr := c.Dirs.EnsureRuntime()
	if err := errors.Join(err, stateErr, runtimeErr); err != nil {
		c.Warn("other hosts do not see what runs here: " + err.Error())
		return func() {}
	}
	return hosts.Announce(hosts.Options{Fleet: f, Key: key, State: state, Runtime: filepath.Join(runtime, "fleet"), Own: own})
}

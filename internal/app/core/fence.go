package core

import (
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/fence"
)

// Fence finds out whether this process is inside a run. Whoever is there may have set any variable that names our directories, so the places
// count where runs are registered without any, and beside the state in use, too.
func (c *Core) Fence() fence.Finding {
	var ledgers []string
	add := func(dir string, err error) {
		if err == nil {
			ledgers = append(ledgers, dir)
		}
	}
	add(c.Dirs.Runtime())
	add(config.NewDirs(withoutVariables).Runtime())
	if state, err := c.Dirs.State(); err == nil {
		ledgers = append(ledgers, filepath.Join(state, "run"))
	}
	return fence.Find(ledgers)
}

// withoutVariables returns an environment in which nobody has said where anything is.
func withoutVariables(name string) string {
	if name == "TMPDIR" { // an empty one is looked up once more
		return "/tmp"
	}
	return ""
}

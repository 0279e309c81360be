package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// results removes what is kept of tool results, but what somebody reads or writes now.
func (c *Collection) results(a *core.Core) error {
	cache, err := a.Dirs.Cache()
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, mcp.ResultsDir)
	before, err := resultsIn(dir)
	if err != nil || len(before) == 0 {
		return err
	}
	after := map[string]limit.Bytes{}
	if !c.DryRun {
		s, err := spool.Open(spool.Options{Dir: dir, MaxAge: 1}) // all of them are too old
		if err != nil {
			return err
		}
		err = s.Sweep()
		if err = errors.Join(err, s.Close()); err != nil {
			return err
		}
		if after, err = resultsIn(dir); err != nil {
			return err
		}
	}
	for name, size := range before {
		if _, stays := after[name]; stays {
			c.keep("result", name, size.Human(), "somebody reads or writes it")
			continue
		}
		c.remove("result", name, size.Human())
	}
	return nil
}

// resultsIn returns the size of each kept result.
func resultsIn(dir string) (map[string]limit.Bytes, error) {
	found := map[string]limit.Bytes{}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // it has just gone
		}
		var size limit.Bytes
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				size += limit.Bytes(info.Size())
			}
		}
		found[e.Name()] = size
	}
	return found, err
}

// conversations removes what is kept of conversations, for gc.
func (c *Collection) conversations(a *core.Core) error {
	store, err := window.Existing(a)
	if err != nil || store == nil {
		return err
	}
	entries, err := store.List()
	if err != nil {
		return err
	}
	for _, e := range entries {
		c.remove("conversation", e.ID, fmt.Sprintf("%s, %s of %s", e.Time.Format("2006-01-02 15:04"), limit.Count(e.Messages, "message"), e.Model))
	}
	if c.DryRun {
		return nil
	}
	_, _, err = store.Remove(checkpoint.Which{All: true})
	return err
}

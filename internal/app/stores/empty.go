package stores

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// emptyResults removes the stored results of tools, except those that a process reads or writes now.
func emptyResults(dir string, dry bool) ([]Item, error) {
	before, err := resultSizes(dir)
	if err != nil || len(before) == 0 {
		return nil, err
	}
	after := map[string]limit.Bytes{}
	if !dry {
		s, err := spool.Open(spool.Options{Dir: dir, MaxAge: 1}) // all of them are too old
		if err != nil {
			return nil, err
		}
		if err = errors.Join(s.Sweep(), s.Close()); err != nil {
			return nil, err
		}
		if after, err = resultSizes(dir); err != nil {
			return nil, err
		}
	}
	var items []Item
	for name, size := range before {
		item := Item{Name: name, What: size.Human()}
		if _, stays := after[name]; stays {
			item.Kept = "somebody reads or writes it"
		}
		items = append(items, item)
	}
	return items, nil
}

// resultSizes returns the size of each kept result by its name, without those that have gone meanwhile. The error is that of reading dir.
func resultSizes(dir string) (map[string]limit.Bytes, error) {
	sizes := map[string]limit.Bytes{}
	entries, err := os.ReadDir(dir)
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
		sizes[e.Name()] = size
	}
	return sizes, err
}

// emptyCuts removes all that was cut from conversations, or with dry only lists it.
func emptyCuts(dir string, dry bool) (items []Item, err error) {
	store, err := checkpoint.Open(checkpoint.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	entries, err := store.List()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		items = append(items, Item{Name: e.ID, What: fmt.Sprintf("%s, %s of %s", e.Time.Format("2006-01-02 15:04"), limit.Count(e.Messages, "message"), e.Model)})
	}
	if !dry {
		_, _, err = store.Remove(checkpoint.Which{All: true})
	}
	return items, err
}

package window

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/journal"
)

// openStore opens the store of compactions that the configuration describes; nil if it is off. With an error it still returns a store, in
// memory: without any, each request over the limit would be cut again, and to other bytes than the one before.
func openStore(app *core.Core, w config.WindowSettings, j *journal.Journal) (*checkpoint.Store, error) {
	if w.Store == "off" {
		return nil, nil
	}
	o := checkpoint.Options{Journal: j}
	var failed error
	if w.Store == "disk" {
		var store *checkpoint.Store
		if o.Dir, failed = conversationsDir(app); failed == nil {
			store, failed = checkpoint.Open(o)
		}
		if failed == nil {
			return store, nil
		}
		o.Dir = ""
	}
	store, err := checkpoint.Open(o)
	return store, errors.Join(failed, err)
}

func conversationsDir(app *core.Core) (string, error) {
	state, err := app.Dirs.State()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "window", "conversations"), nil
}

// Existing opens the store on the disk without making it; nil, nil if nothing was ever kept.
func Existing(app *core.Core) (*checkpoint.Store, error) {
	dir, err := conversationsDir(app)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return checkpoint.Open(checkpoint.Options{Dir: dir})
}

// Entry describes a cut from a conversation at one time, Cut has the text too.
type (
	Entry = checkpoint.Entry
	Cut   = checkpoint.Cut
)

// Cuts lists what was cut from conversations, the newest first: all, or those whose entry or
// conversation has an ID that begins with of, which may be none.
func Cuts(app *core.Core, of string) ([]Entry, error) {
	store, err := Existing(app)
	if err != nil || store == nil {
		return []Entry{}, err
	}
	all, err := store.List()
	if err != nil {
		return nil, err
	}
	found := []Entry{}
	for _, e := range all {
		if strings.HasPrefix(e.ID, of) || strings.HasPrefix(e.Conversation, of) {
			found = append(found, e)
		}
	}
	return found, nil
}

// ReadCut returns one entry of [Cuts] with the text that was cut.
func ReadCut(app *core.Core, id string) (Cut, error) {
	store, err := Existing(app)
	if err != nil {
		return Cut{}, err
	}
	return store.Read(id)
}

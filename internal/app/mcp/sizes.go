package mcp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/tools/sizes"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// The gateways of a run are processes that the agent starts. What they did reaches the run's report through a directory that is named by the run.
const (
	tallyDir = "mcp-runs"
	// tallyEvery is the interval of writing, so a killed gateway loses only its counts: agents may kill servers right after an answer.
	tallyEvery = 100 * time.Millisecond
	// tallyAge is the age at which the tally of a run that never came to its end is removed.
	tallyAge = 7 * 24 * time.Hour
)

// TallyOf returns the directory of the account of what the MCP gateways in a run do. It may not be there.
func TallyOf(app *core.Core, run string) (string, error) {
	state, err := app.Dirs.State()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, tallyDir, run), nil
}

// openTally returns an account of tool calls for the run that this gateway is in; nil if it is in none, or if the account cannot be opened.
func openTally(app *core.Core) *sizes.Account {
	run := os.Getenv(sandbox.CookieName)
	if run == "" || !admission.ValidID(run) {
		return nil
	}
	dir, err := TallyOf(app, run)
	if err != nil {
		return nil
	}
	account, err := sizes.Open(dir, sizes.Options{Every: tallyEvery, Lists: true})
	if err != nil {
		return nil
	}
	return account
}

// TakeTally returns what the gateways of a run did, and removes the account; also those of runs that were killed, once they are old. With an
// error it still returns the rows that could be read.
func TakeTally(app *core.Core, run string) ([]sizes.Row, error) {
	dir, err := TallyOf(app, run)
	if err != nil {
		return nil, nil
	}
	rows, err := sizes.Read(dir)
	_ = os.RemoveAll(dir)
	forgetTallies(filepath.Dir(dir), time.Now().Add(-tallyAge))
	return rows, err
}

// forgetTallies removes the tallies of killed runs that were last written before a time.
func forgetTallies(dir string, before time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.ModTime().After(before) {
			continue
		}
		_ = os.RemoveAll(filepath.Join(dir, e.Name()))
	}
}

// sizesDir is the name of the directory of the sizes of tool results, below the state directory.
const sizesDir = "mcp-sizes"

// Size holds the sizes of the results of one tool, as `stats --mcp --json` prints it.
type Size = sizes.Row

// Stats returns the sizes of the results of MCP tools, the largest sum first, of one server, or of all if server is "". A file that cannot
// be read is a warning.
func Stats(app *core.Core, server string) ([]Size, error) {
	state, err := app.Dirs.State()
	if err != nil {
		return nil, err
	}
	rows, err := sizes.Read(filepath.Join(state, sizesDir))
	if err != nil {
		app.Warn(err.Error())
	}
	if server != "" {
		rows = slices.DeleteFunc(rows, func(r Size) bool { return r.Server != server })
	}
	return rows, nil
}

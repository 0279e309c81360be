package memories

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// ResultsDir is the directory of tool results, below the cache directory: they are large and can be had again.
const ResultsDir = "results"

// ServersDir is the directory of the logs of MCP servers, below the state directory.
const ServersDir = "servers"

// otherStores returns the other stores of this user that may hold the words of a record. cache may be "": there are no results then.
func otherStores(state, cache string) []memory.Elsewhere {
	all := []memory.Elsewhere{
		windowElsewhere{filepath.Join(state, "window", "conversations")},
		agentsElsewhere{filepath.Join(state, "agents")},
		tasksElsewhere{filepath.Join(state, "agents")},
		runsElsewhere{state},
		logsElsewhere{filepath.Join(state, ServersDir)},
	}
	if cache != "" {
		all = append(all, resultsElsewhere{filepath.Join(cache, ResultsDir)})
	}
	return all
}

// dirExists reports whether there is a directory with this path.
func dirExists(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// makePlaces returns a place for each name, all with the same action.
func makePlaces(names []string, action string) (places []memory.Place) {
	for _, name := range names {
		places = append(places, memory.Place{Name: name, Action: action})
	}
	return places
}

// windowElsewhere forgets what compactions cut, what they made of it, and what was added to prompts.
type windowElsewhere struct{ dir string }

// Name implements [memory.Elsewhere].
func (windowElsewhere) Name() string { return "kept compactions" }

// Forget implements [memory.Elsewhere].
func (w windowElsewhere) Forget(_ context.Context, match memory.Match, dry bool) ([]memory.Place, error) {
	if !dirExists(w.dir) {
		return nil, nil
	}
	store, err := checkpoint.Open(checkpoint.Options{Dir: w.dir})
	if err != nil {
		return nil, err
	}
	files, err := store.Forget(match.Finder().In, dry)
	return makePlaces(files, memory.Removed), err
}

// runsElsewhere blots words out of what is kept of runs: the arguments of commands, and what events tell.
type runsElsewhere struct{ state string }

// Name implements [memory.Elsewhere].
func (runsElsewhere) Name() string { return "runs" }

// Forget implements [memory.Elsewhere].
func (r runsElsewhere) Forget(_ context.Context, match memory.Match, dry bool) ([]memory.Place, error) {
	ids, err := runs.Forget(r.state, match.Finder(), dry)
	return makePlaces(ids, memory.Blotted), err
}

// resultsElsewhere removes kept results of tools that hold the words, or whose call does.
type resultsElsewhere struct{ dir string }

// Name implements [memory.Elsewhere].
func (resultsElsewhere) Name() string { return "results of tools" }

// Forget implements [memory.Elsewhere].
func (r resultsElsewhere) Forget(_ context.Context, match memory.Match, dry bool) (places []memory.Place, err error) {
	if !dirExists(r.dir) {
		return nil, nil
	}
	// The bounds are those of who writes results; these evict nothing.
	s, err := spool.Open(spool.Options{Dir: r.dir, MaxAge: 1 << 62})
	if err != nil {
		return nil, err
	}
	list, err := s.Forget(match.Finder(), dry)
	for _, f := range list {
		what := memory.Removed
		if f.Blotted {
			what = memory.Blotted
		}
		places = append(places, memory.Place{Name: f.Name, Action: what})
	}
	return places, errors.Join(err, s.Close())
}

// logsElsewhere blots words out of the logs of MCP servers.
type logsElsewhere struct{ dir string }

// Name implements [memory.Elsewhere].
func (logsElsewhere) Name() string { return "logs of MCP servers" }

// Forget implements [memory.Elsewhere].
func (l logsElsewhere) Forget(_ context.Context, match memory.Match, dry bool) (places []memory.Place, err error) {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		held, oneErr := overwriteWords(filepath.Join(l.dir, e.Name()), match.Finder(), dry)
		if held {
			places = append(places, memory.Place{Name: e.Name(), Action: memory.Blotted})
		}
		err = errors.Join(err, oneErr)
	}
	return places, err
}

// overwriteWords overwrites words in a file in place, without disturbing a process that appends to it, and reports whether the file held
// them. With dry it only looks.
func overwriteWords(path string, words *memory.Finder, dry bool) (held bool, err error) {
	mode := os.O_RDWR
	if dry {
		mode = os.O_RDONLY
	}
	f, err := statefile.Open(path, mode, 0)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if held, err = words.Read(f); err != nil || !held || dry {
		return held, err
	}
	if _, err := words.Overwrite(f); err != nil {
		return true, err
	}
	return true, f.Sync()
}

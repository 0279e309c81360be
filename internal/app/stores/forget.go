package stores

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/notes"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// makePlaces returns a place for each name, all with the same action.
func makePlaces(names []string, action string) (places []memory.Place) {
	for _, name := range names {
		places = append(places, memory.Place{Name: name, Action: action})
	}
	return places
}

// forgetCuts removes what compactions cut, what they made of it, and what was added to prompts, where it holds the words. With dry it only lists
// it.
func forgetCuts(_ context.Context, dir string, match memory.Match, dry bool) ([]memory.Place, error) {
	store, err := checkpoint.Open(checkpoint.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	files, err := store.Forget(match.Finder().In, dry)
	return makePlaces(files, memory.Removed), err
}

// forgetRuns overwrites the words in the arguments of commands and in what events tell.
func forgetRuns(_ context.Context, dir string, match memory.Match, dry bool) ([]memory.Place, error) {
	ids, err := runs.Forget(filepath.Dir(dir), match.Finder(), dry)
	return makePlaces(ids, memory.Blotted), err
}

// forgetResults removes kept results of tools that hold the words, or whose call does. With dry it only lists them.
func forgetResults(_ context.Context, dir string, match memory.Match, dry bool) (places []memory.Place, err error) {
	// The bounds are those of who writes results; these evict nothing.
	s, err := spool.Open(spool.Options{Dir: dir, MaxAge: 1 << 62})
	if err != nil {
		return nil, err
	}
	list, err := s.Forget(match.Finder(), dry)
	for _, f := range list {
		action := memory.Removed
		if f.Blotted {
			action = memory.Blotted
		}
		places = append(places, memory.Place{Name: f.Name, Action: action})
	}
	return places, errors.Join(err, s.Close())
}

// forgetLogs overwrites the words in the logs of MCP servers, or with dry lists the logs that hold them. After an error it goes on with the other
// logs.
func forgetLogs(_ context.Context, dir string, match memory.Match, dry bool) (places []memory.Place, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		held, oneErr := overwriteWords(filepath.Join(dir, e.Name()), match.Finder(), dry)
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

// forgetJobs overwrites the words in the records, reports and output of submitted jobs, or with dry lists the jobs that hold them.
func forgetJobs(ctx context.Context, dir string, match memory.Match, dry bool) ([]memory.Place, error) {
	words := match.Finder()
	ids, err := jobs.NewStore(filepath.Dir(dir)).Forget(ctx, func(path string, dry bool) (bool, error) { return overwriteWords(path, words, dry) }, dry)
	return makePlaces(ids, memory.Blotted), err
}

// forgetNotes removes each file by an agent that holds the words, or with dry only lists it. A file that cannot be read is passed over; after
// another error it goes on with the other files.
func forgetNotes(ctx context.Context, root string, match memory.Match, dry bool) (places []memory.Place, err error) {
	dirs, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	words := match.Finder()
	var all error
	for _, dir := range dirs {
		if !dir.IsDir() {
			continue
		}
		// No record follows these files: no search finds them by now.
		d, err := notes.Open(notes.Options{Dir: filepath.Join(root, dir.Name())})
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		list, err := d.List()
		all = errors.Join(all, err)
		for _, note := range list {
			text, err := d.Read(note.Path)
			if err != nil || !words.In([]byte(text)) {
				continue
			}
			if !dry {
				if _, err := d.Execute(ctx, notes.Command{Command: "delete", Path: note.Path}); err != nil {
					all = errors.Join(all, err)
					continue
				}
			}
			places = append(places, memory.Place{Name: dir.Name() + note.Path, Action: memory.Removed})
		}
	}
	return places, all
}

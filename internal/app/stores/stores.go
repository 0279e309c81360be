// Package stores lists what Plimsoll keeps of one user on disk: a row for each store, with its folder, its bound, and how it forgets words.
//
// `plimsoll memory forget` takes words out of the rows that can hold them, `plimsoll doctor` shows how large each is and what else lies in
// those directories, and `plimsoll gc` empties two of them by name. A test holds docs/security.md to the rows.
package stores

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/agent/conversation"
	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/notes"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// Store is one kind of what is kept.
type Store struct {
	// Name says for people what is in it.
	Name string
	// Folder is below the state directory, or below the cache directory for what can be made again. It is a pattern where each agent has one.
	Folder string
	Cached bool
	// Bound says how much is kept at most, unless it is configured; "" for what stays small.
	Bound string
	// Forget takes the words of a match out of one folder, as [memory.Elsewhere] has it; nil for what holds no words of a conversation, and for
	// the memory itself. The folder exists.
	Forget func(ctx context.Context, dir string, match memory.Match, dry bool) ([]memory.Place, error)
	// Empty removes all that nobody uses now; nil for what only ages. The folder exists.
	Empty func(dir string, dry bool) ([]Item, error)
}

// Item is something that [Store.Empty] removes.
type Item struct {
	Name, What string
	// Kept says why it has to stay, "" for what went.
	Kept string
}

// ResultsDir is the directory of tool results, below the cache directory: they are large and can be had again.
const ResultsDir = "results"

// ServersDir is the directory of the logs of MCP servers, below the state directory.
const ServersDir = "servers"

// The stores that are emptied by name.
var (
	Conversations = Store{
		Name: "kept compactions", Folder: "window/conversations", Bound: limit.Bytes(checkpoint.DefaultMaxBytes).Human(), Forget: forgetCuts, Empty: emptyCuts,
	}
	Results = Store{
		Name: "results of tools", Folder: ResultsDir, Cached: true, Bound: limit.Bytes(spool.DefaultMaxBytes).Human(), Forget: forgetResults, Empty: emptyResults,
	}
)

// All are the stores, the largest bound first.
var All = []Store{
	Results,
	{Name: "jobs", Folder: "jobs", Bound: "1 GiB", Forget: forgetJobs},
	Conversations,
	{Name: "runs", Folder: "runs", Bound: "256 MiB", Forget: forgetRuns},
	{Name: "memory", Folder: "memory", Bound: limit.Bytes(memory.DefaultMaxBytes).Human()},
	{Name: "sessions of agents", Folder: "agents/*/conversations", Bound: limit.Bytes(conversation.DefaultMaxBytes).Human() + " an agent", Forget: forgetSessions},
	{Name: "tasks of agents", Folder: "agents/*/tasks", Bound: limit.Bytes(tasklog.DefaultMaxStore).Human() + " an agent", Forget: forgetTasks},
	{Name: "notes of agents", Folder: "notes", Bound: limit.Bytes(notes.MaxTotal).Human() + " a project", Forget: forgetNotes},
	{Name: "profile", Folder: "profile"},
	{Name: "logs of MCP servers", Folder: ServersDir, Bound: "2 MiB a server", Forget: forgetLogs},
	{Name: "fleet", Folder: "fleet", Bound: "8 MiB"},
	{Name: "history of peaks", Folder: "history", Bound: "200 runs a tool"},
	{Name: "imported history", Folder: "imported", Bound: "200 runs a tool"},
	{Name: "spending", Folder: "spend"},
	{Name: "sizes of results", Folder: "mcp-sizes"},
	{Name: "calls of a run", Folder: "mcp-runs"},
	{Name: "learned limits", Folder: "window/limits"},
	{Name: "rates of providers", Folder: "window/rate"},
	{Name: "sent traces", Folder: "traces"},
	{Name: "notices", Folder: "notices"},
	{Name: "claims", Folder: "run"}, // where PLIMSOLL_STATE_DIR is set; else in the runtime directory
}

// singles are the names of files that lie beside the folders of the stores and stay small: what setup has done, a key, who was told of what.
var singles = []string{"setup.json", "setup.json.lock", "results.key", "forgotten", "host"}

// Unknown returns the names of what lies in the state directory, or in the cache directory, and belongs to no store.
func Unknown(state, cache string) (names []string) {
	for i, dir := range []string{state, cache} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			ours := slices.ContainsFunc(All, func(s Store) bool {
				top, _, _ := strings.Cut(s.Folder, "/")
				return top == e.Name() && s.Cached == (i == 1)
			})
			if !ours && !slices.Contains(singles, e.Name()) {
				names = append(names, filepath.Join(dir, e.Name()))
			}
		}
	}
	return names
}

// Dirs returns the folders of a store that there are, none where nothing was ever kept. cache may be "". It is an error if one cannot be looked
// at: what is in it is not known.
func (s Store) Dirs(state, cache string) (dirs []string, err error) {
	base := state
	if s.Cached {
		base = cache
	}
	if base == "" {
		return nil, nil
	}
	dirs = []string{base}
	for part := range strings.SplitSeq(s.Folder, "/") {
		var below []string
		for _, dir := range dirs {
			names := []string{part}
			if part == "*" {
				entries, readErr := os.ReadDir(dir)
				names = names[:0]
				for _, e := range entries {
					names = append(names, e.Name())
				}
				err = errors.Join(err, readErr)
			}
			for _, name := range names {
				path := filepath.Join(dir, name)
				info, statErr := os.Stat(path)
				switch {
				case statErr == nil && info.IsDir():
					below = append(below, path)
				case statErr != nil && !errors.Is(statErr, fs.ErrNotExist):
					err = errors.Join(err, statErr)
				}
			}
		}
		dirs = below
	}
	return dirs, err
}

// Elsewhere returns the stores that may hold words of a record of the memory, for its options. cache may be "": there are no results then.
func Elsewhere(state, cache string) (all []memory.Elsewhere) {
	for _, s := range All {
		if s.Forget == nil {
			continue
		}
		all = append(all, memory.Elsewhere{Name: s.Name, Forget: func(ctx context.Context, match memory.Match, dry bool) (places []memory.Place, err error) {
			dirs, err := s.Dirs(state, cache)
			for _, dir := range dirs {
				some, oneErr := s.Forget(ctx, dir, match, dry)
				places, err = append(places, some...), errors.Join(err, oneErr)
			}
			return places, err
		}})
	}
	return all
}

// Size is the part of the disk that a store takes.
type Size struct {
	Name  string      `json:"name"`
	Bytes limit.Bytes `json:"bytes"`
	Files int         `json:"files"`
	// Bound says how much it may be, "" for what stays small.
	Bound string `json:"bound,omitempty"`
}

// Other is the name of the [Size] of all that belongs to no store.
const Other = "other files"

// Sizes returns what each store takes of the disk, without those of which there is nothing. Files that cannot be looked at, or that go meanwhile,
// do not count. Either directory may be "" or missing.
func Sizes(ctx context.Context, state, cache string) (sizes []Size) {
	known := map[string]bool{}
	for _, s := range All {
		size := Size{Name: s.Name, Bound: s.Bound}
		dirs, _ := s.Dirs(state, cache)
		for _, dir := range dirs {
			known[dir] = true
			size.add(ctx, dir, nil)
		}
		sizes = append(sizes, size)
	}
	rest := Size{Name: Other}
	for _, dir := range []string{state, cache} {
		if dir != "" {
			rest.add(ctx, dir, known)
		}
	}
	return slices.DeleteFunc(append(sizes, rest), func(s Size) bool { return s.Files == 0 })
}

// add adds the regular files below a directory, but for those below one of skip.
func (s *Size) add(ctx context.Context, dir string, skip map[string]bool) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil:
			return nil
		case e.IsDir():
			if skip[path] {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			s.Bytes, s.Files = s.Bytes+limit.Bytes(info.Size()), s.Files+1
		}
		return nil
	})
}

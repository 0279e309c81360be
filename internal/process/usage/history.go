// Package usage is the history of peaks: what every run of every tool needed, per project. Estimates and `plimsoll stats` read it.
//
//	h := usage.Open(stateDir, usage.Options{Warn: func(w usage.Warning) { … }})
//	err := h.Append(usage.Project{Key: "web-1f3a", Path: "/src/web"}, "claude", run)
//	runs, err := h.Runs("web-1f3a", "claude") // in the order in which they were appended
//
// A [History] is a directory with one file per project, which holds, per tool, the last [KeptRuns] runs and a count of all that ever were. Any
// number of goroutines and processes may append at once: a writer holds a lock while it replaces the file, waits for it at most [Options.LockWait]
// and then gives up with an [OffError], so that a run goes on without its history. A reader takes no lock and sees the file before or after a write,
// never between.
//
// Bounds: [KeptRuns] runs per tool, [MaxTools] tools per project, [MaxFileBytes] per file, [MaxProjects] files in a listing, [MaxToolProjects] of
// them for one tool's runs, [store.KeptDamaged] damaged files; what is dropped or set aside is told through [Options.Warn]. Files are 0600,
// directories 0700.
package usage

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Defaults and bounds of a [History].
const (
	// DefaultLockWait bounds the wait of a writer for the others. A write holds the lock
	// for some milliseconds, on a busy disk for a tenth of a second, and a thousand runs may end at once.
	DefaultLockWait = 2 * time.Minute
	// MaxProjects bounds the project files that a listing reads.
	MaxProjects = 256
	// MaxToolProjects bounds the projects written last that [History.ToolRuns] reads:
	// it runs before every first run in a project and must take milliseconds.
	MaxToolProjects = 32

	maxEntries = 8192 // of the directory, seen by a listing
	staleAfter = 10 * time.Minute
	sweepEvery = 20 // appends
	folder     = "history"
	extension  = ".json"
)

// Options configure a [History]; the zero value means the defaults.
type Options struct {
	// Warn is called with each thing that the user should know, by the goroutine that called a method; nil logs it with slog.
	Warn func(Warning)
	// Keep is the number of runs kept per tool and project (KeptRuns, which is also the most).
	Keep int
	// LockWait bounds the wait of Append for other writers (DefaultLockWait).
	LockWait time.Duration
}

// History is the history of all projects, in one directory. It is safe for concurrent use when Warn is.
type History struct {
	directory string
	options   Options
}

// Open returns the history below a state directory, in its folder "history". Nothing is read or made before it is needed.
func Open(stateDir string, o Options) *History {
	if o.LockWait <= 0 {
		o.LockWait = DefaultLockWait
	}
	if o.Keep <= 0 || o.Keep > KeptRuns {
		o.Keep = KeptRuns
	}
	return &History{directory: filepath.Join(stateDir, folder), options: o}
}

// Directory returns the directory of the project files.
func (h *History) Directory() string { return h.directory }

// Append records one run of a tool in a project. The error is an [OffError] when the history
// could not be written, or wraps [ErrInvalid]; in both cases nothing was recorded.
func (h *History) Append(p Project, tool string, r Run) error {
	if err := errors.Join(checkKey(p.Key), checkTool(tool), checkShared(p.Shared)); err != nil {
		return err
	}
	r.Method, r.Layer, r.Outcome = sanitizeWord(r.Method), sanitizeWord(r.Layer), journal.Outcome(sanitizeWord(string(r.Outcome)))
	if err := r.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(h.directory, 0o700); err != nil {
		return h.offError(h.directory, err)
	}
	root, err := statefile.OpenRoot(h.directory)
	if err != nil {
		return h.offError(h.directory, err)
	}
	defer root.Close()

	name := p.Key + extension
	unlock, err := h.lock(p.Key)
	if err != nil {
		return err
	}
	err = h.addRun(root, name, p, tool, r)
	unlock()
	if err != nil {
		return err
	}
	atomicfile.SyncDir(root) // outside the lock: the new name is visible already, this makes it survive a power cut
	return nil
}

// addRun reads the project's file, adds a run and writes the file anew. It warns if a tool's history had to go for that, and now and then
// removes temporary files of killed writers. The caller holds the project's lock.
func (h *History) addRun(root *os.Root, name string, p Project, tool string, r Run) error {
	path := filepath.Join(h.directory, name)
	d, err := h.readOrCreate(root, name, p.Key)
	if err != nil {
		return err
	}
	d.Path = limit.Clip(p.Path, maxPath)
	if p.Shared != "" {
		d.Shared = p.Shared
	}
	// A variant that makes room is counted and not told: scripts that are written anew each time would tell with each run.
	if evicted := d.addRun(tool, r, h.options.Keep); evicted != nil && !strings.Contains(evicted.Tool, variantMark) {
		h.warn(Warning{
			Kind: ToolEvicted, Path: path, Count: len(evicted.Runs),
			Text: fmt.Sprintf("the history of %s in %s was dropped: a project keeps %d tools, and it was unused for longest", evicted.Tool, path, MaxTools),
		})
	}
	if d.Appends%sweepEvery == 0 {
		removeStale(root, p.Key)
	}
	return h.writeDocument(root, name, d)
}

// readOrCreate returns a project's document to add to: a new one if there is none or it is damaged, which is set aside then. The caller holds the
// project's lock.
func (h *History) readOrCreate(root *os.Root, name, key string) (*document, error) {
	d, err := h.readDocument(root, name, key)
	damaged := (*damage)(nil)
	switch {
	case err == nil:
		return d, nil
	case errors.As(err, &damaged):
		err = h.setAside(root, name, damaged)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	return &document{Schema: Schema, Project: key}, err
}

// writeDocument writes the project's file anew. The caller holds the project's lock.
func (h *History) writeDocument(root *os.Root, name string, d *document) error {
	path := filepath.Join(h.directory, name)
	body, err := json.Marshal(d)
	if err != nil {
		return &OffError{Reason: OffFailed, Path: path, Err: err}
	}
	// The callers sync the directory without the lock.
	err = atomicfile.Replacement{
		Root: root, Name: name, Perm: 0o600, Kept: atomicfile.DurableContent, Temporary: d.Project + temporaryInfix + rand.Text(),
	}.Write(body)
	if err != nil {
		return h.offError(path, err)
	}
	return nil
}

// damage is the error for a file whose content cannot be used.
type damage struct{ why error }

// Error implements error.
func (d *damage) Error() string { return d.why.Error() }

// readDocument returns a project's document. The error is fs.ErrNotExist, a *damage or an *OffError.
func (h *History) readDocument(root *os.Root, name, key string) (*document, error) {
	path := filepath.Join(h.directory, name)
	f, err := statefile.OpenIn(root, name, os.O_RDONLY, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, h.offError(path, err)
	}
	defer f.Close()
	status, err := f.Stat()
	if err != nil {
		return nil, h.offError(path, err)
	}
	if !status.Mode().IsRegular() {
		return nil, &OffError{Reason: OffFailed, Path: path, Err: fmt.Errorf("not a regular file (%v)", status.Mode().Type())}
	}
	body, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, h.offError(path, err)
	}
	if len(body) > MaxFileBytes {
		return nil, &damage{fmt.Errorf("it has more than %v", limit.Bytes(MaxFileBytes).Human())}
	}
	d, err := parse(body, key)
	switch {
	case errors.Is(err, errNewer):
		return nil, &OffError{Reason: OffNewer, Path: path, Err: err}
	case err != nil:
		return nil, &damage{err}
	}
	return d, nil
}

// Runs returns the runs kept of a tool in a project, without those of its variants, oldest first; nil when there are none. A damaged file
// is reported through Warn and counts as empty; the next Append sets it aside.
func (h *History) Runs(projectKey, tool string) ([]Run, error) {
	d, err := h.readUnlocked(projectKey)
	if err != nil || d == nil {
		return nil, err
	}
	if s := d.history(tool); s != nil {
		return s.runs(), nil
	}
	return nil, nil
}

// Project returns the summaries of one project's tools, sorted by name; nil when there are none.
func (h *History) Project(projectKey string) ([]Summary, error) {
	d, err := h.readUnlocked(projectKey)
	if err != nil || d == nil {
		return nil, err
	}
	return d.summaries(), nil
}

// readUnlocked reads one project's document without a lock; nil when there is none, or it is damaged, of which it warns.
func (h *History) readUnlocked(key string) (*document, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	root, err := statefile.OpenRoot(h.directory)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, h.offError(h.directory, err)
	}
	defer root.Close()
	d, err := h.readDocument(root, key+extension, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if damaged, ok := errors.AsType[*damage](err); ok {
		h.warnDamaged(key+extension, damaged)
		return nil, nil
	}
	return d, err
}

// warnDamaged warns of a damaged file that a reader has met.
func (h *History) warnDamaged(name string, damaged *damage) {
	path := filepath.Join(h.directory, name)
	h.warn(Warning{
		Kind: CorruptFound, Path: path, Count: 1,
		Text: fmt.Sprintf("the history file %s is damaged and not used: %v; the next run in that project sets it aside", path, damaged),
	})
}

// summaries returns one summary for each tool and variant of the project, sorted by both.
func (d *document) summaries() []Summary {
	list := make([]Summary, 0, len(d.Tools))
	for _, s := range d.Tools {
		tool, variant := splitHistoryKey(s.Tool)
		list = append(list, Summary{
			Project: Project{Key: d.Project, Path: d.Path, Shared: d.Shared}, Tool: tool, Variant: variant,
			Recorded: s.Recorded, OOMKills: s.OOMKills, Runs: s.runs(),
		})
	}
	sorting.By(list, func(a, b Summary) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Variant, b.Variant))
	})
	return list
}

// lock takes the project's lock and returns the function that releases it. It waits for other writers, which get it in the order in which
// they came, for LockWait at most; then the error is OffLocked.
func (h *History) lock(key string) (unlock func(), err error) {
	path := filepath.Join(h.directory, key+".lock")
	ctx, cancel := context.WithTimeoutCause(context.Background(), h.options.LockWait, errLockWait)
	defer cancel()
	f, err := filelock.Open(ctx, path)
	switch {
	case err == nil:
		return func() { _ = filelock.Release(f) }, nil
	case errors.Is(err, errLockWait):
		return nil, &OffError{Reason: OffLocked, Path: path, Err: fmt.Errorf("still locked after %v", h.options.LockWait)}
	default:
		return nil, h.offError(path, err)
	}
}

var errLockWait = errors.New("the lock was not released")

// sanitizeWord returns s as at most maxWord plain characters; others are replaced by '_'. So a record has a largest size, whatever it was given.
func sanitizeWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\\<>&`, r) {
			return '_'
		}
		return r
	}, limit.Clip(s, maxWord))
}

// Forget removes the runs kept of a tool in a project, of all its variants, and returns how many they were. Other tools keep theirs. The
// error is an [OffError] or wraps [ErrInvalid], and then nothing was removed; a damaged file is left for the next [History.Append] to set
// aside.
func (h *History) Forget(projectKey, tool string) (runs int, err error) {
	if err := errors.Join(checkKey(projectKey), checkTool(tool)); err != nil {
		return 0, err
	}
	root, err := statefile.OpenRoot(h.directory)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		return 0, h.offError(h.directory, err)
	}
	defer root.Close()
	unlock, err := h.lock(projectKey)
	if err != nil {
		return 0, err
	}
	defer unlock()
	name := projectKey + extension
	d, err := h.readDocument(root, name, projectKey)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if damaged, ok := errors.AsType[*damage](err); ok {
		h.warnDamaged(name, damaged)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	runs = d.forget(tool)
	if runs == 0 {
		return 0, nil
	}
	if err := h.writeDocument(root, name, d); err != nil {
		return 0, err
	}
	atomicfile.SyncDir(root)
	return runs, nil
}

// forget removes a tool with all its variants, and returns the number of its runs.
func (d *document) forget(tool string) (runs int) {
	d.Tools = slices.DeleteFunc(d.Tools, func(s *toolHistory) bool {
		of, _ := splitHistoryKey(s.Tool)
		if of == tool {
			runs += len(s.Runs)
		}
		return of == tool
	})
	return runs
}

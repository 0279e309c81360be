package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/demo"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/app/stores"
	"github.com/plimsoll/plimsoll/internal/app/submit"
	"github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// GCOptions are the settings of `plimsoll gc`.
type GCOptions struct {
	// DryRun lists what would be removed, and removes nothing.
	DryRun bool
	// Conversations removes what is kept of conversations instead: see `plimsoll runs --cuts`.
	Conversations bool
	// Results removes what is kept of large results of tools instead.
	Results bool
}

// Garbage is one thing that a supervisor which was killed has left behind.
type Garbage struct {
	// Kind is "claim", "group", "ledger", "file", "run", "job", "memory", "conversation" or "result".
	Kind string `json:"kind"`
	// Name is the claim's ID, the group's or file's path.
	Name string `json:"name"`
	// What describes it further, for a person.
	What string `json:"what"`
	// Why is the reason why it is kept; "" for what is removed.
	Why string `json:"why,omitempty"`
}

// Collection lists the things that a clean-up removed, or would remove, and those that it had to keep.
type Collection struct {
	DryRun  bool      `json:"dry_run"`
	Removed []Garbage `json:"removed"`
	Kept    []Garbage `json:"kept"`
}

// GC removes what dead supervisors left: claims with their processes and groups, groups whose claim is lost, ledgers of earlier boots,
// half-written files; and runs, jobs and records of the memory beyond their bounds. With o.Conversations or o.Results it only empties that store.
// What can't be found out or removed is in the joined error or in Kept; the rest is done nevertheless.
func GC(ctx context.Context, a *core.Core, o GCOptions) (Collection, error) {
	c := Collection{DryRun: o.DryRun, Removed: []Garbage{}, Kept: []Garbage{}}
	if o.Conversations {
		return c, c.empty(a, "conversation", stores.Conversations)
	}
	if o.Results {
		return c, c.empty(a, "result", stores.Results)
	}
	err := errors.Join(
		c.removeClaims(ctx, a),
		c.removeTemporaries(a),
		c.removeDemos(),
		c.pruneRuns(a),
		c.removeJobs(ctx, a),
		c.compactMemory(ctx, a),
	)
	return c, err
}

func (c *Collection) addRemoved(kind, name, what string) {
	c.Removed = append(c.Removed, Garbage{Kind: kind, Name: name, What: what})
}

func (c *Collection) addKept(kind, name, what, why string) {
	c.Kept = append(c.Kept, Garbage{Kind: kind, Name: name, What: what, Why: why})
}

// removeClaims removes the claims of dead supervisors, with the processes and groups that they left, and then groups without a claim. With
// DryRun it only lists them.
func (c *Collection) removeClaims(ctx context.Context, a *core.Core) error {
	dir, err := a.Dirs.EnsureRuntime()
	if err != nil {
		return fmt.Errorf("who holds memory cannot be read, so nothing of it was cleaned up: %w", err)
	}
	warn := func(w admission.Warning) {
		if w.About != "stale" { // is in the result
			a.Warn(w.Text)
		}
	}
	ledger, err := admission.Open(admission.Options{Dir: dir, Shared: a.SharedLedger(), Current: holder.Current, Warn: warn, KeepOld: true})
	if err != nil {
		return err
	}
	if c.DryRun {
		err = c.listDeadClaims(ctx, ledger)
	} else {
		err = c.sweepClaims(ctx, ledger)
	}
	if err != nil {
		return err
	}
	for _, old := range ledger.Old(!c.DryRun) {
		c.addRemoved("ledger", old, "of an earlier boot or another host, unused for a week")
	}
	return c.removeOrphans(ctx, ledger)
}

func whose(h admission.Holder) string {
	return fmt.Sprintf("%s in %s, its plimsoll (pid %d) is dead", h.Tool, h.Project, h.Owner.PID)
}

// listDeadClaims lists the claims of dead supervisors that sweepClaims would remove or keep. It changes nothing.
func (c *Collection) listDeadClaims(ctx context.Context, ledger *admission.Ledger) error {
	holders, err := ledger.Holders(ctx)
	for _, h := range holders {
		if r, ok := holder.Remains(h); h.State == admission.Stale && ok && r.Leave && h.StaleWhy != "" {
			c.addKept("claim", h.ID, whose(h), h.StaleWhy)
		} else if h.State == admission.Stale {
			c.addRemoved("claim", h.ID, whose(h))
		}
	}
	return err
}

// sweepClaims removes the claims of dead supervisors with what they left, and lists those removed and those that must stay.
func (c *Collection) sweepClaims(ctx context.Context, ledger *admission.Ledger) error {
	swept, err := ledger.Sweep(ctx, holder.Reap)
	for _, h := range swept.Removed {
		c.addRemoved("claim", h.ID, whose(h))
	}
	for _, h := range swept.Stale {
		c.addKept("claim", h.ID, whose(h), h.StaleWhy)
	}
	return err
}

// settling is the time for which an empty group must stay empty: a run that starts or ends right now is through with that in milliseconds.
const settling = time.Second

// removeOrphans removes groups for which there is no claim, or with DryRun lists them. It leaves alone those of runs that live under another state
// directory, and lists as kept those that must stay.
func (c *Collection) removeOrphans(ctx context.Context, ledger *admission.Ledger) error {
	list, err := findOrphans(ctx, ledger)
	if err != nil || len(list) == 0 {
		return err
	}
	before := map[string]bool{}
	for _, o := range list {
		if o.Processes == 0 {
			before[o.Remains.ID] = true
		}
	}
	if len(before) > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(settling):
		}
		if list, err = findOrphans(ctx, ledger); err != nil {
			return err
		}
	}
	for _, o := range list {
		name := strings.Join(o.Remains.Groups, ", ")
		what := fmt.Sprintf("a group of layer %s without a claim, %s", o.Remains.Layer, limit.Count(o.Processes, "process"))
		if o.Processes == 1 {
			what = fmt.Sprintf("a group of layer %s without a claim, 1 process", o.Remains.Layer)
		}
		if o.Processes == 0 {
			if !before[o.Remains.ID] {
				continue // a run of another state directory that starts or ends right now
			}
			o.Remains.Leave = true // and nobody who enters it meanwhile is ended
		}
		if o.Supervised {
			continue // a run under another state directory that lives: no garbage, and not ours to speak of
		}
		if o.Keep != "" {
			c.addKept("group", name, what, o.Keep)
			continue
		}
		if !c.DryRun {
			if err := sandbox.Remove(o.Remains, holder.ReapGrace); err != nil {
				c.addKept("group", name, what, err.Error())
				continue
			}
		}
		c.addRemoved("group", name, what)
	}
	return nil
}

// findOrphans returns the groups that belong to no claim. If the claims cannot be read there are none, and an error.
func findOrphans(ctx context.Context, ledger *admission.Ledger) ([]sandbox.Orphan, error) {
	var failed error
	known := map[string]bool{}
	asked := false
	list, err := sandbox.Orphans(func(id string) bool {
		if !asked { // only now: see sandbox.Orphans
			asked = true
			var holders []admission.Holder
			holders, failed = ledger.Holders(ctx)
			for _, h := range holders {
				known[h.ID] = true
			}
		}
		return failed != nil || known[id]
	})
	return list, errors.Join(err, failed)
}

// The least ages of what is removed: a write takes milliseconds, and a demo less than a minute.
const (
	temporaryAge = 10 * time.Minute
	demoAge      = time.Hour
)

// removeTemporaries removes files of the history that a killed writer left half-written.
func (c *Collection) removeTemporaries(a *core.Core) error {
	dir, err := a.Dirs.State()
	if err != nil {
		return err
	}
	return c.removeOld(filepath.Join(globQuote(dir), "history", "*.tmp-*"), temporaryAge, "half-written", fs.FileMode.IsRegular)
}

// removeDemos removes directories of demos that were killed.
func (c *Collection) removeDemos() error {
	return c.removeOld(filepath.Join(globQuote(os.TempDir()), demo.Prefix+"*"), demoAge, "of a demo that was killed", fs.FileMode.IsDir)
}

// removeOld removes the files of this user that match a pattern and are of a kind, when they have not changed for an age. Others may have theirs in
// the same directory.
func (c *Collection) removeOld(pattern string, age time.Duration, what string, isKind func(fs.FileMode) bool) error {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !isKind(info.Mode()) || !statefile.IsOwn(info) || time.Since(info.ModTime()) < age {
			continue
		}
		what := what + ", " + info.ModTime().Format(time.RFC3339)
		if !c.DryRun {
			if err := os.RemoveAll(path); err != nil {
				c.addKept("file", path, what, err.Error())
				continue
			}
		}
		c.addRemoved("file", path, what)
	}
	return nil
}

// pruneRuns removes stored runs beyond the bounds of age and size, and writes an end into those whose plimsoll was killed.
func (c *Collection) pruneRuns(a *core.Core) error {
	dir, err := a.Dirs.State()
	if err != nil {
		return err
	}
	removed, err := runs.Prune(dir, runs.Keep{}, time.Now(), c.DryRun)
	for _, r := range removed {
		c.addRemoved("run", r.ID, fmt.Sprintf("of %s, %s, over the bound of %s", r.Day, limit.Bytes(r.Bytes).Human(), r.Why))
	}
	return err
}

// removeJobs removes what is kept of submitted jobs beyond the bounds of their store, and what was never finished there.
func (c *Collection) removeJobs(ctx context.Context, a *core.Core) error {
	removed, err := submit.Prune(ctx, a, c.DryRun)
	for _, r := range removed {
		c.addRemoved("job", r.ID, r.Bytes.Human()+", "+r.Why)
	}
	return err
}

// compactMemory removes expired, replaced and forgotten records of the memory from the disk.
func (c *Collection) compactMemory(ctx context.Context, a *core.Core) error {
	if !memories.Exists(a) {
		return nil
	}
	m, err := memories.Open(a, memories.Options{Vectors: memories.VectorsOnSearch})
	if err != nil {
		return err
	}
	gone, err := m.GC(ctx, c.DryRun)
	if gone.Records > 0 || gone.Bytes > 0 {
		c.addRemoved("memory", memories.Dir, fmt.Sprintf("%s without effect, %s", limit.Count(gone.Records, "record"), limit.Bytes(gone.Bytes).Human()))
	}
	return errors.Join(err, m.Close())
}

// globQuote keeps the characters of a path from being read as a pattern.
func globQuote(path string) string {
	if os.PathSeparator == '\\' { // no escapes there
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// empty removes all that nobody uses of a store; kind is for the things in it.
func (c *Collection) empty(a *core.Core, kind string, s stores.Store) (err error) {
	state, stateErr := a.Dirs.State()
	cache, cacheErr := a.Dirs.Cache()
	if err = errors.Join(stateErr, cacheErr); err != nil {
		return err
	}
	dirs, err := s.Dirs(state, cache)
	for _, dir := range dirs {
		items, oneErr := s.Empty(dir, c.DryRun)
		for _, i := range items {
			if i.Kept != "" {
				c.addKept(kind, i.Name, i.What, i.Kept)
			} else {
				c.addRemoved(kind, i.Name, i.What)
			}
		}
		err = errors.Join(err, oneErr)
	}
	return err
}

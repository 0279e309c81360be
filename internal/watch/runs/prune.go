package runs

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Keep bounds a store. A field that is 0 sets no bound, but the zero Keep means [DefaultKeep].
type Keep struct {
	Age   time.Duration
	Runs  int
	Bytes int64
}

// DefaultKeep bounds the ended runs that are kept: how many, for how long and in how many bytes.
var DefaultKeep = Keep{Age: 30 * 24 * time.Hour, Runs: 10_000, Bytes: 256 << 20}

// orDefault returns the bounds, or [DefaultKeep] for the zero value.
func (k Keep) orDefault() Keep {
	if k == (Keep{}) {
		return DefaultKeep
	}
	return k
}

// needsPruning reports whether a store is so much beyond its bounds, by a sixteenth, that it is time to prune it.
func (k Keep) needsPruning(total sums) bool {
	return k.Runs > 0 && total.Runs > k.Runs+k.Runs/16+16 || k.Bytes > 0 && total.Bytes > k.Bytes+k.Bytes/16
}

// Removed is a run whose file was removed, or would be.
type Removed struct {
	ID    string
	Day   string
	Bytes int64
	// Why is the bound that it exceeded: "age", "count" or "bytes".
	Why string
}

// Prune removes runs until the store is within its bounds, the oldest first and none that lives, and returns those. It also ends the runs
// whose writer was killed, see [Adopt]. With dry nothing is changed, and the runs that would be removed are returned.
func Prune(stateDir string, k Keep, now time.Time, dry bool) ([]Removed, error) {
	root, err := statefile.OpenRoot(filepath.Join(stateDir, Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if !dry {
		if err := adoptAll(root, now); err != nil {
			return nil, err
		}
	}
	return prune(root, k.orDefault(), now, dry)
}

// prune does the work of [Prune] in an open store. After the index it removes the files, files of old days without a line, and empty folders.
func prune(root *os.Root, k Keep, now time.Time, dry bool) (removed []Removed, err error) {
	lock, err := lockIndex(root)
	if err != nil {
		return nil, err
	}
	kept, removed, err := pruneIndex(root, k, now, dry)
	_ = filelock.Release(lock)
	if err != nil || dry {
		return removed, err
	}
	days := map[string]bool{}
	for _, r := range removed {
		if rmErr := root.Remove(r.Day + "/" + r.ID + fileEnd); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
		days[r.Day] = true
	}
	err = errors.Join(err, removeUnlisted(root, k, kept, now))
	for day := range days {
		_ = root.Remove(day) // if it is empty
	}
	return removed, err
}

// pruneIndex decides which runs are removed, and writes the index without them and without damaged lines, unless dry. The caller holds the lock.
func pruneIndex(root *os.Root, k Keep, now time.Time, dry bool) (kept []Entry, removed []Removed, err error) {
	list, gone, damaged, err := openIndex(root)
	if err != nil {
		return nil, nil, err
	}
	tools := map[string]string{}
	for i := range list {
		tools[list[i].ID] = list[i].Tool
	}
	sorting.StableBy(list, func(a, b Entry) int { return a.endTime().Compare(b.endTime()) })
	var all sums
	for i := range list {
		all = all.add(&list[i])
	}
	for i := range list {
		e, why := &list[i], ""
		switch {
		case k.Age > 0 && now.Sub(e.endTime()) > k.Age:
			why = "age"
		case k.Runs > 0 && all.Runs > k.Runs:
			why = "count"
		case k.Bytes > 0 && all.Bytes > k.Bytes:
			why = "bytes"
		}
		if why == "" {
			kept = append(kept, *e)
			continue
		}
		all.Runs, all.Bytes = all.Runs-1, all.Bytes-e.Bytes
		gone.add(e, e.toolOf(func(id string) string { return tools[id] }))
		removed = append(removed, Removed{ID: e.ID, Day: e.Day, Bytes: e.Bytes, Why: why})
	}
	if dry || len(removed) == 0 && damaged == 0 {
		return kept, removed, nil
	}
	return kept, removed, writeIndex(root, gone, kept)
}

// writeIndex replaces the index: the sums of removed runs, then a line for each run in list.
func writeIndex(root *os.Root, gone Totals, list []Entry) error {
	// A power cut may bring the old index back: its runs are without files then, and the next clean-up leaves them out.
	return atomicfile.Replacement{Root: root, Name: indexName, Perm: 0o600, Kept: atomicfile.Volatile}.Stream(func(to io.Writer) error {
		w := bufio.NewWriterSize(to, 64<<10)
		for _, tool := range slices.Sorted(maps.Keys(gone)) {
			text, err := json.Marshal(removedLine{tool, *gone[tool]})
			if err != nil {
				return err
			}
			if _, err := w.Write(append(text, '\n')); err != nil {
				return err
			}
		}
		var s sums
		for i := range list {
			s = s.add(&list[i])
			text, err := json.Marshal(indexLine{list[i], s})
			if err != nil {
				return err
			}
			if _, err := w.Write(append(text, '\n')); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}

// endTime returns the time at which the run ended; its start when that is not known.
func (e *Entry) endTime() time.Time {
	if e.Ended != nil {
		return *e.Ended
	}
	return e.Started
}

// removeUnlisted removes files of days that are older than k.Age and two days, if they are neither of a kept run nor of one that lives. Without k.Age
// it does nothing.
func removeUnlisted(root *os.Root, k Keep, kept []Entry, now time.Time) error {
	if k.Age <= 0 {
		return nil
	}
	listed := map[string]bool{}
	for i := range kept {
		listed[kept[i].ID] = true
	}
	days, err := dayFolders(root)
	for _, day := range days {
		if began, _ := time.Parse(dayForm, day); now.Sub(began) < k.Age+48*time.Hour {
			continue
		}
		names, _ := namesIn(root, day)
		for _, name := range names {
			if id, ok := runID(name); ok && (listed[id] || isLocked(root, day+"/"+name)) {
				continue
			}
			_ = root.Remove(day + "/" + name)
		}
		_ = root.Remove(day)
	}
	return err
}

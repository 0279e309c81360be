package usage

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Summaries yields the summary of every tool of every project, the projects by key and a project's tools by name, holding one project in
// memory at a time. A file that cannot be read is left out, with a warning; when the directory itself cannot be read, one error is yielded
// and nothing else.
func (h *History) Summaries() iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		root, files, err := h.listProjects(MaxProjects)
		if err != nil {
			yield(Summary{}, err)
			return
		}
		if root == nil {
			return
		}
		defer root.Close()
		sorting.By(files, func(a, b projectFile) int { return cmp.Compare(a.key, b.key) })
		for _, file := range files {
			d := h.readListed(root, file.key)
			if d == nil {
				continue
			}
			for _, s := range d.summaries() {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// ToolRuns returns the newest [KeptRuns] runs of each variant of a tool in the [MaxToolProjects] projects
// that were written last, newest last. Within a project the order is that of appending; between
// projects it goes by the records' times, none of them counted as later than its file.
func (h *History) ToolRuns(tool string) ([]Run, error) {
	root, files, err := h.listProjects(MaxToolProjects)
	if err != nil || root == nil {
		return nil, err
	}
	defer root.Close()
	var all []datedRun
	for _, file := range files {
		d := h.readListed(root, file.key)
		if d == nil {
			continue
		}
		for _, s := range d.Tools {
			if of, _ := splitHistoryKey(s.Tool); of == tool {
				all = append(all, datedRuns(s.runs(), file.written)...)
			}
		}
	}
	sorting.StableBy(all, func(a, b datedRun) int { return a.at.Compare(b.at) })
	counts := map[string]int{}
	newest := make([]Run, 0, len(all))
	for _, r := range slices.Backward(all) {
		if counts[r.run.Variant]++; counts[r.run.Variant] <= KeptRuns {
			newest = append(newest, r.run)
		}
	}
	slices.Reverse(newest)
	return newest, nil
}

// datedRun is a run with the time that it is sorted by.
type datedRun struct {
	at  time.Time
	run Run
}

// datedRuns returns the runs with times to sort by: one that went backwards is that of its predecessor, and one in the future that of the
// file, so that sorting never reorders a project's own records.
func datedRuns(runs []Run, written time.Time) []datedRun {
	dated := make([]datedRun, len(runs))
	at := time.Time{}
	for i, r := range runs {
		if r.Time.After(at) {
			at = r.Time
		}
		if at.After(written) {
			at = written
		}
		dated[i] = datedRun{at, r}
	}
	return dated
}

// readListed reads one file of a listing; it warns and returns nil when that can't be used.
func (h *History) readListed(root *os.Root, key string) *document {
	name := key + extension
	d, err := h.readDocument(root, name, key)
	if err == nil {
		return d
	}
	if damaged, ok := errors.AsType[*damage](err); ok {
		h.warnDamaged(name, damaged)
	} else if off, ok := errors.AsType[*OffError](err); ok {
		kind := Unreadable
		if off.Reason == OffNewer {
			kind = NewerSchema
		}
		h.warn(Warning{Kind: kind, Path: off.Path, Count: 1, Text: fmt.Sprintf("left out of the listing: %s: %v", off.Path, off.Err)})
	}
	return nil
}

type projectFile struct {
	key     string
	written time.Time
}

// listProjects returns the directory and the project files in it that were written last, at most bound; a nil root without an error when there is
// no history yet.
func (h *History) listProjects(bound int) (*os.Root, []projectFile, error) {
	root, err := statefile.OpenRoot(h.directory)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, nil
		}
		return nil, nil, h.offError(h.directory, err)
	}
	entries, unseen, err := readEntries(root)
	if err != nil {
		root.Close()
		return nil, nil, h.offError(h.directory, err)
	}
	var files []projectFile
	for _, e := range entries {
		key, ok := strings.CutSuffix(e.Name(), extension)
		if !ok || checkKey(key) != nil || !e.Type().IsRegular() {
			continue
		}
		status, err := e.Info()
		if err != nil {
			continue // renamed or removed since
		}
		files = append(files, projectFile{key, status.ModTime()})
	}
	sorting.By(files, func(a, b projectFile) int {
		return cmp.Or(b.written.Compare(a.written), cmp.Compare(a.key, b.key))
	})
	if left := len(files) - bound; left > 0 || unseen {
		files = files[:min(bound, len(files))]
		// One tool's runs come from the newest projects by intention: nothing to tell.
		if bound == MaxProjects {
			h.warn(Warning{
				Kind: ListingCut, Path: h.directory, Count: max(left, 1),
				Text: fmt.Sprintf("the listing has the %d projects written last; %s holds at least %d more", len(files), h.directory, max(left, 1)),
			})
		}
	}
	return root, files, nil
}
